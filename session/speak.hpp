// How the session's verbs speak: one line on stderr, receipts on stdout.
#pragma once

#include <string>
#include <string_view>

#include "kernel/calls.hpp"

namespace quietus {

// "quietus: TEXT\n" on stderr; returns the exit code.
int complain(sys::Gate& gate, int exit_code, std::string_view text);

// "quietus: WHAT: [Errno ...] ...: 'ABOUT'".
int complain(sys::Gate& gate, int exit_code, std::string_view what, const sys::Error& error,
             std::string_view about);

// The text and a newline on stdout.
void print_line(sys::Gate& gate, std::string_view text);

}  // namespace quietus

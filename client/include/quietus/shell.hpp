// Words for a POSIX shell. Pure.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace quietus {

// One word, whatever it holds: plain where that is safe, else in single quotes.
std::string shell_quote(std::string_view word);
// The words, quoted, with a blank between them.
std::string shell_join(std::span<const std::string> words);

}  // namespace quietus

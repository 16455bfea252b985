// --command-fd: the command and its environment as bytes on a descriptor, so that no command line
// ever shows them. All numbers are 32 bits, little-endian:
//
//   number of arguments, then for each: its length and its bytes (no NUL);
//   number of environment entries, then for each: its length and its bytes (NAME=VALUE).
//
// Nothing beyond the record is read: on descriptor 0 a lease may follow.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "kernel/calls.hpp"

namespace quietus {

struct CommandRecord {
  std::vector<std::string> argv;
  std::vector<std::string> environment;
};

// The error says what is wrong with the record, or with reading it.
tl::expected<CommandRecord, std::string> read_command_record(sys::Gate& gate, int fd);

}  // namespace quietus

// Directories whose entries are numbers: /proc and /proc/self/fd.
#pragma once

#include <cstdint>
#include <cstring>

#include "contract/decimal.hpp"
#include "kernel/calls.hpp"

namespace quietus::sys {

// Calls visit(number) for each entry that is one, until visit returns false. The listing of /proc
// need not end while processes are born faster than it is read: visit has to bound it.
template <class Visit>
Result<Unit> for_each_number(Gate& gate, int directory, Visit visit) {
  // struct linux_dirent64 of getdents(2): inode, offset, length, type, name.
  constexpr std::size_t kLengthAt = 16;
  constexpr std::size_t kNameAt = 19;
  alignas(std::uint64_t) char buffer[8192];
  for (;;) {
    const auto got = read_directory(gate, directory, buffer);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) return Unit{};
    for (std::size_t at = 0; at + kNameAt < *got;) {
      std::uint16_t length = 0;
      std::memcpy(&length, buffer + at + kLengthAt, sizeof length);
      if (length == 0) break;
      const auto number = parse_decimal<int>(std::string_view(buffer + at + kNameAt));
      if (number && !visit(*number)) return Unit{};
      at += length;
    }
  }
}

}  // namespace quietus::sys

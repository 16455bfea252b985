// The entries of a directory; those of /proc and /proc/self/fd are numbers.
#pragma once

#include <cstdint>
#include <cstring>

#include "contract/decimal.hpp"
#include "kernel/calls.hpp"

namespace quietus::sys {

// Calls visit(name) for each entry but "." and "..", until visit returns false.
template <class Visit>
Result<Unit> for_each_name(Gate& gate, int directory, Visit visit) {
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
      const char* name = buffer + at + kNameAt;
      const bool self_or_parent = std::string_view(name) == "." || std::string_view(name) == "..";
      if (!self_or_parent && !visit(name)) return Unit{};
      at += length;
    }
  }
}

// The same for the entries that are numbers. The listing of /proc need not end while processes are
// born faster than it is read: visit has to bound it.
template <class Visit>
Result<Unit> for_each_number(Gate& gate, int directory, Visit visit) {
  return for_each_name(gate, directory, [&](const char* name) {
    const auto number = parse_decimal<int>(name);
    return !number || visit(*number);
  });
}

}  // namespace quietus::sys

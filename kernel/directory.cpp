#include "kernel/directory.hpp"

#include <cstdint>
#include <cstring>

namespace quietus::sys {

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

Result<Unit> visit_names(Gate& gate, int directory, NameVisitor visitor) {
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
      const bool self_or_parent = std::strcmp(name, ".") == 0 || std::strcmp(name, "..") == 0;
      if (!self_or_parent && !visitor.visit(visitor.context, name)) return Unit{};
      at += length;
    }
  }
}

}  // namespace quietus::sys

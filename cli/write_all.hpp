// Writing a text whole: write(2) may take less than it was given.
#pragma once

#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace quietus::cli {

// False: it cannot be written; errno says why.
inline bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(fd, text.data(), text.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(wrote));
  }
  return true;
}

}  // namespace quietus::cli

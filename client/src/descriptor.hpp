// Descriptors of ours. Every one is close-on-exec, and above 2, so that a child's standard streams
// can be put in place one after the other.
#pragma once

#include <string_view>
#include <utility>

#include "quietus/error.hpp"

namespace quietus {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    reset(other.release());
    return *this;
  }
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  // Never retried on EINTR: Linux has released the number already, and another thread may own it.
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

struct Pipe {
  UniqueFd in;   // to read from
  UniqueFd out;  // to write to
};

Expected<Pipe> make_pipe();
// open(2) with O_CLOEXEC; the error (input) names the path.
Expected<UniqueFd> open_file(const char* path, int flags, unsigned mode = 0);

// write(2) of at most the whole, without SIGPIPE whatever the program has made of that signal.
// -errno on failure.
long write_without_sigpipe(int fd, std::string_view bytes);

// "cannot VERB 'path': reason".
std::string system_message(std::string_view verb, std::string_view path, int error);

}  // namespace quietus

// A file descriptor with one owner.
#pragma once

#include <utility>

#include "kernel/gate.hpp"

namespace quietus::sys {

class UniqueFd {
 public:
  UniqueFd() = default;
  UniqueFd(Gate& gate, int fd) : gate_(&gate), fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : gate_(other.gate_), fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      gate_ = other.gate_;
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] explicit operator bool() const { return fd_ >= 0; }

  // Never retried on EINTR: Linux has released the number by then.
  void reset();

  // The caller becomes the owner.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }

 private:
  Gate* gate_ = nullptr;
  int fd_ = -1;
};

}  // namespace quietus::sys

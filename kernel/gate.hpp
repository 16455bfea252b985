// The one door to the kernel: every system call of the in-sandbox half is a Request that passes
// through Gate::perform. Tests subclass it to make any call fail. A function that does not take a
// Gate is pure.
#pragma once

#include <array>

namespace quietus::sys {

struct Request {
  long number = 0;
  std::array<long, 6> args{};
};

class Gate {
 public:
  virtual ~Gate() = default;

  // What the kernel answered: zero or more, or -errno.
  virtual long perform(const Request& request) noexcept;
};

}  // namespace quietus::sys

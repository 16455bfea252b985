#include "kernel/gate.hpp"

#include <cerrno>

#include <unistd.h>

namespace quietus::sys {

long Gate::perform(const Request& request) noexcept {
  const auto& a = request.args;
  const long answer = ::syscall(request.number, a[0], a[1], a[2], a[3], a[4], a[5]);
  return answer == -1 ? -errno : answer;
}

}  // namespace quietus::sys

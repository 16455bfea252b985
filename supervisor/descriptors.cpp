#include "supervisor/descriptors.hpp"

#include <fcntl.h>

namespace quietus {

void settle_descriptors(sys::Gate& gate) {
  (void)sys::close_from(gate, 3);
  for (const int fd : {0, 1, 2}) {
    if (sys::is_open(gate, fd).value_or(true)) continue;
    sys::UniqueFd nothing = open_nothing(gate);
    if (!nothing) continue;
    (void)sys::duplicate_onto(gate, nothing.get(), fd);
    if (nothing.get() == fd) (void)nothing.release();
  }
}

sys::UniqueFd open_nothing(sys::Gate& gate) {
  if (auto null = sys::open(gate, "/dev/null", O_RDWR)) return std::move(*null);
  auto pipe = sys::pipe(gate);
  return pipe ? std::move(pipe->first) : sys::UniqueFd();
}

}  // namespace quietus

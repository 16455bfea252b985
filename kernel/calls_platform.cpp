#include "kernel/calls.hpp"

#include <sys/mman.h>
#include <sys/statfs.h>

#include "kernel/numbers.hpp"
#include "kernel/perform.hpp"

namespace quietus::sys {

Result<Unit> platform(Gate& gate, utsname& names) { return done(gate, "uname", SYS_uname, &names); }

// The kernel tells its page size on the stack of a new program, where only its first function can
// read it. It also refuses advice about an address that does not begin a page, and advice about no
// bytes does nothing.
Result<int> page_size(Gate& gate) {
  constexpr int kSmallest = 4096;
  constexpr int kLargest = 65536;
  for (int size = kSmallest;; size *= 2) {
    const auto begins_page = call(gate, "madvise", SYS_madvise, size, 0, MADV_NORMAL);
    if (begins_page) return size;
    if (size == kLargest) return tl::unexpected(begins_page.error());
  }
}

Result<std::uint64_t> free_space(Gate& gate, const char* path) {
  struct statfs status {};
  const auto got = call(gate, "statfs", SYS_statfs, path, &status);
  if (!got) return tl::unexpected(got.error());
  return static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize);
}

}  // namespace quietus::sys

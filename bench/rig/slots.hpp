// The page that the worker and the runner share, one file for each run. A report of the worker is
// one store and no system call, so that it costs nothing that would be measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <ctime>

namespace bench {

struct Slots {
  std::atomic<std::int64_t> start;   // first instruction of the worker's main, CLOCK_MONOTONIC, ns
  std::atomic<std::int64_t> exit;    // just before the worker's _exit
  std::atomic<std::int64_t> term;    // the first SIGTERM that the worker's handler saw
  std::atomic<std::int64_t> ready;   // descendants that are up
  std::atomic<std::int64_t> forks;   // forks that a comet or a bomb has made
  std::atomic<std::int64_t> failed;  // the errno that kept the worker from making its descendants
};

inline constexpr std::size_t kPage = 4096;
static_assert(sizeof(Slots) <= kPage && std::atomic<std::int64_t>::is_always_lock_free);

inline std::int64_t now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec;
}

}  // namespace bench

#include "harness/watchdog.hpp"

#include <unistd.h>

#include <cstdio>

#include "harness/descendants.hpp"

namespace harness {

Watchdog::Watchdog(std::string test, double seconds)
    : thread_([this, test = std::move(test), seconds] {
        std::unique_lock lock(mutex_);
        if (changed_.wait_for(lock, std::chrono::duration<double>(seconds),
                              [this] { return over_; })) {
          return;
        }
        fprintf(stderr, "[  FAILED  ] %s: not over after %g s; what still lived:\n", test.c_str(),
                seconds);
        for (const ProcessRow& row : living_descendants()) {
          fprintf(stderr, "  %s\n", row.text().c_str());
        }
        mop_up();
        _exit(1);
      }) {}

Watchdog::~Watchdog() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

}  // namespace harness

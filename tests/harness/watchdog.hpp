// The hard end of a test: a thread that kills everything the test started and ends the test process
// with a message. Every wait of the harness has a bound of its own, so this speaks only when a test
// or the harness itself is broken.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace harness {

class Watchdog {
 public:
  Watchdog(std::string test, double seconds);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace harness

// While nothing happens, nothing is done: the supervision costs the worker no time.
#include <signal.h>
#include <unistd.h>

#include <sstream>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Idle : public Scenario {
 protected:
  // How often a process has gone to sleep: every wake-up ends with it.
  static long sleeps(pid_t pid) {
    std::istringstream status(read_file("/proc/" + std::to_string(pid) + "/status"));
    std::string key;
    long value = 0;
    while (status >> key) {
      if (key == "voluntary_ctxt_switches:" && status >> value) return value;
    }
    return -1;
  }
  // Wake-ups of both halves in two seconds, once they have settled.
  long wake_ups(Running& running) {
    const pid_t guardian = running.guardian();
    const pid_t supervisor = running.supervisor();
    EXPECT_TRUE(beats_.reaches(1, 50));
    const auto both = [&] { return sleeps(guardian) + sleeps(supervisor); };
    const long before = both();
    sleep(2);  // the measured span itself
    return both() - before;
  }
  void stop(Running& running) {
    running.signal(SIGTERM);
    EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
  }
};

TEST_F(Idle, neither_half_wakes_up_without_a_stop_file) {
  Running running = start(bare({"--timeout", "50"}, actor({"beat:1"})));
  EXPECT_EQ(wake_ups(running), 0);
  stop(running);
}

TEST_F(Idle, with_a_stop_file_four_times_a_second_at_most) {
  Running running =
      start(bare({"--timeout", "50", "--stop-file", path("stop"), "--expire-file", path("expire")},
                 actor({"beat:1"})));
  EXPECT_LE(wake_ups(running), 4 * 2 + 1);
  stop(running);
}

TEST_F(Idle, with_a_file_that_changes_beside_the_stop_file_it_does_not_spin) {
  Running running = start(bare({"--stop-file", path("stop")},
                               actor({"repeat:2000", "[", "write:" + path("neighbour") + ":x",
                                      "unlink:" + path("neighbour"), "touch:1", "sleep:2", "]"})));
  // Told of each by the kernel, at most two events for each round.
  const uint64_t rounds = beats_.count(1);
  const long woken = wake_ups(running);
  EXPECT_LE(woken, 4 * long(beats_.count(1) - rounds) + 20);
  stop(running);
}

}  // namespace

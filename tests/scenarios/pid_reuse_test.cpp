// Process numbers are used again. Whoever signals a number has to hold it.
#include <unistd.h>

#include "harness/scenario.hpp"
#include "harness/tracer.hpp"

namespace {

using namespace harness;

class PidReuse : public Scenario {};

TEST_F(PidReuse, a_stranger_with_the_workers_old_number_is_not_hit) {
  // In a namespace of the test's own a bystander waits for the worker's number, while every signal
  // of the supervisor is held up for long enough to take it. Killed by number after the worker was
  // collected, the bystander's group would be hit.
  NEEDS_ROOT();
  NEEDS(access("/proc/sys/kernel/ns_last_pid", W_OK) == 0, "/proc/sys/kernel/ns_last_pid");
  // The bystander is no descendant of quietus: the init of the namespace starts both.
  Launch launch = bare(
      {"--cleanup-timeout", "8"},
      {"sh", "-c",
       "echo $$ > " + path("number.part") + "; mv " + path("number.part") + " " + path("number") +
           "; while ! test -e " + path("go") + "; do sleep 0.02; done; exit 7"});
  launch.inner =
      Words{"sh", "-c",
            "(while ! test -e " + path("number") + "; do sleep 0.02; done; exec " + actor_binary() +
                " bound:20000 beats:" + beats_.path() + " take-pid:$(cat " + path("number") +
                "):" + path("taken") + " [ beat:1 ]) & exec \"$@\"",
            "sh"};
  Running running = start(in_pid_namespace(launch));
  ASSERT_TRUE(eventually([&] { return exists(path("number")); }));
  const pid_t supervisor = running.supervisor();
  pid_t ours = 0;  // the guardian has a second child, which is the bystander's shell
  for (const ProcessRow& row : descendants(running.guardian())) {
    if (row.ppid == running.guardian() && row.sid == row.pid) ours = row.pid;
  }
  ASSERT_GT(ours, 0) << supervisor;
  const bool traced = slow_its_signals(ours, 0.8, [&] { write_file(path("go"), ""); });
  NEEDS(traced, "ptrace of one's own children");
  Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {7}}));
  // Taken at last, once quietus was done with it, and alive.
  ASSERT_TRUE(eventually([&] { return read_file(path("taken")) == read_file(path("number")); }))
      << read_file(path("taken")) << " is not " << read_file(path("number"));
  EXPECT_TRUE(beats_.alive(1)) << "a stranger was killed";
  running.release();
}

}  // namespace

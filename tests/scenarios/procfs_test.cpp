// /proc missing, hidden, or of another PID namespace. What is found through it may be less; what is
// claimed may not be more.
#include <signal.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Procfs : public Scenario {
 protected:
  void SetUp() override { NEEDS_ROOT(); }

  // A mount namespace in which the shell words have been run.
  static Launch after(const std::string& mounts, Launch launch) {
    launch.outer = Words{"unshare", "--mount", "--propagation",          "private",
                         "sh",      "-ec",     mounts + "; exec \"$@\"", "sh"} +
                   launch.outer;
    return launch;
  }
  static Launch without(Launch launch) { return after("mount -t tmpfs none /proc", launch); }

  // Whatever was found: bounded, and confirmed only if nothing is left.
  void expect_honest(Launch launch, std::optional<int> code) {
    launch.may_leave = true;
    allow_leftovers();
    const Ended ended = end_of(launch);
    EXPECT_TRUE(
        receipt_is(ended, {.confirmed = std::nullopt, .codes = {code}, .error = Error::any}));
    EXPECT_LT(ended.seconds, 15);
    ASSERT_TRUE(ended.receipt);
    if (ended.receipt->cleanup_confirmed) {
      EXPECT_TRUE(ended.survivors.empty()) << "confirmed, although somebody lives" << ended.text();
    } else {
      EXPECT_TRUE(ended.receipt->error) << ended.text();
    }
    mop_up();
    clear_records();
  }
};

TEST_F(Procfs, absent_a_plain_end_is_proven_by_waiting_alone) {
  const Ended ended = end_of(without(bare({}, actor({"exit:0"}))));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
}

TEST_F(Procfs, absent_the_group_still_ends_at_the_deadline) {
  const Ended ended =
      end_of(without(bare({"--timeout", "0.5", "--cleanup-timeout", "0.5"},
                          actor({"ignore:TERM", "fork", "[", "beat:2", "]", "beat:1"}))));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGKILL, std::nullopt, true)) << ended.text();
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(Procfs, absent_a_detached_child_is_found_or_nothing_is_claimed) {
  expect_honest(
      without(run({"-k", "1"}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}))), 0);
}

TEST_F(Procfs, absent_a_stop_still_works) {
  Running running = start(without(bare({}, actor({"beat:1"}))));
  ASSERT_TRUE(beats_.reaches(1));
  kill(running.pid(), SIGTERM);
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, -SIGTERM, std::nullopt, false));
}

TEST_F(Procfs, absent_the_shield_does_not_need_it) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  Launch launch = without(bare(
      {"--shield"}, actor({"daemon", "[", "beat:1", "]", "repeat:20", "[", "daemon", "[",
                           "ignore:TERM", "beat:2", "]", "]", "await:1", "await:2", "exit:0"})));
  EXPECT_EQ(end_of(launch).receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(Procfs, hidden_from_other_users_a_detached_child_is_still_collected) {
  // hidepid=invisible: an unprivileged quietus sees its own processes only, and these are its own.
  Launch launch =
      as_user(bare({}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"})), lonely_uid());
  launch.inner =
      Words{"unshare", "--mount", "sh", "-ec", "mount -t proc -o hidepid=2 proc /proc; exec \"$@\"",
            "sh"} +
      launch.inner;
  const Ended ended = end_of(in_pid_namespace(launch));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Procfs, of_another_namespace_misleads_nobody) {
  // Inside a PID namespace with the outer /proc, every number there means somebody else: a daemon
  // is found by other means or not, but nothing is claimed and no stranger is hit.
  Launch stranger;
  stranger.words = actor({"repeat:60", "[", "fork", "[", "beat:5", "]", "]", "beat:6"});
  Running bystander = start(stranger);
  ASSERT_TRUE(beats_.reaches(6));
  const size_t before = living_descendants().size();
  Launch launch = run({"-k", "1"}, actor({"repeat:20", "[", "daemon", "[", "bound:6000", "beat:1",
                                          "]", "]", "await:1:20", "exit:0"}));
  launch.may_leave = true;
  allow_leftovers();
  launch.outer = {"unshare", "--pid", "--fork", "--kill-child"};
  const Ended ended = end_of(launch);
  EXPECT_TRUE(receipt_is(ended, {.confirmed = std::nullopt, .codes = {0}, .error = Error::any}));
  EXPECT_EQ(living_descendants(bystander.pid()).size() + 1, before) << "strangers were hit";
  if (ended.receipt && ended.receipt->cleanup_confirmed) EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Procfs, of_another_namespace_is_noticed_below_process_1) {
  // As above, with an init that collects orphans, so that quietus is an ordinary process there.
  Launch launch = run({"-k", "1"}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}));
  launch = in_pid_namespace(launch);
  std::erase(launch.outer, "--mount-proc");
  Running running = start(launch);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.confirmed = std::nullopt, .codes = {0}, .error = Error::any}));
  ASSERT_TRUE(ended.receipt);
  if (ended.receipt->cleanup_confirmed) {
    EXPECT_TRUE(beats_.gone(1));
  } else {
    EXPECT_TRUE(ended.receipt->error);
  }
}

TEST_F(Procfs, read_only_and_masked_is_enough) {
  const Ended ended =
      end_of(after("mount -o remount,bind,ro /proc; mount -t tmpfs none /proc/sys",
                   bare({}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}))));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
  EXPECT_TRUE(beats_.gone(1));
}

}  // namespace

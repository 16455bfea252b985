// Processes in states that supervisors trip over.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

class Hostile : public Scenario {};

TEST_F(Hostile, a_tracee_of_a_detached_tracer_is_collected) {
  // Its parent cannot collect it until the tracer, deaf and in another session, is gone.
  const Ended ended = end_of(
      bare({"--timeout", "0.8", "--cleanup-timeout", "3"}, actor({"trace-parent:1", "hold"})));
  if (beats_.count(1) < 2) GTEST_SKIP() << "ptrace is not allowed here";
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM, -SIGKILL}, .timed_out = true}));
}

TEST_F(Hostile, a_traced_descendant_is_collected) {
  const Ended ended = end_of(
      bare({"--cleanup-timeout", "3"},
           actor({"fork", "[", "setsid", "trace-parent:1", "hold", "]", "await:1:2", "exit:0"})));
  if (beats_.count(1) < 2) GTEST_SKIP() << "ptrace is not allowed here";
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
}

TEST_F(Hostile, a_process_whose_leader_is_a_zombie_is_supervised_on) {
  const Ended ended = end_of(bare({"--timeout", "0.8"}, actor({"zombie-leader:1"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM, -SIGKILL}, .timed_out = true}));
  EXPECT_GE(ended.seconds, 0.8) << "taken for an exit";
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Hostile, a_daemon_whose_leader_is_a_zombie_is_collected) {
  const Ended ended =
      end_of(bare({}, actor({"daemon", "[", "zombie-leader:1", "]", "await:1:5", "exit:0"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Hostile, a_parent_suspended_in_vfork_ends_at_the_deadline) {
  const Ended ended = end_of(
      bare({"--timeout", "0.5", "--cleanup-timeout", "1"}, actor({"ignore:TERM", "vfork-hold:1"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}, .timed_out = true}));
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Hostile, a_detached_parent_suspended_in_vfork_is_collected) {
  const Ended ended =
      end_of(bare({}, actor({"daemon", "[", "vfork-hold:1", "]", "await:1:5", "exit:0"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_TRUE(beats_.gone(1));
}

class OtherUser : public Scenario {
 protected:
  // A set-user-ID copy of the actor that becomes root for good: an unprivileged quietus may not
  // signal it.
  std::string root_helper() const {
    const std::string helper = path("helper");
    fs::copy_file(actor_binary(), helper);
    chmod(helper.c_str(), 04755);
    return helper;
  }
  Ended with_unkillable(const Words& options, const Words& ending) {
    const Words worker =
        actor(Words{"daemon",   "[",      "beat:2",      "]",          "fork",
                    "[",        "exec",   root_helper(), "bound:9000", "beats:" + beats_.path(),
                    "setuid:0", "setsid", "ignore:TERM", "beat:1",     "]",
                    "daemon",   "[",      "beat:3",      "]",          "await:1",
                    "await:2",  "await:3"} +
              ending);
    Launch launch = as_user(run(options, worker), lonely_uid());
    launch.may_leave = true;
    allow_leftovers();
    return end_of(launch);
  }
};

TEST_F(OtherUser, what_may_not_be_signalled_is_named_and_the_others_die) {
  NEEDS_ROOT();
  const Ended ended = with_unkillable({"-k", "1"}, {"exit:0"});
  if (beats_.count(1) == 0) GTEST_SKIP() << "set-user-ID programs do not work here";
  EXPECT_TRUE(receipt_is(ended, {.confirmed = false, .codes = {0}, .error = Error::some}));
  EXPECT_EQ(ended.status, 123);
  EXPECT_TRUE(beats_.alive(1)) << "set-up: the helper died";
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_TRUE(beats_.gone(3));
  ASSERT_EQ(ended.survivors.size(), 1u) << ended.text();
  EXPECT_LT(ended.seconds, 9);
  ASSERT_TRUE(ended.report);
  ASSERT_EQ(ended.report->size("/survivors"), 1u) << ended.text();
  EXPECT_EQ(ended.report->integer("/survivors/0/pid"), ended.survivors[0].pid);
  EXPECT_EQ(ended.report->integer("/survivors/0/uid"), 0);
  EXPECT_EQ(ended.report->integer("/survivors/0/sid"), ended.survivors[0].sid);
  EXPECT_EQ(uint64_t(ended.report->integer("/survivors/0/start_ticks")), ended.survivors[0].start);
  EXPECT_TRUE(holds(ended.report->text("/survivors/0/command_line"), "setuid:0"));
  EXPECT_NE(ended.report->text("/survivors/0/why"), "");
  EXPECT_TRUE(ended.report->is_null("/proof"));
  EXPECT_TRUE(holds(*ended.receipt->error, "cleanup: ")) << "the words of upstream's table";
}

TEST_F(OtherUser, the_exit_code_123_wins_over_the_deadlines_124) {
  NEEDS_ROOT();
  const Ended ended = with_unkillable({"-k", "0.5", "--timeout", "1.5"}, {"beat:4"});
  if (beats_.count(1) == 0) GTEST_SKIP() << "set-user-ID programs do not work here";
  EXPECT_TRUE(receipt_is(
      ended, {.confirmed = false, .codes = {-SIGTERM}, .error = Error::some, .timed_out = true}));
  EXPECT_EQ(ended.status, 123);
}

// A child in a frozen group of the version 1 freezer does not even die of KILL: the stand-in for
// whatever sleeps uninterruptibly.
class Frozen : public Scenario {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    const std::string freezer = cgroup_v1("freezer");
    NEEDS(!freezer.empty(), "version 1 freezer");
    group_ = freezer + "/scene-" + std::to_string(getpid());
    NEEDS(fs::create_directory(group_), "writable version 1 freezer");
  }
  void freeze() const {
    write_file(group_ + "/freezer.state", "FROZEN");
    ASSERT_TRUE(eventually([&] { return read_file(group_ + "/freezer.state") == "FROZEN\n"; }));
  }
  void thaw() const { write_file(group_ + "/freezer.state", "THAWED"); }
  void TearDown() override {
    if (group_.empty() || !fs::exists(group_)) return;
    thaw();
    Scenario::TearDown();
    EXPECT_TRUE(eventually([&] { return rmdir(group_.c_str()) == 0; }));
  }
  Words frozen_script() const {
    return {"daemon",  "[",      "append:" + group_ + "/cgroup.procs:0",
            "beat:1",  "]",      "daemon",
            "[",       "beat:2", "]",
            "await:1", "await:2"};
  }
  std::string group_;
};

TEST_F(Frozen, a_child_is_named_in_bounded_time_and_nothing_is_confirmed) {
  allow_leftovers();
  Running running = start(run({"-k", "1"}, actor(frozen_script() + Words{"await:9", "exit:4"})));
  ASSERT_TRUE(beats_.reaches(1));
  freeze();
  Words touch = actor({"touch:9"});
  Launch helper;
  helper.words = touch;
  (void)start(helper).wait();
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.confirmed = false, .codes = {4}, .error = Error::some}));
  EXPECT_EQ(ended.status, 123);
  EXPECT_TRUE(beats_.gone(2)) << "the others live on";
  EXPECT_TRUE(holds(*ended.receipt->error, "cleanup: "));
  ASSERT_EQ(ended.report->size("/survivors"), 1u) << ended.text();
  EXPECT_NE(ended.report->text("/survivors/0/why"), "");
}

TEST_F(Frozen, a_child_that_thaws_in_time_is_collected_and_a_late_term_changes_nothing) {
  Running running =
      start(bare({"--cleanup-timeout", "15"}, actor(frozen_script() + Words{"await:9", "exit:4"})));
  ASSERT_TRUE(beats_.reaches(1));
  freeze();
  Launch helper;
  helper.words = actor({"touch:9"});
  (void)start(helper).wait();
  // The worker has ended when the daemon that can die has died.
  ASSERT_TRUE(eventually([&] { return beats_.gone(2); }));
  running.signal(SIGTERM);
  usleep(100'000);
  EXPECT_FALSE(exists(path("receipt.json"))) << "a receipt before the cleanup is over";
  thaw();
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 4, std::nullopt, false));
}

TEST_F(Frozen, the_worker_itself_is_given_up_in_bounded_time) {
  allow_leftovers();
  Running running = start(
      run({"--timeout", "2", "-k", "0.7"},
          actor({"append:" + group_ + "/cgroup.procs:0", "daemon", "[", "beat:2", "]", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  freeze();
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(
      ended,
      {.confirmed = false, .codes = {std::nullopt}, .error = Error::some, .timed_out = true}));
  EXPECT_EQ(ended.status, 123);
  EXPECT_LT(ended.seconds, 12);
}

class Namespaces : public Scenario {};

TEST_F(Namespaces, tools_in_a_namespace_made_by_unshare_die_with_it) {
  NEEDS_ROOT();
  const Words inside = actor({"ignore:TERM", "daemon", "[", "beat:1", "]", "beat:2"});
  const Words command = Words{"unshare", "--pid", "--fork", "--mount-proc"} + inside;
  const Ended ended = end_of(bare({"--timeout", "1", "--cleanup-timeout", "1"}, command));
  EXPECT_TRUE(receipt_is(ended, {.timed_out = true}));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(Namespaces, tools_in_a_bubblewrap_sandbox_die_with_it) {
  NEEDS(has_tool("bwrap"), "bwrap");
  const Words inside = actor({"ignore:TERM", "daemon", "[", "beat:1", "]", "beat:2"});
  const Words command =
      Words{"bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--"} + inside;
  const Ended ended = end_of(bare({"--timeout", "1", "--cleanup-timeout", "1"}, command));
  if (beats_.count(2) == 0) GTEST_SKIP() << "bwrap does not work here: " << ended.err;
  EXPECT_TRUE(receipt_is(ended, {.timed_out = true}));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(Namespaces, quietus_works_inside_a_bubblewrap_sandbox) {
  NEEDS(has_tool("bwrap"), "bwrap");
  Launch launch = bare({"--timeout", "0.8"}, actor({"daemon", "[", "beat:1", "]", "beat:2"}));
  launch.outer = {"bwrap", "--dev-bind", "/", "/", "--unshare-pid", "--proc", "/proc", "--"};
  launch.may_leave = true;  // the sandbox's own init may take a moment to go
  const Ended ended = end_of(launch);
  EXPECT_TRUE(eventually([] { return living_descendants().empty(); }));
  if (beats_.count(2) == 0) GTEST_SKIP() << "bwrap does not work here: " << ended.err;
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true));
  EXPECT_TRUE(beats_.gone(1));
}

}  // namespace

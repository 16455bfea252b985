// The default policy: everything below quietus ends, however it tries to get away.
#include <signal.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Tree : public Scenario {
 protected:
  // A worker that does the script and exits 0; all the slots named must have beaten and be gone.
  void expect_collected(const Words& script, const std::vector<int>& slots,
                        const Words& options = {}) {
    const Ended ended = end_of(bare(options, actor(script)));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
    EXPECT_LT(ended.seconds, 15);
    for (const int slot : slots) EXPECT_TRUE(beats_.gone(slot)) << "slot " << slot;
    clear_records();
  }
};

TEST_F(Tree, a_daemon_in_a_session_of_its_own_is_collected) {
  expect_collected({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}, {1});
}

TEST_F(Tree, a_plain_background_job_is_collected) {
  expect_collected({"fork", "[", "beat:1", "]", "await:1", "exit:0"}, {1});
}

TEST_F(Tree, processes_deaf_to_every_signal_are_collected) {
  expect_collected(
      {"daemon", "[", "ignore:TERM,HUP,INT,QUIT,USR1,USR2,PIPE", "block:TERM,HUP,INT", "beat:1",
       "]", "fork", "[", "ignore:TERM", "pgrp", "beat:2", "]", "await:1", "await:2", "exit:0"},
      {1, 2});
}

TEST_F(Tree, nested_subreapers_are_collected_layer_by_layer) {
  // Each layer adopts the orphans below it, so that every kill brings one new layer to light.
  Words script = {"fork", "["};
  Words closing = {"]"};
  for (int layer = 0; layer < 12; ++layer) {
    const std::string slot = std::to_string(10 + layer);
    script = script + Words{"setsid",       "ignore:TERM", "subreaper",     "orphan", "[", "setsid",
                            "beat:" + slot, "]",           "await:" + slot, "fork",   "["};
    closing.push_back("]");
  }
  script = script + Words{"setsid", "beat:1"};
  std::vector<int> slots = {1};
  for (int layer = 0; layer < 12; ++layer) slots.push_back(10 + layer);
  // The parents of the layers stay: they wait after their last fork.
  Words waiting;
  for (const std::string& bracket : closing) {
    waiting = waiting + Words{bracket, "hold"};
  }
  waiting.back() = "await:1";
  expect_collected(script + waiting + Words{"exit:0"}, slots, {"--cleanup-timeout", "8"});
}

TEST_F(Tree, three_hundred_orphans_are_collected_while_the_worker_runs) {
  Running running =
      start(bare({}, actor({"repeat:300", "[", "orphan", "[", "exit:0", "]", "]", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  EXPECT_TRUE(eventually([&] {
    int zombies = 0;
    for (const ProcessRow& row : descendants()) zombies += row.state == 'Z' ? 1 : 0;
    return zombies < 5;
  })) << "the dead are not collected";
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(Tree, two_hundred_daemons_are_collected) {
  expect_collected({"repeat:200", "[", "daemon", "[", "beat:1", "]", "]", "await:1:200", "exit:0"},
                   {1});
}

TEST_F(Tree, chains_that_fork_and_exit_are_collected) {
  NEEDS_ROOT();
  Launch launch = bare({"--cleanup-timeout", "8"},
                       actor({"bound:15000", "hop:4:1:500", "await:1:50", "exit:0"}));
  Running running = start(in_pid_namespace(launch));
  const Ended ended = running.wait();
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
  EXPECT_TRUE(ended.survivors.empty());
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Tree, pairs_that_bring_each_other_back_are_collected) {
  NEEDS_ROOT();
  Launch launch = bare({"--cleanup-timeout", "8"},
                       actor({"bound:15000", "pairs:20:1", "await:1:40", "exit:0"}));
  Running running = start(in_pid_namespace(launch));
  const Ended ended = running.wait();
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
  EXPECT_TRUE(ended.survivors.empty());
  EXPECT_TRUE(beats_.still(1));
}

TEST_F(Tree, a_child_that_changed_its_user_is_collected) {
  NEEDS_ROOT();
  expect_collected({"daemon", "[", "setuid:65534", "beat:1", "]", "await:1", "exit:0"}, {1});
}

TEST_F(Tree, a_child_in_a_pid_namespace_is_collected_with_all_its_own) {
  NEEDS_ROOT();
  expect_collected({"unshare-pid", "[", "ignore:TERM", "daemon", "[", "beat:1", "]", "beat:2", "]",
                    "await:1", "await:2", "exit:0"},
                   {1, 2});
}

TEST_F(Tree, a_background_child_holding_the_pipe_does_not_hold_the_reader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  Launch launch = bare({}, actor({"say:started", "daemon", "[", "beat:1", "]", "await:1"}));
  launch.out = ends[1];
  launch.err = ends[1];
  Running running = start(launch);
  close(ends[1]);
  std::string text;
  char buffer[256];
  ssize_t got;
  const auto before = Clock::now();
  // Blocks until every writer is gone; the watchdog of the test bounds it.
  while ((got = read(ends[0], buffer, sizeof buffer)) > 0) text.append(buffer, size_t(got));
  EXPECT_LT(seconds_since(before), 15);
  close(ends[0]);
  EXPECT_EQ(text, "started\n");
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 0, std::nullopt, false));
}

TEST_F(Tree, nothing_beside_quietus_is_touched) {
  // Neighbours in the same group and the same session as quietus.
  Launch beside;
  beside.words = actor({"beat:5"});
  const Running neighbour = start(beside);
  ASSERT_TRUE(beats_.alive(5));
  const Ended ended = end_of([&] {
    Launch launch = run({"--timeout", "0.3"}, actor({"daemon", "[", "beat:1", "]", "beat:2"}));
    launch.may_leave = true;
    return launch;
  }());
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}, .timed_out = true}));
  EXPECT_EQ(ended.survivors.size(), 1u);
  EXPECT_TRUE(beats_.alive(5));
  kill(neighbour.pid(), SIGKILL);
  EXPECT_TRUE(eventually([&] { return living_descendants().empty(); }));
}

class Nested : public Scenario {
 protected:
  Words inner(const Words& options, const Words& script) const {
    return Words{quietus_binary(), "--receipt", path("inner.json"), "--cleanup-timeout", "2"} +
           options + Words{"--"} + actor(script);
  }
};

TEST_F(Nested, an_inner_quietus_does_its_own_work) {
  const Ended ended =
      end_of(bare({}, inner({"--timeout", "0.3"}, {"daemon", "[", "beat:1", "]", "beat:2"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_EQ(read_file(path("inner.json")), exactly(true, -SIGTERM, std::nullopt, true));
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Nested, the_outer_deadline_lets_the_inner_clean_up) {
  const Ended ended = end_of(bare({"--timeout", "0.5", "--cleanup-timeout", "8"},
                                  inner({}, {"daemon", "[", "beat:1", "]", "beat:2"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, true));
  EXPECT_EQ(read_file(path("inner.json")), exactly(true, -SIGTERM, std::nullopt, false));
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Nested, the_outer_collects_what_a_killed_inner_left) {
  Running running = start(bare({}, inner({}, {"daemon", "[", "beat:1", "]", "beat:2"})));
  ASSERT_TRUE(beats_.reaches(1));
  ASSERT_TRUE(beats_.reaches(2));
  // Our guardian, our supervisor, then the worker: the inner guardian.
  const pid_t supervisor = running.supervisor();
  pid_t inner_guardian = 0;
  for (const ProcessRow& row : descendants(supervisor)) {
    if (row.ppid == supervisor && inner_guardian == 0) inner_guardian = row.pid;
  }
  ASSERT_GT(inner_guardian, 0);
  kill(inner_guardian, SIGKILL);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}}));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  if (exists(path("inner.json"))) {
    std::string why;
    const auto receipt = ReceiptFile::parse(read_file(path("inner.json")), why);
    ASSERT_TRUE(receipt) << why;
    EXPECT_TRUE(receipt->error) << "hides that a half was killed";
  }
}

TEST_F(Nested, deep_ones_work) {
  Words words = actor({"daemon", "[", "beat:1", "]", "await:1", "exit:9"});
  for (int i = 0; i < 8; ++i) words = Words{quietus_binary(), "run", "--"} + words;
  const Ended ended = end_of(bare({}, words));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 9, std::nullopt, false));
  EXPECT_TRUE(beats_.gone(1));
}

}  // namespace

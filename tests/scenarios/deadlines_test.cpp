// Deadlines: when they come, when they do not, and how durations are read.
#include <signal.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Deadlines : public Scenario {};

TEST_F(Deadlines, do_not_come_early) {
  const Ended ended = end_of(bare({"--timeout", "0.8"}, actor({"beat:1"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}, .timed_out = true}));
  EXPECT_GE(ended.seconds, 0.8);
  EXPECT_LT(ended.seconds, 10);
}

TEST_F(Deadlines, end_a_tree_whose_tools_detached) {
  const Ended ended = end_of(bare({"--timeout", "0.4", "--cleanup-timeout", "2"},
                                  actor({"daemon", "[",      "ignore:TERM,HUP,INT",
                                         "beat:2", "]",      "fork",
                                         "[",      "setsid", "beat:3",
                                         "]",      "fork",   "[",
                                         "pgrp",   "beat:4", "]",
                                         "orphan", "[",      "beat:5",
                                         "]",      "beat:1"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true));
  for (int slot = 1; slot <= 5; ++slot) EXPECT_TRUE(beats_.gone(slot)) << slot;
}

TEST_F(Deadlines, never_come_where_none_is_given) {
  Running running = start(bare({}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1, 100));
  EXPECT_TRUE(beats_.alive(1));
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(Deadlines, huge_ones_do_not_overflow_into_the_past) {
  for (const char* value : {"1e9", "2147483648", "4294967297", "9223372036.854776", "18446744073.8",
                            "1e18", "1e19", "1e308", "1.7976931348623157e308"}) {
    const Ended ended = end_of(bare({"--timeout", value, "--cleanup-timeout", value},
                                    actor({"daemon", "[", "beat:1", "]", "sleep:50", "exit:3"})));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 3, std::nullopt, false)) << value;
    clear_records();
  }
}

TEST_F(Deadlines, tiny_ones_come_at_once) {
  for (const char* value : {"1e-3", "1e-9", "1e-12", "5e-324", "0.000000000001"}) {
    const Ended ended = end_of(bare({"--timeout", value}, actor({"beat:1"})));
    EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM, -SIGKILL, std::nullopt}, .timed_out = true}))
        << value;
    clear_records();
  }
}

TEST_F(Deadlines, of_the_bare_form_are_written_as_upstream_does) {
  for (const char* value : {".5", "5.", "1E1", "2.50", "1e+1"}) {
    const Ended ended =
        end_of(bare({"--timeout", value, "--cleanup-timeout", value}, actor({"exit:0"})));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << value << ended.err;
    clear_records();
  }
}

TEST_F(Deadlines, have_units_in_the_run_form) {
  for (const char* value : {"1.5", "90s", "5m", "2h", "1d", "0.5m"}) {
    EXPECT_EQ(end_of(run({"--timeout", value, "-k", value}, actor({"exit:0"}))).status, 0) << value;
  }
  const Ended ended = end_of(run({"--timeout", "0.005m"}, actor({"beat:1"})));
  EXPECT_EQ(ended.status, 124);
  EXPECT_GE(ended.seconds, 0.3);
}

TEST_F(Deadlines, do_not_depend_on_the_locale) {
  Launch launch = bare({"--timeout", "20.5"}, actor({"exit:0"}));
  launch.environment = Words{"LC_ALL=de_DE.UTF-8", "PATH=/usr/bin:/bin"};
  EXPECT_EQ(end_of(launch).receipt_bytes, exactly(true, 0, std::nullopt, false));
}

TEST_F(Deadlines, that_passed_while_we_were_stopped_act_at_once_with_a_full_grace) {
  // Both halves are stopped, as a paused sandbox or a suspended laptop does it.
  Running running = start(
      bare({"--timeout", "1", "--cleanup-timeout", "4"}, actor({"trap:TERM:55::500", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  const pid_t supervisor = running.supervisor();
  running.signal(SIGSTOP);
  kill(supervisor, SIGSTOP);
  EXPECT_TRUE(beats_.reaches(1, beats_.count(1) + 250)) << "the worker was stopped too";
  const auto before = Clock::now();
  kill(supervisor, SIGCONT);
  running.signal(SIGCONT);
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 55, std::nullopt, true));
  EXPECT_LT(seconds_since(before), 8);
}

TEST_F(Deadlines, are_shared_by_nobody_else) {
  // Two supervisors in one directory, each with its own records.
  Running first = start(bare({"--timeout", "0.3", "--receipt", path("a")}, actor({"beat:1"})));
  Running second =
      start(bare({"--timeout", "20", "--receipt", path("b")}, actor({"sleep:600", "exit:4"})));
  EXPECT_EQ(first.wait().receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true));
  EXPECT_EQ(second.wait().receipt_bytes, exactly(true, 4, std::nullopt, false));
}

}  // namespace

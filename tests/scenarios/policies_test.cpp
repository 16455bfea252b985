// --descendants group and keep-on-success: what ends, what stays, and that it is named.
#include <signal.h>

#include <algorithm>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

// Tests of kept processes: what stays is expected, checked, and ended by the fixture.
class Kept : public Scenario {
 protected:
  Ended kept(Launch launch) {
    launch.may_leave = true;
    allow_leftovers();
    return end_of(std::move(launch));
  }
  static bool lists(const Ended& ended, const std::string& array, pid_t pid) {
    if (!ended.report) return false;
    for (size_t i = 0; i < ended.report->size(array); ++i) {
      if (ended.report->integer(array + "/" + std::to_string(i) + "/pid") == pid) return true;
    }
    return false;
  }
  // Every survivor stands in the report, and nobody else.
  static void expect_listed(const Ended& ended) {
    ASSERT_TRUE(ended.report);
    EXPECT_EQ(ended.report->size("/kept"), ended.survivors.size()) << ended.text();
    for (const ProcessRow& row : ended.survivors) {
      EXPECT_TRUE(lists(ended, "/kept", row.pid)) << row.text() << ended.text();
    }
  }
};

class Group : public Kept {
 protected:
  static Words policy() { return {"--descendants", "group"}; }
};

TEST_F(Group, at_a_natural_end_the_group_ends_and_a_detached_service_stays) {
  const Ended ended = kept(
      run(policy(), actor({"daemon", "[", "note:TERM,HUP,INT,QUIT,CONT:" + path("noted"), "beat:2",
                           "]", "fork", "[", "beat:3", "]", "await:2", "await:3", "exit:0"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(beats_.alive(2)) << "the service was ended";
  EXPECT_TRUE(beats_.gone(3)) << "a plain background job goes on";
  EXPECT_FALSE(exists(path("noted"))) << "the service got a signal";
  expect_listed(ended);
  EXPECT_EQ(ended.report->text("/proof"), "process-group-empty");
}

TEST_F(Group, at_a_failed_end_it_is_the_same) {
  const Ended ended = kept(run(policy(), actor({"daemon", "[", "beat:2", "]", "fork", "[", "beat:3",
                                                "]", "await:2", "await:3", "exit:7"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {7}}));
  EXPECT_EQ(ended.status, 7);
  EXPECT_TRUE(beats_.alive(2));
  EXPECT_TRUE(beats_.gone(3));
  expect_listed(ended);
}

TEST_F(Group, at_a_natural_end_other_groups_of_the_session_stay) {
  const Ended ended =
      kept(run(policy(), actor({"fork", "[", "pgrp", "beat:2", "]", "fork", "[", "setsid", "beat:4",
                                "]", "await:2", "await:4", "exit:0"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_TRUE(beats_.alive(2));
  EXPECT_TRUE(beats_.alive(4));
  expect_listed(ended);
}

TEST_F(Group, is_in_the_bare_form_as_well) {
  const Ended ended =
      kept(bare(policy(), actor({"daemon", "[", "beat:2", "]", "await:2", "exit:0"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_TRUE(beats_.alive(2));
}

TEST_F(Group, is_not_held_up_by_a_service_that_holds_the_pipes) {
  const Ended ended =
      kept(run(policy(), actor({"daemon", "[", "beat:2", "]", "await:2", "exit:0"})));
  EXPECT_LT(ended.seconds, 10);
}

TEST_F(Group, a_forced_stop_ends_the_group_and_what_the_stop_orphans) {
  // 2: detached before the stop, stays, with 3, which shares its session. 4: the worker's own
  // child in a session of its own, becomes ours by the stop, ends. 5: in the group, ends.
  // 6: a detached service below 4, orphaned by the stop as well, ends.
  Running running =
      start(run(policy(), actor({"daemon",  "[",       "fork",    "[",     "beat:3",  "]",
                                 "beat:2",  "]",       "fork",    "[",     "setsid",  "fork",
                                 "[",       "setsid",  "beat:6",  "]",     "beat:4",  "]",
                                 "fork",    "[",       "beat:5",  "]",     "await:2", "await:3",
                                 "await:4", "await:5", "await:6", "beat:1"})));
  allow_leftovers();
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGTERM);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}}));
  EXPECT_EQ(ended.status, 122);
  EXPECT_TRUE(beats_.alive(2));
  EXPECT_TRUE(beats_.alive(3));
  for (const int slot : {1, 4, 5, 6}) EXPECT_TRUE(beats_.gone(slot)) << slot;
  expect_listed(ended);
}

TEST_F(Group, a_deadline_is_a_forced_stop) {
  Launch launch = run(policy() + Words{"--timeout", "1.5"},
                      actor({"daemon", "[", "beat:2", "]", "fork", "[", "setsid", "ignore:TERM",
                             "beat:4", "]", "await:2", "await:4", "beat:1"}));
  const Ended ended = kept(launch);
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}, .timed_out = true}));
  EXPECT_TRUE(beats_.alive(2));
  EXPECT_TRUE(beats_.gone(4));
  expect_listed(ended);
}

TEST_F(Group, a_kept_zombie_of_the_group_does_not_hide_its_emptiness) {
  // The service is a former member's parent: it never collects a child that stays in the worker's
  // group as a zombie, so that signalling the group by number would still find somebody.
  const Ended ended = kept(run(policy() + Words{"-k", "4"},
                               actor({"fork", "[", "fork", "[", "touch:3", "exit:0", "]", "setsid",
                                      "beat:2", "]", "await:2", "await:3", "exit:0"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_TRUE(beats_.alive(2));
  EXPECT_LT(ended.seconds, 10);
}

TEST_F(Group, kills_a_deaf_member_of_the_group) {
  const Ended ended =
      kept(run(policy() + Words{"-k", "0.5"},
               actor({"fork", "[", "ignore:TERM,HUP", "beat:3", "]", "await:3", "exit:0"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_TRUE(beats_.gone(3));
  EXPECT_TRUE(ended.survivors.empty());
  EXPECT_EQ(ended.report->size("/kept"), 0u);
}

TEST_F(Group, hides_nothing_from_a_service_that_stays) {
  // The service keeps running well after quietus is gone, its standard streams included.
  Launch launch =
      run(policy(), actor({"daemon", "[", "say:early", "beat:2", "]", "await:2", "exit:0"}));
  const Ended ended = kept(launch);
  EXPECT_EQ(ended.out, "early\n");
  EXPECT_TRUE(beats_.reaches(2, beats_.count(2) + 50));
}

class KeepOnSuccess : public Kept {
 protected:
  static Words policy() { return {"--descendants", "keep-on-success"}; }
  Words with_services(const Words& ending) const {
    return actor(Words{"daemon", "[", "note:TERM,HUP,INT,CONT:" + path("noted"), "beat:2", "]",
                       "fork", "[", "beat:3", "]", "await:2", "await:3"} +
                 ending);
  }
};

TEST_F(KeepOnSuccess, keeps_everything_after_exit_0) {
  const Ended ended = kept(run(policy(), with_services({"exit:0"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_TRUE(beats_.alive(2));
  EXPECT_TRUE(beats_.alive(3)) << "a background job of the group was ended";
  EXPECT_FALSE(exists(path("noted")));
  EXPECT_EQ(ended.report->text("/proof"), "kept-by-policy");
  expect_listed(ended);
}

TEST_F(KeepOnSuccess, has_upstreams_switch_in_the_bare_form) {
  const Ended ended = kept(bare({"--preserve-descendants-on-success"}, with_services({"exit:0"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_TRUE(beats_.alive(2));
  EXPECT_TRUE(beats_.alive(3));
}

TEST_F(KeepOnSuccess, ends_everything_after_a_failure) {
  const Ended failed = end_of(run(policy(), with_services({"exit:1"})));
  EXPECT_TRUE(receipt_is(failed, {.codes = {1}}));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_TRUE(beats_.gone(3));
  EXPECT_EQ(failed.report->text("/proof"), "no-children-left");
  clear_records();
  const Ended killed =
      end_of(bare({"--preserve-descendants-on-success"}, with_services({"die:KILL"})));
  EXPECT_EQ(killed.receipt_bytes, exactly(true, -SIGKILL, std::nullopt, false));
  EXPECT_TRUE(beats_.still(2));
}

TEST_F(KeepOnSuccess, ends_everything_at_the_deadline_even_if_the_worker_then_exits_0) {
  const Ended ended =
      end_of(run(policy() + Words{"--timeout", "1.5"}, with_services({"trap:TERM:0", "beat:1"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}, .timed_out = true}));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_TRUE(beats_.gone(3));
}

TEST_F(KeepOnSuccess, ends_everything_after_a_stop_even_if_the_worker_then_exits_0) {
  Running running = start(run(policy(), with_services({"trap:TERM:0", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {0}}));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_TRUE(beats_.gone(3));
}

TEST_F(KeepOnSuccess, ends_everything_where_the_stop_file_exists_at_the_end) {
  // The worker makes the file and is gone before anybody can react to it.
  const Ended ended = end_of(run(policy() + Words{"--stop-file", path("stop")},
                                 with_services({"write:" + path("stop") + ":x", "exit:0"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0, -SIGTERM}}));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_TRUE(beats_.gone(3));
}

TEST_F(KeepOnSuccess, without_descendants_is_a_plain_success) {
  const Ended ended = end_of(run(policy(), actor({"exit:0"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_EQ(ended.report->size("/kept"), 0u);
}

class KeptByPid1 : public Kept {};

TEST_F(KeptByPid1, nothing_can_be_and_the_report_says_so) {
  NEEDS_ROOT();
  for (const char* policy : {"group", "keep-on-success"}) {
    Launch launch =
        run({"--descendants", policy}, actor({"daemon", "[", "beat:2", "]", "await:2", "exit:0"}));
    launch.outer = {"unshare", "--pid", "--fork", "--mount-proc"};
    const Ended ended = end_of(launch);
    ASSERT_TRUE(receipt_is(ended, {.codes = {0}, .error = Error::any})) << policy;
    EXPECT_TRUE(beats_.gone(2));
    ASSERT_GT(ended.report->size("/notes"), 0u) << ended.text();
    EXPECT_TRUE(holds(ended.report->texts("/notes")[0], "PID 1"));
    clear_records();
  }
}

}  // namespace

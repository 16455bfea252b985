// The harness itself: a check that can not fail proves nothing.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Harness : public Scenario {
 protected:
  Running start_alone(const Words& words) {
    Launch launch;
    launch.words = words;
    return start(std::move(launch));
  }
};

TEST_F(Harness, a_heart_that_beats_is_told_from_one_that_stopped) {
  EXPECT_FALSE(beats_.gone(1)) << "what never lived is not gone";
  const Running running = start_alone(actor({"beat:1"}));
  EXPECT_TRUE(beats_.alive(1));
  EXPECT_FALSE(beats_.gone(1));
  running.signal(SIGKILL);
  EXPECT_TRUE(eventually([&] { return beats_.gone(1); }));
  EXPECT_FALSE(beats_.alive(1, 0.1));
}

TEST_F(Harness, finds_a_daemon_and_ends_it) {
  Running running = start_alone(actor({"daemon", "[", "ignore:TERM", "beat:1", "]", "await:1"}));
  EXPECT_EQ(running.wait().survivors.size(), 1u);
  mop_up();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(descendants().empty());
}

TEST_F(Harness, a_zombie_leader_counts_as_living) {
  const Running running = start_alone(actor({"zombie-leader:1"}));
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(eventually([&] { return process_row(running.pid()).state == 'Z'; }));
  EXPECT_EQ(living_descendants().size(), 1u);
  mop_up();
}

TEST_F(Harness, looks_into_a_namespace_before_it_closes) {
  NEEDS_ROOT();
  Launch launch;
  launch.words = actor({"daemon", "[", "beat:1", "]", "exit:7"});
  Running running = start(in_pid_namespace(launch));
  const Ended ended = running.wait();
  EXPECT_EQ(ended.status, 7);
  EXPECT_EQ(ended.survivors.size(), 1u) << ended.text();
  EXPECT_TRUE(beats_.alive(1));
  running.release();
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Harness, reports_what_hangs_and_ends_it) {
  const Ended ended = start_alone(actor({"ignore:TERM", "hold"})).wait(0.2);
  EXPECT_TRUE(ended.hung);
  EXPECT_EQ(ended.status, -SIGKILL);
}

TEST_F(Harness, the_actor_ends_by_itself) {
  const Ended ended = start_alone({actor_binary(), "bound:50", "ignore:TERM", "hold"}).wait();
  EXPECT_EQ(ended.status, -SIGALRM);
}

TEST_F(Harness, the_denier_denies) {
  const Words words = {deny_binary(), "--errno", "EPERM", "setsid", "--"};
  const Ended denied = start_alone(words + actor({"setsid"})).wait();
  EXPECT_EQ(denied.status, 99);
  EXPECT_TRUE(holds(denied.err, "Operation not permitted"));
  EXPECT_EQ(start_alone(words + actor({"pgrp"})).wait().status, 0);
}

TEST_F(Harness, the_denier_knows_operations_of_prctl) {
  const Words words = {deny_binary(), "--errno", "0", "prctl:set_child_subreaper", "--"};
  EXPECT_EQ(start_alone(words + actor({"subreaper", "record:" + path("r")})).wait().status, 0);
  EXPECT_EQ(Json::parse(read_file(path("r"))).integer("/subreaper"), 0);
}

TEST(ReceiptBytes, are_read_strictly) {
  struct Case {
    bool good;
    const char* text;
  };
  const Case cases[] = {
      {true, R"({"cleanup_confirmed": true, "return_code": 0, "error": null, "timed_out": false})"},
      {true,
       R"({"cleanup_confirmed": false, "return_code": null, "error": "\u00e9\n", "timed_out": true})"},
      {false,
       "{\"cleanup_confirmed\": true, \"return_code\": 0, \"error\": null, "
       "\"timed_out\": false}\n"},
      {false, R"({"cleanup_confirmed":true,"return_code":0,"error":null,"timed_out":false})"},
      {false,
       R"({"return_code": 0, "cleanup_confirmed": true, "error": null, "timed_out": false})"},
      {false, R"({"cleanup_confirmed": true, "return_code": 0, "error": "", "timed_out": false})"},
      {false,
       R"({"cleanup_confirmed": true, "return_code": 0.0, "error": null, "timed_out": false})"},
      {false, R"({"cleanup_confirmed": 1, "return_code": 0, "error": null, "timed_out": false})"},
      {false, R"({"cleanup_confirmed": true, "return_code": 0, "timed_out": false})"},
      {false,
       "{\"cleanup_confirmed\": true, \"return_code\": 0, \"error\": \"\xc3\xa9\", "
       "\"timed_out\": false}"},
      {false, ""},
  };
  for (const Case& one : cases) {
    std::string why;
    EXPECT_EQ(ReceiptFile::parse(one.text, why).has_value(), one.good) << one.text << why;
  }
}

}  // namespace

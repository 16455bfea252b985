// stop, expire and wait on sessions whose supervisor lives, or that were never launched.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class StopVerb : public SessionScene {};

TEST_F(StopVerb, ends_a_running_session_and_prints_its_receipt) {
  launch_detached({}, actor({"daemon", "[", "ignore:TERM", "beat:2", "]", "await:2", "beat:1"}));
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  const Ended stop = does("stop", {"--timeout", "30"});
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_EQ(stop.out, exactly(true, -SIGTERM, std::nullopt, false) + "\n");
  EXPECT_EQ(stop.err, "");
  // The answer is final: nobody of the session lives, and neither does whoever supervised it.
  EXPECT_TRUE(no_worker_outlived(stop));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(report()->text("/cause"), "stop");
  for (int i = 0; i < 3; ++i) {
    const Ended again = does("stop", {"--timeout", "5"});
    EXPECT_EQ(again.status, 0);
    EXPECT_EQ(again.out, stop.out);
  }
}

TEST_F(StopVerb, waits_for_the_grace_and_now_does_not) {
  launch_detached({"--cleanup-timeout", "60"}, stubborn());
  ASSERT_TRUE(beats_.alive(1));
  const Ended patient = does("stop", {"--timeout", "0.3"});
  EXPECT_EQ(patient.status, 125) << "still running: not known";
  EXPECT_TRUE(is_one_line(patient.err));
  EXPECT_EQ(patient.out, "");
  ASSERT_TRUE(beats_.alive(1)) << "in its grace";
  EXPECT_EQ(status().text("/state"), "stopping");
  const Ended now = does("stop", {"--now", "--timeout", "30"});
  EXPECT_EQ(now.status, 0) << now.text();
  EXPECT_EQ(now.out, exactly(true, -SIGKILL, std::nullopt, false) + "\n");
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(StopVerb, has_nothing_to_ask_for_once_the_deadline_has_passed) {
  launch_detached({"--timeout", "0.5", "--cleanup-timeout", "60"}, stubborn());
  ASSERT_TRUE(eventually([&] { return status().text("/state") == "stopping"; }));
  EXPECT_EQ(status().number("/deadline_left_seconds"), 0);
  ASSERT_TRUE(beats_.alive(1)) << "in its grace";
  const Ended now = does("stop", {"--now", "--timeout", "30"});
  EXPECT_EQ(now.status, 0) << now.text();
  EXPECT_EQ(now.out, exactly(true, -SIGKILL, std::nullopt, true) + "\n");
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(StopVerb, now_needs_no_stop_before_it) {
  launch_detached({"--cleanup-timeout", "60"}, stubborn());
  ASSERT_TRUE(beats_.alive(1));
  const Ended now = does("stop", {"--now", "--timeout", "30"});
  EXPECT_EQ(now.status, 0) << now.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(StopVerb, many_at_once_agree) {
  launch_detached({"--cleanup-timeout", "0.3"}, stubborn());
  ASSERT_TRUE(beats_.alive(1));
  std::vector<Running> stops;
  for (int i = 0; i < 12; ++i) stops.push_back(start(verb("stop", {"--timeout", "40"})));
  for (Running& stop : stops) {
    const Ended ended = stop.wait(60);
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(ended.out, exactly(true, -SIGKILL, std::nullopt, false) + "\n");
  }
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(StopVerb, many_at_once_fence_a_session_once) {
  std::vector<Running> stops;
  for (int i = 0; i < 12; ++i) stops.push_back(start(verb("stop", {"--timeout", "40"})));
  for (Running& stop : stops) {
    const Ended ended = stop.wait(60);
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(ended.out, exactly(true, std::nullopt, std::nullopt, false) + "\n");
  }
  EXPECT_EQ(fs::read_symlink(file("launch.claim")), "stop");
  EXPECT_EQ(status().text("/state"), "fenced");
  for (const auto& entry : fs::directory_iterator(dir())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << "left over: " << entry;
  }
}

TEST_F(StopVerb, without_a_session_it_does_not_know) {
  fs::remove(dir());
  for (const char* word : {"stop", "wait", "status"}) {
    const Ended ended = does(word);
    EXPECT_EQ(ended.status, 125) << word;
    EXPECT_TRUE(is_one_line(ended.err)) << word;
    EXPECT_EQ(ended.out, "") << word;
    EXPECT_FALSE(exists(dir())) << word;
  }
}

TEST_F(StopVerb, an_unconfirmed_receipt_is_final) {
  fs::create_symlink("launch", file("launch.claim"));
  const std::string text = exactly(false, 0, "cleanup: processes remain alive", false);
  write_file(file("cleanup.json"), text);
  for (int i = 0; i < 2; ++i) {
    const Ended ended = does("stop", {"--timeout", "5"});
    EXPECT_EQ(ended.status, 123);
    EXPECT_EQ(ended.out, text + "\n");
    EXPECT_EQ(does("wait", {"--timeout", "5"}).status, 123);
  }
  EXPECT_EQ(read_file(file("cleanup.json")), text);
  EXPECT_FALSE(exists(file("stop.request")));
}

TEST_F(StopVerb, no_stand_in_for_true_confirms) {
  fs::create_symlink("launch", file("launch.claim"));
  for (const char* text :
       {"[]", "\"stopped\"", "null", "1", "", "{}", "{\"cleanup_confirmed\": \"true\"}",
        "{\"cleanup_confirmed\": 1}", "{\"cleanup_confirmed\": true",
        "{\"cleanup_confirmed\": true} x", "{\"cleanup_confirmed\": null}"}) {
    write_file(file("cleanup.json"), text);
    const Ended ended = does("stop", {"--timeout", "5"});
    EXPECT_EQ(ended.status, 123) << text << ended.text();
    EXPECT_EQ(read_file(file("cleanup.json")), text);
  }
}

TEST_F(StopVerb, expire_ends_it_as_its_deadline_would) {
  launch_detached({"--timeout", "1000"}, mild());
  ASSERT_TRUE(beats_.alive(1));
  EXPECT_EQ(does("expire").status, 0);
  EXPECT_EQ(does("expire").status, 0) << "may be repeated";
  const Ended wait = does("wait", {"--timeout", "30"});
  EXPECT_EQ(wait.status, 0);
  EXPECT_EQ(wait.out, exactly(true, -SIGTERM, std::nullopt, true) + "\n");
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_EQ(report()->text("/cause"), "expire");
  EXPECT_EQ(does("stop", {"--timeout", "5"}).out, wait.out) << "the first cause wins";
}

TEST_F(StopVerb, wait_may_come_before_the_launch) {
  Running waiting = start(verb("wait", {"--timeout", "60"}));
  Running running = start(launching({}, actor({"exit:9"})));
  const Ended ended = running.wait(30);
  EXPECT_EQ(ended.status, 9);
  const Ended waited = waiting.wait(30);
  EXPECT_EQ(waited.status, 0) << waited.text();
  EXPECT_EQ(waited.out, ended.receipt_bytes + "\n");
}

TEST_F(StopVerb, wait_gives_up_in_time_and_changes_nothing) {
  const Ended fresh = does("wait", {"--timeout", "0.2"});
  EXPECT_EQ(fresh.status, 125);
  EXPECT_TRUE(is_one_line(fresh.err));
  EXPECT_TRUE(fs::is_empty(dir()));
  launch_detached({}, mild());
  const Ended running = does("wait", {"--timeout", "0.2"});
  EXPECT_EQ(running.status, 125);
  EXPECT_TRUE(beats_.alive(1)) << "wait stopped it";
  EXPECT_EQ(does("stop", {"--timeout", "30"}).status, 0);
}

TEST_F(StopVerb, wait_ends_when_the_session_is_removed_or_fenced) {
  Running first = start(verb("wait", {"--timeout", "60"}));
  usleep(50'000);
  EXPECT_TRUE(eventually([&] { return does("remove").status == 0; }));
  EXPECT_EQ(first.wait(30).status, 125);
  fs::create_directory(dir());
  Running second = start(verb("wait", {"--timeout", "60"}));
  EXPECT_EQ(does("stop", {"--timeout", "20"}).status, 0);
  EXPECT_EQ(second.wait(30).status, 0);
}

class StatusVerb : public SessionScene {};

TEST_F(StatusVerb, knows_every_state) {
  EXPECT_EQ(status().text("/state"), "new");
  EXPECT_TRUE(status().is_null("/age_seconds"));
  EXPECT_TRUE(fs::is_empty(dir())) << "it changed something";
  launch_detached({"--timeout", "100", "--cleanup-timeout", "60"}, stubborn());
  ASSERT_TRUE(beats_.alive(2));
  // The daemon's first parent is a zombie for a moment.
  ASSERT_TRUE(eventually([&] { return status().dump().find("\"Z\"") == std::string::npos; }));
  const Json running = status();
  EXPECT_EQ(running.text("/schema"), "quietus-status");
  EXPECT_EQ(running.text("/state"), "running");
  EXPECT_GE(running.number("/age_seconds"), 0);
  EXPECT_LT(running.number("/age_seconds"), 100);
  EXPECT_LE(running.number("/deadline_left_seconds"), 100);
  EXPECT_GT(running.number("/deadline_left_seconds"), 20);
  EXPECT_TRUE(running.is_null("/cleanup_confirmed"));
  // Both halves, the worker and its daemon.
  EXPECT_EQ(running.size("/processes"), 4u) << running.dump();
  const Halves both = halves();
  std::vector<int64_t> pids;
  for (size_t i = 0; i < running.size("/processes"); ++i) {
    const std::string at = "/processes/" + std::to_string(i);
    pids.push_back(running.integer(at + "/pid"));
    EXPECT_TRUE(alive(pid_t(pids.back())));
    EXPECT_GE(running.number(at + "/cpu_seconds"), 0);
    EXPECT_GT(running.integer(at + "/rss_kib"), 0);
  }
  EXPECT_NE(std::find(pids.begin(), pids.end(), both.guardian), pids.end());
  EXPECT_NE(std::find(pids.begin(), pids.end(), both.supervisor), pids.end());
  EXPECT_TRUE(holds(does("status").out, "running"));
  (void)does("stop", {"--timeout", "0.1"});
  EXPECT_EQ(status().text("/state"), "stopping");
  EXPECT_EQ(does("stop", {"--now", "--timeout", "30"}).status, 0);
  const Json done = status();
  EXPECT_EQ(done.text("/state"), "done");
  EXPECT_TRUE(done.boolean("/cleanup_confirmed"));
  EXPECT_EQ(done.size("/processes"), 0u);
  fs::remove_all(dir());
  fs::create_directory(dir());
  write_file(file("stop.request"), "");
  EXPECT_EQ(status().text("/state"), "fenced") << "a request that no launch can overlook";
  EXPECT_EQ(does("stop", {"--timeout", "5"}).status, 0);
  EXPECT_EQ(status().text("/state"), "fenced");
}

TEST_F(StatusVerb, of_a_finished_session_is_done_however_many_ask) {
  EXPECT_EQ(end_of(launching({}, actor({"exit:0"})), 30).status, 0);
  std::vector<Running> asking;
  for (int round = 0; round < 6; ++round) {
    for (int i = 0; i < 8; ++i) {
      asking.push_back(start(i % 4 == 3 ? verb("wait", {"--timeout", "5"}) : verb("status")));
    }
    for (Running& one : asking) {
      const Ended ended = one.wait(30);
      EXPECT_EQ(ended.status, 0) << ended.text();
      EXPECT_TRUE(ended.out.starts_with("done") || ended.out.starts_with("{")) << ended.out;
    }
    asking.clear();
  }
}

TEST_F(StatusVerb, of_a_lost_session_is_lost) {
  launch_detached({}, mild());
  ASSERT_TRUE(beats_.alive(1));
  kill_both_halves();
  EXPECT_EQ(status().text("/state"), "lost");
  EXPECT_TRUE(beats_.alive(1)) << "status ended something";
  (void)does("stop", {"--timeout", "20"});
  EXPECT_EQ(status().text("/state"), "done");
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(StatusVerb, believes_no_number_that_names_a_stranger) {
  launch_detached({}, mild());
  const std::string identity = read_file(file("supervisor.id"));
  // Our own pid with a start time that is not ours: not shown.
  const std::string forged = "{\"guardian\": {\"pid\": " + std::to_string(getpid()) +
                             ", \"start_ticks\": 1}, \"supervisor\": {\"pid\": 1, "
                             "\"start_ticks\": 77}, \"started_monotonic\": 99999999999999999999.9, "
                             "\"timeout_seconds\": 99999999999999999999}\n";
  write_file(file("supervisor.id"), forged);
  const Json seen = status();
  EXPECT_EQ(seen.text("/state"), "running");
  EXPECT_EQ(seen.size("/processes"), 0u) << seen.dump();
  write_file(file("supervisor.id"), std::string(10000, '{'));
  EXPECT_EQ(status().text("/state"), "running");
  write_file(file("supervisor.id"), identity);
  EXPECT_EQ(does("stop", {"--timeout", "30"}).status, 0);
}

}  // namespace

// The report: what it says about every way in which a supervision can end. Its form is checked with
// every report that any test reads.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <regex>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Report : public Scenario {
 protected:
  // A worker beating in slot 1, and what the test does to it.
  Json after(const Words& options, const std::function<void(Running&)>& act,
             const Words& script = {"beat:1"}) {
    Running running = start(run(options, actor(script)));
    EXPECT_TRUE(beats_.alive(1)) << "the worker did not start";
    act(running);
    Ended ended = running.wait();
    EXPECT_TRUE(ended.report) << ended.text();
    clear_records();
    return ended.report.value_or(Json::parse("{}"));
  }
};

TEST_F(Report, names_schema_and_version) {
  const Ended ended = end_of(run({}, actor({"exit:0"})));
  EXPECT_EQ(ended.report->text("/schema"), "quietus-report");
  EXPECT_EQ(ended.report->integer("/schema_version"), 1);
  const std::string text = read_file(path("report.json"));
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1);
}

TEST_F(Report, of_a_natural_end) {
  const Ended ended = end_of(run({}, actor({"exit:7"})));
  const Json& report = *ended.report;
  EXPECT_EQ(report.text("/cause"), "exited");
  EXPECT_TRUE(report.is_null("/stop_by"));
  EXPECT_EQ(report.text("/worker/ending"), "exited");
  EXPECT_EQ(report.integer("/worker/exit_code"), 7);
  EXPECT_TRUE(report.is_null("/worker/signal"));
  EXPECT_GT(report.integer("/worker/pid"), 0);
  EXPECT_EQ(report.text("/descendants"), "tree");
  EXPECT_EQ(report.size("/survivors"), 0u);
  EXPECT_EQ(report.size("/kept"), 0u);
}

TEST_F(Report, of_a_death_by_signal) {
  const Ended ended = end_of(run({}, actor({"die:SEGV"})));
  EXPECT_EQ(ended.report->text("/cause"), "exited");
  EXPECT_EQ(ended.report->text("/worker/ending"), "signaled");
  EXPECT_EQ(ended.report->text("/worker/signal"), "SIGSEGV");
  EXPECT_TRUE(ended.report->is_null("/worker/exit_code"));
}

TEST_F(Report, of_each_stop_signal) {
  for (const auto& [number, name] : {std::pair{SIGTERM, "SIGTERM"}, std::pair{SIGINT, "SIGINT"},
                                     std::pair{SIGHUP, "SIGHUP"}, std::pair{SIGQUIT, "SIGQUIT"}}) {
    const int stop = number;
    const Json report = after({}, [&](Running& running) { running.signal(stop); });
    EXPECT_EQ(report.text("/cause"), "stop");
    EXPECT_EQ(report.text("/stop_by"), name);
  }
}

TEST_F(Report, of_a_stop_file) {
  const Json report =
      after({"--stop-file", path("stop")}, [&](Running&) { write_file(path("stop"), ""); });
  EXPECT_EQ(report.text("/cause"), "stop");
  EXPECT_EQ(report.text("/stop_by"), "stop-file");
}

TEST_F(Report, of_an_expire_file) {
  const Json report =
      after({"--expire-file", path("expire")}, [&](Running&) { write_file(path("expire"), ""); });
  EXPECT_EQ(report.text("/cause"), "expire");
  EXPECT_TRUE(report.boolean("/timed_out"));
}

TEST_F(Report, of_a_deadline_lists_the_steps_in_order) {
  const Ended ended = end_of(run({"--timeout", "0.5", "-k", "0.5"},
                                 actor({"ignore:TERM", "daemon", "[", "beat:1", "]", "beat:2"})));
  const Json& report = *ended.report;
  EXPECT_EQ(report.text("/cause"), "deadline");
  EXPECT_EQ(report.text("/worker/signal"), "SIGKILL");
  ASSERT_GE(report.size("/steps"), 2u) << report.dump();
  EXPECT_EQ(report.text("/steps/0/action"), "terminate");
  EXPECT_EQ(report.text("/steps/0/signal"), "SIGTERM");
  EXPECT_EQ(report.integer("/steps/0/reached"), 1);
  EXPECT_GE(report.number("/steps/0/at_seconds"), 0.5);
  EXPECT_LT(report.number("/steps/0/at_seconds"), 5);
  double last = 0;
  for (size_t i = 0; i < report.size("/steps"); ++i) {
    const std::string step = "/steps/" + std::to_string(i);
    EXPECT_GE(report.number(step + "/at_seconds"), last);
    EXPECT_GE(report.number(step + "/until_seconds"), report.number(step + "/at_seconds"));
    EXPECT_GE(report.integer(step + "/rounds"), 1);
    last = report.number(step + "/at_seconds");
  }
  const int kill = report.find("/steps", "signal", "SIGKILL");
  ASSERT_GE(kill, 0);
  EXPECT_GE(report.number("/steps/" + std::to_string(kill) + "/at_seconds"), 1.0)
      << "killed before the grace was over";
}

TEST_F(Report, of_a_stop_before_the_launch) {
  write_file(path("stop"), "");
  const Ended ended = end_of(run({"--stop-file", path("stop")}, actor({"touch:1"})));
  EXPECT_EQ(ended.report->text("/cause"), "stop");
  EXPECT_EQ(ended.report->text("/stop_by"), "stop-file");
  EXPECT_EQ(ended.report->text("/worker/ending"), "not-started");
  EXPECT_TRUE(ended.report->is_null("/worker/pid"));
  EXPECT_EQ(ended.report->size("/steps"), 0u);
}

TEST_F(Report, of_a_command_that_is_missing) {
  const Ended ended = end_of(run({}, {"/missing/bin"}));
  EXPECT_EQ(ended.report->text("/cause"), "launch-failed");
  EXPECT_EQ(ended.report->text("/worker/ending"), "not-started");
  EXPECT_TRUE(holds(ended.report->text("/error"), "/missing/bin"));
}

TEST_F(Report, of_a_killed_supervisor) {
  const Json report =
      after({"-k", "0.5"}, [&](Running& running) { kill(running.supervisor(), SIGKILL); });
  EXPECT_EQ(report.text("/cause"), "supervisor-killed");
  EXPECT_TRUE(report.is_text("/error"));
}

TEST_F(Report, of_a_killed_guardian) {
  const Launch launch = run({"-k", "0.5"}, actor({"daemon", "[", "beat:1", "]", "beat:2"}));
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(2));
  running.signal(SIGKILL);
  (void)running.wait();
  ASSERT_TRUE(eventually([&] { return exists(path("receipt.json")); }));
  ASSERT_TRUE(eventually([] { return living_descendants().empty(); }));
  Ended late;
  read_records(launch, late);
  ASSERT_TRUE(late.report);
  EXPECT_EQ(late.report->text("/cause"), "supervisor-killed");
}

TEST_F(Report, first_cause_wins) {
  const Json report = after({"--stop-file", path("stop"), "-k", "8"},
                            [&](Running& running) {
                              running.signal(SIGHUP);
                              EXPECT_TRUE(eventually([&] { return beats_.still(1); }));
                              write_file(path("stop"), "");
                              running.signal(SIGTERM);
                            },
                            {"trap:TERM:3::600", "beat:1"});
  EXPECT_EQ(report.text("/cause"), "stop");
  EXPECT_EQ(report.text("/stop_by"), "SIGHUP");
}

TEST_F(Report, proof_and_means_fit_each_other) {
  const Ended ended = end_of(run({}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"})));
  const std::string proof = ended.report->text("/proof");
  const std::string means = ended.report->text("/means");
  if (means == "cgroup") {
    EXPECT_TRUE(proof == "cgroup-unpopulated" || proof == "no-children-left") << proof;
  } else {
    EXPECT_EQ(means, "sweep");
    EXPECT_EQ(proof, "no-children-left");
  }
}

TEST_F(Report, counts_who_was_collected_and_who_was_killed) {
  const std::string go = path("go");
  Running running = start(
      run({}, actor({"repeat:5", "[", "orphan", "[", "touch:2", "exit:0", "]", "]", "repeat:3", "[",
                     "daemon", "[", "touch:2", "beat:1", "]", "]", "await-file:" + go, "exit:0"})));
  // All have lived, and the five are gone: the worker and the three are left.
  ASSERT_TRUE(eventually([&] { return beats_.count(2) == 8; }));
  const pid_t supervisor = running.supervisor();
  ASSERT_TRUE(eventually([&] { return descendants(supervisor).size() == 4; }));
  write_file(go, "");
  const Ended ended = running.wait();
  ASSERT_TRUE(ended.report) << ended.text();
  EXPECT_EQ(ended.report->integer("/killed"), 3) << ended.report->dump();
  // Five ended by themselves; the worker is not among those that are counted.
  EXPECT_EQ(ended.report->integer("/reaped"), 8);
}

TEST_F(Report, measures_worker_and_descendants_apart) {
  const Ended ended = end_of(
      run({},
          {"sh", "-c", "sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done' & wait; exit 0"}),
      60);
  ASSERT_TRUE(ended.report);
  // The child was collected by the worker, so its time is the worker's.
  const double worker = ended.report->number("/usage/worker/user_seconds") +
                        ended.report->number("/usage/worker/system_seconds");
  EXPECT_GT(worker, 0.02) << ended.report->dump();
  EXPECT_LT(worker, 60);
  EXPECT_GT(ended.report->integer("/usage/worker/peak_rss_kib"), 100);
  clear_records();
  // The daemon computes, says so, and lives on.
  const Ended daemon = end_of(
      run({},
          {"sh", "-c",
           "setsid sh -c 'i=0; while [ $i -lt 600000 ]; do i=$((i+1)); done; : >$0; exec sleep 60' "
           "$0 & while [ ! -e $0 ]; do sleep 0.05; done; exit 0",
           path("computed")}),
      60);
  ASSERT_TRUE(daemon.report);
  EXPECT_GT(daemon.report->number("/usage/descendants/user_seconds"), 0.05)
      << daemon.report->dump();
}

TEST_F(Report, tells_times_that_fit_each_other) {
  const Ended ended = end_of(run({"--timeout", "0.5"}, actor({"beat:1"})));
  const Json& report = *ended.report;
  const std::regex rfc3339("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d+Z");
  EXPECT_TRUE(std::regex_match(report.text("/times/started"), rfc3339));
  EXPECT_TRUE(std::regex_match(report.text("/times/ended"), rfc3339));
  EXPECT_LE(report.text("/times/started"), report.text("/times/ended"));
  const double worker = report.number("/times/worker_seconds");
  const double total = report.number("/times/total_seconds");
  EXPECT_GE(worker, 0.5);
  EXPECT_LE(worker, total);
  EXPECT_LE(report.number("/times/cleanup_seconds"), total);
  EXPECT_LE(total, ended.seconds + 0.5);
}

TEST_F(Report, names_every_survivor_once_and_cuts_long_command_lines) {
  Words script = {"daemon", "[", "beat:1", "]", "await:1", "exit:0"};
  Words command = actor(script);
  for (int i = 0; i < 2000; ++i) command.push_back("padding-padding");
  Launch launch = run({"--descendants", "group"}, command);
  launch.may_leave = true;
  allow_leftovers();
  const Ended ended = end_of(launch);
  ASSERT_EQ(ended.report->size("/kept"), 1u);
  const std::string row = "/kept/0";
  EXPECT_EQ(ended.report->integer(row + "/pid"), ended.survivors.at(0).pid);
  EXPECT_EQ(ended.report->integer(row + "/sid"), ended.survivors.at(0).sid);
  EXPECT_EQ(ended.report->integer(row + "/pgid"), ended.survivors.at(0).pgid);
  EXPECT_EQ(ended.report->integer(row + "/uid"), int64_t(getuid()));
  EXPECT_EQ(ended.report->text(row + "/comm"), "actor");
  EXPECT_EQ(uint64_t(ended.report->integer(row + "/start_ticks")), ended.survivors.at(0).start);
  EXPECT_TRUE(holds(ended.report->text(row + "/command_line"), "beat:1"));
  EXPECT_LT(ended.report->text(row + "/command_line").size(), 8192u);
  EXPECT_EQ(ended.report->text(row + "/state").size(), 1u);
}

TEST_F(Report, survives_names_that_are_not_utf_8) {
  Launch launch =
      run({"--descendants", "group"},
          actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0", "\xff\xfe\"\\\x01"}));
  launch.may_leave = true;
  allow_leftovers();
  const Ended ended = end_of(launch);
  ASSERT_TRUE(ended.report) << "not valid JSON";
  EXPECT_EQ(ended.report->size("/kept"), 1u);
}

TEST_F(Report, says_what_was_missing_and_what_was_done_instead) {
  Launch launch = run({}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}));
  launch.inner = {deny_binary(), "--errno", "EPERM", "pidfd_open,clone3", "--"};
  const Ended ended = end_of(launch);
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  for (size_t i = 0; i < ended.report->size("/fallbacks"); ++i) {
    const std::string row = "/fallbacks/" + std::to_string(i);
    EXPECT_NE(ended.report->text(row + "/call"), "");
    EXPECT_NE(ended.report->text(row + "/instead"), "");
    EXPECT_GE(ended.report->integer(row + "/errno"), 0);
  }
}

TEST_F(Report, works_with_sync_and_in_the_bare_form) {
  const Ended ended = end_of(reported(bare({"--sync"}, actor({"exit:2"}))));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 2, std::nullopt, false));
  EXPECT_EQ(ended.report->text("/cause"), "exited");
}

TEST_F(Report, stands_before_the_receipt_does) {
  // Whoever sees the receipt finds the report.
  Running running = start(run({"--timeout", "0.2"}, actor({"beat:1"})));
  ASSERT_TRUE(eventually([&] { return exists(path("receipt.json")); }));
  EXPECT_TRUE(exists(path("report.json")));
  EXPECT_EQ(running.wait().status, 124);
}

}  // namespace

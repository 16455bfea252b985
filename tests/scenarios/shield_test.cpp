// --shield and --isolate: the worker cannot reach us, and nothing of it can get away.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

// Both kinds, as root and as an unprivileged user; always in a namespace of the test's own, because
// a shield that fails lets `kill -9 -1` hit everything.
class Strong : public Scenario {
 protected:
  Ended inside(Launch launch) {
    Running running = start(in_pid_namespace(std::move(launch)));
    Ended ended = running.wait();
    EXPECT_TRUE(ended.survivors.empty()) << ended.text();
    return ended;
  }
  // The launch as root and as another user.
  void as_both(const Words& options, const Words& script,
               const std::function<void(const Ended&)>& check) {
    for (const unsigned uid : {0u, lonely_uid()}) {
      SCOPED_TRACE("uid " + std::to_string(uid));
      Launch launch = bare(options, actor(script));
      check(inside(uid == 0 ? reported(launch) : as_user(reported(launch), uid)));
      clear_records();
    }
  }
};

class Shield : public Strong {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(has_signal_scope(), "Landlock signal scope");
  }
};

TEST_F(Shield, kill_9_of_everybody_by_the_worker_leaves_a_true_receipt) {
  as_both({"--shield"},
          {"daemon", "[", "beat:1", "]", "await:1", "kill:KILL:all", "sleep:100", "exit:6"},
          [&](const Ended& ended) {
            // kill(-1) does not hit the caller; the daemon is the worker's own.
            EXPECT_EQ(ended.receipt_bytes, exactly(true, 6, std::nullopt, false)) << ended.text();
            EXPECT_TRUE(beats_.gone(1));
          });
}

TEST_F(Shield, kill_9_of_everybody_by_the_shell_leaves_a_true_receipt) {
  const Ended ended = inside(bare({"--shield"}, {"sh", "-c", "kill -9 -1; exit 3"}));
  EXPECT_TRUE(receipt_is(ended, {.codes = {3, -SIGKILL}}));
}

TEST_F(Shield, no_way_of_signalling_reaches_us) {
  for (const char* way : {"kill", "tgkill", "tkill", "queue", "pidfd", "sigio"}) {
    for (const char* whom : {"ppid", "pppid", "-ppid"}) {
      if (std::string_view(whom) == "-ppid" && std::string_view(way) != "kill") continue;
      as_both({"--shield"},
              {std::string("kill-by:") + way + ":KILL:" + whom + ":" + path("result"),
               std::string("kill-by:") + way + ":STOP:" + whom, "exit:4"},
              [&](const Ended& ended) {
                EXPECT_EQ(ended.receipt_bytes, exactly(true, 4, std::nullopt, false))
                    << way << " " << whom << ended.text() << read_file(path("result"));
                unlink(path("result").c_str());
              });
    }
  }
}

TEST_F(Shield, is_what_the_report_says_and_what_did_the_work) {
  as_both({"--shield", "--timeout", "0.6", "--cleanup-timeout", "1"},
          {"ignore:TERM", "daemon", "[", "ignore:TERM", "beat:1", "]", "beat:2"},
          [&](const Ended& ended) {
            EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGKILL, std::nullopt, true));
            ASSERT_TRUE(ended.report);
            EXPECT_EQ(ended.report->text("/means"), "shield");
            EXPECT_EQ(ended.report->text("/proof"), "no-children-left");
          });
}

TEST_F(Shield, lets_the_worker_signal_what_it_started) {
  const Words script = {"fork",    "[",           "trap:USR1:0:" + path("heard"),
                        "touch:1", "beat:2",      "]",
                        "await:1", "kill:USR1:0", "ignore:USR1",
                        "wait",    "exit:0"};
  // The group's own signal hits the worker too, unless it ignores it first.
  Words patient = {"ignore:USR1"};
  const Ended ended = inside(bare({"--shield"}, actor(patient + script)));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
  EXPECT_EQ(read_file(path("heard")), "10\n");
}

TEST_F(Shield, sets_no_new_privileges_only_where_it_must) {
  for (const unsigned uid : {0u, lonely_uid()}) {
    Launch launch = bare({"--shield"}, actor({"record:" + path("record")}));
    const Ended ended = inside(uid == 0 ? launch : as_user(launch, uid));
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(Json::parse(read_file(path("record"))).integer("/no_new_privs"), uid == 0 ? 0 : 1);
    unlink(path("record").c_str());
    clear_records();
  }
}

TEST_F(Shield, nests_to_a_depth_that_the_kernel_allows) {
  Words words = actor({"daemon", "[", "beat:1", "]", "await:1", "exit:9"});
  for (int i = 0; i < 3; ++i) words = Words{quietus_binary(), "run", "--shield", "--"} + words;
  const Ended ended = inside(bare({"--shield"}, words));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 9, std::nullopt, false)) << ended.text();
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Shield, stops_and_signals_work_as_without) {
  Launch launch = run({"--shield"}, actor({"note:USR1:" + path("noted"), "trap:TERM:5", "beat:1"}));
  Running running = start(in_pid_namespace(launch));
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGUSR1);
  EXPECT_TRUE(eventually([&] { return read_file(path("noted")) == "10\n"; }));
  running.signal(SIGTERM);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {5}}));
  EXPECT_EQ(ended.status, 122);
}

TEST_F(Shield, a_killed_supervisor_does_not_free_the_worker) {
  for (const bool guardian : {false, true}) {
    Launch launch = run({"--shield"}, actor({"ignore:TERM", "daemon", "[", "ignore:TERM", "beat:1",
                                             "]", "repeat:20", "[", "daemon", "[", "beat:3", "]",
                                             "]", "await:1", "beat:2"}));
    Running running = start(in_pid_namespace(launch));
    ASSERT_TRUE(beats_.alive(2));
    kill(guardian ? running.guardian() : running.supervisor(), SIGKILL);
    EXPECT_TRUE(eventually([&] { return exists(path("receipt.json")); }));
    (void)running.wait();
    EXPECT_TRUE(eventually([&] { return beats_.gone(1) && beats_.gone(2) && beats_.gone(3); }));
    Ended late;
    read_records(launch, late);
    ASSERT_TRUE(late.receipt) << late.receipt_fault;
    EXPECT_TRUE(late.receipt->error);
    clear_records();
  }
}

class NoShield : public Strong {
 protected:
  Launch denied(Launch launch) const {
    launch.inner =
        Words{deny_binary(), "--errno", "ENOSYS", "landlock_create_ruleset", "--"} + launch.inner;
    return launch;
  }
};

TEST_F(NoShield, fails_before_the_launch_where_it_is_required) {
  const Ended ended = end_of(denied(run({"--shield"}, actor({"touch:1"}))));
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
  EXPECT_EQ(beats_.count(1), 0u);
  clear_records();
  const Ended bare_form = end_of(denied(bare({"--shield"}, actor({"touch:1"}))));
  EXPECT_EQ(bare_form.status, 1);
}

TEST_F(NoShield, degrades_and_says_so_where_it_is_tried) {
  const Ended ended = end_of(
      denied(run({"--shield=try"}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:3"}))));
  EXPECT_TRUE(receipt_is(ended, {.codes = {3}}));
  EXPECT_EQ(ended.status, 3);
  EXPECT_TRUE(beats_.gone(1));
  ASSERT_TRUE(ended.report);
  EXPECT_NE(ended.report->text("/means"), "shield");
  EXPECT_GE(ended.report->find("/fallbacks", "call", "landlock_create_ruleset"), 0)
      << ended.report->dump();
}

class Isolate : public Strong {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(!wrapper_denies("unshare") && !wrapper_denies("clone"), "namespaces under the wrapper");
  }
};

TEST_F(Isolate, kill_9_of_everybody_by_the_worker_leaves_a_true_receipt) {
  const bool unprivileged = has_user_namespaces();
  for (const unsigned uid : {0u, lonely_uid()}) {
    if (uid != 0 && !unprivileged) continue;
    Launch launch = reported(
        bare({"--isolate"}, actor({"daemon", "[", "beat:1", "]", "await:1", "kill:KILL:all",
                                   "kill:KILL:1", "kill:KILL:ppid", "sleep:100", "exit:6"})));
    const Ended ended = inside(uid == 0 ? launch : as_user(launch, uid));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 6, std::nullopt, false)) << uid << ended.text();
    EXPECT_TRUE(beats_.gone(1));
    ASSERT_TRUE(ended.report);
    EXPECT_EQ(ended.report->text("/proof"), "pid-namespace-gone");
    clear_records();
  }
}

TEST_F(Isolate, the_worker_is_not_process_1_and_sees_nobody_else) {
  const Ended ended = end_of(bare({"--isolate"}, actor({"record:" + path("record")})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.text();
  const Json record = Json::parse(read_file(path("record")));
  EXPECT_GT(record.integer("/pid"), 1);
  EXPECT_LT(record.integer("/pid"), 20);
}

TEST_F(Isolate, ends_at_the_deadline_with_everything_in_it) {
  const Ended ended = end_of(run({"--isolate", "--timeout", "0.6", "-k", "0.5"},
                                 actor({"ignore:TERM", "repeat:30", "[", "daemon", "[",
                                        "ignore:TERM", "beat:1", "]", "]", "beat:2"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}, .timed_out = true}));
  EXPECT_EQ(ended.status, 124);
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(ended.report->text("/means"), "isolate");
}

TEST_F(Isolate, stops_and_passes_signals_as_without) {
  Running running =
      start(run({"--isolate"}, actor({"note:USR1:" + path("noted"), "trap:TERM:5", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGUSR1);
  EXPECT_TRUE(eventually([&] { return read_file(path("noted")) == "10\n"; }));
  running.signal(SIGTERM);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {5}}));
  EXPECT_EQ(ended.status, 122);
}

TEST_F(Isolate, exit_codes_and_signals_come_through) {
  EXPECT_EQ(end_of(run({"--isolate"}, actor({"exit:77"}))).status, 77);
  EXPECT_EQ(end_of(run({"--isolate"}, actor({"die:SEGV"}))).status, 128 + SIGSEGV);
  EXPECT_EQ(end_of(run({"--isolate"}, {"/missing/bin"})).status, 127);
}

TEST_F(Isolate, needs_the_policy_that_keeps_nothing) {
  for (const char* policy : {"group", "keep-on-success"}) {
    const Ended ended = end_of(run({"--isolate", "--descendants", policy}, actor({"touch:1"})));
    EXPECT_EQ(ended.status, 2) << policy;
    EXPECT_FALSE(ended.has_receipt);
    EXPECT_EQ(beats_.count(1), 0u);
  }
}

TEST_F(Isolate, fails_before_the_launch_where_it_cannot_be_had) {
  Launch launch = run({"--isolate"}, actor({"touch:1"}));
  launch.inner = {deny_binary(), "--errno", "EPERM", "unshare,clone,clone3", "--"};
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(Isolate, works_together_with_the_shield) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  const Ended ended = inside(reported(bare(
      {"--isolate", "--shield"},
      actor({"daemon", "[", "beat:1", "]", "await:1", "kill:KILL:all", "sleep:50", "exit:6"}))));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 6, std::nullopt, false)) << ended.text();
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Isolate, a_killed_supervisor_takes_the_namespace_with_it) {
  Running running = start(run({"--isolate"}, actor({"ignore:TERM", "daemon", "[", "ignore:TERM",
                                                    "beat:1", "]", "await:1", "beat:2"})));
  ASSERT_TRUE(beats_.reaches(2));
  kill(running.supervisor(), SIGKILL);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(receipt_is(
      ended, {.confirmed = std::nullopt, .codes = {std::nullopt, -SIGKILL}, .error = Error::some}));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

}  // namespace

// Between asking and killing: who gets which signal, and how long the worker has.
#include <signal.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Grace : public Scenario {
 protected:
  // Signals, and waits for the end of a worker that beats in slot 1.
  Ended stopped(const Words& options, const Words& script, int number = SIGTERM) {
    Running running = start(run(options, actor(script)));
    EXPECT_TRUE(beats_.alive(1)) << "the worker did not start";
    running.signal(number);
    return running.wait();
  }
};

TEST_F(Grace, gives_the_worker_time_to_save_its_work) {
  const Ended ended = stopped({"-k", "8"}, {"trap:TERM:3:" + path("saved") + ":500", "beat:1"});
  EXPECT_TRUE(receipt_is(ended, {.codes = {3}}));
  EXPECT_EQ(read_file(path("saved")), "15\n");
}

TEST_F(Grace, is_over_after_the_cleanup_timeout) {
  const Ended ended = stopped({"-k", "0.4"}, {"trap:TERM:3:" + path("saved") + ":20000", "beat:1"});
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}}));
  EXPECT_FALSE(exists(path("saved")));
  EXPECT_GE(ended.seconds, 0.4);
  EXPECT_LT(ended.seconds, 10);
}

TEST_F(Grace, asks_the_worker_alone) {
  // The child of the worker in its group would note a signal of its own.
  const Ended ended = stopped({}, {"fork", "[", "note:TERM,HUP,INT:" + path("noted"), "beat:2", "]",
                                   "await:2", "trap:TERM:0::200", "beat:1"});
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_FALSE(exists(path("noted")));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(Grace, asks_the_group_where_signal_group_is_given) {
  const Ended ended =
      stopped({"--signal-group"}, {"fork", "[", "trap:TERM:0:" + path("noted"), "beat:2", "]",
                                   "await:2", "trap:TERM:0::300", "beat:1"});
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_EQ(read_file(path("noted")), "15\n");
}

TEST_F(Grace, reaches_a_shells_foreground_child_where_signal_group_is_given) {
  const Words script = {"sh", "-c",
                        "trap 'exit 5' TERM; " + actor_binary() + " beats:" + beats_.path() +
                            " trap:TERM:0 beat:1; exit 6"};
  Running running = start(run({"--signal-group", "-k", "8"}, script));
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGTERM);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {5}}));
}

TEST_F(Grace, asks_with_the_signal_that_was_chosen) {
  for (const char* name : {"INT", "SIGINT", "2", "int"}) {
    const Ended ended =
        stopped({"-s", name}, {"ignore:TERM", "trap:INT:8:" + path("noted"), "beat:1"});
    EXPECT_TRUE(receipt_is(ended, {.codes = {8}})) << name;
    EXPECT_EQ(read_file(path("noted")), "2\n");
    unlink(path("noted").c_str());
    clear_records();
  }
  EXPECT_TRUE(receipt_is(stopped({"--signal=USR1"}, {"trap:USR1:9", "beat:1"}), {.codes = {9}}));
  clear_records();
  EXPECT_TRUE(receipt_is(stopped({"--signal=RTMIN+2"}, {"trap:36:10", "beat:1"}), {.codes = {10}}));
}

TEST_F(Grace, can_be_asked_with_kill_itself) {
  const Ended ended = stopped({"-s", "KILL"}, {"ignore:TERM", "beat:1"});
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}}));
}

TEST_F(Grace, continues_a_stopped_worker_so_that_it_can_hear) {
  Running running =
      start(bare({"--timeout", "0.6"}, actor({"trap:TERM:21", "touch:1", "stop", "hold"})));
  ASSERT_TRUE(beats_.reaches(1));
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 21, std::nullopt, true));
}

TEST_F(Grace, does_not_take_a_stop_for_an_end) {
  const Ended ended = end_of(bare({"--timeout", "0.8"}, actor({"stop", "hold"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}, .timed_out = true}));
  EXPECT_GE(ended.seconds, 0.8);
}

TEST_F(Grace, kills_stopped_children) {
  const Ended ended =
      end_of(bare({}, actor({"fork", "[", "touch:2", "stop", "beat:2", "]", "daemon", "[",
                             "touch:3", "stop", "beat:3", "]", "await:2", "await:3", "exit:0"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
}

TEST_F(Grace, ends_with_the_worker_and_not_with_its_time) {
  // A natural death in a long grace is not waited out, and deaf members of the group die at once.
  const Ended ended =
      stopped({"-k", "15"}, {"fork", "[", "ignore:TERM", "beat:2", "]", "await:2", "beat:1"});
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}}));
  EXPECT_LT(ended.seconds, 10);
  EXPECT_TRUE(beats_.gone(2));
}

class Repeats : public Scenario {
 protected:
  // A worker that takes 1.2 s to save its work; the second signal arrives while it does.
  Ended twice(int first, int second) {
    Running running =
        start(run({"-k", "10"}, actor({"trap:TERM:3:" + path("saved") + ":1200", "beat:1"})));
    EXPECT_TRUE(beats_.alive(1));
    running.signal(first);
    EXPECT_TRUE(eventually([&] { return beats_.still(1); }));
    for (int i = 0; i < 3; ++i) running.signal(second);
    return running.wait();
  }
};

TEST_F(Repeats, of_term_change_nothing) {
  EXPECT_TRUE(receipt_is(twice(SIGTERM, SIGTERM), {.codes = {3}}));
  EXPECT_EQ(read_file(path("saved")), "15\n");
}

TEST_F(Repeats, of_hup_and_quit_change_nothing) {
  EXPECT_TRUE(receipt_is(twice(SIGHUP, SIGHUP), {.codes = {3}}));
  clear_records();
  EXPECT_TRUE(receipt_is(twice(SIGQUIT, SIGQUIT), {.codes = {3}}));
}

TEST_F(Repeats, of_another_signal_change_nothing) {
  EXPECT_TRUE(receipt_is(twice(SIGINT, SIGTERM), {.codes = {3}}));
}

TEST_F(Repeats, of_int_skip_the_grace) {
  const Ended ended = twice(SIGINT, SIGINT);
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}}));
  EXPECT_FALSE(exists(path("saved")));
  EXPECT_EQ(ended.status, 122);
}

class Noise : public Scenario {};

TEST_F(Noise, usr1_and_usr2_are_passed_to_the_worker) {
  Running running = start(run({}, actor({"note:USR1,USR2:" + path("noted"), "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGUSR1);
  ASSERT_TRUE(eventually([&] { return read_file(path("noted")) == "10\n"; }));
  running.signal(SIGUSR2);
  ASSERT_TRUE(eventually([&] { return read_file(path("noted")) == "10\n12\n"; }));
  EXPECT_TRUE(beats_.alive(1));
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(Noise, alrm_pipe_and_chld_change_nothing) {
  Running running = start(bare({}, actor({"note:ALRM,PIPE,CHLD,USR1:" + path("noted"), "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  const pid_t supervisor = running.supervisor();
  for (const int number : {SIGALRM, SIGPIPE, SIGCHLD, SIGCONT, SIGWINCH, SIGURG}) {
    running.signal(number);
    kill(supervisor, number);
  }
  EXPECT_TRUE(beats_.reaches(1, beats_.count(1) + 30));
  EXPECT_FALSE(exists(path("noted")));
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(Noise, signals_to_the_supervisor_half_stop_too) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Running running = start(bare({}, actor({"touch:1", "beat:2"})));
    ASSERT_TRUE(beats_.alive(2));
    kill(running.supervisor(), number);
    const Ended ended = running.wait();
    EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}})) << strsignal(number);
    clear_records();
  }
}

TEST_F(Noise, every_other_signal_leaves_a_true_receipt) {
  // Whatever a stray signal does, it may not end quietus without cleanup and receipt.
  std::vector<Running> all;
  const std::vector<int> signals = {
      SIGIO,  SIGXCPU, SIGXFSZ, SIGVTALRM, SIGPROF, SIGSYS, SIGTRAP,   SIGABRT, SIGSEGV, SIGBUS,
      SIGFPE, SIGILL,  SIGTSTP, SIGTTIN,   SIGTTOU, SIGPWR, SIGSTKFLT, 34,      50,      64};
  for (const int number : signals) {
    const std::string name = std::to_string(number);
    all.push_back(start(
        bare({"--timeout", "3", "--receipt", path("receipt-" + name)}, actor({"beat:" + name}))));
    ASSERT_TRUE(beats_.reaches(number)) << number;
    all.back().signal(number);
  }
  for (size_t i = 0; i < signals.size(); ++i) {
    const Ended ended = all[i].wait();
    EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}, .timed_out = std::nullopt})) << signals[i];
    EXPECT_TRUE(beats_.count(signals[i]) > 0);
  }
  EXPECT_TRUE(beats_.all_still());
}

}  // namespace

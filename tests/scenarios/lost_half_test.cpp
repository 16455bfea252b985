// One of the two halves is killed or stopped, at any moment: the other one ends the tree and says
// the truth.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/scenario.hpp"
#include "harness/tracer.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

class LostHalf : public Scenario {
 protected:
  void SetUp() override { fs::create_directory(path("d")); }

  struct Plan {
    Words options;
    Words script;
    std::optional<int> code;  // of an ordinary end
    bool timed_out = false;
  };

  // Ends by itself: a daemon has to be found and killed.
  Plan natural() const {
    return {{}, {"daemon", "[", "ignore:TERM", "beat:1", "]", "await:1", "exit:7"}, 7, false};
  }
  // Ends by its deadline, through every step of the ladder: late enough for the worker to be ready.
  Plan late() const {
    return {{"--timeout", "0.4", "--cleanup-timeout", "0.2"},
            {"ignore:TERM", "daemon", "[", "beat:1", "]", "beat:2"},
            -SIGKILL,
            true};
  }

  Launch traced(const Plan& plan) const {
    Launch launch = bare(plan.options + Words{"--receipt", path("d/r.json")}, actor(plan.script));
    launch.in_child = be_traced;
    return launch;
  }

  int steps_of(const Plan& plan) {
    Running running = start(traced(plan));
    const int steps = strike_at(running, kNever, Half::supervisor, SIGKILL).steps;
    EXPECT_EQ(running.wait().receipt_bytes, exactly(true, plan.code, std::nullopt, plan.timed_out));
    fs::remove(path("d/r.json"));
    return steps;
  }

  // Whether a record was being written, or stood there, at the moment of the strike.
  bool recording() const { return !fs::is_empty(path("d")); }

  void kill_at_moments(const Plan& plan, Half half, int moments) {
    int steps = steps_of(plan);
    ASSERT_GT(steps, moments / 2) << "the supervisor does next to nothing";
    int finished = 0;
    int with_error = 0;
    int ordinary = 0;
    for (int i = 0; i < moments; ++i) {
      const int step = i * steps / moments;
      SCOPED_TRACE("killed before call " + std::to_string(step) + " of " + std::to_string(steps));
      bool receipt_stood = false;
      bool was_recording = false;
      const Launch launch = traced(plan);
      Running running = start(launch);
      const Strike strike = strike_at(running, step, half, SIGKILL, [&] {
        receipt_stood = exists(path("d/r.json"));
        was_recording = recording();
      });
      Ended ended = running.wait();
      EXPECT_FALSE(ended.hung);
      // Within the cleanup bound the tree is gone, and the other half with it.
      ASSERT_TRUE(eventually([] { return living_descendants().empty(); }, 10))
          << living_descendants()[0].text();
      EXPECT_TRUE(beats_.all_still());
      read_records(launch, ended);
      const std::string ordinary_bytes = exactly(true, plan.code, std::nullopt, plan.timed_out);
      // The run that was counted took more steps than this one: the next moments come within it.
      if (!strike.reached) steps = std::min(steps, strike.steps);
      if (!strike.reached || receipt_stood) {
        ++finished;
        EXPECT_EQ(ended.receipt_bytes, ordinary_bytes) << "a finished receipt was changed";
      } else if (ended.receipt && ended.receipt->error) {
        ++with_error;
        if (half == Half::supervisor) EXPECT_EQ(ended.status, 1);
        EXPECT_FALSE(ended.receipt->return_code == 0) << "a code that the worker never had";
      } else {
        // Only while it is being recorded may the loss come too late to be told.
        EXPECT_TRUE(was_recording) << "no receipt with an error" << ended.text();
        EXPECT_EQ(ended.receipt_bytes, ordinary_bytes);
        ++ordinary;
      }
      for (const auto& entry : fs::directory_iterator(path("d"))) {
        EXPECT_EQ(entry.path().filename(), "r.json") << "a temporary file is left";
      }
      fs::remove_all(path("d"));
      fs::create_directory(path("d"));
    }
    EXPECT_GT(with_error, moments / 2) << ordinary << " ordinary, " << finished << " finished";
  }
};

TEST_F(LostHalf, the_supervisor_killed_at_50_moments_of_a_natural_end) {
  kill_at_moments(natural(), Half::supervisor, 50);
}

TEST_F(LostHalf, the_guardian_killed_at_50_moments_of_a_natural_end) {
  kill_at_moments(natural(), Half::guardian, 50);
}

TEST_F(LostHalf, the_supervisor_killed_at_moments_of_a_deadline) {
  kill_at_moments(late(), Half::supervisor, 20);
}

TEST_F(LostHalf, the_guardian_killed_at_moments_of_a_deadline) {
  kill_at_moments(late(), Half::guardian, 20);
}

TEST_F(LostHalf, the_supervisor_stopped_at_moments_of_a_deadline_is_continued) {
  const Plan plan = late();
  const int steps = steps_of(plan);
  for (int i = 0; i < 15; ++i) {
    const int step = i * steps / 15;
    SCOPED_TRACE("stopped before call " + std::to_string(step) + " of " + std::to_string(steps));
    Running running = start(traced(plan));
    (void)strike_at(running, step, Half::supervisor, SIGSTOP);
    const Ended ended = running.wait();
    EXPECT_TRUE(receipt_is(
        ended,
        {.codes = {plan.code, -SIGTERM, std::nullopt}, .error = Error::any, .timed_out = {}}));
    EXPECT_TRUE(beats_.all_still());
    fs::remove(path("d/r.json"));
  }
}

TEST_F(LostHalf, the_guardian_stopped_at_moments_of_a_deadline_does_not_delay_the_end) {
  const Plan plan = late();
  const int steps = steps_of(plan);
  for (int i = 0; i < 15; ++i) {
    const int step = i * steps / 15;
    SCOPED_TRACE("stopped before call " + std::to_string(step) + " of " + std::to_string(steps));
    Running running = start(traced(plan));
    const Strike strike = strike_at(running, step, Half::guardian, SIGSTOP);
    EXPECT_TRUE(eventually([&] { return exists(path("d/r.json")); }, 10)) << "no receipt in time";
    EXPECT_TRUE(beats_.all_still());
    // It exits when somebody lets it.
    if (strike.reached) running.signal(SIGCONT);
    EXPECT_EQ(running.wait().receipt_bytes, exactly(true, plan.code, std::nullopt, plan.timed_out));
    fs::remove(path("d/r.json"));
  }
}

class KillFromBelow : public Scenario {
 protected:
  // Signals that could hit strangers if the tree were not as expected: only in a namespace.
  Ended inside(Launch launch) {
    NeedsRoot();
    Running running = start(in_pid_namespace(std::move(launch)));
    Ended ended = running.wait();
    EXPECT_TRUE(eventually([&] { return beats_.still(1) && beats_.still(2); }));
    return ended;
  }
  static void NeedsRoot() {
    if (!is_root()) throw std::runtime_error("checked in SetUp");
  }
  void SetUp() override { NEEDS_ROOT(); }
};

TEST_F(KillFromBelow, the_worker_kills_its_parent) {
  for (const char* name : {"KILL", "TERM", "INT", "HUP", "QUIT", "STOP"}) {
    const std::string signal = name;
    Launch launch = run({"--timeout", "3", "-k", "0.5"},
                        actor({"daemon", "[", "ignore:TERM", "beat:1", "]", "await:1",
                               "kill:" + signal + ":ppid", "ignore:TERM", "beat:2"}));
    const Ended ended = inside(launch);
    EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL, -SIGTERM, std::nullopt},
                                   .error = signal == "KILL" ? Error::some : Error::any,
                                   .timed_out = signal == "STOP"}))
        << name;
    EXPECT_TRUE(ended.survivors.empty());
    EXPECT_EQ(ended.status, signal == "KILL" ? 125 : signal == "STOP" ? 124 : 122) << name;
    clear_records();
  }
}

TEST_F(KillFromBelow, the_worker_kills_its_grandparent) {
  // The guardian is process started by the caller: gone, but the supervisor finishes.
  Launch launch = run({"-k", "0.5"}, actor({"daemon", "[", "beat:1", "]", "await:1",
                                            "kill:KILL:pppid", "ignore:TERM", "beat:2"}));
  const Ended ended = inside(launch);
  EXPECT_EQ(ended.status, -SIGKILL);
  Ended late;
  ASSERT_TRUE(eventually([&] { return exists(path("receipt.json")); }));
  read_records(launch, late);
  ASSERT_TRUE(late.receipt) << late.receipt_fault;
  EXPECT_TRUE(late.receipt->error);
  EXPECT_TRUE(late.receipt->cleanup_confirmed);
}

TEST_F(KillFromBelow, the_worker_stops_its_parent_again_and_again) {
  Launch launch =
      run({"--timeout", "1", "-k", "0.5"},
          actor({"daemon", "[", "repeat:3000", "[", "kill:STOP:1", "touch:1", "sleep:2", "]", "]",
                 "repeat:3000", "[", "kill:STOP:ppid", "touch:2", "sleep:1", "]"}));
  const Ended ended = inside(launch);
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM, -SIGKILL}, .timed_out = true}));
  EXPECT_LT(ended.seconds, 15);
}

TEST_F(KillFromBelow, the_worker_kills_the_group_of_its_parent) {
  const Ended ended =
      inside(run({"-k", "0.5"}, actor({"daemon", "[", "beat:1", "]", "await:1", "kill:KILL:-ppid",
                                       "ignore:TERM", "beat:2"})));
  EXPECT_TRUE(
      receipt_is(ended, {.codes = {-SIGKILL, -SIGTERM, std::nullopt}, .error = Error::some}));
}

TEST_F(KillFromBelow, the_worker_kills_everybody_without_a_shield) {
  // Both halves die in one instant. No receipt, or one that claims nothing: never a false one.
  Launch launch = run({}, actor({"daemon", "[", "bound:3000", "ignore:TERM", "beat:1", "]",
                                 "await:1", "kill:KILL:all", "touch:2"}));
  Running running = start(in_pid_namespace(launch));
  const Ended ended = running.wait();
  EXPECT_EQ(ended.status, -SIGKILL);
  if (ended.receipt) {
    EXPECT_TRUE(ended.receipt->error) << ended.text();
  }
}

class KillFromAbove : public Scenario {};

TEST_F(KillFromAbove, the_group_of_the_guardian_misses_the_supervisor) {
  // A provider that gives up kills the group that it made.
  for (const bool bare_form : {true, false}) {
    const Words script = {"daemon", "[", "beat:1", "]", "await:1", "ignore:TERM", "beat:2"};
    Launch launch = bare_form ? bare({"--cleanup-timeout", "0.5"}, actor(script))
                              : run({"-k", "0.5"}, actor(script));
    launch.in_child = [] { setpgid(0, 0); };
    Running running = start(launch);
    ASSERT_TRUE(beats_.alive(2));
    kill(-running.pid(), SIGKILL);
    EXPECT_EQ(running.wait().status, -SIGKILL);
    EXPECT_TRUE(eventually([&] { return living_descendants().empty(); }));
    EXPECT_TRUE(beats_.gone(1));
    EXPECT_TRUE(beats_.gone(2));
    Ended late;
    read_records(launch, late);
    ASSERT_TRUE(late.receipt) << late.receipt_fault;
    EXPECT_TRUE(late.receipt->error);
    EXPECT_TRUE(late.receipt->cleanup_confirmed);
    EXPECT_FALSE(late.receipt->timed_out);
    clear_records();
  }
}

TEST_F(KillFromAbove, a_bare_start_leaves_the_group_of_its_caller) {
  Running running = start(bare({}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  EXPECT_EQ(process_row(running.pid()).sid, running.pid()) << "no session of its own";
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(KillFromAbove, a_run_start_stays_in_it_for_ctrl_c) {
  Running running = start(run({}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  EXPECT_EQ(process_row(running.pid()).pgid, getpgrp());
  const pid_t supervisor = running.supervisor();
  EXPECT_EQ(process_row(supervisor).sid, supervisor) << "Ctrl-C would hit the supervisor too";
  running.signal(SIGINT);
  EXPECT_EQ(running.wait().status, 122);
}

TEST_F(KillFromAbove, both_halves_in_one_instant_leave_no_false_receipt) {
  allow_leftovers();
  Running running = start(bare({}, actor({"daemon", "[", "beat:1", "]", "await:1", "beat:2"})));
  ASSERT_TRUE(beats_.alive(2));
  const pid_t supervisor = running.supervisor();
  running.signal(SIGSTOP);  // so that neither sees the other go
  kill(supervisor, SIGKILL);
  running.signal(SIGKILL);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.status, -SIGKILL);
  EXPECT_FALSE(ended.has_receipt) << ended.text();
}

}  // namespace

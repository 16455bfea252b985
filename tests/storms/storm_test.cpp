// Storms: a fork bomb of a thousand, chains that fork, leave their session and exit, for ever. With
// a means that is atomic against forks every run must be confirmed, soon after the KILL, and
// nothing may beat afterwards; without one nothing false may be claimed.
#include <signal.h>

#include <cstdlib>
#include <iostream>

#include "harness/scenario.hpp"
#include "pen.hpp"

namespace {

using namespace harness;
using storms::Pen;

constexpr int kBomb = 1000;
constexpr int kEnclosure = 8;  // unshare, init, both halves, the worker, and some that are dying

double setting(const char* variable, double otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : atof(text);
}

int runs() { return std::max(1, static_cast<int>(setting("QUIETUS_STORM_RUNS", 2))); }

// From the KILL to the end. On a machine of its own two seconds are plenty; the suite must also
// hold beside whatever else runs.
double most_after_kill() { return setting("QUIETUS_STORM_SECONDS", 8); }

struct Storm {
  const char* name;
  Words script;
  uint64_t least;  // beats that show that it blew
};

const Storm kBombOf1000 = {"bomb of 1000", {"bomb:1", "hold"}, kBomb};
const Storm kHop64 = {"64 hopping chains", {"hop:64:1", "hold"}, 64};
const Storm kHop16 = {"16 hopping chains", {"hop:16:1", "hold"}, 16};

enum class Promise { confirmed, honest };

class Storms : public Scenario {
 protected:
  void SetUp() override { NEEDS_ROOT(); }

  // Hides the control groups, so that quietus has none to use.
  static Launch without_cgroups(Launch launch) {
    launch.inner = Words{"unshare",
                         "--mount",
                         "--propagation",
                         "private",
                         "sh",
                         "-ec",
                         "mount -t tmpfs none /sys/fs/cgroup; exec \"$@\"",
                         "sh"} +
                   launch.inner;
    return launch;
  }

  void weather(const Storm& storm, const Words& options, Promise promise, const char* means,
               const std::function<Launch(Launch)>& change = {}) {
    int confirmed = 0;
    double slowest = 0;
    // An unbeaten bomb holds the machine for many seconds.
    const int times = promise == Promise::honest ? (runs() + 1) / 2 : runs();
    for (int run_number = 0; run_number < times; ++run_number) {
      SCOPED_TRACE(std::string(storm.name) + ", run " + std::to_string(run_number));
      const Pen pen(kBomb + kEnclosure);
      NEEDS(pen.holds(), "pids controller that can be written");
      const uint64_t before = beats_.count(1);
      Words script = {actor_binary(), "bound:12000", "beats:" + beats_.path()};
      const std::string patience = promise == Promise::honest ? "2" : "4";
      Launch launch = run(options + Words{"--timeout", "1", "-k", patience}, script + storm.script);
      if (change) launch = change(launch);
      launch = in_pid_namespace(launch);
      launch.in_child = pen.enter();
      Running running = start(launch);
      const Ended ended = running.wait(40);
      ASSERT_FALSE(ended.hung) << ended.text();
      ASSERT_TRUE(ended.receipt) << ended.text();
      EXPECT_GE(beats_.count(1) - before, storm.least) << "set-up: no storm";
      // The shared page decides, not a list: nobody counts any more.
      const bool quiet = beats_.still(1);
      if (ended.receipt->cleanup_confirmed) {
        ++confirmed;
        EXPECT_TRUE(quiet) << "a false receipt" << ended.text();
        EXPECT_TRUE(ended.survivors.empty()) << "a false receipt";
        EXPECT_EQ(ended.status, 124);
      } else {
        EXPECT_TRUE(ended.receipt->error);
        EXPECT_EQ(ended.status, 123);
      }
      ASSERT_TRUE(ended.report);
      const int kill = ended.report->find("/steps", "signal", "SIGKILL");
      ASSERT_GE(kill, 0);
      const double after = ended.report->number("/times/total_seconds") -
                           ended.report->number("/steps/" + std::to_string(kill) + "/at_seconds");
      slowest = std::max(slowest, after);
      if (promise == Promise::confirmed) {
        EXPECT_TRUE(ended.receipt->cleanup_confirmed) << ended.text();
        EXPECT_LT(after, most_after_kill());
        if (means != nullptr) EXPECT_EQ(ended.report->text("/means"), means);
      }
      running.release();
      clear_records();
    }
    std::cout << storm.name << ": confirmed " << confirmed << " of " << times << ", slowest end "
              << slowest << " s after the KILL\n";
  }

  Launch as_somebody(Launch launch) const { return as_user(std::move(launch), lonely_uid()); }
};

class StormWithShield : public Storms {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(has_signal_scope(), "Landlock signal scope");
  }
  void as_root(const Storm& storm) { weather(storm, {"--shield"}, Promise::confirmed, "shield"); }
  void as_a_user(const Storm& storm) {
    weather(storm, {"--shield"}, Promise::confirmed, "shield",
            [this](Launch launch) { return as_somebody(launch); });
  }
};

TEST_F(StormWithShield, a_bomb_as_root_is_confirmed) { as_root(kBombOf1000); }
TEST_F(StormWithShield, chains_as_root_are_confirmed) { as_root(kHop64); }
TEST_F(StormWithShield, few_chains_as_root_are_confirmed) { as_root(kHop16); }
TEST_F(StormWithShield, a_bomb_as_a_user_is_confirmed) { as_a_user(kBombOf1000); }
TEST_F(StormWithShield, chains_as_a_user_are_confirmed) { as_a_user(kHop64); }
TEST_F(StormWithShield, few_chains_as_a_user_are_confirmed) { as_a_user(kHop16); }

class StormWithCgroup : public Storms {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(!cgroup_v2().empty(), "cgroup v2 that can be written");
  }
};

TEST_F(StormWithCgroup, a_bomb_is_confirmed) {
  weather(kBombOf1000, {}, Promise::confirmed, "cgroup");
}
TEST_F(StormWithCgroup, chains_are_confirmed) { weather(kHop64, {}, Promise::confirmed, "cgroup"); }
TEST_F(StormWithCgroup, few_chains_are_confirmed) {
  weather(kHop16, {}, Promise::confirmed, "cgroup");
}

class StormInNamespace : public Storms {};

TEST_F(StormInNamespace, a_bomb_is_confirmed) {
  weather(kBombOf1000, {"--isolate"}, Promise::confirmed, "isolate");
}
TEST_F(StormInNamespace, chains_are_confirmed) {
  weather(kHop64, {"--isolate"}, Promise::confirmed, "isolate");
}

class StormWithNothing : public Storms {
 protected:
  void as_root(const Storm& storm, Promise promise) {
    weather(storm, {}, promise, nullptr, without_cgroups);
  }
  void as_a_user(const Storm& storm, Promise promise) {
    weather(storm, {}, promise, nullptr, [this](Launch launch) { return as_somebody(launch); });
  }
};

TEST_F(StormWithNothing, a_bomb_as_root_is_told_as_it_is) { as_root(kBombOf1000, Promise::honest); }
TEST_F(StormWithNothing, a_bomb_as_a_user_is_told_as_it_is) {
  as_a_user(kBombOf1000, Promise::honest);
}
TEST_F(StormWithNothing, chains_as_root_are_confirmed) { as_root(kHop64, Promise::confirmed); }
TEST_F(StormWithNothing, chains_as_a_user_are_confirmed) { as_a_user(kHop64, Promise::confirmed); }
TEST_F(StormWithNothing, few_chains_as_root_are_confirmed) { as_root(kHop16, Promise::confirmed); }
TEST_F(StormWithNothing, few_chains_as_a_user_are_confirmed) {
  as_a_user(kHop16, Promise::confirmed);
}

class StormAgainstUs : public Storms {};

TEST_F(StormAgainstUs, a_shielded_supervisor_killed_in_a_storm_leaves_nothing) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  for (const bool guardian : {false, true}) {
    for (int run_number = 0; run_number < runs(); ++run_number) {
      const Pen pen(kBomb + kEnclosure);
      NEEDS(pen.holds(), "pids controller that can be written");
      const uint64_t before = beats_.count(1);
      Launch launch = in_pid_namespace(
          run({"--shield", "-k", "4"},
              {actor_binary(), "bound:12000", "beats:" + beats_.path(), "hop:32:1", "hold"}));
      launch.in_child = pen.enter();
      Running running = start(launch);
      ASSERT_TRUE(beats_.reaches(1, before + 500));
      kill(guardian ? running.guardian() : running.supervisor(), SIGKILL);
      EXPECT_TRUE(eventually([&] { return exists(path("receipt.json")); }, 20));
      Ended ended = running.wait(20);
      EXPECT_TRUE(eventually([&] { return beats_.still(1); }, 5)) << ended.text();
      read_records(launch, ended);
      ASSERT_TRUE(ended.receipt) << ended.receipt_fault;
      EXPECT_TRUE(ended.receipt->error);
      EXPECT_TRUE(ended.receipt->cleanup_confirmed) << ended.text();
      running.release();
      clear_records();
    }
  }
}

}  // namespace

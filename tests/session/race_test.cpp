// Every party of the protocol at a random moment: three launches, two stops, a removal, an expiry,
// and kill -9 of either half or both. Whatever happens: the worker runs at most once, no process is
// left, no receipt lies, no directory stays.
//
//   QUIETUS_RACES=2000       how many races (60)
//   QUIETUS_RACE_SEED=N      the first race's seed; a failure names the one to repeat
//   QUIETUS_TEST_LIMIT=S     more time for more races (150)
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <random>
#include <sstream>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

enum class Party {
  launch,
  detached_launch,
  stop,
  remove,
  expire,
  kill_guardian,
  kill_supervisor,
  kill_both
};
constexpr const char* kNames[] = {"launch",          "launch --detach", "stop",
                                  "remove",          "expire",          "kill guardian",
                                  "kill supervisor", "kill both"};

struct Act {
  Party party;
  int64_t at_us = 0;
  Words more;
};

constexpr int kWorkerCode = 5;

class Race : public SessionScene {
 protected:
  void SetUp() override {}

  static uint64_t number(const char* variable, uint64_t otherwise) {
    const char* text = std::getenv(variable);
    return text != nullptr ? strtoull(text, nullptr, 10) : otherwise;
  }

  size_t times_run() const { return read_file(path("ran")).size(); }

  // Only the worker's tree consists of actors.
  static int actors_alive() {
    const auto rows = living_descendants();
    return int(std::count_if(rows.begin(), rows.end(),
                             [](const ProcessRow& row) { return row.comm == "actor"; }));
  }

  std::vector<Act> plan(std::mt19937_64& random) const {
    const auto upto = [&](int64_t n) {
      return int64_t(std::uniform_int_distribution<int64_t>(0, n)(random));
    };
    // Close together or far apart: both have races of their own.
    const int64_t span = std::array<int64_t, 4>{2'000, 20'000, 80'000, 200'000}[size_t(upto(3))];
    std::vector<Act> acts;
    const auto add = [&](Party party, Words more = {}) {
      acts.push_back({party, upto(span), std::move(more)});
    };
    for (int i = 0; i < 3; ++i) add(upto(1) == 0 ? Party::launch : Party::detached_launch);
    // Otherwise most sessions would be fenced or removed before anybody comes to launch them.
    if (upto(3) != 0) acts.front().at_us = 0;
    for (int i = 0; i < 2; ++i) add(Party::stop, upto(3) == 0 ? Words{"--now"} : Words{});
    add(Party::remove);
    // Early it is refused or wins; late it finds what the others have made.
    if (upto(1) == 0) acts.back().at_us /= 4;
    add(Party::expire);
    switch (upto(4)) {
      case 0: break;
      case 1: add(Party::kill_guardian); break;
      case 2: add(Party::kill_supervisor); break;
      case 3: add(Party::kill_both); break;
      default: add(Party::kill_guardian), add(Party::kill_supervisor); break;
    }
    std::sort(acts.begin(), acts.end(),
              [](const Act& a, const Act& b) { return a.at_us < b.at_us; });
    return acts;
  }

  // A worker that ends by itself, or of TERM, or only of KILL, with a daemon or without.
  Words worker(std::mt19937_64& random) const {
    Words script = {"append:" + path("ran") + ":x"};
    const auto chance = [&] { return std::uniform_int_distribution<int>(0, 1)(random) == 0; };
    if (chance()) script = script + Words{"daemon", "[", "ignore:TERM", "beat:2", "]"};
    if (chance()) script.push_back("ignore:TERM");
    script = script + (chance() ? Words{"beat:1"} : Words{"sleep:20", "exit:5"});
    return actor(script);
  }

  // Kills what supervisor.pid names, if that is a quietus of ours, and its child quietus.
  void strike(Party party, std::ostringstream& log) const {
    const pid_t guardian = atoi(read_file(file("supervisor.pid")).c_str());
    const auto ours = living_descendants();
    const auto is_half = [&](const ProcessRow& row) {
      return row.comm == "quietus" && (row.pid == guardian || row.ppid == guardian);
    };
    pid_t supervisor = 0;
    bool found = false;
    for (const ProcessRow& row : ours) {
      if (!is_half(row)) continue;
      if (row.pid == guardian) found = true;
      if (row.pid != guardian) supervisor = row.pid;
    }
    if (!found) {
      log << "    nobody to kill\n";
      return;
    }
    if (party == Party::kill_both) kill(guardian, SIGSTOP);
    if (party != Party::kill_guardian && supervisor > 1) kill(supervisor, SIGKILL);
    if (party != Party::kill_supervisor) kill(guardian, SIGKILL);
    log << "    killed of " << guardian << " and " << supervisor << "\n";
  }

  void race(uint64_t seed);

  struct Entrant {
    Act act;
    Running running;
    bool over = false;
    Ended ended;
  };
  void judge(Entrant& entrant, std::ostringstream& log, bool& settled, size_t& ran_when_settled);

  int lost_ = 0, confirmed_ = 0, removed_ = 0, ran_ = 0;
};

// The moment a party has spoken is the moment at which its words must be true.
void Race::judge(Entrant& entrant, std::ostringstream& log, bool& settled,
                 size_t& ran_when_settled) {
  entrant.over = true;
  const Party party = entrant.act.party;
  const int alive_now = actors_alive();
  entrant.ended = entrant.running.wait(0.1);
  const Ended& ended = entrant.ended;
  log << "    " << kNames[int(party)] << " -> " << ended.status << " " << ended.out << ended.err
      << (ended.out.empty() && ended.err.empty() ? "\n" : "");
  const bool removed = party == Party::remove && ended.status == 0;
  const bool confirmed = party == Party::stop && ended.status == 0;
  if (!removed && !confirmed) return;
  EXPECT_EQ(alive_now, 0) << kNames[int(party)] << " said that it is over";
  if (!settled) ran_when_settled = times_run();
  settled = true;
  if (!confirmed) return;
  std::string why;
  const auto receipt = ReceiptFile::parse(ended.out.substr(0, ended.out.size() - 1), why);
  ASSERT_TRUE(receipt) << why;
  if (receipt->return_code) {
    const int code = *receipt->return_code;
    // TERM and KILL may have come between its exec and its first step.
    if (code >= 0) {
      EXPECT_EQ(times_run(), 1u) << "a code of a worker that never ran";
    }
    EXPECT_TRUE(code == kWorkerCode || code == -SIGTERM || code == -SIGKILL) << code;
  } else if (!receipt->error) {
    EXPECT_EQ(times_run(), 0u) << "it ran, and the receipt says that nothing was started";
  }
}

void Race::race(uint64_t seed) {
  std::mt19937_64 random(seed);
  std::ostringstream log;
  SCOPED_TRACE("QUIETUS_RACES=1 QUIETUS_RACE_SEED=" + std::to_string(seed));
  ASSERT_EQ(mkdir(dir().c_str(), 0700), 0);
  fs::remove(path("ran"));
  const Words command = worker(random);
  const std::vector<Act> acts = plan(random);
  std::vector<Entrant> entrants;
  bool settled = false;
  size_t ran_when_settled = 0;
  const auto begin = Clock::now();
  for (const Act& act : acts) {
    const auto due = begin + std::chrono::microseconds(act.at_us);
    while (Clock::now() < due) usleep(50);
    log << "  " << act.at_us << " us: " << kNames[int(act.party)] << "\n";
    switch (act.party) {
      case Party::launch:
      case Party::detached_launch: {
        Words options = {"--cleanup-timeout", "0.2"};
        if (act.party == Party::detached_launch) options.push_back("--detach");
        Launch launch = verb("launch", options + Words{"--"} + command);
        entrants.push_back({act, start(launch), false, {}});
        break;
      }
      case Party::stop:
        entrants.push_back(
            {act, start(verb("stop", Words{"--timeout", "60"} + act.more)), false, {}});
        break;
      case Party::remove:
      case Party::expire:
        entrants.push_back({act, start(verb(kNames[int(act.party)])), false, {}});
        break;
      default: strike(act.party, log);
    }
  }
  // Each is judged as soon as it has ended.
  eventually(
      [&] {
        bool all = true;
        for (Entrant& entrant : entrants) {
          if (entrant.over) continue;
          const ProcessRow row = process_row(entrant.running.pid());
          if (row.pid != 0 && row.state != 'Z')
            all = false;
          else
            judge(entrant, log, settled, ran_when_settled);
        }
        return all;
      },
      100);
  int begun = 0;
  for (Entrant& entrant : entrants) {
    EXPECT_TRUE(entrant.over) << kNames[int(entrant.act.party)] << " hangs\n" << log.str();
    const bool is_launch =
        entrant.act.party == Party::launch || entrant.act.party == Party::detached_launch;
    if (is_launch && entrant.ended.status != 121) ++begun;
  }
  EXPECT_LE(begun, 1) << "two launches had the claim\n" << log.str();

  // Whatever state this is, the controller's last two words bring it to its end.
  if (exists(dir())) {
    Running last = start(verb("stop", {"--timeout", "60"}));
    Entrant stop{{Party::stop, 0, {}}, std::move(last), false, {}};
    eventually(
        [&] {
          const auto row = process_row(stop.running.pid());
          return row.pid == 0 || row.state == 'Z';
        },
        90);
    judge(stop, log, settled, ran_when_settled);
    EXPECT_TRUE(stop.ended.status == 0 || stop.ended.status == 123)
        << stop.ended.text() << log.str();
    (stop.ended.status == 0 ? confirmed_ : lost_) += 1;
  } else {
    ++removed_;
  }
  EXPECT_TRUE(eventually([] { return living_descendants().empty(); }, 20))
      << "left: " << living_descendants().front().text() << "\n"
      << log.str();
  EXPECT_EQ(does("remove").status, 0) << log.str();
  EXPECT_FALSE(exists(dir())) << log.str();
  EXPECT_FALSE(exists(dir() + ".closed")) << log.str();
  EXPECT_LE(times_run(), 1u) << "the worker ran twice\n" << log.str();
  if (settled) EXPECT_EQ(times_run(), ran_when_settled) << "it ran after the end\n" << log.str();
  ran_ += int(times_run());
  // Asked for by its seed, a race is shown.
  if (HasFailure() || std::getenv("QUIETUS_RACE_SEED") != nullptr)
    printf("seed %llu\n%s", static_cast<unsigned long long>(seed), log.str().c_str());
  // Collects what was orphaned to the test.
  mop_up();
}

TEST_F(Race, whatever_comes_when_ends_in_the_truth) {
  const uint64_t races = number("QUIETUS_RACES", 60);
  const uint64_t seed = number("QUIETUS_RACE_SEED", std::random_device()());
  printf("%llu races from QUIETUS_RACE_SEED=%llu\n", static_cast<unsigned long long>(races),
         static_cast<unsigned long long>(seed));
  const auto begin = Clock::now();
  for (uint64_t i = 0; i < races && !HasFailure(); ++i) race(seed + i);
  EXPECT_TRUE(beats_.all_still());
  printf("%d confirmed, %d not, %d removed in the race; the worker ran in %d; %.1f s\n", confirmed_,
         lost_, removed_, ran_, seconds_since(begin));
  if (races >= 30) EXPECT_GT(ran_, 0) << "no race ever came so far as to run the worker";
}

}  // namespace

// The runs that are swept: one worker tree each, with the options that make quietus use a certain
// part of itself.
#pragma once

#include <string>
#include <vector>

#include "faults/fault.hpp"
#include "supervisor/options.hpp"

namespace faults {

// What the world does to quietus, as soon as the worker's tree is up.
enum class Event {
  none,
  terminate,        // SIGTERM to the guardian
  interrupt_twice,  // SIGINT, twice
  stop_file,
  parent_leaves,  // whoever started quietus ends
  kill_supervisor,
  kill_guardian,
};

// Which actors may live when the receipt says "confirmed".
enum class Keeps { nothing, detached, everything_after_success };

// What the run gives when nothing goes wrong: the sweep begins with that, or it would prove
// nothing.
struct Want {
  static constexpr int kNull = 1000;
  bool confirmed = true;
  std::vector<int> codes;  // the worker's exit code, -signal, or kNull
  bool error = false;
  bool timed_out = false;
  int status = 0;  // exit status of quietus; -signal
};

struct Case {
  std::string name;
  quietus::Options options;
  Event event = Event::none;
  std::vector<Fault> given;
  Keeps keeps = Keeps::nothing;
  Want want;
  bool needs_cgroup = false;
  bool needs_shield = false;
  unsigned uid = 0;           // who starts quietus
  bool asked_before = false;  // the stop or expire file is there from the start
};

// Where every run finds its files: a directory that holds a file system of the run's own.
struct Paths {
  std::string scratch;
  std::string actor;  // open to every uid
  [[nodiscard]] std::string own_proc() const { return scratch + "/proc"; }
  [[nodiscard]] std::string beats() const { return scratch + "/beats"; }
  [[nodiscard]] std::string out(const char* name) const { return scratch + "/out/" + name; }
};

std::vector<Case> all_cases(const Paths& paths);

}  // namespace faults

// What became of one supervised command: everything that is known when supervision ends. The
// receipt (receipt.hpp), the report (report.hpp) and the exit code (exit_code.hpp) are rendered
// from it. Every default means "unknown"; only evidence changes it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/time.hpp"

namespace quietus {

// How the worker itself ended.
struct Ending {
  enum class Kind { unknown, not_started, exited, signaled };
  Kind kind = Kind::unknown;
  int value = 0;  // exited: the exit code; signaled: the signal; not_started: the errno, or 0

  static constexpr Ending exited(int code) { return {Kind::exited, code}; }
  static constexpr Ending signaled(int signal) { return {Kind::signaled, signal}; }
  static constexpr Ending not_started(int error) { return {Kind::not_started, error}; }
  friend constexpr bool operator==(const Ending&, const Ending&) = default;
};

// Why supervision ended. The first cause wins.
enum class Cause {
  unknown,
  exited,  // the worker ended by itself
  deadline,
  stop,         // asked by a signal or the stop file
  expire,       // the expire file: the deadline has come
  lease,        // the controller's lease ran out
  parent_gone,  // --die-with-parent
  launch_failed,
  supervisor_killed,  // one of our own halves was killed
};
std::string_view name(Cause cause);

// How it is known that nothing is left. Made only by ProcessTree::prove_empty and by a launch that
// never made a process.
enum class Proof {
  no_children_left,    // waitid says ECHILD to a verified subreaper
  cgroup_unpopulated,  // and, where we are a subreaper, no_children_left as well
  pid_namespace_gone,
  process_group_empty,  // --descendants group
  kept_by_policy,       // --descendants keep-on-success after exit 0
};
std::string_view name(Proof proof);

// What did the killing, strongest first.
enum class Means { none, shield, isolate, cgroup, sweep, group };
std::string_view name(Means means);

// A call that was not to be had, and what was done instead.
struct Fallback {
  std::string call;
  int error = 0;
  std::string instead;
};

// A signal sent, or rounds of one and the same kind of signal.
struct Step {
  std::string_view action;  // terminate, kill-group, kill-all, kill-cgroup, sweep
  int signal = 0;
  Span at{};     // since supervision began
  Span until{};  // the last round
  std::int64_t rounds = 0;
  std::int64_t reached = 0;
};

// One row of the process table, as far as it could be read.
struct Process {
  int pid = 0;
  int ppid = 0;
  int pgid = 0;
  int sid = 0;
  std::int64_t uid = -1;
  char state = '?';
  std::uint64_t start_ticks = 0;  // field 22 of proc_pid_stat(5)
  std::string comm;
  std::string command_line;  // arguments joined by blanks, cut at a limit
  Span cpu{};
  std::int64_t rss_kib = 0;
  std::string why;  // why it lives: a survivor's reason, or the policy that kept it
};

struct Usage {
  Span user{};
  Span system{};
  std::int64_t peak_rss_kib = 0;
};

struct Outcome {
  Ending ending;
  Cause cause = Cause::unknown;
  std::string stop_by;  // SIGTERM, stop-file, ...: who asked; empty when nobody did
  std::optional<Proof> proof;
  Means means = Means::none;
  std::optional<std::string> error;
  bool exec_refused = false;  // the launch failed at the program itself, not before it
  std::vector<Fallback> fallbacks;
  std::vector<Step> steps;
  std::vector<Process> survivors;
  std::vector<Process> kept;
  std::string policy;  // the --descendants word
  std::vector<std::string> notes;

  int worker_pid = 0;
  std::int64_t reaped = 0;  // descendants that were collected, the worker not among them
  std::int64_t killed = 0;  // of those, the ones that died of SIGKILL
  Usage worker_usage;
  Usage descendants_usage;

  std::int64_t wall_start_ns = 0;  // CLOCK_REALTIME, nanoseconds since the epoch
  std::int64_t wall_end_ns = 0;
  Span worker_ran{};
  Span cleanup{};  // from the end of the running phase to the proof
  Span total{};
  std::optional<std::int64_t> output_bytes_cut;

  void because(Cause why) {
    if (cause == Cause::unknown) cause = why;
  }
  // The first trouble is the one that explains the others.
  void trouble(std::string text) {
    if (!error) error = std::move(text);
  }
  void fell_back(std::string call, int code, std::string instead) {
    fallbacks.push_back({std::move(call), code, std::move(instead)});
  }
  [[nodiscard]] bool timed_out() const {
    return cause == Cause::deadline || cause == Cause::expire;
  }
};

}  // namespace quietus

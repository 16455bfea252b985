#include "supervisor/process_tree.hpp"

#include <algorithm>
#include <csignal>

#include "contract/decimal.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// Fast forkers can make zombies as fast as one reaps, and we may get a sliver of a core: a turn is
// bounded in time.
constexpr Span kReapTime = 3ms;
constexpr int kReapsPerClock = 16;
// How long one look at the process table may take; see scan_processes.
constexpr Span kScanTime = 250ms;
// Numbers are given out in a row, so most children are found soon after the worker's; all numbers
// take about a second.
constexpr int kFirstProbe = 1 << 13;
constexpr int kWidestProbe = 1 << 22;
// Rounds that meet the same processes again get slower, up to this.
constexpr Span kSlowestRound = 50ms;
constexpr Span kFirstPause = 1ms;
constexpr Span kAtomicPause = 10ms;
constexpr Span kManyPause = 10ms;
// After so many equal rounds, look behind the children: they may shelter what could be killed.
constexpr int kRoundsBeforeDeepSweep = 4;
constexpr int kBlindRounds = 3;
constexpr std::size_t kManyAtOnce = 64;
constexpr std::size_t kReportedProcesses = 200;

}  // namespace

std::string_view name(Descendants policy) {
  switch (policy) {
    case Descendants::tree: return "tree";
    case Descendants::group: return "group";
    case Descendants::keep_on_success: return "keep-on-success";
  }
  return "tree";
}

ProcessTree::ProcessTree(sys::Gate& gate, Ground& ground, const Options& options, Outcome& outcome,
                         Moment started)
    : gate_(gate), ground_(ground), options_(options), outcome_(outcome), started_(started) {}

// --- reaping -----------------------------------------------------------------------------------

bool ProcessTree::adopt_worker(int pid) {
  worker_ = pid;
  const auto seen = sys::wait_for_exit(gate_, pid, sys::Peek::yes);
  if (!seen && sys::gone(seen.error())) worker_ended_ = worker_collected_ = true;
  return seen.has_value();
}

bool ProcessTree::reap(Moment now) {
  const Moment until = now + kReapTime;
  for (int count = 1;; ++count) {
    if (count % kReapsPerClock == 0 && sys::now(gate_, now) >= until) return true;
    const bool guarded = worker_ != 0 && !worker_collected_;
    if (guarded && !worker_ended_) {
      const auto seen = sys::wait_for_exit(gate_, worker_, sys::Peek::yes);
      if (seen && seen->pid != 0) note_worker(*seen);
      if (!seen) {
        // ECHILD: collected behind our back. Its status is lost; unknown stays unknown. Any other
        // answer means that we cannot see its end at all.
        (sys::gone(seen.error()) ? worker_ended_ : blind_) = true;
        if (worker_ended_) worker_collected_ = true;
        if (blind_) outcome_.trouble(sys::errno_text(seen.error().code, "waitid"));
        return false;
      }
    }
    const auto waited = sys::wait_for_exit(gate_, 0, guarded ? sys::Peek::yes : sys::Peek::no);
    if (!waited || waited->pid == 0) return false;
    // The worker's zombie hides the others from a peek at "any": it is collected first.
    if (guarded && waited->pid == worker_) {
      note_worker(*waited);
      return false;
    }
    if (guarded) {
      const auto collected = sys::wait_for_exit(gate_, waited->pid, sys::Peek::no);
      if (!collected || collected->pid == 0) return false;
      note_ended(*collected);
    } else {
      note_ended(*waited);
    }
    const bool all_of_them = ++reaped_since_round_ >= last_alive_.size() && !last_alive_.empty();
    if (all_of_them) next_round_ = std::min(next_round_, now);
  }
}

void ProcessTree::note_worker(const sys::Waited& waited) {
  worker_ended_ = true;
  clean_exit_ = waited.kind == sys::Waited::Kind::exited && waited.value == 0;
}

void ProcessTree::note_ended(const sys::Waited& waited) {
  ++outcome_.reaped;
  if (waited.kind == sys::Waited::Kind::signaled && waited.value == SIGKILL) ++outcome_.killed;
  Usage& usage = outcome_.descendants_usage;
  usage.user += waited.user;
  usage.system += waited.system;
  usage.peak_rss_kib = std::max(usage.peak_rss_kib, waited.peak_rss_kib);
  std::erase(denied_, waited.pid);
  // A number without a start time says nothing from here on.
  std::erase_if(stays_, [&](const auto& row) { return row.pid == waited.pid && row.sid < 0; });
}

void ProcessTree::collect_worker(Moment now) {
  const auto waited = sys::wait_for_exit(gate_, worker_, sys::Peek::no);
  if (!waited) {
    // Only "no such child" means that the number is free.
    worker_collected_ = sys::gone(waited.error());
    if (!worker_collected_) outcome_.trouble(sys::errno_text(waited.error().code, "waitid"));
    return;
  }
  if (waited->pid == 0) return;
  worker_collected_ = true;
  outcome_.ending = waited->kind == sys::Waited::Kind::exited ? Ending::exited(waited->value)
                                                              : Ending::signaled(waited->value);
  outcome_.worker_usage = {waited->user, waited->system, waited->peak_rss_kib};
  outcome_.worker_ran = now - started_;
}

// --- signalling --------------------------------------------------------------------------------

Step& ProcessTree::step(std::string_view action, int signal, Moment now) {
  const Span at = now - started_;
  const auto same = [&](const Step& s) { return s.action == action && s.signal == signal; };
  auto found = std::ranges::find_if(outcome_.steps, same);
  if (found == outcome_.steps.end()) {
    outcome_.steps.push_back({.action = action, .signal = signal, .at = at, .until = at});
    found = outcome_.steps.end() - 1;
  }
  found->until = at;
  ++found->rounds;
  return *found;
}

void ProcessTree::terminate(Moment now) {
  if (worker_ == 0 || worker_collected_) return;
  const int target = options_.signal_group ? -worker_ : worker_;
  const auto sent = sys::kill(gate_, target, options_.signal);
  step("terminate", options_.signal, now).reached += sent ? 1 : 0;
  // A stopped process acts on nothing but KILL until it is continued.
  (void)sys::kill(gate_, target, SIGCONT);
}

void ProcessTree::pass_on(int signal) {
  if (worker_ == 0 || worker_collected_) return;
  (void)sys::kill(gate_, worker_, signal);  // lost if it is ending just now, as with kill(1)
}

void ProcessTree::begin_forced_end(Moment now) {
  if (forced_) return;
  forced_ = true;
  // Without a known worker nothing can have detached itself on purpose yet.
  if (options_.descendants != Descendants::group || worker_ == 0) return;
  const Children listed = children(now);
  knows_who_stays_ = listed.complete;
  for (const int pid : listed.pids) {
    if (pid == worker_) continue;
    const auto row = sys::read_stat(gate_, pid);
    // Until we collect it, its number alone says who it is.
    stays_.push_back(row ? *row : sys::StatRow{.pid = pid, .sid = -1});
  }
}

bool ProcessTree::kill_worker_group(Moment now) {
  if (worker_ == 0 || worker_collected_) return false;
  if (!keeping_) {
    const auto group = sys::kill(gate_, -worker_, SIGKILL);
    // The child may not have its session yet: then there is no such group, only the child.
    const auto alone = sys::kill(gate_, worker_, SIGKILL);
    step("kill-group", SIGKILL, now).reached += group || alone ? 1 : 0;
    if (outcome_.means == Means::none) outcome_.means = Means::group;
  }
  if (worker_ended_) collect_worker(now);
  return worker_collected_;
}

bool ProcessTree::kills_below_group() const {
  if (keeping_) return false;
  return options_.descendants != Descendants::group || forced_;
}

void ProcessTree::kill_round(Moment now) {
  reaped_since_round_ = 0;
  ++rounds_;
  if (!kills_below_group()) {
    // Nothing more to signal: look again, slowly, whether the group is empty.
    pace({}, false, now);
    return;
  }
  const bool spares = options_.descendants == Descendants::group;
  if (!spares && (ground_.shielded || ground_.isolated)) {
    const auto sent = sys::kill(gate_, -1, SIGKILL);
    if (sent || sys::gone(sent.error())) {
      step("kill-all", SIGKILL, now).reached += sent ? 1 : 0;
      outcome_.means = ground_.shielded ? Means::shield : Means::isolate;
      return pace({}, true, now);
    }
    if (rounds_ == 1) outcome_.fell_back("kill(-1)", sent.error().code, "swept the children");
  }
  if (!spares && ground_.cgroup) {
    const auto sent = ground_.cgroup->kill(gate_);
    step("kill-cgroup", SIGKILL, now).reached += sent ? 1 : 0;
    if (sent) {
      outcome_.means = Means::cgroup;
      // Whoever left the cgroup is met by the sweep of the later rounds.
      if (rounds_ == 1) return pace({}, true, now);
    } else if (rounds_ == 1) {
      outcome_.fell_back("cgroup.kill", sent.error().code, "swept the children");
    }
  }
  sweep(now);
}

// Kills our children, each after the kernel has said that it is one: only we can collect it, so the
// number is its own until then. Their children become ours, for the next round.
void ProcessTree::sweep(Moment now) {
  std::vector<int> alive;
  std::int64_t reached = 0;
  bool shown = false;
  for (const int pid : children(now).pids) {
    if (pid == worker_ && !worker_collected_) {
      // Killed with its group; whether it is gone is for the wait to tell.
      alive.push_back(pid);
      shown = true;
      continue;
    }
    const auto seen = sys::wait_for_exit(gate_, pid, sys::Peek::yes);
    shown = shown || seen;
    if (!seen || seen->pid != 0 || stays(pid) != Stays::no) continue;
    alive.push_back(pid);
    const auto sent = sys::kill(gate_, pid, SIGKILL);
    reached += sent ? 1 : 0;
    if (!sent && sys::denied(sent.error()) && !std::ranges::count(denied_, pid)) {
      denied_.push_back(pid);
    }
  }
  if (!alive.empty()) {
    Step& record = step("sweep", SIGKILL, now);
    record.reached += reached;
    if (outcome_.means == Means::none || outcome_.means == Means::group) {
      outcome_.means = Means::sweep;
    }
  }
  // Children there are, or we would not be here; this way of looking does not show one of them,
  // not even one that has ended. Never after a single such round: fast forkers slip through.
  blind_rounds_ = shown ? 0 : blind_rounds_ + 1;
  if (blind_rounds_ >= kBlindRounds) look_elsewhere(0);
  pace(alive, false, now);
  if (same_rounds_ >= kRoundsBeforeDeepSweep) sweep_deep(now);
}

// Behind a child that does not die (frozen, uninterruptible, of another uid) others may live that
// would. They are no children of ours: each is held by a pidfd, or at least compared by start time,
// before it is signalled.
void ProcessTree::sweep_deep(Moment now) {
  if (!sys::proc_is_ours(gate_, ground_.self)) return;
  const auto rows = sys::scan_processes(gate_, now + kScanTime);
  if (!rows) return;
  for (const sys::StatRow& row : sys::descendants_of(ground_.self, *rows)) {
    if (row.ppid == ground_.self || row.state == 'Z' || stays(row.pid) != Stays::no) continue;
    const auto held = sys::open_pidfd(gate_, row.pid);
    const auto again = sys::read_stat(gate_, row.pid);
    if (!again || again->start_ticks != row.start_ticks) continue;
    const auto sent =
        held ? sys::signal_pidfd(gate_, held->get(), SIGKILL) : sys::kill(gate_, row.pid, SIGKILL);
    step("sweep-deep", SIGKILL, now).reached += sent ? 1 : 0;
  }
}

// When the next round is worth while. Something new: at once. Many: when they are collected. The
// same again: ever slower, since the kernel tells of each end anyway.
void ProcessTree::pace(const std::vector<int>& alive, bool atomic, Moment began) {
  same_rounds_ = alive == last_alive_ ? same_rounds_ + 1 : 0;
  last_alive_ = alive;
  const Moment now = sys::now(gate_, began);
  Span pause{};
  if (atomic) {
    pause = kAtomicPause;  // everybody is dying: nothing to add, only to make sure
  } else if (same_rounds_ > 0) {
    pause = std::min(kSlowestRound, kFirstPause * (1 << std::min(same_rounds_, 6)));
  } else if (alive.size() > kManyAtOnce) {
    pause = kManyPause;
  }
  // Never so often that looking keeps us from collecting.
  next_round_ = now + std::max(pause, now - began);
}

// --- finding -----------------------------------------------------------------------------------

ProcessTree::Children ProcessTree::children(Moment now) {
  if (lookup_ == Lookup::children_file) {
    // Only we take children off this list, by collecting them: it is complete while we read it.
    if (auto listed = sys::list_children(gate_))
      return {std::move(*listed), true};
    else
      look_elsewhere(listed.error().code);
  }
  if (lookup_ == Lookup::process_scan) {
    Children found;
    const auto rows = sys::proc_is_ours(gate_, ground_.self)
                          ? sys::scan_processes(gate_, now + kScanTime, &found.complete)
                          : tl::unexpected(sys::Error{ENOENT, "/proc"});
    if (rows) {
      for (const sys::StatRow& row : *rows) {
        if (row.ppid == ground_.self) found.pids.push_back(row.pid);
      }
      return found;
    }
    look_elsewhere(rows.error().code);
  }
  const int from = worker_ > 0 ? worker_ : ground_.self;
  Children found{sys::probe_children(gate_, from, probe_width_, now + kScanTime), false};
  if (found.pids.empty()) probe_width_ = std::min(probe_width_ * 4, kWidestProbe);
  return found;
}

void ProcessTree::look_elsewhere(int error) {
  blind_rounds_ = 0;
  switch (lookup_) {
    case Lookup::children_file:
      lookup_ = Lookup::process_scan;
      outcome_.fell_back("/proc/thread-self/children", error, "read every /proc/PID/stat");
      break;
    case Lookup::process_scan:
      lookup_ = Lookup::probe;
      probe_width_ = kFirstProbe;
      outcome_.fell_back("/proc/PID/stat", error, "asked waitid for each number");
      break;
    case Lookup::probe: break;
  }
}

// Under `group` what was adopted before the forced end stays, and whatever shares its session.
ProcessTree::Stays ProcessTree::stays(int pid) {
  const Stays others = knows_who_stays_ ? Stays::no : Stays::unknown;
  if (stays_.empty()) return others;
  const auto row = sys::read_stat(gate_, pid);
  const bool known = std::ranges::any_of(stays_, [&](const sys::StatRow& stays) {
    if (!row) return pid == stays.pid && stays.sid < 0;
    return (pid == stays.pid && (stays.sid < 0 || row->start_ticks == stays.start_ticks)) ||
           row->sid == stays.sid;
  });
  if (known) return Stays::yes;
  return row ? others : Stays::unknown;
}

// --- proving -----------------------------------------------------------------------------------

bool ProcessTree::no_children_left() {
  const auto any = sys::wait_for_exit(gate_, 0, sys::Peek::yes);
  return !any && any.error().code == ECHILD;
}

std::optional<Proof> ProcessTree::prove_empty(Moment now) {
  if (worker_ != 0 && !worker_collected_) return std::nullopt;
  if (keeping_) return Proof::kept_by_policy;
  if (options_.descendants == Descendants::group) return prove_group_empty(now);
  if (!no_children_left()) return std::nullopt;
  if (ground_.isolated) {
    // Whoever entered the namespace from outside is nobody's child here; kill(-1) knows.
    const auto anybody = sys::kill(gate_, -1, 0);
    if (anybody || anybody.error().code != ESRCH) return std::nullopt;
    return Proof::pid_namespace_gone;
  }
  if (ground_.cgroup) {
    const auto populated = ground_.cgroup->populated(gate_);
    const bool proves = populated && ground_.cgroup_holds_worker;
    if (!proves && !ground_.subreaper) return std::nullopt;
    if (populated && *populated) return std::nullopt;
    if (populated) return Proof::cgroup_unpopulated;
  }
  if (!ground_.subreaper) return std::nullopt;
  return Proof::no_children_left;
}

// A kept service can hold a zombie of the group, so that kill(-pgid, 0) finds somebody although
// nobody lives: then the table has to tell the living from the dead.
std::optional<Proof> ProcessTree::prove_group_empty(Moment now) {
  if (worker_ == 0)
    return no_children_left() ? std::optional(Proof::no_children_left) : std::nullopt;
  if (forced_ && !no_children_left()) {
    const Children left = children(now);
    if (!left.complete) return std::nullopt;
    for (const int pid : left.pids) {
      if (stays(pid) != Stays::yes) return std::nullopt;
    }
  }
  const auto anybody = sys::kill(gate_, -worker_, 0);
  if (!anybody && anybody.error().code == ESRCH) return Proof::process_group_empty;
  if (!sys::proc_is_ours(gate_, ground_.self)) return std::nullopt;
  bool complete = false;
  const auto rows = sys::scan_processes(gate_, now + kScanTime, &complete);
  if (!rows || !complete) return std::nullopt;
  const bool lives = std::ranges::any_of(*rows, [&](const sys::StatRow& row) {
    return row.pgid == worker_ && row.state != 'Z' && row.state != 'X';
  });
  return lives ? std::nullopt : std::optional(Proof::process_group_empty);
}

// --- telling -----------------------------------------------------------------------------------

std::string ProcessTree::reason(const Process& process) const {
  if (std::ranges::count(denied_, process.pid)) return "may not be signalled";
  switch (process.state) {
    case 'D': return "uninterruptible";
    case 'Z': return "ended, but held: by a tracer, or its threads are still dying";
    case 'T':
    case 't': return "stopped, or dying";
    default: return "still alive after SIGKILL: frozen, dying, or newly forked";
  }
}

std::vector<Process> ProcessTree::alive_below(Moment now, std::string_view why) {
  std::vector<Process> found;
  if (sys::proc_is_ours(gate_, ground_.self)) {
    const auto rows = sys::scan_processes(gate_, now + kScanTime);
    if (!rows) return found;
    for (const sys::StatRow& row : sys::descendants_of(ground_.self, *rows)) {
      if (found.size() >= kReportedProcesses) break;
      found.push_back(sys::describe(gate_, row));
    }
  } else {
    for (const int pid : children(now).pids) {
      if (found.size() >= kReportedProcesses) break;
      found.push_back({.pid = pid, .ppid = ground_.self});
    }
  }
  if (found.empty() && ground_.cgroup) {
    for (const int pid : ground_.cgroup->members(gate_)) {
      if (found.size() >= kReportedProcesses) break;
      const auto row = sys::read_stat(gate_, pid);
      found.push_back(row ? sys::describe(gate_, *row) : Process{.pid = pid});
    }
  }
  for (Process& process : found) process.why = why.empty() ? reason(process) : std::string(why);
  return found;
}

std::vector<Process> ProcessTree::survivors(Moment now) {
  auto found = alive_below(now, {});
  if (options_.descendants == Descendants::group) {
    std::erase_if(found, [&](const Process& process) {
      return process.pgid != worker_ && (!forced_ || stays(process.pid) == Stays::yes);
    });
  }
  return found;
}

std::vector<Process> ProcessTree::kept(Moment now) {
  auto found = alive_below(now, keeping_ ? "kept: exit 0 under keep-on-success"
                                         : "kept: detached from the worker's process group");
  std::erase_if(found, [](const Process& process) { return process.state == 'Z'; });
  return found;
}

}  // namespace quietus

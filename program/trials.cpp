#include "program/trials.hpp"

#include <algorithm>
#include <csignal>

#include "kernel/numbers.hpp"
#include "kernel/process_table.hpp"
#include "program/bounded.hpp"
#include "supervisor/cgroup.hpp"
#include "supervisor/isolation.hpp"
#include "supervisor/shield.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// What was seen, where no call has failed.
constexpr const char* kNotListed = "it does not list our child";

// Whether poll tells that something has happened.
void await_event(sys::Gate& gate, int fd, Trial& trial) {
  pollfd wait{.fd = fd, .events = POLLIN, .revents = 0};
  const auto ready = sys::poll(gate, {&wait, 1}, kEffect);
  trial.works = ready && *ready == 1;
  if (!ready) trial.failed(ready.error());
}

// --- killing -----------------------------------------------------------------------------------

// As the halves and the worker do it: three domains deep, and the outermost must hold.
void try_shield(sys::Gate& gate, Trial& trial) {
  constexpr int kDomains = 3;
  const auto parent = sys::parent_pid(gate);
  if (!parent) return trial.failed(parent.error());
  // A domain shows only in what it forbids, so that must be possible without it.
  if (const auto reached = sys::kill(gate, *parent, 0); !reached) {
    return trial.failed(reached.error());
  }
  const bool before = sys::has_no_new_privileges(gate).value_or(true);
  for (int depth = 0; depth < kDomains; ++depth) {
    if (const auto entered = enter_signal_domain(gate); !entered) {
      return trial.failed(entered.error());
    }
  }
  if (!before && sys::has_no_new_privileges(gate).value_or(false)) trial.needs = "no_new_privs";
  trial.failed(kNoEffect);
  if (!domain_holds(gate, *parent)) return;
  const auto sitter = fork_sitter(gate);
  if (!sitter) return trial.failed(sitter.error());
  trial.works = end_child(gate, sitter->pid);
}

// The first process of the namespace; its end must be the end of the other one in it.
[[noreturn]] void be_namespace_init(sys::Gate& gate, Trial& trial) {
  const bool first = sys::own_pid(gate).value_or(0) == 1;
  if (!mount_own_proc(gate)) trial.note = "the outer /proc stays in sight";
  const auto other = sys::fork(gate);
  if (other && other->pid == 0) sit(gate);
  trial.word.set(first && other ? 1 : 0);
  sys::exit_now(gate, 0);
}

void try_isolate(sys::Gate& gate, Trial& trial) {
  auto ends = sys::pipe(gate);
  if (!ends) return trial.failed(ends.error());
  const int in = ends->first.get();
  auto forked = sys::fork(gate, {.namespaces = sys::kCloneNewPid | sys::kCloneNewNs});
  if (!forked && sys::denied(forked.error())) {
    trial.needs = "user-namespace";
    forked = fork_isolated(gate);
  }
  if (!forked) return trial.failed(forked.error());
  if (forked->pid == 0) be_namespace_init(gate, trial);
  trial.failed(kNoEffect);
  // Both in there hold the other end, and only the end of both closes it.
  ends->second.reset();
  const auto ended = await_end(gate, forked->pid, kEffect);
  if (ended && ended->value != 0) return trial.failed("its uid_map cannot be written");
  trial.works = ended && trial.word.get() == 1 && sys::set_nonblocking(gate, in) &&
                comes_true(gate, kEffect, [&] {
                  char byte = 0;
                  return sys::read(gate, in, {&byte, 1}).value_or(1) == 0;
                });
}

void try_cgroup(sys::Gate& gate, Trial& trial) {
  constexpr const char* kOwn = "/proc/self/cgroup";
  if (const auto there = sys::lstat(gate, kOwn); !there) {
    return trial.failed({there.error().code, kOwn});
  }
  auto leaf = Cgroup::create(gate, "probe-" + own_name(gate));
  if (!leaf) return trial.failed(leaf.error());
  leaf->open(gate);
  const std::string procs = leaf->procs_path();
  const auto sitter = fork_sitter(gate, {leaf->directory(), procs.c_str()});
  if (!sitter) {
    trial.failed(sitter.error());
  } else if (!comes_true(gate, kEffect, [&] { return leaf->populated(gate).value_or(false); })) {
    trial.failed(kNoEffect);
    (void)end_child(gate, sitter->pid);
  } else if (const auto killed = leaf->kill(gate); !killed) {
    trial.failed(killed.error());
    (void)end_child(gate, sitter->pid);
  } else {
    trial.failed(kNoEffect);
    const auto ended = await_end(gate, sitter->pid, kEffect);
    trial.works = ended && ended->kind == sys::Waited::Kind::signaled &&
                  comes_true(gate, kEffect, [&] { return !leaf->populated(gate).value_or(true); });
  }
  (void)comes_true(gate, kEffect, [&] { return leaf->remove(gate).has_value(); });
}

// Leaves its number in the word, and stays as long as it stands there.
[[noreturn]] void be_orphan(sys::Gate& gate, Trial& trial) {
  const int self = sys::own_pid(gate).value_or(0);
  trial.word.set(self);
  (void)comes_true(gate, kEffect + kEffect, [&] { return trial.word.get() != self; });
  sys::exit_now(gate, 0);
}

// An orphan must become our child, once its parent between us is gone.
void try_subreaper(sys::Gate& gate, Trial& trial) {
  if (const auto asked = sys::become_subreaper(gate); !asked) return trial.failed(asked.error());
  if (const auto really = sys::is_subreaper(gate); !really) return trial.failed(really.error());
  const auto middle = sys::fork(gate);
  if (!middle) return trial.failed(middle.error());
  if (middle->pid == 0) {
    const auto orphan = sys::fork(gate);
    if (orphan && orphan->pid == 0) be_orphan(gate, trial);
    sys::exit_now(gate, 0);
  }
  trial.failed(kNoEffect);
  const bool orphaned = await_end(gate, middle->pid, kEffect) &&
                        comes_true(gate, kEffect, [&] { return trial.word.get() != 0; });
  const int orphan = trial.word.get();
  trial.works = orphaned && sys::wait_for_exit(gate, orphan, sys::Peek::yes);
  trial.word.set(0);
  if (trial.works) (void)await_end(gate, orphan, kEffect);
}

using Look = sys::Result<bool> (*)(sys::Gate& gate, int child);

// Whether a way of finding children finds one.
void try_finding(sys::Gate& gate, Trial& trial, Look look) {
  const auto child = fork_sitter(gate);
  if (!child) return trial.failed(child.error());
  trial.failed(kNotListed);
  const auto found = look(gate, child->pid);
  if (found) trial.works = *found;
  if (!found) trial.failed(found.error());
  (void)end_child(gate, child->pid);
}

sys::Result<bool> in_children_file(sys::Gate& gate, int child) {
  const auto listed = sys::list_children(gate);
  if (!listed) return tl::unexpected(sys::Error{listed.error().code, "/proc/thread-self/children"});
  return std::ranges::count(*listed, child) == 1;
}

sys::Result<bool> in_process_table(sys::Gate& gate, int child) {
  const auto self = sys::own_pid(gate);
  if (!self) return tl::unexpected(self.error());
  const auto rows = sys::scan_processes(gate, sys::now(gate) + kEffect);
  if (!rows) return tl::unexpected(sys::Error{rows.error().code, "/proc"});
  // The /proc of another namespace has the same numbers for others.
  return sys::proc_is_ours(gate, *self) && std::ranges::any_of(*rows, [&](const sys::StatRow& row) {
           return row.pid == child && row.ppid == *self;
         });
}

sys::Result<bool> by_waitid(sys::Gate& gate, int child) {
  const auto self = sys::own_pid(gate);
  if (!self) return tl::unexpected(self.error());
  const auto seen = sys::wait_for_exit(gate, child, sys::Peek::yes);
  if (!seen) return tl::unexpected(seen.error());
  const auto ourselves = sys::wait_for_exit(gate, *self, sys::Peek::yes);
  return !ourselves && sys::gone(ourselves.error());
}

void try_proc_children(sys::Gate& gate, Trial& t) { try_finding(gate, t, in_children_file); }
void try_proc_scan(sys::Gate& gate, Trial& t) { try_finding(gate, t, in_process_table); }
void try_waitid(sys::Gate& gate, Trial& t) { try_finding(gate, t, by_waitid); }

// --- waiting -----------------------------------------------------------------------------------

void try_pidfd(sys::Gate& gate, Trial& trial) {
  const auto child = fork_sitter(gate);
  if (!child) return trial.failed(child.error());
  trial.failed(kNoEffect);
  const auto held = sys::open_pidfd(gate, child->pid);
  const auto sent =
      held ? sys::signal_pidfd(gate, held->get(), SIGKILL) : tl::unexpected(held.error());
  if (sent) {
    await_event(gate, held->get(), trial);
  } else {
    trial.failed(sent.error());
  }
  (void)end_child(gate, child->pid);
}

void try_signalfd(sys::Gate& gate, Trial& trial) {
  const SignalSet child_signal = SignalSet::of(SIGCHLD);
  if (const auto done = sys::block_signals(gate, child_signal); !done) {
    return trial.failed(done.error());
  }
  const auto signals = sys::signal_fd(gate, child_signal);
  if (!signals) return trial.failed(signals.error());
  const auto child = sys::fork(gate);
  if (!child) return trial.failed(child.error());
  if (child->pid == 0) sys::exit_now(gate, 0);
  trial.failed(kNoEffect);
  await_event(gate, signals->get(), trial);
  const auto received = sys::read_signal(gate, signals->get());
  trial.works = trial.works && received && received->signal == SIGCHLD;
  (void)await_end(gate, child->pid, kEffect);
}

// --- hiding ------------------------------------------------------------------------------------

void try_dumpable(sys::Gate& gate, Trial& trial) {
  if (const auto set = sys::set_dumpable(gate, false); !set) return trial.failed(set.error());
  trial.failed(kNoEffect);
  trial.works = !sys::is_dumpable(gate).value_or(true);
}

// main has overwritten our own arguments, as it does before it supervises: what is left of them?
void try_argv(sys::Gate& gate, Trial& trial) {
  constexpr std::size_t kLimit = 4096;
  constexpr const char* kCommandLine = "/proc/self/cmdline";
  constexpr std::string_view kShown = "quietus";
  const auto read = sys::read_file(gate, kCommandLine, kLimit);
  if (!read) return trial.failed({read.error().code, kCommandLine});
  trial.failed(kNoEffect);
  const auto left = std::string_view(*read).substr(0, read->find_last_not_of('\0') + 1);
  trial.works = !left.empty() && kShown.starts_with(left);
}

constexpr MeansTrial kMeansTrials[kMeansCount] = {
    {Purpose::killing, "shield", "shield (Landlock)", try_shield},
    {Purpose::killing, "isolate", "isolate (namespace)", try_isolate},
    {Purpose::killing, "cgroup", "cgroup v2", try_cgroup},
    {Purpose::killing, "subreaper", "child subreaper", try_subreaper},
    {Purpose::killing, "proc_children", "/proc children", try_proc_children},
    {Purpose::killing, "proc_scan", "/proc scan", try_proc_scan},
    {Purpose::killing, "waitid", "waitid for each pid", try_waitid},
    {Purpose::waiting, "pidfd", "pidfd", try_pidfd},
    {Purpose::waiting, "signalfd", "signalfd", try_signalfd},
    {Purpose::waiting, "inotify", "inotify", nullptr},
    {Purpose::hiding, "dumpable", "memory (dumpable)", try_dumpable},
    {Purpose::hiding, "argv", "command line", try_argv},
};

}  // namespace

const char* name(Purpose purpose) {
  switch (purpose) {
    case Purpose::killing: return "killing";
    case Purpose::waiting: return "waiting";
    case Purpose::hiding: return "hiding";
  }
  return "killing";
}

const MeansTrial& means_trial(std::size_t index) { return kMeansTrials[index]; }

void try_means(sys::Gate& gate, MeansTrials& means) {
  // Children that cannot be made or waited for would only be left behind.
  const auto possible = in_child(gate, [] { return true; });
  for (std::size_t at = 0; at < kMeansCount; ++at) {
    Trial& trial = means[at];
    const auto attempt = kMeansTrials[at].attempt;
    if (attempt == nullptr) continue;
    trial.failed("the trial came to no end");
    const auto ended = !possible ? possible : in_child(gate, [&] {
      attempt(gate, trial);
      return true;
    });
    if (!ended) trial.failed(ended.error());
  }
}

}  // namespace quietus

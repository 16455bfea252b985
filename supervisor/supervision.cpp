#include "supervisor/supervision.hpp"

#include <array>
#include <cerrno>
#include <csignal>

#include "contract/signals.hpp"
#include "supervisor/child_side.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;
using Event = Ladder::Event;
using State = Ladder::State;

// Only when poll itself is refused: no spinning.
constexpr Span kNap = 1ms;
constexpr Span kLastLook = 500ms;

}  // namespace

Supervision::Supervision(sys::Gate& gate, const Options& options, Ground& ground, Outcome& outcome,
                         Sources sources, Moment started)
    : gate_(gate),
      options_(options),
      outcome_(outcome),
      ground_(ground),
      sources_(std::move(sources)),
      started_(started),
      now_(started),
      ladder_({.timeout = options.timeout, .cleanup = options.cleanup_timeout}, started),
      tree_(gate, ground, options, outcome, started) {
  outcome_.policy = name(options.descendants);
  if (sources_.files != nullptr && !sources_.files->empty()) next_look_ = Deadline::at(started);
  if (options.control.lease) lease_end_ = Deadline::after(started, *options.control.lease);
}

void Supervision::watch_worker(int pid) {
  tree_.watch_worker(pid);
  outcome_.worker_pid = pid;
  tell(Note::of(Note::Kind::forked, pid));
}

void Supervision::take_over(int worker, Moment now) {
  outcome_.worker_pid = worker;
  // Without a living worker there is nobody to ask, and no reason to wait.
  const bool lives = worker > 0 && tree_.adopt_worker(worker);
  on(lives ? Event::stop : Event::kill, now);
}

void Supervision::request_stop(Cause cause, std::string_view by, Moment now) {
  if (ladder_.state() == State::running) {
    if (outcome_.cause == Cause::unknown) outcome_.stop_by = by;
    outcome_.because(cause);
  }
  on(Event::stop, now);
}

void Supervision::run() {
  while (!ladder_.settled()) {
    turn();
    if (!ladder_.settled()) wait(now_);
  }
}

// --- one turn ----------------------------------------------------------------------------------

void Supervision::turn() {
  now_ = sys::now(gate_, now_);
  const Moment now = now_;
  read_signals(now);
  read_commands(now);
  look_at_launch();
  look_at_files(now);
  look_at_lease(now);
  if (sources_.output != nullptr) (void)sources_.output->drain(gate_);

  // What has ended is collected before time is judged: a worker that was in time is in time. But
  // collecting takes time itself, and on a starved machine much of it.
  more_to_reap_ = tree_.reap(now);
  now_ = sys::now(gate_, now);
  if (tree_.worker_ended()) worker_ended(now_);
  if (tree_.blind()) on(Event::kill, now_);
  if (ending()) end_the_rest(now_);
  on(Event::tick, now_);
}

bool Supervision::ending() const {
  return ladder_.state() == State::reaping || ladder_.state() == State::draining;
}

// Sleeps until something happens; every source is level-triggered, so nothing is lost between the
// turn and the poll.
void Supervision::wait(Moment now) {
  std::array<pollfd, 7> fds{};
  std::size_t count = 0;
  const auto add = [&](int fd, short events) {
    if (fd >= 0) fds[count++] = {.fd = fd, .events = events, .revents = 0};
  };
  add(sources_.signals, POLLIN);
  if (!guardian_gone_) add(sources_.commands, POLLIN);
  add(sources_.launch_pipe.get(), POLLIN);
  const bool running = ladder_.state() == State::running;
  if (sources_.files != nullptr && running) add(sources_.files->fd(), POLLIN);
  if (running) add(sources_.lease, POLLIN);
  if (sources_.output != nullptr) add(sources_.output->fd(), POLLIN);
  if (ending() && ground_.cgroup) add(ground_.cgroup->events(), POLLPRI);

  const auto ready = sys::poll(gate_, {fds.data(), count}, wake(now).left(now));
  if (!ready && ready.error().code != EINTR) (void)sys::sleep(gate_, kNap);
}

Deadline Supervision::wake(Moment now) const {
  // SIGCHLD does not count: what was left in this turn sends no second one.
  if (more_to_reap_) return Deadline::at(now);
  Deadline wake = ladder_.wake();
  if (ladder_.state() == State::running) return earlier(wake, earlier(next_look_, lease_end_));
  // In the grace only "now!" counts, and that has a file only in a session.
  if (ladder_.state() == State::grace) return earlier(wake, next_look_);
  return earlier(wake, Deadline::at(std::max(now, tree_.next_round())));
}

// --- what happened -----------------------------------------------------------------------------

void Supervision::read_signals(Moment now) {
  if (sources_.signals < 0) return;
  for (int count = 0; count < kMessagesPerTurn; ++count) {
    const auto received = sys::read_signal(gate_, sources_.signals);
    if (!received) return;
    take_signal(received->signal, now);
  }
}

void Supervision::read_commands(Moment now) {
  if (sources_.commands < 0 || guardian_gone_) return;
  for (int count = 0; count < kMessagesPerTurn; ++count) {
    const auto received = receive<Command>(gate_, sources_.commands);
    if (!received) {
      if (sys::would_block(received.error())) return;
      outcome_.trouble("cannot hear the guardian: " + sys::errno_text(received.error().code, {}));
      guardian_gone_ = true;
      return request_stop(Cause::supervisor_killed, "guardian", now);
    }
    if (!*received) {
      guardian_gone_ = true;
      outcome_.trouble("the guardian process was killed");
      return request_stop(Cause::supervisor_killed, "guardian", now);
    }
    switch ((*received)->kind) {
      case Command::Kind::signal: take_signal((*received)->value, now); break;
      case Command::Kind::parent_gone: request_stop(Cause::parent_gone, "parent", now); break;
    }
  }
}

void Supervision::take_signal(int signal, Moment now) {
  switch (signal) {
    case SIGUSR1:
    case SIGUSR2: return tree_.pass_on(signal);
    case SIGINT:
      // Only a second Ctrl-C means "now": everything else may be repeated by accident.
      if (interrupted_) on(Event::kill, now);
      interrupted_ = true;
      [[fallthrough]];
    case SIGTERM:
    case SIGHUP:
    case SIGQUIT: return request_stop(Cause::stop, signal_name(signal), now);
    default: return;
  }
}

void Supervision::look_at_launch() {
  if (!sources_.launch_pipe) return;
  char nothing = 0;
  const auto ended = sys::read(gate_, sources_.launch_pipe.get(), {&nothing, 1});
  if (!ended && sys::would_block(ended.error())) return;
  sources_.launch_pipe.reset();
  // An error tells nothing of the child; its end will.
  if (ended) launch_is_over();
}

// The child has exec'd, or ended: what it had to say is said.
void Supervision::launch_is_over() {
  if (launch_is_over_ || sources_.board == nullptr) return;
  launch_is_over_ = true;
  for (const LaunchMessage& message : sources_.board->messages()) {
    if (!message.fatal) {
      outcome_.fell_back(name(message.stage), message.code, "the worker went without it");
      if (message.stage == Stage::cgroup && ground_.cgroup) {
        ground_.cgroup.reset();  // the child has removed it
      }
      continue;
    }
    launch_failure_ = Ending::not_started(message.code);
    const bool exec = message.stage == Stage::exec;
    const std::string& about = message.stage == Stage::directory ? options_.worker.directory
                                                                 : options_.worker.argv.front();
    std::string text = sys::errno_text(message.code, about);
    if (!exec) text += std::string(" (") + name(message.stage) + ")";
    outcome_.trouble(std::move(text));
    outcome_.exec_refused = exec;
    outcome_.because(Cause::launch_failed);
  }
  if (!launch_failure_) tell(Note::of(Note::Kind::started));
  if (ground_.cgroup && !ground_.subreaper && !ground_.cgroup_holds_worker) {
    ground_.cgroup_holds_worker = ground_.cgroup->holds(gate_, outcome_.worker_pid);
  }
}

void Supervision::look_at_files(Moment now) {
  const State state = ladder_.state();
  if (sources_.files == nullptr || (state != State::running && state != State::grace)) return;
  if (sources_.files->fd() >= 0) sources_.files->drain(gate_);
  if (next_look_.passed(now)) {
    sources_.files->arm(gate_);
    next_look_ = Deadline::after(now, WatchedFiles::kInterval);
  }
  // A lookup that fails tells nothing: the signal still works, and the next look may.
  const auto there = [&](Watched what) {
    return sources_.files->present(gate_, what).value_or(false);
  };
  if (state == State::running) {
    if (there(Watched::stop_file)) {
      request_stop(Cause::stop, "stop-file", now);
    } else if (there(Watched::expire_file)) {
      request_stop(Cause::expire, "expire-file", now);
    }
  }
  if (there(Watched::kill_file)) {
    request_stop(Cause::stop, "kill-file", now);
    on(Event::kill, now);
  }
}

void Supervision::look_at_lease(Moment now) {
  if (ladder_.state() != State::running) return;
  if (sources_.lease >= 0) {
    char ignored[512];
    pollfd fd{.fd = sources_.lease, .events = POLLIN, .revents = 0};
    const auto ready = sys::poll(gate_, {&fd, 1}, Span::zero());
    if (!ready || *ready == 0) return;
    // What the controller sends is of no interest; that it no longer can is.
    const auto got = sys::read(gate_, sources_.lease, ignored);
    if (!got || *got == 0) request_stop(Cause::lease, "lease", now);
    return;
  }
  const Control& control = options_.control;
  if (!control.lease) return;
  const auto file = sys::lstat_at(gate_, control.directory, control.lease_file.c_str());
  if (file) {
    // Unsigned, since whoever owns the file can set a time that no clock shows.
    const std::uint64_t touched = static_cast<std::uint64_t>(file->st_mtim.tv_sec) * 1000000000 +
                                  static_cast<std::uint64_t>(file->st_mtim.tv_nsec);
    if (renewed_ != touched) lease_end_ = Deadline::after(now, *control.lease);
    renewed_ = touched;
  }
  if (lease_end_.passed(now)) request_stop(Cause::lease, "lease", now);
}

// --- what follows ------------------------------------------------------------------------------

void Supervision::on(Event event, Moment now) {
  const State before = ladder_.state();
  const Ladder::Action action = ladder_.on(event, now);
  if (before == State::running && ladder_.state() != State::running) {
    ending_since_ = now;
    if (ladder_.overran()) outcome_.because(Cause::deadline);
    tell(Note::of(Note::Kind::ending, static_cast<int>(outcome_.cause), outcome_.stop_by));
    if (sources_.files != nullptr) sources_.files->disarm(gate_);
  }
  switch (action) {
    case Ladder::Action::none: break;
    case Ladder::Action::terminate:
      tree_.begin_forced_end(now);
      tree_.terminate(now);
      break;
    case Ladder::Action::kill:
      if (event != Event::worker_ended) tree_.begin_forced_end(now);
      if (tree_.kill_worker_group(now)) more_to_reap_ = true;
      end_the_rest(now);
      break;
    case Ladder::Action::give_up: give_up(now); break;
  }
  if (ladder_.settled()) settle(now);
}

void Supervision::worker_ended(Moment now) {
  launch_is_over();  // one that failed is known before its exit code is
  const bool natural = ladder_.state() == State::running;
  if (natural) outcome_.because(Cause::exited);
  if (natural && keeps_on_success()) tree_.keep_everything();
  on(Event::worker_ended, now);
}

// The exact condition of keep-on-success: exit 0, by itself, and nobody asked for the end.
bool Supervision::keeps_on_success() {
  if (options_.descendants != Descendants::keep_on_success || outcome_.error) return false;
  if (!tree_.exited_cleanly() || launch_failure_) return false;
  if (sources_.files == nullptr) return true;
  const auto absent = [&](Watched what) {
    return !sources_.files->present(gate_, what).value_or(true);
  };
  return absent(Watched::stop_file) && absent(Watched::expire_file);
}

// The proof first: most ends leave nothing to kill. Then the kill, before any more is collected:
// who forks fast makes zombies faster than we take them.
void Supervision::end_the_rest(Moment now) {
  if (tree_.worker_ended() && tree_.kill_worker_group(now)) {
    // Its zombie had hidden others that had ended from the wait for any.
    more_to_reap_ = true;
  }
  outcome_.proof = tree_.prove_empty(now);
  if (outcome_.proof) return on(Event::quiet, now);
  if (now >= tree_.next_round()) tree_.kill_round(now);
}

// Out of patience. A last look all the same: we may be late because we were kept from running, and
// what is said of the living must be true now.
void Supervision::give_up(Moment now) {
  const Moment until = now + kLastLook;
  while (tree_.reap(now) && now < until) now = sys::now(gate_, now);
  if (tree_.worker_ended()) (void)tree_.kill_worker_group(now);
  while (tree_.reap(now) && now < until) now = sys::now(gate_, now);
  outcome_.proof = tree_.prove_empty(now);
  if (outcome_.proof) return;
  outcome_.survivors = tree_.survivors(now);
  outcome_.trouble("cleanup: processes remain alive");
}

void Supervision::settle(Moment now) {
  if (launch_failure_) outcome_.ending = *launch_failure_;
  const bool keeps =
      options_.descendants == Descendants::group || outcome_.proof == Proof::kept_by_policy;
  if (keeps) outcome_.kept = tree_.kept(now);
  if (sources_.output != nullptr) {
    const auto finished = sources_.output->finish(gate_);
    if (!finished) {
      outcome_.trouble("output: " + sys::errno_text(finished.error().code, options_.output));
    }
    outcome_.output_bytes_cut = static_cast<std::int64_t>(sources_.output->bytes_cut());
  }
  // A last look: whatever killed the guardian must be in the receipt.
  read_commands(now);
  now_ = sys::now(gate_, now_);
  outcome_.cleanup = now_ - ending_since_;
  outcome_.total = now_ - started_;
  outcome_.wall_end_ns = sys::wall_clock_ns(gate_);
}

void Supervision::tell(const Note& note) {
  // The guardian may be gone; the end of file on the other pipe says so.
  if (sources_.notes >= 0) (void)send(gate_, sources_.notes, note);
}

}  // namespace quietus

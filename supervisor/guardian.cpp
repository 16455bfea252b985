#include "supervisor/guardian.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "contract/signals.hpp"
#include "supervisor/isolation.hpp"
#include "supervisor/link.hpp"
#include "supervisor/record.hpp"
#include "supervisor/shield.hpp"
#include "supervisor/supervision.hpp"
#include "supervisor/supervisor.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

constexpr int kParentDeath = SIGPWR;  // PR_SET_PDEATHSIG; nobody else sends it to a process
constexpr const char* kName = "quietus";
constexpr unsigned kOutputMode = 0666;
constexpr int kReapsPerTurn = 512;
// How long a supervisor that has said "done" may take to leave.
constexpr Span kFarewell = 5s;

class Guardian {
 public:
  Guardian(sys::Gate& gate, const Options& options, int parent)
      : gate_(gate), options_(options), parent_(parent) {}

  int run() {
    if (const auto ready = prepare(); !ready) return refuse(ready.error());
    auto link = make_link(gate_);
    if (!link) return refuse(link.error());
    commands_ = std::move(link->commands_out);
    notes_ = std::move(link->notes_in);
    relay_signals();  // what came until now is known before anything starts
    const auto forked = options_.isolate ? fork_isolated(gate_) : sys::fork(gate_);
    if (!forked) return refuse(forked.error());
    if (forked->pid == 0) {
      commands_.reset();
      notes_.reset();
      signals_.reset();
      (void)sys::set_dumpable(gate_, false);
      run_supervisor(gate_, options_, inherited_, std::move(link->commands_in),
                     std::move(link->notes_out));
    }
    supervisor_ = forked->pid;
    link->commands_in.reset();
    link->notes_out.reset();
    return watch_over();
  }

 private:
  // --- before the fork: fail fast -----------------------------------------------------------
  sys::Result<sys::Unit> prepare() {
    Outcome& outcome = inherited_.outcome;
    inherited_.started = sys::now(gate_);
    outcome.wall_start_ns = sys::wall_clock_ns(gate_);
    outcome.policy = name(options_.descendants);
    if (const auto done = settle_signals(); !done) return done;
    auto token = make_token(gate_);
    if (!token) return tl::unexpected(token.error());
    inherited_.token = std::move(*token);
    const auto board = LaunchBoard::create(gate_);
    if (!board) return tl::unexpected(board.error());
    inherited_.board = *board;
    const auto self = sys::own_pid(gate_);
    if (!self) return tl::unexpected(self.error());
    self_ = inherited_.guardian = *self;
    if (options_.form != Form::run) {
      // A later kill of the group that the provider made then misses us; a leader stays one.
      const auto group = sys::process_group(gate_);
      if (group && *group != self_) (void)sys::new_session(gate_);
    }
    (void)sys::set_name(gate_, kName);
    if (!options_.isolate) {
      subreaper_ = sys::become_subreaper(gate_) && sys::is_subreaper(gate_).value_or(false);
    }
    if (self_ == 1 && options_.descendants != Descendants::tree) {
      outcome.notes.push_back("as PID 1: whatever is kept ends when we leave");
    }
    if (const auto done = raise_shield(); !done) return done;
    if (const auto done = open_output(); !done) return done;
    make_cgroup();
    return write_pid_file();
  }

  // Everything is blocked and read as data: no signal but KILL and STOP acts on us by itself.
  sys::Result<sys::Unit> settle_signals() {
    for (int signal = 1; signal <= kLastSignal; ++signal) {
      if (sys::is_ignored(gate_, signal).value_or(false)) inherited_.ignored.add(signal);
    }
    if (const auto done = sys::block_signals(gate_, SignalSet::all()); !done) return done;
    // Ignored, the kernel would reap our children itself and lose their status.
    if (const auto done = sys::reset_signal(gate_, SIGCHLD); !done) return done;
    SignalSet heard = SignalSet::of(SIGCHLD, SIGTERM, SIGUSR1, SIGUSR2);
    // nohup and "&" mean what they say. TERM is always heard.
    for (const int signal : {SIGHUP, SIGINT, SIGQUIT}) {
      if (!inherited_.ignored.has(signal)) heard.add(signal);
    }
    inherited_.heard = heard;
    if (options_.die_with_parent) {
      if (const auto done = sys::set_parent_death_signal(gate_, kParentDeath); !done) return done;
      heard.add(kParentDeath);
    }
    auto signals = sys::signal_fd(gate_, heard);
    if (!signals) return tl::unexpected(signals.error());
    signals_ = std::move(*signals);
    return sys::Unit{};
  }

  sys::Result<sys::Unit> raise_shield() {
    if (options_.shield == Shield::off) return sys::Unit{};
    const int outsider = reachable_outsider(gate_, self_, parent_);
    auto entered = enter_signal_domain(gate_);
    if (entered && outsider != 0) {
      own_shield_holds_ = domain_holds(gate_, outsider);
      if (!own_shield_holds_) entered = tl::unexpected(sys::Error{EINVAL, "landlock"});
    }
    if (entered) {
      inherited_.shield = true;
    } else if (options_.shield == Shield::required) {
      about_ = "--shield";
      return entered;
    } else {
      inherited_.outcome.fell_back(entered.error().call, entered.error().code, "no shield");
    }
    return sys::Unit{};
  }

  sys::Result<sys::Unit> open_output() {
    if (options_.output.empty()) return sys::Unit{};
    about_ = options_.output;
    // Without waiting: a FIFO that nobody reads must not hold us up.
    const int directory = options_.control.directory;
    // A path of the user's may be a link; in a session's directory one can only be a trap.
    const int follow = directory == kWorkingDirectory ? 0 : O_NOFOLLOW;
    auto file =
        sys::open_at(gate_, directory, options_.output.c_str(),
                     O_WRONLY | O_CREAT | O_TRUNC | O_NONBLOCK | O_NOCTTY | follow, kOutputMode);
    if (!file) return tl::unexpected(file.error());
    if (const auto done = sys::set_appending(gate_, file->get()); !done) return done;
    if (options_.output_limit) {
      auto relay = OutputRelay::create(gate_, std::move(*file), *options_.output_limit);
      if (!relay) return tl::unexpected(relay.error());
      inherited_.relay.emplace(std::move(*relay));
    } else {
      inherited_.output.emplace(std::move(*file));
    }
    about_.clear();
    return sys::Unit{};
  }

  // By itself, where it can be had, for the ends that keep nothing; see cgroup.hpp.
  void make_cgroup() {
    const bool wanted =
        options_.descendants == Descendants::tree && !options_.isolate && !inherited_.shield;
    if (!wanted) return;
    const std::string& leaf = options_.control.leaf;
    auto made = Cgroup::create(gate_, leaf.empty() ? inherited_.token : leaf);
    if (made) {
      inherited_.cgroup.emplace(std::move(*made));
    } else {
      inherited_.outcome.fell_back(made.error().call, made.error().code, "no cgroup of our own");
    }
  }

  sys::Result<sys::Unit> write_pid_file() {
    const Control& control = options_.control;
    if (control.pid_file.empty()) return sys::Unit{};
    about_ = control.pid_file;
    auto file = sys::open_at(gate_, control.directory, control.pid_file.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kOutputMode);
    if (!file) return tl::unexpected(file.error());
    const auto written = sys::write_all(gate_, file->get(), decimal(self_) + '\n');
    if (written) about_.clear();
    return written;
  }

  // Nothing was started, and that is known; the records still say so.
  int refuse(const sys::Error& error) {
    Outcome& outcome = inherited_.outcome;
    const std::string about = about_.empty() ? std::string(error.call) : about_;
    outcome.because(Cause::launch_failed);
    outcome.trouble(sys::errno_text(error.code, about));
    outcome.ending = Ending::not_started(error.code);
    outcome.proof = Proof::no_children_left;
    const int code = record(outcome);
    if (inherited_.cgroup) (void)inherited_.cgroup->remove(gate_);
    return code;
  }

  // --- while the supervisor works -----------------------------------------------------------
  int watch_over() {
    (void)sys::set_dumpable(gate_, false);
    // Only stderr is kept, for a receipt that cannot be written.
    for (const int fd : {0, 1}) (void)sys::close_now(gate_, fd);
    inherited_.output.reset();
    if (inherited_.relay) inherited_.relay->close_worker_end();
    if (parent_has_gone()) send_command({Command::Kind::parent_gone, 0});
    for (;;) {
      relay_signals();
      read_notes();
      look_after_children();
      if (supervisor_status_) {
        read_notes();
        return done_ ? say(done_->value, done_->text) : take_over();
      }
      if (done_ && leaving_.passed(sys::now(gate_))) return say(done_->value, done_->text);
      wait();
    }
  }

  void wait() {
    pollfd fds[] = {{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                    {.fd = notes_.get(), .events = POLLIN, .revents = 0}};
    const auto ready = sys::poll(gate_, fds, leaving_.left(sys::now(gate_)));
    if (!ready && ready.error().code != EINTR) (void)sys::sleep(gate_, 1ms);
  }

  void relay_signals() {
    for (int count = 0; count < kMessagesPerTurn; ++count) {
      const auto received = sys::read_signal(gate_, signals_.get());
      if (!received) return;
      if (received->signal == SIGCHLD) continue;
      if (received->signal != kParentDeath) {
        send_command({Command::Kind::signal, received->signal});
      } else if (parent_ == 0 || parent_has_gone()) {
        // Sent also when only the thread ended that had started us; a parent in another PID
        // namespace is always 0, and then the signal has to be believed.
        send_command({Command::Kind::parent_gone, 0});
      }
    }
  }

  bool parent_has_gone() {
    if (!options_.die_with_parent) return false;
    const auto parent = sys::parent_pid(gate_);
    return parent && *parent != parent_;
  }

  void send_command(const Command& command) {
    // A supervisor that does not read any more is gone, or about to be continued.
    (void)send(gate_, commands_.get(), command);
  }

  void read_notes() {
    while (notes_) {
      const auto received = receive<Note>(gate_, notes_.get());
      if (!received && sys::would_block(received.error())) return;
      if (!received || !*received) return notes_.reset();
      const Note& note = **received;
      switch (note.kind) {
        case Note::Kind::none: break;
        case Note::Kind::shield_holds: shield_holds_ = true; break;
        case Note::Kind::forked: worker_ = note.value; break;
        case Note::Kind::started: report_ready(kExitSuccess); break;
        case Note::Kind::ending:
          cause_ = static_cast<Cause>(note.value);
          inherited_.outcome.stop_by = note.text;
          break;
        case Note::Kind::recording: recording_ = note; break;
        case Note::Kind::done:
          done_ = note;
          leaving_ = Deadline::after(sys::now(gate_), kFarewell);
          break;
      }
    }
  }

  void look_after_children() {
    // Stopped by somebody's SIGSTOP: deadlines are kept all the same.
    if (const auto stopped = sys::wait_for_stop(gate_, supervisor_);
        stopped && stopped->pid == supervisor_) {
      (void)sys::kill(gate_, supervisor_, SIGCONT);
    }
    for (int count = 0; count < kReapsPerTurn; ++count) {
      const auto ended = sys::wait_for_exit(gate_, 0, sys::Peek::yes);
      if (!ended) {
        // It cannot be seen any more: as good as gone.
        if (!supervisor_status_) supervisor_status_.emplace();
        return;
      }
      if (ended->pid == 0) return;
      // Others are orphans that came to us as PID 1.
      const auto collected = sys::wait_for_exit(gate_, ended->pid, sys::Peek::no);
      if (ended->pid != supervisor_) continue;
      supervisor_status_ = collected.value_or(*ended);
      return;
    }
  }

  // --- when the supervisor was killed -------------------------------------------------------
  int take_over() {
    const bool gone = make_sure_that_it_is_gone();
    read_notes();  // its last words
    if (done_) return say(done_->value, done_->text);
    if (recording_ && receipt_is_the_announced_one()) {
      if (inherited_.cgroup) (void)inherited_.cgroup->remove(gate_);
      return say(recording_->value, {});
    }
    for (const std::string& path : {options_.receipt, options_.report}) {
      if (!path.empty()) {
        (void)sys::unlink_at(gate_, options_.control.directory,
                             temporary_path(path, inherited_.token).c_str());
      }
    }
    Outcome& outcome = inherited_.outcome;
    outcome.because(cause_);
    outcome.because(Cause::supervisor_killed);
    outcome.trouble(how_the_supervisor_ended());
    if (options_.isolate) {
      // The init of the namespace is collected only after everybody in it is gone.
      outcome.worker_pid = worker_;
      if (gone) {
        outcome.proof = Proof::pid_namespace_gone;
        outcome.means = Means::isolate;
      }
    } else {
      // As long as it lives its children are not ours to wait for: then nothing can be proven.
      if (!gone) worker_ = 0;
      end_what_we_adopted(outcome);
    }
    const int code = record(outcome);
    if (inherited_.cgroup) (void)inherited_.cgroup->remove(gate_);
    return code;
  }

  // Only when it has ended are its children ours. Our child until it is collected: the number is
  // its own.
  bool make_sure_that_it_is_gone() {
    if (supervisor_status_->kind != sys::Waited::Kind::none) return true;
    (void)sys::kill(gate_, supervisor_, SIGKILL);
    const Deadline patience = Deadline::after(sys::now(gate_), options_.cleanup_timeout);
    do {
      const auto ended = sys::wait_for_exit(gate_, supervisor_, sys::Peek::no);
      if (ended ? ended->pid != 0 : sys::gone(ended.error())) return true;
      (void)sys::sleep(gate_, 1ms);
    } while (!patience.passed(sys::now(gate_)));
    return false;
  }

  void end_what_we_adopted(Outcome& outcome) {
    Ground ground;
    ground.self = self_;
    ground.subreaper = subreaper_;
    ground.shielded = own_shield_holds_ && shield_holds_;
    if (inherited_.cgroup) {
      inherited_.cgroup->open(gate_);
      ground.cgroup = std::move(inherited_.cgroup);
      if (!subreaper_) ground.cgroup_holds_worker = ground.cgroup->holds(gate_, worker_);
    }
    const Moment now = sys::now(gate_, inherited_.started);
    Supervision supervision(gate_, options_, ground, outcome,
                            {.signals = signals_.get(),
                             .board = inherited_.board,
                             .output = inherited_.relay ? &*inherited_.relay : nullptr},
                            now);
    supervision.take_over(worker_, now);
    supervision.run();
    inherited_.cgroup = std::move(ground.cgroup);
  }

  bool receipt_is_the_announced_one() {
    const auto there = sys::lstat_at(gate_, options_.control.directory, options_.receipt.c_str());
    return there && static_cast<std::uint64_t>(there->st_ino) == recording_->inode &&
           static_cast<std::uint64_t>(there->st_dev) == recording_->device;
  }

  std::string how_the_supervisor_ended() const {
    const auto& status = *supervisor_status_;
    switch (status.kind) {
      case sys::Waited::Kind::signaled:
        return "the supervisor process was killed by " + signal_name(status.value);
      case sys::Waited::Kind::exited:
        return "the supervisor process ended early with exit code " + decimal(status.value);
      default: return "the supervisor process was lost";
    }
  }

  // --- speaking -----------------------------------------------------------------------------
  int record(Outcome& outcome) {
    const std::string token = inherited_.token.empty() ? "guardian" : inherited_.token + "g";
    const Conclusion conclusion = conclude(gate_, options_, outcome, token);
    return say(conclusion.exit_code, conclusion.message);
  }

  // Never waits for whoever should read it: a full pipe or a stopped terminal costs the message.
  int say(int code, std::string_view message) {
    report_ready(code == kExitStopped ? static_cast<int>(kExitNothingStarted) : code);
    if (message.empty()) return code;
    pollfd fd{.fd = 2, .events = POLLOUT, .revents = 0};
    const auto ready = sys::poll(gate_, {&fd, 1}, Span::zero());
    if (ready && *ready == 1) (void)sys::write(gate_, 2, message);
    return code;
  }

  // --detach: whoever launched us learns, once, whether the worker runs.
  void report_ready(int code) {
    if (options_.control.ready < 0 || ready_reported_) return;
    ready_reported_ = true;
    const char byte = static_cast<char>(code);
    (void)sys::write(gate_, options_.control.ready, {&byte, 1});
    (void)sys::close_now(gate_, options_.control.ready);
  }

  sys::Gate& gate_;
  const Options& options_;
  const int parent_;
  int self_ = 0;
  bool subreaper_ = false;
  bool own_shield_holds_ = false;
  bool ready_reported_ = false;
  std::string about_;  // what the step that is under way is about
  Inheritance inherited_;
  sys::UniqueFd signals_;
  sys::UniqueFd commands_;
  sys::UniqueFd notes_;
  int supervisor_ = 0;
  std::optional<sys::Waited> supervisor_status_;
  // What the supervisor has told.
  int worker_ = 0;
  bool shield_holds_ = false;
  Cause cause_ = Cause::unknown;
  std::optional<Note> recording_;
  std::optional<Note> done_;
  Deadline leaving_;
};

}  // namespace

Options with_absolute_paths(sys::Gate& gate, Options options) {
  for (std::string* path : {&options.receipt, &options.report, &options.stop_file,
                            &options.expire_file, &options.output}) {
    *path = absolute_path(gate, *path);
  }
  return options;
}

int supervise(sys::Gate& gate, const Options& options, int parent) {
  return Guardian(gate, options, parent).run();
}

}  // namespace quietus

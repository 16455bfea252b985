#include "supervisor/supervisor.hpp"

#include <cerrno>
#include <csignal>
#include <tuple>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "supervisor/descriptors.hpp"
#include "supervisor/identity.hpp"
#include "supervisor/isolation.hpp"
#include "supervisor/launch.hpp"
#include "supervisor/record.hpp"
#include "supervisor/shield.hpp"
#include "supervisor/supervision.hpp"
#include "supervisor/watched_files.hpp"

namespace quietus {
namespace {

constexpr const char* kGuardianKilled = "the guardian process was killed";

// Tells the guardian of the receipt's inode before the rename, so that a receipt that is there when
// we are killed is recognised as ours; and sees whether the guardian is there to be told.
class ToGuardian final : public Herald {
 public:
  ToGuardian(sys::Gate& gate, int commands, int notes)
      : gate_(gate), commands_(commands), notes_(notes) {}

  bool before_rename(const Announcement& announcement, Outcome& outcome) override {
    Note note = Note::of(Note::Kind::recording, announcement.exit_code);
    note.device = announcement.device;
    note.inode = announcement.inode;
    (void)send(gate_, notes_, note);
    auto command = receive<Command>(gate_, commands_);
    while (command && *command) command = receive<Command>(gate_, commands_);  // too late for those
    const bool gone = command.has_value();
    if (!gone || outcome.error) return false;
    outcome.trouble(kGuardianKilled);
    return true;
  }

 private:
  sys::Gate& gate_;
  int commands_;
  int notes_;
};

// A step before the launch failed: nothing runs, and that is known.
void refuse(Outcome& outcome, std::string text) {
  outcome.because(Cause::launch_failed);
  outcome.trouble(std::move(text));
  outcome.ending = Ending::not_started(0);
  outcome.proof = Proof::no_children_left;
}

void refuse(Outcome& outcome, const sys::Error& error, std::string_view about) {
  refuse(outcome, sys::errno_text(error.code, about));
  outcome.ending = Ending::not_started(error.code);
}

class Supervisor {
 public:
  Supervisor(sys::Gate& gate, const Options& options, Inheritance& inherited, int commands,
             int notes)
      : gate_(gate),
        options_(options),
        inherited_(inherited),
        outcome_(inherited.outcome),
        commands_(commands),
        notes_(notes),
        files_(options.control.directory, options.control.directory_path) {}

  void run() {
    if (!prepare() || !identify() || asked_to_end_before_launch()) return;
    launch_and_supervise();
  }

  // After the receipt: nobody waits for this.
  void tidy() {
    for (auto* cgroup : {&ground_.cgroup, &inherited_.cgroup}) {
      if (*cgroup) (void)(*cgroup)->remove(gate_);
    }
  }

 private:
  // Before the worker starts: fail fast, with the stage and the errno.
  bool prepare() {
    const auto self = sys::own_pid(gate_);
    if (!self) return refused(self.error(), "getpid");
    ground_.self = *self;
    if (const auto made = sys::new_session(gate_); !made) return refused(made.error(), "setsid");
    auto signals = sys::signal_fd(gate_, inherited_.heard);
    if (!signals) return refused(signals.error(), "signalfd");
    signals_ = std::move(*signals);
    return options_.isolate ? settle_in_namespace() : settle_as_subreaper() && raise_shield();
  }

  bool settle_in_namespace() {
    if (ground_.self != 1) {
      refuse(outcome_, "--isolate: the new PID namespace has no effect here");
      return false;
    }
    ground_.isolated = true;
    ground_.subreaper = true;  // init adopts whoever is orphaned in its namespace
    if (const auto proc = mount_own_proc(gate_); !proc) {
      outcome_.fell_back(proc.error().call, proc.error().code, "kept the outer /proc");
    }
    return raise_shield();
  }

  bool settle_as_subreaper() {
    const auto asked = sys::become_subreaper(gate_);
    const auto really = sys::is_subreaper(gate_);
    ground_.subreaper = asked && really && *really;
    ground_.cgroup.swap(inherited_.cgroup);
    if (ground_.subreaper) return true;
    const int code = !asked ? asked.error().code : EINVAL;
    if (ground_.cgroup) {
      // The cgroup alone can prove it; who leaves the cgroup is then beyond us.
      outcome_.fell_back("prctl(PR_SET_CHILD_SUBREAPER)", code, "relied on the cgroup alone");
      return true;
    }
    refuse(outcome_, "[Errno " + decimal(code) +
                         "] Cannot supervise the command's processes: "
                         "this kernel does not make us a child subreaper");
    return false;
  }

  bool raise_shield() {
    if (!inherited_.shield) return true;
    const auto entered = enter_signal_domain(gate_);
    // In a namespace of our own the guardian cannot be named; the namespace does the same work.
    ground_.shielded = entered && (ground_.isolated || domain_holds(gate_, inherited_.guardian));
    if (ground_.shielded) {
      if (!ground_.isolated) (void)send(gate_, notes_, Note::of(Note::Kind::shield_holds));
      return true;
    }
    const sys::Error error = entered ? sys::Error{EINVAL, "landlock"} : entered.error();
    if (options_.shield == Shield::required) return refused(error, "--shield");
    outcome_.fell_back(error.call, error.code, "no shield");
    return true;
  }

  // Who we are, for a controller that finds the session later; see identity.hpp.
  bool identify() {
    const Control& control = options_.control;
    if (control.identity_file.empty()) return true;
    const std::string text = identity_json(gate_, inherited_.guardian, ground_.self, options_);
    auto file = sys::open_at(gate_, control.directory, control.identity_file.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
    if (!file) return refused(file.error(), control.identity_file);
    const auto written = sys::write_all(gate_, file->get(), text);
    return written ? true : refused(written.error(), control.identity_file);
  }

  bool refused(const sys::Error& error, std::string_view about) {
    refuse(outcome_, error, about);
    return false;
  }

  // The last look before the fork: what was asked for until now means that nothing starts.
  bool asked_to_end_before_launch() {
    files_.add(Watched::stop_file, options_.stop_file);
    files_.add(Watched::expire_file, options_.expire_file);
    files_.add(Watched::kill_file, options_.control.kill_file);
    files_.arm(gate_);
    for (const auto& [what, cause, by] :
         {std::tuple(Watched::stop_file, Cause::stop, "stop-file"),
          std::tuple(Watched::kill_file, Cause::stop, "kill-file"),
          std::tuple(Watched::expire_file, Cause::expire, "expire-file")}) {
      const auto there = files_.present(gate_, what);
      if (!there) {
        const bool stop = what == Watched::stop_file;
        refuse(outcome_, there.error(), stop ? options_.stop_file : options_.expire_file);
        return true;
      }
      if (*there) return not_started(cause, by);
    }
    for (;;) {
      const auto command = receive<Command>(gate_, commands_);
      if (!command) return false;
      if (!*command) {
        outcome_.trouble(kGuardianKilled);
        return not_started(Cause::supervisor_killed, "guardian");
      }
      if ((*command)->kind == Command::Kind::parent_gone) {
        return not_started(Cause::parent_gone, "parent");
      }
      const int signal = (*command)->value;
      if (signal != SIGUSR1 && signal != SIGUSR2) {
        return not_started(Cause::stop, signal_name(signal));
      }
    }
  }

  bool not_started(Cause cause, std::string_view by) {
    outcome_.because(cause);
    outcome_.stop_by = by;
    outcome_.ending = Ending::not_started(0);
    outcome_.proof = Proof::no_children_left;
    return true;
  }

  void launch_and_supervise() {
    LaunchWiring wiring{
        .input = -1, .output = -1, .ignored = inherited_.ignored, .board = inherited_.board};
    const auto nothing = options_.control.empty_stdin ? open_nothing(gate_) : sys::UniqueFd();
    wiring.input = nothing.get();
    if (inherited_.output) wiring.output = inherited_.output->get();
    if (inherited_.relay) wiring.output = inherited_.relay->worker_end();
    const std::string& given = options_.control.id;
    const std::string id = given.empty() ? "run." + inherited_.token : given;
    auto launched = launch_worker(gate_, options_, ground_, id, wiring);
    const Moment now = sys::now(gate_, inherited_.started);
    if (!launched) {
      refuse(outcome_, launched.error(), launched.error().call);
      return;
    }
    // From here on the worker runs. There is no early return any more: if we left, nobody would
    // end its children. Trouble is recorded, and we keep going.
    let_go_of_the_callers_descriptors();
    OutputRelay* relay = inherited_.relay ? &*inherited_.relay : nullptr;
    if (relay != nullptr) relay->close_worker_end();
    Supervision supervision(gate_, options_, ground_, outcome_,
                            {.signals = signals_.get(),
                             .commands = commands_,
                             .notes = notes_,
                             .launch_pipe = std::move(launched->pipe),
                             .board = inherited_.board,
                             .files = &files_,
                             .output = relay,
                             .lease = options_.control.lease_stdin ? 0 : -1},
                            now);
    supervision.watch_worker(launched->pid);
    supervision.run();
  }

  // A caller that reads its pipe to the end must wait for the worker's tree, not for us.
  void let_go_of_the_callers_descriptors() {
    if (!options_.control.lease_stdin) (void)sys::close_now(gate_, 0);
    for (const int fd : {1, 2}) (void)sys::close_now(gate_, fd);
    inherited_.output.reset();
  }

  sys::Gate& gate_;
  const Options& options_;
  Inheritance& inherited_;
  Outcome& outcome_;
  int commands_;
  int notes_;
  Ground ground_;
  WatchedFiles files_;
  sys::UniqueFd signals_;
};

}  // namespace

void run_supervisor(sys::Gate& gate, const Options& options, Inheritance& inherited,
                    sys::UniqueFd commands, sys::UniqueFd notes) {
  Supervisor supervisor(gate, options, inherited, commands.get(), notes.get());
  supervisor.run();
  ToGuardian herald(gate, commands.get(), notes.get());
  const Conclusion conclusion =
      conclude(gate, options, inherited.outcome, inherited.token, &herald);
  supervisor.tidy();
  (void)send(gate, notes.get(),
             Note::of(Note::Kind::done, conclusion.exit_code, conclusion.message));
  sys::exit_now(gate, 0);
}

}  // namespace quietus

// stop: no receipt is final while the lock is held. See docs/session.md.
#include <cerrno>
#include <csignal>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "session/directory.hpp"
#include "session/judge.hpp"
#include "session/recovery.hpp"
#include "session/speak.hpp"
#include "session/upstream.hpp"
#include "session/verbs.hpp"
#include "supervisor/record.hpp"

namespace quietus {
namespace {

// Three phases of the default cleanup timeout, and as much again.
constexpr Span kStopTime = std::chrono::seconds(60);

class Stop {
 public:
  Stop(sys::Gate& gate, const SessionRequest& request, SessionDirectory directory)
      : gate_(gate),
        request_(request),
        directory_(std::move(directory)),
        deadline_(Deadline::after(sys::now(gate), request.timeout.value_or(kStopTime))) {}

  int run() {
    auto locked = directory_.lock(gate_, sys::Lock::exclusive, Span::zero());
    if (!locked && sys::would_block(locked.error())) {
      // Somebody of ours lives: ask, and wait until nobody does.
      if (const int code = ask(); code != kExitSuccess) return code;
      locked = directory_.lock(gate_, sys::Lock::exclusive, left());
      if (!locked && sys::would_block(locked.error())) {
        return unknown("it was asked to stop, and still runs");
      }
    }
    if (!locked) return without_lock();
    return settle();
  }

 private:
  Span left() const { return deadline_.left(sys::now(gate_)).value_or(kForever); }

  int unknown(std::string_view why) {
    return complain(gate_, kExitFailed,
                    "outcome of '" + directory_.path() + "' is not known: " + std::string(why));
  }

  int ask() {
    const SessionFiles& files = directory_.files();
    if (request_.now) {
      const auto asked = directory_.request(gate_, files.kill);
      if (!asked) return cannot_ask(asked.error(), files.kill);
    }
    const auto asked = directory_.request(gate_, files.stop);
    return asked ? static_cast<int>(kExitSuccess) : cannot_ask(asked.error(), files.stop);
  }

  int cannot_ask(const sys::Error& error, const char* file) {
    // We hold the directory open: nothing can be made in one that is deleted.
    if (error.code == ENOENT) return unknown("it was removed");
    return complain(gate_, kExitFailed, "cannot stop", error, file);
  }

  // Under the lock: nobody of ours lives, and nobody starts.
  int settle() {
    // Retired while we waited: what is left in it says nothing any more.
    if (!directory_.in_place(gate_)) return unknown("it was removed");
    if (const auto receipt = directory_.receipt(gate_)) return judge(gate_, *receipt);
    if (const int code = ask(); code != kExitSuccess) return code;
    Claim claim = directory_.claim(gate_);
    if (claim == Claim::none) {
      const auto made =
          sys::make_symlink(gate_, kClaimedByStop, directory_.fd(), directory_.files().claim);
      // An upstream shell takes no lock: it may have been faster.
      if (!made && made.error().code != EEXIST) {
        return complain(gate_, kExitFailed, "cannot fence the session", made.error(),
                        directory_.path());
      }
      claim = directory_.claim(gate_);
    }
    switch (claim) {
      // A launch writes only what it has claimed: then somebody has replaced its claim.
      case Claim::stop: return directory_.was_launched(gate_) ? lost() : fence();
      case Claim::launch: return lost();
      default: return unknown("its claim is not one of ours");
    }
  }

  int fence() {
    Outcome outcome;
    outcome.because(Cause::stop);
    outcome.ending = Ending::not_started(0);
    outcome.proof = Proof::no_children_left;  // never launched, and never will be
    return write(outcome);
  }

  int lost() {
    if (!directory_.has(gate_, directory_.files().identity)) {
      // Upstream's supervisor has no lock and no identity; it may well be alive.
      const UpstreamStop stopped = stop_upstream(gate_, directory_, deadline_);
      if (stopped.receipt) return judge(gate_, *stopped.receipt);
      if (stopped.alive) return unknown("its supervisor was asked to stop, and still runs");
    }
    const Recovery recovery = recover(gate_, directory_, deadline_);
    Outcome outcome;
    outcome.because(Cause::supervisor_killed);
    if (recovery.proven) outcome.proof = Proof::cgroup_unpopulated;
    std::string error = "both halves of the supervisor were lost; " + decimal(recovery.killed) +
                        " processes of the session were killed";
    if (!recovery.why.empty()) error += "; cleanup cannot be proven: " + recovery.why;
    outcome.trouble(std::move(error));
    return write(outcome);
  }

  int write(Outcome& outcome) {
    Options options;
    options.form = Form::bare;
    options.control.directory = directory_.fd();
    options.receipt = directory_.files().receipt;
    const auto token = make_token(gate_);
    if (!token) return complain(gate_, kExitFailed, "cannot stop", token.error(), "getrandom");
    const Conclusion conclusion = conclude(gate_, options, outcome, *token);
    if (!conclusion.message.empty()) {
      (void)sys::write_all(gate_, 2, conclusion.message);
      return kExitFailed;
    }
    const auto receipt = directory_.receipt(gate_);
    return receipt ? judge(gate_, *receipt) : unknown("its receipt cannot be read");
  }

  // The file system refuses locks: what supervisor.id names has to serve, by pid and start time.
  int without_lock() {
    if (const int code = ask(); code != kExitSuccess) return code;
    const UpstreamStop stopped = wait_for_named(gate_, directory_, deadline_);
    if (stopped.alive) return unknown("it was asked to stop, and still runs");
    return settle();
  }

  sys::Gate& gate_;
  const SessionRequest& request_;
  SessionDirectory directory_;
  Deadline deadline_;
};

}  // namespace

int stop_session(sys::Gate& gate, const SessionRequest& request) {
  auto directory = SessionDirectory::open(gate, request.directory, request.files);
  if (!directory) {
    return complain(gate, kExitFailed, "cannot stop", directory.error(), request.directory);
  }
  return Stop(gate, request, std::move(*directory)).run();
}

}  // namespace quietus

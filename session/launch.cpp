// launch: claim first, and only then supervise; see docs/session.md for the races.
#include <cerrno>

#include <fcntl.h>

#include "contract/exit_code.hpp"
#include "session/directory.hpp"
#include "session/speak.hpp"
#include "session/verbs.hpp"
#include "supervisor/descriptors.hpp"
#include "supervisor/guardian.hpp"
#include "supervisor/record.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// Somebody who stops or removes the session holds the lock for an instant.
constexpr Span kClaimPatience = 5s;
// How long a detached launch may take until the worker runs.
constexpr Span kLaunchTime = 60s;
// The longest receipt fits easily; a file system gives space by the block anyway.
constexpr std::size_t kReservedBytes = 4096;
constexpr unsigned kReceiptMode = 0666;

int nothing_started(sys::Gate& gate, const std::string& directory, std::string_view why) {
  return complain(gate, kExitNothingStarted,
                  "nothing started in '" + directory + "': " + std::string(why));
}

class Launch {
 public:
  Launch(sys::Gate& gate, const LaunchRequest& request, int parent)
      : gate_(gate), request_(request), options_(request.options), parent_(parent) {}

  int run() {
    const std::string& path = request_.session.directory;
    auto opened = SessionDirectory::open(gate_, path, request_.session.files);
    if (!opened) return nothing_started(gate_, path, sys::describe(opened.error().code));
    directory_.emplace(std::move(*opened));
    if (const int code = claim(); code != kExitSuccess) return code;
    // From here on the claim is ours, and every failure ends in a receipt.
    take_control();
    return request_.detach ? detach() : supervise(gate_, options_, parent_);
  }

 private:
  int claim() {
    const std::string& path = directory_->path();
    const auto locked = directory_->lock(gate_, sys::Lock::shared, kClaimPatience);
    if (!locked && sys::would_block(locked.error())) {
      return nothing_started(gate_, path, "it is being stopped or removed");
    }
    // Where locks are refused (some network file systems) supervisor.id has to serve.
    if (!directory_->in_place(gate_)) return nothing_started(gate_, path, "it was removed");
    const Claim found = directory_->claim(gate_);
    // Also where the worker of a launch took the claim away.
    if (found != Claim::none || directory_->was_launched(gate_)) return already(found);
    if (const auto reserved = reserve(); !reserved) {
      return complain(gate_, kExitFailed, "nothing started: cannot reserve the receipt",
                      reserved.error(), path);
    }
    const auto made =
        sys::make_symlink(gate_, kClaimedByLaunch, directory_->fd(), directory_->files().claim);
    if (made) return kExitSuccess;
    (void)sys::unlink_at(gate_, directory_->fd(), options_.control.reserved.c_str());
    if (made.error().code == EEXIST) return already(directory_->claim(gate_));
    return complain(gate_, kExitFailed, "nothing started: cannot claim the session", made.error(),
                    path);
  }

  int already(Claim claim) {
    return nothing_started(
        gate_, directory_->path(),
        claim == Claim::stop ? "it was stopped before the launch" : "it is claimed already");
  }

  // A full disk must not cost the receipt: its space is taken before anything runs.
  sys::Result<sys::Unit> reserve() {
    const auto token = make_token(gate_);
    if (!token) return tl::unexpected(token.error());
    Control& control = options_.control;
    control.reserved = temporary_path("./receipt", *token);
    auto file = sys::open_at(gate_, directory_->fd(), control.reserved.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kReceiptMode);
    if (!file) return tl::unexpected(file.error());
    const auto filled = sys::write_all(gate_, file->get(), std::string(kReservedBytes, ' '));
    if (!filled) {
      (void)sys::unlink_at(gate_, directory_->fd(), control.reserved.c_str());
      return filled;
    }
    control.reserved_fd = file->release();
    return sys::Unit{};
  }

  void take_control() {
    const SessionFiles& files = directory_->files();
    Control& control = options_.control;
    control.id = directory_->id();
    control.leaf = directory_->leaf(gate_);
    control.directory_path = absolute_path(gate_, directory_->path());
    control.pid_file = files.pid;
    control.identity_file = files.identity;
    control.kill_file = files.kill;
    control.lease_file = files.lease;
    options_.form = Form::launch;
    options_.receipt = files.receipt;
    options_.report = files.report;
    options_.stop_file = files.stop;
    options_.expire_file = files.expire;
    options_.output = files.output;
    control.directory = directory_->release();  // held, with its lock, by both halves to their end
  }

  // The guardian goes on in the background; we stay until it says whether the worker runs.
  int detach() {
    auto pipe = sys::pipe(gate_);
    if (!pipe) return refuse(pipe.error());
    auto& [ready_in, ready_out] = *pipe;
    const auto child = sys::fork(gate_);
    if (!child) return refuse(child.error());
    if (child->pid == 0) {
      ready_in.reset();
      options_.control.ready = ready_out.release();
      leave_the_caller();
      sys::exit_now(gate_, supervise(gate_, options_, parent_));
    }
    ready_out.reset();
    pollfd ready{.fd = ready_in.get(), .events = POLLIN, .revents = 0};
    (void)sys::poll(gate_, {&ready, 1}, kLaunchTime);
    char code = static_cast<char>(kExitFailed);
    const auto got = ready.revents != 0 ? sys::read(gate_, ready_in.get(), {&code, 1})
                                        : sys::Result<std::size_t>(0);
    const int exit_code = got && *got == 1 ? static_cast<int>(static_cast<unsigned char>(code))
                                           : static_cast<int>(kExitFailed);
    if (exit_code == kExitSuccess) return kExitSuccess;
    return complain(
        gate_, exit_code,
        "the command was not started: see '" + control_path(directory_->files().receipt) + "'");
  }

  // Without a guardian nobody else would write the receipt.
  int refuse(const sys::Error& error) {
    Outcome outcome;
    outcome.because(Cause::launch_failed);
    outcome.trouble(sys::errno_text(error.code, error.call));
    outcome.ending = Ending::not_started(error.code);
    outcome.proof = Proof::no_children_left;
    const Conclusion conclusion = conclude(gate_, options_, outcome, "launch");
    return complain(gate_, kExitFailed, *outcome.error);
  }

  std::string control_path(const char* name) const {
    return request_.session.directory + '/' + name;
  }

  // The transport's pipes must come to their end when we return.
  void leave_the_caller() {
    (void)sys::new_session(gate_);
    const sys::UniqueFd nothing = open_nothing(gate_);
    if (!nothing) return;
    for (const int fd : {0, 1, 2}) (void)sys::duplicate_onto(gate_, nothing.get(), fd);
  }

  sys::Gate& gate_;
  const LaunchRequest& request_;
  Options options_;
  int parent_;
  std::optional<SessionDirectory> directory_;
};

}  // namespace

int create_session(sys::Gate& gate, const SessionRequest& request) {
  constexpr unsigned kPrivate = 0700;
  const auto made = sys::make_directory(gate, request.directory.c_str(), kPrivate);
  if (made) return kExitSuccess;
  // Repeated after a lost answer: still unclaimed, it is as good as new.
  const auto there = SessionDirectory::open(gate, request.directory, request.files);
  if (there && there->claim(gate) == Claim::none) return kExitSuccess;
  return complain(gate, kExitFailed, "cannot create the session", made.error(), request.directory);
}

int launch_session(sys::Gate& gate, const LaunchRequest& request, int parent) {
  return Launch(gate, request, parent).run();
}

int renew_session(sys::Gate& gate, const SessionRequest& request) {
  const auto directory = SessionDirectory::open(gate, request.directory, request.files);
  if (!directory) {
    return complain(gate, kExitFailed, "cannot renew", directory.error(), request.directory);
  }
  auto file = sys::open_at(gate, directory->fd(), request.files.lease,
                           O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0644);
  if (!file) return complain(gate, kExitFailed, "cannot renew", file.error(), request.files.lease);
  const auto touched = sys::touch(gate, file->get());
  if (!touched) {
    return complain(gate, kExitFailed, "cannot renew", touched.error(), request.files.lease);
  }
  return kExitSuccess;
}

int expire_session(sys::Gate& gate, const SessionRequest& request) {
  const auto directory = SessionDirectory::open(gate, request.directory, request.files);
  if (!directory) {
    return complain(gate, kExitFailed, "cannot expire", directory.error(), request.directory);
  }
  const auto asked = directory->request(gate, request.files.expire);
  if (asked) return kExitSuccess;
  return complain(gate, kExitFailed, "cannot expire", asked.error(), request.files.expire);
}

}  // namespace quietus

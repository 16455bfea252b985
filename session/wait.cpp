// wait: until the receipt is final.
#include <cerrno>

#include "contract/exit_code.hpp"
#include "session/directory.hpp"
#include "session/judge.hpp"
#include "session/speak.hpp"
#include "session/verbs.hpp"
#include "supervisor/watched_files.hpp"

namespace quietus {
namespace {

// Not launched yet, or an upstream's, which holds no lock: until something changes in the
// directory. inotify is fast, the regular look is sure. False: time is over.
bool await_change(sys::Gate& gate, const SessionDirectory& directory, sys::UniqueFd& inotify,
                  Deadline deadline) {
  const Moment now = sys::now(gate);
  if (deadline.passed(now)) return false;
  if (!inotify) {
    auto made = sys::inotify(gate);
    if (made) inotify = std::move(*made);
    if (!made) (void)sys::sleep(gate, WatchedFiles::kInterval);
    // What changed before the watch was there is seen by the caller's next look.
    if (inotify) (void)sys::watch_directory(gate, inotify.get(), directory.path().c_str());
    return true;
  }
  const Deadline look = Deadline::after(now, WatchedFiles::kInterval);
  pollfd fd{.fd = inotify.get(), .events = POLLIN, .revents = 0};
  const auto ready = sys::poll(gate, {&fd, 1}, earlier(deadline, look).left(now));
  if (!ready && ready.error().code != EINTR) (void)sys::sleep(gate, WatchedFiles::kInterval);
  alignas(8) char events[4096];
  (void)sys::read(gate, inotify.get(), events);
  return true;
}

}  // namespace

int wait_for_session(sys::Gate& gate, const SessionRequest& request) {
  const auto directory = SessionDirectory::open(gate, request.directory, request.files);
  if (!directory) {
    return complain(gate, kExitFailed, "cannot wait", directory.error(), request.directory);
  }
  const Moment start = sys::now(gate);
  const Deadline deadline = request.timeout ? Deadline::after(start, *request.timeout) : Deadline{};
  const auto unknown = [&](std::string_view why) {
    return complain(gate, kExitFailed,
                    "outcome of '" + request.directory + "' is not known: " + std::string(why));
  };
  sys::UniqueFd inotify;
  for (;;) {
    const Span left = deadline.left(sys::now(gate, start)).value_or(kForever);
    const auto locked = directory->lock(gate, sys::Lock::exclusive, left);
    if (!locked && sys::would_block(locked.error())) return unknown("it still runs");
    // Under the lock nobody of ours lives; without locks a receipt is all we can go by.
    const auto receipt = directory->receipt(gate);
    const Claim claim = directory->claim(gate);
    (void)sys::unlock(gate, directory->fd());
    if (receipt) return judge(gate, *receipt);
    const bool upstream = claim == Claim::launch && !directory->has(gate, request.files.identity);
    if (locked && claim != Claim::none && !upstream) {
      return unknown("its supervisor was lost; quietus stop recovers it");
    }
    if (!directory->in_place(gate)) return unknown("it was removed");
    if (!await_change(gate, *directory, inotify, deadline)) return unknown("no receipt in time");
  }
}

}  // namespace quietus

#include "session/directory.hpp"

#include <cerrno>
#include <csignal>

#include <fcntl.h>

#include "contract/decimal.hpp"

namespace quietus {
namespace {

constexpr std::size_t kReceiptLimit = std::size_t{1} << 20;
constexpr unsigned kRequestMode = 0644;

// Waits for a lock with a bound. flock(2) has none, so a child waits in our place: the lock belongs
// to the open file, so what the child gets is ours. It ends when it has the lock, or when we end
// it.
sys::Result<sys::Unit> wait_for_lock(sys::Gate& gate, int fd, sys::Lock kind, Span within) {
  auto pipe = sys::pipe(gate);
  if (!pipe) return tl::unexpected(pipe.error());
  auto& [done_in, done_out] = *pipe;
  const auto child = sys::fork(gate);
  if (!child) return tl::unexpected(child.error());
  if (child->pid == 0) {
    // Whoever waits must not outlive who wanted it.
    (void)sys::set_parent_death_signal(gate, SIGKILL);
    sys::exit_now(gate, sys::wait_for_lock(gate, fd, kind) ? 0 : 1);
  }
  done_out.reset();
  pollfd ended{.fd = done_in.get(), .events = POLLIN, .revents = 0};
  const Moment start = sys::now(gate);
  const Deadline deadline = Deadline::after(start, within);
  Moment now = start;
  for (;;) {
    const auto ready = sys::poll(gate, {&ended, 1}, deadline.left(now));
    if (ready && *ready > 0) break;
    if (!ready && ready.error().code != EINTR) (void)sys::sleep(gate, std::chrono::milliseconds(1));
    now = sys::now(gate, now);
    if (deadline.passed(now)) break;
  }
  // Our unreaped child: the number is its own.
  (void)sys::kill(gate, child->pid, SIGKILL);
  (void)sys::collect(gate, child->pid);
  // Also when time ran out: it may have come in the last moment.
  return sys::try_lock(gate, fd, kind);
}

}  // namespace

sys::Result<SessionDirectory> SessionDirectory::open(sys::Gate& gate, const std::string& path,
                                                     const SessionFiles& files) {
  auto directory = sys::open(gate, path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (!directory) return tl::unexpected(directory.error());
  const auto status = sys::fstat(gate, directory->get());
  if (!status) return tl::unexpected(status.error());
  std::string id = decimal(static_cast<std::uint64_t>(status->st_dev)) + '.' +
                   decimal(static_cast<std::uint64_t>(status->st_ino));
  return SessionDirectory(std::move(*directory), path, std::move(id), files);
}

bool SessionDirectory::in_place(sys::Gate& gate) const {
  const auto named = sys::lstat(gate, path_.c_str());
  const auto held = sys::fstat(gate, fd());
  return named && held && named->st_dev == held->st_dev && named->st_ino == held->st_ino;
}

bool SessionDirectory::has(sys::Gate& gate, const char* name) const {
  return sys::lstat_at(gate, fd(), name).has_value();
}

Claim SessionDirectory::claim(sys::Gate& gate) const {
  const auto target = sys::read_link_at(gate, fd(), files_.claim);
  if (!target) return has(gate, files_.claim) ? Claim::foreign : Claim::none;
  if (*target == kClaimedByLaunch) return Claim::launch;
  return *target == kClaimedByStop ? Claim::stop : Claim::foreign;
}

bool SessionDirectory::was_launched(sys::Gate& gate) const {
  const auto is_file = [&](const char* name) {
    const auto status = sys::lstat_at(gate, fd(), name);
    return status && S_ISREG(status->st_mode);
  };
  return claim(gate) == Claim::launch || is_file(files_.pid) || is_file(files_.identity);
}

std::string SessionDirectory::leaf(sys::Gate& gate) const {
  const auto made = sys::lstat_at(gate, fd(), files_.claim);
  if (!made) return id_;
  return id_ + '.' + decimal(static_cast<std::int64_t>(made->st_ctim.tv_sec)) + '.' +
         decimal(static_cast<std::int64_t>(made->st_ctim.tv_nsec));
}

std::optional<std::string> SessionDirectory::receipt(sys::Gate& gate) const {
  // Never blocked by a FIFO, never led elsewhere by a link.
  auto file = sys::open_at(gate, fd(), files_.receipt, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return std::nullopt;
  const auto status = sys::fstat(gate, file->get());
  if (!status || !S_ISREG(status->st_mode)) return std::nullopt;
  std::string text;
  char chunk[4096];
  while (text.size() < kReceiptLimit) {
    const auto got = sys::read(gate, file->get(), chunk);
    if (!got) return std::nullopt;
    if (*got == 0) return text;
    text.append(chunk, *got);
  }
  return std::nullopt;
}

sys::Result<sys::Unit> SessionDirectory::request(sys::Gate& gate, const char* name) const {
  const auto made =
      sys::open_at(gate, fd(), name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, kRequestMode);
  if (made || made.error().code == EEXIST) return sys::Unit{};
  return tl::unexpected(made.error());
}

sys::Result<sys::Unit> SessionDirectory::lock(sys::Gate& gate, sys::Lock kind, Span within) const {
  const auto at_once = sys::try_lock(gate, fd(), kind);
  if (at_once || !sys::would_block(at_once.error())) return at_once;
  return wait_for_lock(gate, fd(), kind, within);
}

}  // namespace quietus

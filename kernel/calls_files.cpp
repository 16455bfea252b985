#include "kernel/calls.hpp"

#include <algorithm>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <time.h>

#include "kernel/directory.hpp"
#include "kernel/numbers.hpp"
#include "kernel/perform.hpp"

namespace quietus::sys {
namespace {

Result<UniqueFd> owned(Gate& gate, const Result<long>& answer) {
  if (!answer) return tl::unexpected(answer.error());
  return UniqueFd(gate, static_cast<int>(*answer));
}

Result<Span> clock(Gate& gate, int clock) {
  timespec time{};
  const auto got = call(gate, "clock_gettime", SYS_clock_gettime, clock, &time);
  if (!got) return tl::unexpected(got.error());
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

timespec to_timespec(Span span) {
  timespec time{};
  time.tv_sec = static_cast<time_t>(span.count() / 1000000000);
  time.tv_nsec = static_cast<long>(span.count() % 1000000000);
  return time;
}

}  // namespace

void UniqueFd::reset() {
  if (fd_ >= 0) (void)once(*gate_, "close", SYS_close, std::exchange(fd_, -1));
}

Moment now(Gate& gate, Moment otherwise) {
  if (const auto time = clock(gate, CLOCK_MONOTONIC)) return Moment(*time);
  struct sysinfo info {};
  if (!call(gate, "sysinfo", SYS_sysinfo, &info)) return otherwise;
  return std::max(otherwise, Moment(std::chrono::seconds(info.uptime)));
}

std::int64_t wall_clock_ns(Gate& gate) {
  return clock(gate, CLOCK_REALTIME).value_or(Span{}).count();
}

Result<Span> uptime(Gate& gate) { return clock(gate, CLOCK_BOOTTIME); }

Result<Unit> sleep(Gate& gate, Span span) {
  const timespec time = to_timespec(span);
  return unit(once(gate, "nanosleep", SYS_nanosleep, &time, nullptr));
}

Result<UniqueFd> open(Gate& gate, const char* path, int flags, unsigned mode) {
  return open_at(gate, AT_FDCWD, path, flags, mode);
}

Result<UniqueFd> open_at(Gate& gate, int dir, const char* path, int flags, unsigned mode) {
  return owned(gate, call(gate, "open", SYS_openat, dir, path, flags | O_CLOEXEC, mode));
}

Result<Pipe> pipe(Gate& gate) {
  int ends[2] = {-1, -1};
  const auto made = call(gate, "pipe", SYS_pipe2, ends, O_CLOEXEC);
  if (!made) return tl::unexpected(made.error());
  return std::pair{UniqueFd(gate, ends[0]), UniqueFd(gate, ends[1])};
}

Result<std::size_t> read(Gate& gate, int fd, std::span<char> buffer) {
  return count(call(gate, "read", SYS_read, fd, buffer.data(), buffer.size()));
}

Result<std::size_t> write(Gate& gate, int fd, std::string_view bytes) {
  return count(call(gate, "write", SYS_write, fd, bytes.data(), bytes.size()));
}

Result<Unit> write_all(Gate& gate, int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto written = write(gate, fd, bytes);
    if (!written) return tl::unexpected(written.error());
    // A regular file never takes nothing; whatever does must not spin us.
    if (*written == 0) return tl::unexpected(Error{EIO, "write"});
    bytes.remove_prefix(*written);
  }
  return Unit{};
}

Result<std::string> read_file(Gate& gate, const char* path, std::size_t limit) {
  auto file = open(gate, path, O_RDONLY | O_NONBLOCK | O_NOCTTY);
  if (!file) return tl::unexpected(file.error());
  std::string content;
  char chunk[4096];
  while (content.size() < limit) {
    const auto got = read(gate, file->get(), chunk);
    if (!got) return tl::unexpected(got.error());
    if (*got == 0) break;
    content.append(chunk, *got);
  }
  if (content.size() > limit) content.resize(limit);
  return content;
}

Result<Unit> write_file(Gate& gate, const char* path, std::string_view bytes) {
  auto file = open(gate, path, O_WRONLY);
  if (!file) return tl::unexpected(file.error());
  return write_all(gate, file->get(), bytes);
}

namespace {

// poll(2) says POLLNVAL for numbers that are not open, a few hundred at a call.
Result<Unit> close_what_poll_knows(Gate& gate, int lowest) {
  constexpr int kBlock = 512;
  constexpr std::uint64_t kHighest = 1 << 20;  // what the usual hard limit allows
  std::uint64_t limit[2] = {kHighest, kHighest};
  (void)call(gate, "prlimit64", SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, limit);
  const int end = static_cast<int>(std::min(limit[0], kHighest));
  for (int from = lowest; from < end; from += kBlock) {
    pollfd block[kBlock];
    int count = 0;
    for (int fd = from; fd < std::min(end, from + kBlock); ++fd) {
      block[count++] = {.fd = fd, .events = 0, .revents = 0};
    }
    const auto known = poll(gate, {block, static_cast<std::size_t>(count)}, Span::zero());
    for (int at = 0; at < count; ++at) {
      if (!known || block[at].revents != POLLNVAL) (void)close_now(gate, block[at].fd);
    }
  }
  return Unit{};
}

}  // namespace

Result<Unit> close_from(Gate& gate, int lowest) {
  const auto closed = call(gate, "close_range", SYS_close_range, lowest, ~0u, 0);
  if (closed || !missing(closed.error())) return unit(closed);

  // Kernels before 5.9. Never a close for every number up to the limit, which may be a billion:
  // what /proc lists, and where there is no /proc, what poll knows to be open.
  auto listing = open(gate, "/proc/self/fd", O_RDONLY | O_DIRECTORY);
  if (!listing) return close_what_poll_knows(gate, lowest);
  // Closing while listing is safe: the listing goes by number.
  return for_each_number(gate, listing->get(), [&](int fd) {
    if (fd >= lowest && fd != listing->get()) (void)close_now(gate, fd);
    return true;
  });
}

Result<Unit> close_now(Gate& gate, int fd) { return unit(once(gate, "close", SYS_close, fd)); }

Result<Unit> duplicate_onto(Gate& gate, int fd, int target) {
  // dup3 refuses equal numbers; then only close-on-exec has to go.
  if (fd == target) return done(gate, "fcntl", SYS_fcntl, fd, F_SETFD, 0);
  return done(gate, "dup3", SYS_dup3, fd, target, 0);
}

Result<bool> is_open(Gate& gate, int fd) {
  const auto flags = call(gate, "fcntl", SYS_fcntl, fd, F_GETFD);
  if (flags) return true;
  if (flags.error().code == EBADF) return false;
  return tl::unexpected(flags.error());
}

Result<Unit> set_nonblocking(Gate& gate, int fd) {
  return done(gate, "fcntl", SYS_fcntl, fd, F_SETFL, O_NONBLOCK);
}

Result<Unit> set_appending(Gate& gate, int fd) {
  return done(gate, "fcntl", SYS_fcntl, fd, F_SETFL, O_APPEND);
}

Result<std::size_t> splice(Gate& gate, int from, int to, std::size_t most) {
  constexpr unsigned kNonblock = 2;  // SPLICE_F_NONBLOCK, a GNU extension
  return count(call(gate, "splice", SYS_splice, from, nullptr, to, nullptr, most, kNonblock));
}

Result<Unit> set_pipe_size(Gate& gate, int fd, int bytes) {
  constexpr int kSetPipeSize = 1031;  // F_SETPIPE_SZ, a GNU extension of fcntl(2)
  return done(gate, "fcntl", SYS_fcntl, fd, kSetPipeSize, bytes);
}

Result<struct stat> lstat(Gate& gate, const char* path) { return lstat_at(gate, AT_FDCWD, path); }

Result<struct stat> lstat_at(Gate& gate, int dir, const char* path) {
  struct stat status {};
  const auto got = call(gate, "lstat", SYS_newfstatat, dir, path, &status, AT_SYMLINK_NOFOLLOW);
  if (!got) return tl::unexpected(got.error());
  return status;
}

Result<struct stat> fstat(Gate& gate, int fd) {
  struct stat status {};
  const auto got = call(gate, "fstat", SYS_fstat, fd, &status);
  if (!got) return tl::unexpected(got.error());
  return status;
}

Result<Unit> change_mode(Gate& gate, int fd, unsigned mode) {
  return done(gate, "fchmod", SYS_fchmod, fd, mode);
}

Result<Unit> change_mode_of(Gate& gate, const char* path, unsigned mode) {
  return done(gate, "fchmodat", SYS_fchmodat, AT_FDCWD, path, mode);
}

Result<Unit> rename_at(Gate& gate, int dir, const char* from, const char* to) {
  return rename_between(gate, dir, from, dir, to);
}

Result<Unit> rename_between(Gate& gate, int dir, const char* from, int to_dir, const char* to) {
  return done(gate, "rename", SYS_renameat, dir, from, to_dir, to);
}

Result<Unit> unlink_at(Gate& gate, int dir, const char* path) {
  return done(gate, "unlink", SYS_unlinkat, dir, path, 0);
}

Result<Unit> make_symlink(Gate& gate, const char* target, int dir, const char* path) {
  return done(gate, "symlink", SYS_symlinkat, target, dir, path);
}

Result<std::size_t> write_at(Gate& gate, int fd, std::string_view bytes, std::int64_t offset) {
  return count(call(gate, "pwrite", SYS_pwrite64, fd, bytes.data(), bytes.size(), offset));
}

Result<Unit> truncate(Gate& gate, int fd, std::int64_t length) {
  return done(gate, "ftruncate", SYS_ftruncate, fd, length);
}

Result<Unit> touch(Gate& gate, int fd) {
  return done(gate, "utimensat", SYS_utimensat, fd, nullptr, nullptr, 0);
}

Result<Unit> try_lock(Gate& gate, int fd, Lock kind) {
  return done(gate, "flock", SYS_flock, fd, (kind == Lock::shared ? LOCK_SH : LOCK_EX) | LOCK_NB);
}

Result<Unit> wait_for_lock(Gate& gate, int fd, Lock kind) {
  return done(gate, "flock", SYS_flock, fd, kind == Lock::shared ? LOCK_SH : LOCK_EX);
}

Result<Unit> unlock(Gate& gate, int fd) { return done(gate, "flock", SYS_flock, fd, LOCK_UN); }

Result<Unit> make_directory(Gate& gate, const char* path, unsigned mode) {
  return done(gate, "mkdir", SYS_mkdirat, AT_FDCWD, path, mode);
}

Result<Unit> remove_directory(Gate& gate, const char* path) {
  return remove_directory_at(gate, AT_FDCWD, path);
}

Result<Unit> remove_directory_at(Gate& gate, int dir, const char* path) {
  return done(gate, "rmdir", SYS_unlinkat, dir, path, AT_REMOVEDIR);
}

Result<Unit> sync(Gate& gate, int fd) { return done(gate, "fsync", SYS_fsync, fd); }

Result<std::string> read_link(Gate& gate, const char* path) {
  return read_link_at(gate, AT_FDCWD, path);
}

Result<std::string> read_link_at(Gate& gate, int dir, const char* path) {
  char target[4096];
  const auto got = call(gate, "readlink", SYS_readlinkat, dir, path, target, sizeof target);
  if (!got) return tl::unexpected(got.error());
  return std::string(target, static_cast<std::size_t>(*got));
}

Result<std::string> working_directory(Gate& gate) {
  char path[4096];
  const auto got = call(gate, "getcwd", SYS_getcwd, path, sizeof path);
  if (!got) return tl::unexpected(got.error());
  // A directory that cannot be reached from the root is named "(unreachable)/...".
  if (path[0] != '/') return tl::unexpected(Error{ENOENT, "getcwd"});
  return std::string(path);
}

Result<std::size_t> read_directory(Gate& gate, int fd, std::span<char> buffer) {
  return count(call(gate, "getdents64", SYS_getdents64, fd, buffer.data(), buffer.size()));
}

Result<UniqueFd> inotify(Gate& gate) {
  return owned(gate, call(gate, "inotify_init1", SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK));
}

Result<int> watch_directory(Gate& gate, int inotify, const char* path) {
  constexpr unsigned kEvents = IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR;
  return number(call(gate, "inotify_add_watch", SYS_inotify_add_watch, inotify, path, kEvents));
}

Result<Unit> unwatch(Gate& gate, int inotify, int watch) {
  return done(gate, "inotify_rm_watch", SYS_inotify_rm_watch, inotify, watch);
}

Result<Unit> random_bytes(Gate& gate, std::span<char> bytes) {
  const auto got = call(gate, "getrandom", SYS_getrandom, bytes.data(), bytes.size(), 0);
  if (!got) return tl::unexpected(got.error());
  if (static_cast<std::size_t>(*got) != bytes.size()) {
    return tl::unexpected(Error{EIO, "getrandom"});
  }
  return Unit{};
}

Result<void*> map_shared(Gate& gate, std::size_t bytes) {
  return call(gate, "mmap", SYS_mmap, nullptr, bytes, PROT_READ | PROT_WRITE,
              MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)
      .map([](long address) { return reinterpret_cast<void*>(address); });
}

Result<int> poll(Gate& gate, std::span<pollfd> fds, std::optional<Span> timeout) {
  const timespec limit = to_timespec(timeout.value_or(Span{}));
  return number(once(gate, "ppoll", SYS_ppoll, fds.data(), fds.size(), timeout ? &limit : nullptr,
                     nullptr, sizeof(std::uint64_t)));
}

Result<Unit> change_directory(Gate& gate, const char* path) {
  return done(gate, "chdir", SYS_chdir, path);
}

Result<Unit> keep_mounts_private(Gate& gate, const char* mount_point) {
  return done(gate, "mount", SYS_mount, "none", mount_point, nullptr, MS_REC | MS_PRIVATE, nullptr);
}

Result<Unit> mount_proc(Gate& gate) {
  return done(gate, "mount", SYS_mount, "proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
              nullptr);
}

}  // namespace quietus::sys

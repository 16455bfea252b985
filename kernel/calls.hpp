// One typed function per system call that the in-sandbox half makes. This is where flags such as
// O_CLOEXEC, the retry of EINTR and the fallbacks of old kernels live; calls.cpp is the only user
// of the Gate. All descriptors made here are closed on exec.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <poll.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/utsname.h>

#include "contract/signals.hpp"
#include "contract/time.hpp"
#include "kernel/error.hpp"
#include "kernel/fd.hpp"
#include "kernel/gate.hpp"

namespace quietus::sys {

// --- time and identity ---------------------------------------------------------------------
// Never before `otherwise`, the last moment that the caller saw. Where a filter denies the clock,
// whole seconds from sysinfo(2).
Moment now(Gate& gate, Moment otherwise = {});
std::int64_t wall_clock_ns(Gate& gate);
Result<Span> uptime(Gate& gate);  // CLOCK_BOOTTIME: what start times in /proc are told in
Result<int> own_pid(Gate& gate);
Result<int> parent_pid(Gate& gate);
Result<int> process_group(Gate& gate);
Result<unsigned> effective_uid(Gate& gate);
Result<unsigned> effective_gid(Gate& gate);
Result<Unit> platform(Gate& gate, utsname& names);
Result<int> page_size(Gate& gate);

// --- descriptors and files -----------------------------------------------------------------
Result<UniqueFd> open(Gate& gate, const char* path, int flags, unsigned mode = 0);
Result<UniqueFd> open_at(Gate& gate, int dir, const char* path, int flags, unsigned mode = 0);
using Pipe = std::pair<UniqueFd, UniqueFd>;  // read end, write end
Result<Pipe> pipe(Gate& gate);
Result<std::size_t> read(Gate& gate, int fd, std::span<char> buffer);
Result<std::size_t> write(Gate& gate, int fd, std::string_view bytes);
Result<Unit> write_all(Gate& gate, int fd, std::string_view bytes);
Result<std::string> read_file(Gate& gate, const char* path, std::size_t limit);
Result<Unit> write_file(Gate& gate, const char* path, std::string_view bytes);
Result<Unit> close_from(Gate& gate, int lowest);
Result<Unit> close_now(Gate& gate, int fd);
Result<Unit> duplicate_onto(Gate& gate, int fd, int target);  // dup3 without close-on-exec
Result<bool> is_open(Gate& gate, int fd);
Result<Unit> set_nonblocking(Gate& gate, int fd);
Result<Unit> set_appending(Gate& gate, int fd);  // and blocking
// Moves what is in one pipe to another, without a copy; blocks on neither.
Result<std::size_t> splice(Gate& gate, int from, int to, std::size_t most);
Result<Unit> set_pipe_size(Gate& gate, int fd, int bytes);
Result<struct stat> lstat(Gate& gate, const char* path);
Result<struct stat> lstat_at(Gate& gate, int dir, const char* path);
Result<struct stat> fstat(Gate& gate, int fd);
Result<Unit> change_mode(Gate& gate, int fd, unsigned mode);
Result<Unit> change_mode_of(Gate& gate, const char* path, unsigned mode);
Result<Unit> rename_at(Gate& gate, int dir, const char* from, const char* to);
Result<Unit> rename_between(Gate& gate, int dir, const char* from, int to_dir, const char* to);
Result<Unit> unlink_at(Gate& gate, int dir, const char* path);
Result<Unit> remove_directory_at(Gate& gate, int dir, const char* path);
Result<Unit> make_symlink(Gate& gate, const char* target, int dir, const char* path);
Result<std::string> read_link_at(Gate& gate, int dir, const char* path);
Result<std::size_t> write_at(Gate& gate, int fd, std::string_view bytes, std::int64_t offset);
Result<Unit> truncate(Gate& gate, int fd, std::int64_t length);
Result<Unit> touch(Gate& gate, int fd);  // both times become now
// flock(2): the lock belongs to the open file, so every copy of the descriptor holds it.
enum class Lock { shared, exclusive };
Result<Unit> try_lock(Gate& gate, int fd, Lock kind);       // EAGAIN: held by others
Result<Unit> wait_for_lock(Gate& gate, int fd, Lock kind);  // without a bound: see the caller
Result<Unit> unlock(Gate& gate, int fd);
Result<Unit> make_directory(Gate& gate, const char* path, unsigned mode);
Result<Unit> remove_directory(Gate& gate, const char* path);
Result<Unit> sync(Gate& gate, int fd);
Result<std::uint64_t> free_space(Gate& gate, const char* path);  // bytes that we could use
Result<std::string> read_link(Gate& gate, const char* path);
Result<std::string> working_directory(Gate& gate);
Result<std::size_t> read_directory(Gate& gate, int fd, std::span<char> buffer);  // getdents64
Result<UniqueFd> inotify(Gate& gate);
Result<int> watch_directory(Gate& gate, int inotify, const char* path);
Result<Unit> unwatch(Gate& gate, int inotify, int watch);
Result<Unit> random_bytes(Gate& gate, std::span<char> bytes);
Result<void*> map_shared(Gate& gate, std::size_t bytes);  // anonymous, shared with later children
Result<Unit> sleep(Gate& gate, Span span);                // only where poll fails
Result<int> poll(Gate& gate, std::span<pollfd> fds, std::optional<Span> timeout);

// --- signals -------------------------------------------------------------------------------
Result<Unit> block_signals(Gate& gate, SignalSet set);
Result<Unit> unblock_all_signals(Gate& gate);
Result<bool> is_ignored(Gate& gate, int signal);
Result<Unit> reset_signal(Gate& gate, int signal);
Result<Unit> ignore_signal(Gate& gate, int signal);
Result<UniqueFd> signal_fd(Gate& gate, SignalSet set);
struct Received {
  int signal;
  int sender;  // pid, 0 when the kernel or another namespace sent it
};
Result<Received> read_signal(Gate& gate, int fd);
Result<Unit> kill(Gate& gate, int pid, int signal);  // as kill(2): -pgid is a group, -1 everyone
Result<UniqueFd> open_pidfd(Gate& gate, int pid);
Result<Unit> signal_pidfd(Gate& gate, int pidfd, int signal);

// --- processes -----------------------------------------------------------------------------
struct ForkRequest {
  std::uint64_t namespaces = 0;  // CLONE_NEW*
  int cgroup = -1;               // directory of the leaf to be born in, where clone3 serves
};
struct Forked {
  int pid;  // 0 in the child
  bool in_cgroup;
};
Result<Forked> fork(Gate& gate, const ForkRequest& request = {});

// A child that changed state. pid 0: there are children, none of them has.
struct Waited {
  enum class Kind { none, exited, signaled, stopped };
  Kind kind = Kind::none;
  int pid = 0;
  int value = 0;  // exit code or signal
  Span user{};
  Span system{};
  std::int64_t peak_rss_kib = 0;
};
enum class Peek { no, yes };  // yes: look, and leave the zombie where it is
// pid 0 asks for any child. Never blocks. ECHILD: there is no such child.
Result<Waited> wait_for_exit(Gate& gate, int pid, Peek peek);
// Blocks until this child, which is about to end, has ended.
Result<Unit> collect(Gate& gate, int pid);
Result<Waited> wait_for_stop(Gate& gate, int pid);

Result<Unit> new_session(Gate& gate);
Result<Unit> become_subreaper(Gate& gate);
Result<bool> is_subreaper(Gate& gate);
Result<Unit> set_dumpable(Gate& gate, bool dumpable);
Result<bool> is_dumpable(Gate& gate);
Result<Unit> set_name(Gate& gate, const char* name);
Result<Unit> set_parent_death_signal(Gate& gate, int signal);
Result<Unit> set_no_new_privileges(Gate& gate);
Result<bool> has_no_new_privileges(Gate& gate);
Result<int> landlock_abi(Gate& gate);
Result<Unit> restrict_signals(Gate& gate);  // one more Landlock domain, scoped to signals
Result<Unit> change_directory(Gate& gate, const char* path);
Result<Unit> set_limit(Gate& gate, int resource, std::uint64_t soft, std::uint64_t hard);
Result<Unit> clear_groups(Gate& gate);
Result<Unit> set_gid(Gate& gate, unsigned gid);
Result<Unit> set_uid(Gate& gate, unsigned uid);
Result<Unit> keep_mounts_private(Gate& gate, const char* mount_point);
Result<Unit> mount_proc(Gate& gate);
Error execute(Gate& gate, const char* path, const char* const* argv, const char* const* envp);
[[noreturn]] void exit_now(Gate& gate, int code);

}  // namespace quietus::sys

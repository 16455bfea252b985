#include "faults/request_kind.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cstdio>
#include <cstring>

#include "kernel/numbers.hpp"

namespace faults {
namespace {

using quietus::sys::Request;

struct Name {
  long number;
  const char* text;
};

constexpr Name kCalls[] = {
    {SYS_chdir, "chdir"},
    {SYS_clock_gettime, "clock_gettime"},
    {SYS_clone, "clone"},
    {SYS_clone3, "clone3"},
    {SYS_close, "close"},
    {SYS_close_range, "close_range"},
    {SYS_dup3, "dup3"},
    {SYS_execve, "execve"},
    {SYS_exit_group, "exit_group"},
    {SYS_fallocate, "fallocate"},
    {SYS_fchmod, "fchmod"},
    {SYS_fcntl, "fcntl"},
    {SYS_flock, "flock"},
    {SYS_fstat, "fstat"},
    {SYS_fsync, "fsync"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_getcwd, "getcwd"},
    {SYS_getdents64, "getdents64"},
    {SYS_getegid, "getegid"},
    {SYS_geteuid, "geteuid"},
    {SYS_getpgid, "getpgid"},
    {SYS_getpid, "getpid"},
    {SYS_getppid, "getppid"},
    {SYS_getrandom, "getrandom"},
    {SYS_inotify_add_watch, "inotify_add_watch"},
    {SYS_inotify_init1, "inotify_init1"},
    {SYS_inotify_rm_watch, "inotify_rm_watch"},
    {SYS_kill, "kill"},
    {SYS_landlock_create_ruleset, "landlock_create_ruleset"},
    {SYS_landlock_restrict_self, "landlock_restrict_self"},
    {SYS_linkat, "linkat"},
    {SYS_lseek, "lseek"},
    {SYS_mkdirat, "mkdirat"},
    {SYS_mmap, "mmap"},
    {SYS_mount, "mount"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_newfstatat, "newfstatat"},
    {SYS_openat, "openat"},
    {SYS_pidfd_open, "pidfd_open"},
    {SYS_pidfd_send_signal, "pidfd_send_signal"},
    {SYS_pipe2, "pipe2"},
    {SYS_ppoll, "ppoll"},
    {SYS_prctl, "prctl"},
    {SYS_prlimit64, "prlimit64"},
    {SYS_pwrite64, "pwrite64"},
    {SYS_read, "read"},
    {SYS_readlinkat, "readlinkat"},
    {SYS_renameat, "renameat"},
    {SYS_renameat2, "renameat2"},
    {SYS_rt_sigaction, "rt_sigaction"},
    {SYS_rt_sigprocmask, "rt_sigprocmask"},
    {SYS_setgroups, "setgroups"},
    {SYS_setresgid, "setresgid"},
    {SYS_setresuid, "setresuid"},
    {SYS_setsid, "setsid"},
    {SYS_signalfd4, "signalfd4"},
    {SYS_splice, "splice"},
    {SYS_symlinkat, "symlinkat"},
    {SYS_sysinfo, "sysinfo"},
    {SYS_unlinkat, "unlinkat"},
    {SYS_utimensat, "utimensat"},
    {SYS_waitid, "waitid"},
    {SYS_write, "write"},
};

constexpr Name kPrctl[] = {
    {PR_SET_CHILD_SUBREAPER, "SET_CHILD_SUBREAPER"},
    {PR_GET_CHILD_SUBREAPER, "GET_CHILD_SUBREAPER"},
    {PR_SET_DUMPABLE, "SET_DUMPABLE"},
    {PR_SET_NAME, "SET_NAME"},
    {PR_SET_PDEATHSIG, "SET_PDEATHSIG"},
    {PR_SET_NO_NEW_PRIVS, "SET_NO_NEW_PRIVS"},
};

constexpr int kSetPipeSize = 1031;
constexpr Name kFcntl[] = {
    {F_GETFD, "GETFD"}, {F_SETFD, "SETFD"},           {F_GETFL, "GETFL"},
    {F_SETFL, "SETFL"}, {kSetPipeSize, "SETPIPE_SZ"},
};

template <std::size_t N>
const char* lookup(const Name (&names)[N], long number, const char* otherwise) {
  for (const Name& name : names) {
    if (name.number == number) return name.text;
  }
  return otherwise;
}

const char* text_at(long argument) { return reinterpret_cast<const char*>(argument); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

// A path without what differs from run to run: numbers after /proc, random names, our directories.
void path_class(const char* path, std::string_view scratch, char (&out)[Descriptors::kText]) {
  std::size_t length = 0;
  const auto put = [&](char c) {
    if (length + 1 < sizeof out) out[length++] = c;
  };
  const std::size_t prefix = scratch.size();
  if (std::strncmp(path, scratch.data(), prefix) == 0) {
    put('~');
    path += prefix;
  } else if (std::strncmp(path, "/sys/fs/cgroup", 14) == 0) {
    const char* leaf = std::strstr(path, "/quietus-faults");
    leaf = leaf == nullptr ? nullptr : std::strchr(leaf + 1, '/');
    for (const char c : std::string_view("cgroup")) put(c);
    const char* base = std::strrchr(path, '/');
    if (leaf == nullptr || std::strncmp(leaf, "/quietus-", 9) != 0) put('^');  // not in our leaf
    path = std::strncmp(base, "/quietus-", 9) == 0 ? "" : base;
  }
  while (*path != '\0') {
    std::size_t run = 0;
    while (is_hex(path[run])) ++run;
    if (run >= 16) {
      put('T');
      path += run;
    } else if (is_digit(*path)) {
      put('N');
      while (is_digit(*path)) ++path;
    } else {
      put(*path++);
    }
  }
  out[length] = '\0';
}

const char* kill_class(long pid, long signal) {
  if (signal == 0) return pid == -1 ? "all,0" : pid < 0 ? "group,0" : pid == 0 ? "own,0" : "pid,0";
  return pid == -1 ? "all" : pid < 0 ? "group" : pid == 0 ? "own" : "pid";
}

const char* wait_class(long which, long options) {
  if ((options & WSTOPPED) != 0) return "stop";
  if (which == P_ALL) return (options & WNOWAIT) != 0 ? "any,peek" : "any,reap";
  return (options & WNOWAIT) != 0 ? "pid,peek" : "pid,reap";
}

}  // namespace

const char* call_name(long number) { return lookup(kCalls, number, ""); }

std::uint64_t hash(const char* name) {
  std::uint64_t value = 14695981039346656037u;
  for (; *name != '\0'; ++name) {
    value = (value ^ static_cast<unsigned char>(*name)) * 1099511628211u;
  }
  return value == 0 ? 1 : value;
}

const char* Descriptors::name(long fd) const {
  if (fd >= 0 && fd <= 2 && names_[static_cast<std::size_t>(fd)][0] == '\0') return "standard";
  if (fd < 0 || static_cast<std::size_t>(fd) >= names_.size()) return "other";
  const char* text = names_[static_cast<std::size_t>(fd)].data();
  return *text == '\0' ? "other" : text;
}

void Descriptors::set(long fd, const char* text) {
  if (fd < 0 || static_cast<std::size_t>(fd) >= names_.size()) return;
  std::snprintf(names_[static_cast<std::size_t>(fd)].data(), kText, "%s", text);
}

void Descriptors::note(const Request& request, long answer) {
  if (answer < 0) return;
  const auto& a = request.args;
  char text[kText] = "";
  switch (request.number) {
    case SYS_openat: path_class(text_at(a[1]), scratch_, text); break;
    case SYS_signalfd4: return set(answer, "signalfd");
    case SYS_inotify_init1: return set(answer, "inotify");
    case SYS_pidfd_open: return set(answer, "pidfd");
    case SYS_landlock_create_ruleset: return set(answer, "ruleset");
    case SYS_dup3: std::snprintf(text, sizeof text, "%s", name(a[0])); break;
    case SYS_pipe2: {
      ++pipes_;
      const int* ends = reinterpret_cast<const int*>(a[0]);
      std::snprintf(text, sizeof text, "pipe%d", pipes_);
      set(ends[0], text);
      return set(ends[1], text);
    }
    default: return;
  }
  set(answer, text);
}

void describe(const Request& request, const Descriptors& descriptors, char (&name)[kKindText]) {
  const auto& a = request.args;
  const char* call = call_name(request.number);
  char path[Descriptors::kText];
  switch (request.number) {
    case SYS_openat:
    case SYS_newfstatat:
    case SYS_readlinkat:
    case SYS_unlinkat:
    case SYS_mkdirat:
    case SYS_inotify_add_watch:
    case SYS_linkat:
      path_class(text_at(a[1]), descriptors.scratch(), path);
      std::snprintf(name, sizeof name, "%s %s", call, path);
      return;
    case SYS_symlinkat:
      path_class(text_at(a[2]), descriptors.scratch(), path);
      std::snprintf(name, sizeof name, "%s %s", call, path);
      return;
    case SYS_renameat:
      path_class(text_at(a[3]), descriptors.scratch(), path);
      std::snprintf(name, sizeof name, "%s %s", call, path);
      return;
    case SYS_read:
    case SYS_write:
    case SYS_pwrite64:
    case SYS_close:
    case SYS_fstat:
    case SYS_fchmod:
    case SYS_fsync:
    case SYS_flock:
    case SYS_fallocate:
    case SYS_ftruncate:
    case SYS_lseek:
    case SYS_getdents64:
      std::snprintf(name, sizeof name, "%s %s", call, descriptors.name(a[0]));
      return;
    case SYS_fcntl:
      std::snprintf(name, sizeof name, "%s %s %s", call, lookup(kFcntl, a[1], "?"),
                    descriptors.name(a[0]));
      return;
    case SYS_prctl:
      std::snprintf(name, sizeof name, "%s %s", call, lookup(kPrctl, a[0], "?"));
      return;
    case SYS_kill: std::snprintf(name, sizeof name, "%s(%s)", call, kill_class(a[0], a[1])); return;
    case SYS_waitid:
      std::snprintf(name, sizeof name, "%s(%s)", call, wait_class(a[0], a[3]));
      return;
    case SYS_landlock_create_ruleset:
      std::snprintf(name, sizeof name, "%s%s", call, a[0] == 0 ? "(version)" : "");
      return;
    case SYS_clone:
      std::snprintf(name, sizeof name, "%s%s", call, (a[0] & ~0xFFL) != 0 ? "(namespaces)" : "");
      return;
    case SYS_clock_gettime:
      std::snprintf(name, sizeof name, "%s %s", call,
                    a[0] == CLOCK_MONOTONIC ? "monotonic" : "wall");
      return;
    default:
      if (*call != '\0') {
        std::snprintf(name, sizeof name, "%s", call);
      } else {
        std::snprintf(name, sizeof name, "call %ld", request.number);
      }
  }
}

}  // namespace faults

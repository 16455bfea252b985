// deny [--errno E] CALL[,CALL...] [[--errno E] CALL,...]... -- CMD...
//
// Runs CMD, and everything below it, with the named system calls answered by an errno instead of
// being made: ENOSYS as on a kernel that lacks them, EPERM as under a container's seccomp profile,
// 0 for a layer that only pretends. `prctl:NAME` denies one operation of prctl. The filter is a
// seccomp one, so no process below can take it off again; no_new_privs is set only where the kernel
// asks for it, so that root's set-user-ID programs work below.
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace {

#if defined(__x86_64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "deny knows x86_64 and aarch64"
#endif

struct Name {
  const char* name;
  int number;
};

// Calls that one architecture has and the other lacks are accepted on both, and denied where they
// exist. Numbers from 424 on are the same everywhere.
constexpr Name kCalls[] = {
    {"pidfd_send_signal", 424},
    {"io_uring_setup", 425},
    {"pidfd_open", 434},
    {"clone3", 435},
    {"close_range", 436},
    {"openat2", 437},
    {"pidfd_getfd", 438},
    {"faccessat2", 439},
    {"epoll_pwait2", 441},
    {"landlock_create_ruleset", 444},
    {"landlock_add_rule", 445},
    {"landlock_restrict_self", 446},
    {"clone", SYS_clone},
    {"dup3", SYS_dup3},
    {"epoll_create1", SYS_epoll_create1},
    {"epoll_pwait", SYS_epoll_pwait},
    {"eventfd2", SYS_eventfd2},
    {"fallocate", SYS_fallocate},
    {"fchmod", SYS_fchmod},
    {"flock", SYS_flock},
    {"fsync", SYS_fsync},
    {"getrandom", SYS_getrandom},
    {"inotify_add_watch", SYS_inotify_add_watch},
    {"inotify_init1", SYS_inotify_init1},
    {"ioprio_set", SYS_ioprio_set},
    {"kill", SYS_kill},
    {"memfd_create", SYS_memfd_create},
    {"mount", SYS_mount},
    {"pipe2", SYS_pipe2},
    {"ppoll", SYS_ppoll},
    {"prlimit64", SYS_prlimit64},
    {"ptrace", SYS_ptrace},
    {"renameat", SYS_renameat},
    {"renameat2", SYS_renameat2},
    {"sched_setscheduler", SYS_sched_setscheduler},
    {"setpriority", SYS_setpriority},
    {"setsid", SYS_setsid},
    {"signalfd4", SYS_signalfd4},
    {"splice", SYS_splice},
    {"statx", SYS_statx},
    {"symlinkat", SYS_symlinkat},
    {"tgkill", SYS_tgkill},
    {"timerfd_create", SYS_timerfd_create},
    {"unlinkat", SYS_unlinkat},
    {"unshare", SYS_unshare},
    {"utimensat", SYS_utimensat},
#ifdef SYS_fork
    {"fork", SYS_fork},
    {"rename", SYS_rename},
    {"vfork", SYS_vfork},
#else
    {"fork", -1},
    {"rename", -1},
    {"vfork", -1},
#endif
};

constexpr Name kOperations[] = {
    {"set_pdeathsig", PR_SET_PDEATHSIG},
    {"set_dumpable", PR_SET_DUMPABLE},
    {"set_name", PR_SET_NAME},
    {"set_timerslack", PR_SET_TIMERSLACK},
    {"set_mm", PR_SET_MM},
    {"set_child_subreaper", PR_SET_CHILD_SUBREAPER},
    {"get_child_subreaper", PR_GET_CHILD_SUBREAPER},
    {"set_no_new_privs", PR_SET_NO_NEW_PRIVS},
};

constexpr Name kErrors[] = {
    {"ENOSYS", ENOSYS}, {"EPERM", EPERM},   {"EACCES", EACCES}, {"EINVAL", EINVAL},
    {"EAGAIN", EAGAIN}, {"EMFILE", EMFILE}, {"ENOMEM", ENOMEM}, {"EIO", EIO},
    {"ENOSPC", ENOSPC}, {"EBUSY", EBUSY},
};

constexpr size_t kMaxInstructions = 256;
sock_filter program[kMaxInstructions];
unsigned short length = 0;

[[noreturn]] void refuse(const char* what, const char* which) {
  fprintf(stderr, "deny: %s '%s'\n", what, which);
  _exit(125);
}

void add(sock_filter instruction) {
  if (length == kMaxInstructions) refuse("too many calls at", "the filter's limit");
  program[length++] = instruction;
}

template <size_t N>
int look_up(const Name (&table)[N], const char* name, const char* kind) {
  for (const Name& known : table) {
    if (strcmp(known.name, name) == 0) return known.number;
  }
  char* end = nullptr;
  const long value = strtol(name, &end, 10);
  if (end == name || *end != '\0' || value < 0) refuse(kind, name);
  return static_cast<int>(value);
}

void load(unsigned offset) { add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)); }

void answer_if_equal(int value, int error) {
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, static_cast<unsigned>(value), 0, 1));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | static_cast<unsigned>(error)));
}

void deny_operation(int operation, int error) {
  // Only for prctl itself; and the call number must be back in the accumulator for what follows.
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_prctl, 0, 3));
  load(offsetof(seccomp_data, args[0]));  // both architectures are little-endian: the low half
  answer_if_equal(operation, error);
  load(offsetof(seccomp_data, nr));
}

void deny(const char* list, int error) {
  char copy[4096];
  snprintf(copy, sizeof copy, "%s", list);
  char* rest = copy;
  while (const char* name = strsep(&rest, ",")) {
    if (strncmp(name, "prctl:", 6) == 0) {
      deny_operation(look_up(kOperations, name + 6, "unknown prctl operation"), error);
    } else if (const int number = look_up(kCalls, name, "unknown call"); number >= 0) {
      answer_if_equal(number, error);
    }
  }
}

void install() {
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog filter = {length, program};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) return;
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
      syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0) {
    return;
  }
  refuse("cannot install the filter:", strerror(errno));
}

}  // namespace

int main(int argc, char** argv) {
  load(offsetof(seccomp_data, arch));
  // Another architecture's calls have other numbers: let them all through.
  add(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
  add(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  load(offsetof(seccomp_data, nr));

  int error = ENOSYS;
  int at = 1;
  for (; at < argc && strcmp(argv[at], "--") != 0; ++at) {
    if (strcmp(argv[at], "--errno") == 0 && at + 1 < argc) {
      error = look_up(kErrors, argv[++at], "unknown errno");
    } else {
      deny(argv[at], error);
    }
  }
  if (at + 1 >= argc) {
    fprintf(stderr, "usage: deny [--errno E] CALL[,CALL...]... -- CMD...\n");
    return 2;
  }
  install();
  execvp(argv[at + 1], argv + at + 1);
  refuse("cannot run", argv[at + 1]);
}

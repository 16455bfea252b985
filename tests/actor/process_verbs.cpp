// Verbs that make processes, or change what a process is.
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "actor.hpp"

namespace actor {

namespace {

pid_t fork_or_fail() {
  const pid_t child = fork_bounded();
  if (child < 0) fail("fork");
  return child;
}

[[noreturn]] void run_and_exit(Script script) {
  run(script);
  _exit(0);
}

void verb_fork(const Call& call) {
  if (fork_or_fail() == 0) run_and_exit(call.block);
}

void verb_try_fork(const Call& call) {
  const pid_t child = fork_bounded();
  if (child == 0) run_and_exit(call.block);
  if (child < 0) append_file(call.arg[0], strerror(errno));
}

void wait_for(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void verb_orphan(const Call& call) {
  const pid_t middle = fork_or_fail();
  if (middle == 0) {
    if (fork_or_fail() == 0) run_and_exit(call.block);
    _exit(0);
  }
  wait_for(middle);
}

void verb_daemon(const Call& call) {
  const pid_t middle = fork_or_fail();
  if (middle == 0) {
    setsid();
    if (fork_or_fail() == 0) run_and_exit(call.block);
    _exit(0);
  }
  wait_for(middle);
}

void verb_setsid(const Call&) {
  if (setsid() < 0) fail("setsid");
}

void verb_pgrp(const Call&) {
  if (setpgid(0, 0) != 0) fail("setpgid");
}

void verb_wait(const Call&) {
  while (waitpid(-1, nullptr, 0) > 0 || errno == EINTR) {
  }
}

void verb_subreaper(const Call&) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) fail("subreaper");
}

void verb_unshare_pid(const Call& call) {
  if (unshare(CLONE_NEWPID) != 0) fail("unshare");
  verb_fork(call);
}

void verb_setuid(const Call& call) {
  const uid_t uid = static_cast<uid_t>(number(call.arg[0]));
  if (setresuid(uid, uid, uid) != 0) fail("setresuid");
}

void verb_chdir(const Call& call) {
  if (chdir(call.arg[0]) != 0) fail(call.arg[0]);
}

void verb_umask(const Call& call) { umask(static_cast<mode_t>(strtol(call.arg[0], nullptr, 8))); }

void verb_vfork_hold(const Call& call) {
  const int slot = static_cast<int>(number(call.arg[0]));
  // The parent is suspended in the kernel until its child execs or ends, deaf to everything but
  // KILL. The child only counts: it runs on the parent's stack.
  const pid_t child = vfork();
  if (child < 0) fail("vfork");
  if (child == 0) {
    while (!bound_passed()) {
      beat(slot);
      sleep_ms(5);
    }
    _exit(0);
  }
}

int beat_on(void* slot) {
  while (!bound_passed()) {
    beat(static_cast<int>(reinterpret_cast<intptr_t>(slot)));
    sleep_ms(5);
  }
  _exit(0);
}

void verb_zombie_leader(const Call& call) {
  // A thread without libc's knowledge; the leader then ends alone and stays a zombie in /proc
  // although the process goes on.
  static char stack[64 * 1024] __attribute__((aligned(16)));
  void* slot = reinterpret_cast<void*>(static_cast<intptr_t>(number(call.arg[0])));
  constexpr int kThread =
      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM;
  if (clone(beat_on, stack + sizeof stack, kThread, slot) < 0) fail("clone");
  syscall(SYS_exit, 0);
}

void verb_trace_parent(const Call& call) {
  const int slot = static_cast<int>(number(call.arg[0]));
  const pid_t tracee = getpid();
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
  if (fork_or_fail() != 0) {
    while (beats(slot) == 0 && !bound_passed()) sleep_ms(1);
    return;
  }
  setsid();
  signal(SIGTERM, SIG_IGN);
  if (ptrace(PTRACE_SEIZE, tracee, nullptr, nullptr) != 0) fail("ptrace seize");
  beat(slot);
  sleep_ms(50);  // the tracee notices, and goes on to whatever it shall be caught in
  if (ptrace(PTRACE_INTERRUPT, tracee, nullptr, nullptr) != 0) fail("ptrace interrupt");
  // The stop must have happened, or a kill could come before it.
  if (waitpid(tracee, nullptr, __WALL) < 0) fail("ptrace wait");
  beat(slot);
  while (!bound_passed()) pause();
}

void verb_mkdir(const Call& call) {
  if (mkdir(call.arg[0], 0777) != 0) fail(call.arg[0]);
}

void verb_mkfifo(const Call& call) {
  if (mkfifo(call.arg[0], 0666) != 0) fail(call.arg[0]);
}

void verb_symlink(const Call& call) {
  if (symlink(call.arg[0], call.arg[1]) != 0) fail(call.arg[1]);
}

void verb_rename(const Call& call) {
  if (rename(call.arg[0], call.arg[1]) != 0) fail(call.arg[0]);
}

// Waits until a process number is free, and takes it for a session of its own. Only in a PID
// namespace of a test's own: the kernel is told which number comes next.
void verb_take_pid(const Call& call) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%s", call.arg[0]);
  while (access(path, F_OK) == 0 && !bound_passed()) sleep_ms(1);
  char text[32];
  snprintf(text, sizeof text, "%ld", number(call.arg[0]) - 1);
  write_file("/proc/sys/kernel/ns_last_pid", text);
  const pid_t child = fork_or_fail();
  if (child == 0) {
    setsid();
    run_and_exit(call.block);
  }
  snprintf(text, sizeof text, "%d\n", child);
  append_file(call.arg[1], text);
}

// Process 1 of a namespace that a test made: starts a command, reaps, writes the command's end to
// a file ("exit 0" or "signal 9") and then stays until the descriptor reports end of file, so that
// the test can look at what the command left behind before the namespace takes it away.
void verb_ns_init(const Call& call) {
  const char* status_path = call.arg[0];
  const int release = static_cast<int>(number(call.arg[1]));
  char** command = call.rest.words;
  fcntl(release, F_SETFD, FD_CLOEXEC);
  // The first process of a namespace is deaf to every signal that it does not handle, the alarm
  // that bounds this one included.
  signal(SIGALRM, [](int) { _exit(98); });
  const pid_t child = fork();  // without a bound of its own: exec would hand the timer on
  if (child < 0) fail("fork");
  if (child == 0) {
    sigprocmask(SIG_SETMASK, &start.blocked, nullptr);
    execvp(command[0], command);
    fail(command[0]);
  }
  // A search for a word of the command must not find this process by it.
  for (char** word = start.argv + 1; *word != nullptr; ++word) memset(*word, 0, strlen(*word));
  int status = 0;
  for (;;) {
    const pid_t ended = waitpid(-1, &status, 0);
    if (ended == child) break;
    if (ended < 0 && errno != EINTR) fail("waitpid");
  }
  char text[64];
  if (WIFEXITED(status)) {
    snprintf(text, sizeof text, "exit %d\n", WEXITSTATUS(status));
  } else {
    snprintf(text, sizeof text, "signal %d\n", WTERMSIG(status));
  }
  write_file(status_path, text);
  char byte;
  while (read(release, &byte, 1) > 0 || errno == EINTR) {
  }
  _exit(0);
}

}  // namespace

const Verb kProcessVerbs[] = {
    {"fork", "fork [ ... ]", "a child runs the block, then exits 0", verb_fork},
    {"try-fork", "try-fork:FILE [ ... ]", "the same; a failure is only noted", verb_try_fork},
    {"orphan", "orphan [ ... ]", "the same, its parent gone at once", verb_orphan},
    {"daemon", "daemon [ ... ]", "the same, in a session of its own", verb_daemon},
    {"setsid", "setsid", "own session", verb_setsid},
    {"pgrp", "pgrp", "own process group", verb_pgrp},
    {"wait", "wait", "wait for every child", verb_wait},
    {"subreaper", "subreaper", "adopt orphans", verb_subreaper},
    {"unshare-pid", "unshare-pid [ ... ]", "fork into a PID namespace", verb_unshare_pid},
    {"setuid", "setuid:UID", "become another user for good", verb_setuid},
    {"chdir", "chdir:DIR", "change directory", verb_chdir},
    {"umask", "umask:OCTAL", "set the umask", verb_umask},
    {"vfork-hold", "vfork-hold:SLOT", "wait in vfork for a beating child", verb_vfork_hold},
    {"zombie-leader", "zombie-leader:SLOT", "the main thread ends, one beats", verb_zombie_leader},
    {"trace-parent", "trace-parent:SLOT", "be held in trace-stop by a deaf daemon",
     verb_trace_parent},
    {"mkdir", "mkdir:DIR", "make a directory", verb_mkdir},
    {"mkfifo", "mkfifo:PATH", "make a named pipe", verb_mkfifo},
    {"symlink", "symlink:TO:PATH", "make a symbolic link", verb_symlink},
    {"rename", "rename:FROM:TO", "rename", verb_rename},
    {"take-pid", "take-pid:PID:FILE [ ... ]", "take a number that becomes free; note who got it",
     verb_take_pid},
    {"ns-init", "ns-init:FILE:FD CMD...", "be the init of a test's namespace", verb_ns_init},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace actor

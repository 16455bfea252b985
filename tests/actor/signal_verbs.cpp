// Verbs that concern signals: what this process does with them, and whom it attacks.
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "actor.hpp"

namespace actor {

namespace {

// One trap for each signal is enough for a worker; the handler may use no more than this.
struct Trap {
  int code = -1;  // exit with it; -1: go on
  int64_t delay = 0;
  char note[1024] = "";  // append the signal's number here
};

Trap traps[65];

void on_signal(int signal) {
  const Trap& trap = traps[signal];
  if (trap.delay > 0) sleep_ms(trap.delay);
  if (trap.note[0] != '\0') {
    char text[16];
    snprintf(text, sizeof text, "%d\n", signal);
    append_file(trap.note, text);
  }
  if (trap.code >= 0) _exit(trap.code);
}

void catch_signal(int signal, const Trap& trap) {
  traps[signal] = trap;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;
  if (sigaction(signal, &action, nullptr) != 0) fail("sigaction");
}

void verb_trap(const Call& call) {
  Trap trap;
  trap.code = static_cast<int>(number(call.arg[1]));
  snprintf(trap.note, sizeof trap.note, "%s", call.arg[2]);
  if (call.args > 3) trap.delay = number(call.arg[3]);
  catch_signal(signal_number(call.arg[0]), trap);
}

void verb_note(const Call& call) {
  static char file[sizeof Trap::note];
  snprintf(file, sizeof file, "%s", call.arg[1]);
  for_each_signal(call.arg[0], [](int signal) {
    Trap trap;
    snprintf(trap.note, sizeof trap.note, "%s", file);
    catch_signal(signal, trap);
  });
}

void verb_ignore(const Call& call) {
  for_each_signal(call.arg[0], [](int number) { signal(number, SIG_IGN); });
}

void verb_default(const Call& call) {
  for_each_signal(call.arg[0], [](int number) { signal(number, SIG_DFL); });
}

void verb_block(const Call& call) {
  for_each_signal(call.arg[0], [](int number) {
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, number);
    sigprocmask(SIG_BLOCK, &one, nullptr);
  });
}

void verb_die(const Call& call) {
  const int number = signal_number(call.arg[0]);
  rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  signal(number, SIG_DFL);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  sigprocmask(SIG_UNBLOCK, &one, nullptr);
  // Past libc, which refuses the signals that it keeps for itself.
  syscall(SYS_kill, getpid(), number);
  pause();
}

void verb_stop(const Call&) { kill(getpid(), SIGSTOP); }

pid_t parent_of(pid_t pid) {
  char path[64];
  char text[512];
  snprintf(path, sizeof path, "/proc/%d/stat", static_cast<int>(pid));
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) fail(path);
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  text[length > 0 ? length : 0] = '\0';
  int parent = 0;
  const char* after_name = strrchr(text, ')');
  if (after_name == nullptr || sscanf(after_name, ") %*c %d", &parent) != 1) fail(path);
  return parent;
}

pid_t target(const char* name) {
  if (strcmp(name, "ppid") == 0) return getppid();
  if (strcmp(name, "pppid") == 0) return parent_of(getppid());
  if (strcmp(name, "self") == 0) return getpid();
  if (strcmp(name, "-ppid") == 0) return -getpgid(getppid());
  if (strcmp(name, "all") == 0) return -1;
  return static_cast<pid_t>(number(name));
}

int send_by(const char* way, pid_t pid, int signal) {
  if (strcmp(way, "tgkill") == 0) return static_cast<int>(syscall(SYS_tgkill, pid, pid, signal));
  if (strcmp(way, "tkill") == 0) return static_cast<int>(syscall(SYS_tkill, pid, signal));
  if (strcmp(way, "queue") == 0) {
    siginfo_t info = {};
    info.si_signo = signal;
    info.si_code = SI_QUEUE;
    return static_cast<int>(syscall(SYS_rt_sigqueueinfo, pid, signal, &info));
  }
  if (strcmp(way, "pidfd") == 0) {
    const int fd = static_cast<int>(syscall(434 /* pidfd_open */, pid, 0));
    if (fd < 0) return -1;
    const int result =
        static_cast<int>(syscall(424 /* pidfd_send_signal */, fd, signal, nullptr, 0));
    const int error = errno;
    close(fd);
    errno = error;
    return result;
  }
  if (strcmp(way, "sigio") == 0) {
    // The kernel sends the signal itself, on input at a pipe whose owner the target is made.
    int ends[2];
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return -1;
    if (fcntl(ends[0], F_SETOWN, pid) != 0 || fcntl(ends[0], F_SETSIG, signal) != 0 ||
        fcntl(ends[0], F_SETFL, O_NONBLOCK | O_ASYNC) != 0) {
      return -1;
    }
    return write(ends[1], "x", 1) == 1 ? 0 : -1;
  }
  return kill(pid, signal);
}

void note_result(const char* path, const char* verb, const char* name, int result) {
  if (*path == '\0') return;
  char text[256];
  snprintf(text, sizeof text, "%s %s %s\n", verb, name, result == 0 ? "done" : strerror(errno));
  append_file(path, text);
}

void verb_kill(const Call& call) {
  const int result = kill(target(call.arg[1]), signal_number(call.arg[0]));
  note_result(call.arg[2], "kill", call.arg[1], result);
}

void verb_kill_by(const Call& call) {
  const int result = send_by(call.arg[0], target(call.arg[2]), signal_number(call.arg[1]));
  note_result(call.arg[3], call.arg[0], call.arg[2], result);
}

bool cmdline_holds(const char* pid, const char* word) {
  char path[64];
  static char text[1 << 20];
  snprintf(path, sizeof path, "/proc/%.20s/cmdline", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  size_t length = 0;
  ssize_t got;
  while (length < sizeof text && (got = read(fd, text + length, sizeof text - length)) > 0) {
    length += static_cast<size_t>(got);
  }
  close(fd);
  // As pgrep -f sees it: the words joined by spaces.
  for (size_t i = 0; i < length; ++i) {
    if (text[i] == '\0') text[i] = ' ';
  }
  return memmem(text, length, word, strlen(word)) != nullptr;
}

bool comm_is(const char* pid, const char* word) {
  char path[64];
  char text[64] = "";
  snprintf(path, sizeof path, "/proc/%.20s/comm", pid);
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  return length > 1 && static_cast<size_t>(length - 1) == strlen(word) &&
         strncmp(text, word, static_cast<size_t>(length - 1)) == 0;
}

void kill_matching(const Call& call, bool (*matches)(const char* pid, const char* word)) {
  const int signal = signal_number(call.arg[0]);
  DIR* proc = opendir("/proc");
  if (proc == nullptr) fail("/proc");
  while (const dirent* entry = readdir(proc)) {
    if (isdigit(static_cast<unsigned char>(entry->d_name[0])) == 0) continue;
    const pid_t pid = static_cast<pid_t>(atol(entry->d_name));
    if (pid == getpid() || !matches(entry->d_name, call.arg[1])) continue;
    const int result = kill(pid, signal);
    note_result(call.arg[2], "pkill", entry->d_name, result);
  }
  closedir(proc);
}

void verb_pkill(const Call& call) { kill_matching(call, cmdline_holds); }
void verb_killall(const Call& call) { kill_matching(call, comm_is); }

}  // namespace

const Verb kSignalVerbs[] = {
    {"ignore", "ignore:SIG,...", "ignore signals", verb_ignore},
    {"default", "default:SIG,...", "default action", verb_default},
    {"block", "block:SIG,...", "block signals", verb_block},
    {"trap", "trap:SIG:N[:FILE[:MS]]", "on SIG wait MS, note it in FILE, exit N", verb_trap},
    {"note", "note:SIG,...:FILE", "on SIG append its number to FILE, go on", verb_note},
    {"die", "die:SIG", "die by SIG", verb_die},
    {"stop", "stop", "SIGSTOP itself", verb_stop},
    {"kill", "kill:SIG:WHO[:FILE]", "WHO: PID self ppid pppid -ppid all", verb_kill},
    {"kill-by", "kill-by:WAY:SIG:WHO[:FILE]", "WAY: tgkill tkill queue pidfd sigio", verb_kill_by},
    {"pkill", "pkill:SIG:WORD[:FILE]", "whose command line holds WORD", verb_pkill},
    {"killall", "killall:SIG:NAME[:FILE]", "whose name is NAME", verb_killall},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace actor

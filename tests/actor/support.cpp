#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "actor.hpp"

namespace actor {

namespace {

int64_t end_ms = 0;
uint64_t* page = nullptr;

struct Name {
  const char* name;
  int number;
};

constexpr Name kSignals[] = {
    {"HUP", SIGHUP},   {"INT", SIGINT},   {"QUIT", SIGQUIT}, {"ABRT", SIGABRT}, {"KILL", SIGKILL},
    {"USR1", SIGUSR1}, {"SEGV", SIGSEGV}, {"USR2", SIGUSR2}, {"PIPE", SIGPIPE}, {"ALRM", SIGALRM},
    {"TERM", SIGTERM}, {"CHLD", SIGCHLD}, {"CONT", SIGCONT}, {"STOP", SIGSTOP}, {"TSTP", SIGTSTP},
    {"TTIN", SIGTTIN}, {"TTOU", SIGTTOU}, {"IO", SIGIO},
};

void write_with(const char* path, const char* text, int flags) {
  const int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, 0644);
  if (fd < 0) fail(path);
  size_t left = strlen(text);
  while (left > 0) {
    const ssize_t done = write(fd, text, left);
    if (done < 0 && errno == EINTR) continue;
    if (done <= 0) fail(path);
    text += done;
    left -= static_cast<size_t>(done);
  }
  close(fd);
}

}  // namespace

int64_t now_ms() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1000000;
}

void set_bound(int64_t milliseconds) {
  end_ms = now_ms() + milliseconds;
  // The alarm must be able to kill, whatever was inherited.
  signal(SIGALRM, SIG_DFL);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  sigprocmask(SIG_UNBLOCK, &alarm_only, nullptr);
  itimerval timer = {};
  timer.it_value.tv_sec = milliseconds / 1000;
  timer.it_value.tv_usec = milliseconds % 1000 * 1000 + 1;
  setitimer(ITIMER_REAL, &timer, nullptr);
}

bool bound_passed() { return now_ms() >= end_ms; }

pid_t fork_bounded() {
  const pid_t child = fork();
  if (child == 0) {
    // Timers are not inherited; the bound is.
    const int64_t left = end_ms - now_ms();
    if (left <= 0) _exit(0);
    set_bound(left);
  }
  return child;
}

void fail(const char* what) {
  char line[512];
  const int length = snprintf(line, sizeof line, "actor: %s: %s\n", what, strerror(errno));
  (void)!write(2, line, static_cast<size_t>(length) < sizeof line ? length : sizeof line);
  _exit(99);
}

void sleep_ms(int64_t milliseconds) {
  timespec wish = {time_t(milliseconds / 1000), long(milliseconds % 1000) * 1000000};
  while (nanosleep(&wish, &wish) != 0 && errno == EINTR) {
  }
}

void write_file(const char* path, const char* text) { write_with(path, text, O_TRUNC); }
void append_file(const char* path, const char* text) { write_with(path, text, O_APPEND); }

long number(const char* text) {
  char* end = nullptr;
  const long value = strtol(text, &end, 10);
  if (end == text || *end != '\0') {
    errno = EINVAL;
    fail(text);
  }
  return value;
}

int signal_number(const char* name) {
  for (const Name& known : kSignals) {
    if (strcmp(known.name, name) == 0) return known.number;
  }
  return static_cast<int>(number(name));
}

void for_each_signal(const char* list, void (*use)(int signal)) {
  char copy[256];
  snprintf(copy, sizeof copy, "%s", list);
  char* rest = copy;
  while (char* name = strsep(&rest, ",")) use(signal_number(name));
}

void map_beats(const char* path) {
  const int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) fail(path);
  void* mapped =
      mmap(nullptr, kSlots * sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (mapped == MAP_FAILED) fail(path);
  page = static_cast<uint64_t*>(mapped);
  close(fd);
}

void beat(int slot) {
  if (page != nullptr) __atomic_add_fetch(&page[slot % kSlots], 1, __ATOMIC_RELAXED);
}

uint64_t beats(int slot) {
  return page == nullptr ? 0 : __atomic_load_n(&page[slot % kSlots], __ATOMIC_RELAXED);
}

}  // namespace actor

// The supervised command of the benchmarks: static, tiny and silent. It reports through the slots
// of a shared page (slots.hpp).
//
//   worker exit     PAGE CODE       stamp the start, stamp the exit, exit with CODE
//   worker nap      PAGE CODE SECS  sleep a random time up to SECS, then the same
//   worker hold     PAGE CODE       stamp the start and wait; on TERM stamp it and exit with CODE
//   worker stubborn PAGE            stamp the start; on TERM only stamp it
//   worker gate     PAGE FIFO       stamp the start, exit with 0 as soon as somebody opens FIFO
//   worker flock    PAGE N          N sleepers, each in a session of its own, then exit
//   worker chain    PAGE N          N sleepers, each the child of the one before, then exit
//   worker litter   PAGE N          N detached processes that end at once, then wait for TERM
//   worker comet    PAGE N SECS     N processes that fork a replacement and exit, for SECS at most
//   worker bomb     PAGE N SECS     N processes that all keep forking; a pids limit bounds them
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "slots.hpp"

namespace {

using bench::now;

bench::Slots* slots;
int code_on_term;

[[noreturn]] void leave(int code) {
  slots->exit = now();
  _exit(code);
}

[[noreturn]] void fail(int error) {
  slots->failed = error;
  leave(99);
}

void sleep_for(std::int64_t nanoseconds) {
  const timespec span{.tv_sec = nanoseconds / 1'000'000'000,
                      .tv_nsec = nanoseconds % 1'000'000'000};
  nanosleep(&span, nullptr);
}

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

void reap(pid_t child) {
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void exit_on_term(int) {
  slots->term = now();
  leave(code_on_term);
}

void stay_on_term(int) {
  std::int64_t none = 0;
  slots->term.compare_exchange_strong(none, now());
}

[[noreturn]] void wait_for_term(void (*handler)(int), std::int64_t started) {
  struct sigaction action {};
  action.sa_handler = handler;
  sigaction(SIGTERM, &action, nullptr);
  sigset_t term;
  sigemptyset(&term);
  sigaddset(&term, SIGTERM);
  sigprocmask(SIG_UNBLOCK, &term, nullptr);
  // Whoever sees this may send the signal.
  slots->start = started;
  sleep_for_ever();
}

void nap(std::int64_t started, double seconds) {
  // The clock is dice enough: no two runs start at the same nanosecond.
  const std::uint64_t dice = static_cast<std::uint64_t>(started) * 0x9E3779B97F4A7C15u;
  const double share = static_cast<double>(dice >> 11) / 9007199254740992.0;
  sleep_for(static_cast<std::int64_t>(seconds * 1e9 * share));
}

void wait_until_ready(long number) {
  while (slots->ready < number && slots->failed == 0) sleep_for(1'000'000);
  if (slots->failed != 0) leave(99);
}

void make_flock(long number) {
  for (long i = 0; i < number; i++) {
    const pid_t child = fork();
    if (child < 0) fail(errno);
    if (child == 0) {
      setsid();
      slots->ready++;
      sleep_for_ever();
    }
  }
  wait_until_ready(number);
}

void make_chain(long depth) {
  const pid_t child = fork();
  if (child < 0) fail(errno);
  if (child == 0) {
    for (long level = 1;; level++) {
      setsid();
      slots->ready++;
      if (level == depth) break;
      const pid_t next = fork();
      if (next < 0) slots->failed = errno;
      if (next != 0) break;
    }
    sleep_for_ever();
  }
  wait_until_ready(depth);
}

// Orphans that end at once: a subreaper that does not reap collects zombies.
void make_litter(long number) {
  for (long i = 0; i < number; i++) {
    const pid_t child = fork();
    if (child < 0) fail(errno);
    if (child == 0) {
      setsid();
      if (fork() == 0) {
        slots->ready++;
        sleep_for(2'000'000);  // outlive the parent
      }
      _exit(0);
    }
    reap(child);
  }
}

// At any time one process, never the same.
[[noreturn]] void be_comet(std::int64_t until) {
  setsid();
  for (;;) {
    const pid_t child = fork();
    if (child > 0) _exit(0);
    if (child < 0) {
      sched_yield();
      continue;
    }
    setsid();
    slots->forks++;
    if (now() > until) _exit(0);
  }
}

[[noreturn]] void be_bomb(std::int64_t until) {
  for (;;) {
    if (now() > until) _exit(0);
    setsid();
    const pid_t child = fork();
    if (child == 0) slots->forks++;
    if (child < 0) sched_yield();
  }
}

void start_storm(long number, void (*be)(std::int64_t), double seconds) {
  const std::int64_t until = now() + static_cast<std::int64_t>(seconds * 1e9);
  for (long i = 0; i < number; i++) {
    if (fork() == 0) be(until);
  }
  // Let it rage before anybody acts: a busy machine may take its time to begin.
  do sleep_for(20'000'000);
  while (slots->forks == 0 && now() < until);
}

}  // namespace

int main(int argc, char** argv) {
  const std::int64_t started = now();
  if (argc < 3) return 98;
  const std::string_view verb = argv[1];
  const int page = open(argv[2], O_RDWR | O_CLOEXEC);
  if (page < 0) return 97;
  void* memory = mmap(nullptr, bench::kPage, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
  if (memory == MAP_FAILED) return 96;
  close(page);
  slots = static_cast<bench::Slots*>(memory);
  const char* word = argc > 3 ? argv[3] : "0";
  const long number = std::atol(word);
  const double seconds = argc > 4 ? std::atof(argv[4]) : 0;

  if (verb == "hold") {
    code_on_term = static_cast<int>(number);
    wait_for_term(exit_on_term, started);
  }
  if (verb == "stubborn") wait_for_term(stay_on_term, started);
  if (verb == "litter") make_litter(number);
  slots->start = started;
  if (verb == "litter") sleep_for_ever();
  if (verb == "exit") leave(static_cast<int>(number));
  if (verb == "nap") {
    nap(started, seconds);
    leave(static_cast<int>(number));
  }
  if (verb == "gate") leave(open(word, O_RDONLY | O_CLOEXEC) < 0 ? 94 : 0);
  if (verb == "flock") {
    make_flock(number);
    leave(0);
  }
  if (verb == "chain") {
    make_chain(number);
    leave(0);
  }
  if (verb == "comet" || verb == "bomb") {
    start_storm(number, verb == "comet" ? be_comet : be_bomb, seconds);
    leave(0);
  }
  return 95;
}

// Verbs whose processes multiply or run away. Each is bounded in time by the clock itself, not only
// by an alarm, and is meant for a namespace of its own under a limit of processes.
#include <errno.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "actor.hpp"

namespace actor {

namespace {

void sleep_us(long microseconds) {
  if (microseconds <= 0) return;
  timespec wish = {microseconds / 1000000, microseconds % 1000000 * 1000};
  nanosleep(&wish, nullptr);
}

// One chain: fork, leave the session, end, and so on in the child. Whoever made a list of
// processes has a list of dead ones.
[[noreturn]] void hop_for_ever(int slot, long pause_us) {
  while (!bound_passed()) {
    const pid_t child = fork_bounded();
    if (child > 0) _exit(0);
    if (child < 0) {
      sleep_us(1000);
      continue;
    }
    setsid();
    beat(slot);
    sleep_us(pause_us);
  }
  _exit(0);
}

void verb_hop(const Call& call) {
  const long chains = number(call.arg[0]);
  const int slot = static_cast<int>(number(call.arg[1]));
  const long pause_us = call.args > 2 ? number(call.arg[2]) : 0;
  for (long i = 0; i < chains; ++i) {
    const pid_t child = fork_bounded();
    if (child == 0) {
      setsid();
      hop_for_ever(slot, pause_us);
    }
    if (child < 0) sleep_us(1000);
  }
}

// Every process forks for ever, each in a session of its own; at the limit each goes on trying.
[[noreturn]] void bomb_for_ever(int slot, long pause_us) {
  while (!bound_passed()) {
    const pid_t child = fork_bounded();
    if (child == 0) setsid();
    beat(slot);
    if (child < 0) sleep_us(pause_us);
    while (waitpid(-1, nullptr, WNOHANG) > 0) {
    }
  }
  _exit(0);
}

void verb_bomb(const Call& call) {
  const int slot = static_cast<int>(number(call.arg[0]));
  const long pause_us = call.args > 1 ? number(call.arg[1]) : 0;
  const pid_t child = fork_bounded();
  if (child < 0) fail("fork");
  if (child == 0) {
    setsid();
    bomb_for_ever(slot, pause_us);
  }
}

// Pairs that watch each other through a pipe and make a new partner when one dies.
[[noreturn]] void pair_for_ever(int slot) {
  for (;;) {
    int ends[2];
    if (bound_passed() || pipe(ends) != 0) _exit(0);
    const pid_t child = fork_bounded();
    if (child < 0) {
      close(ends[0]);
      close(ends[1]);
      sleep_us(1000);
      continue;
    }
    // The parent holds only the writing end and waits for the child; the child sees end of file
    // when its parent dies, and becomes the parent of the next one.
    if (child == 0) {
      setsid();
      close(ends[1]);
      beat(slot);
      char byte;
      while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
      }
      close(ends[0]);
      continue;
    }
    close(ends[0]);
    beat(slot);
    waitpid(child, nullptr, 0);
    close(ends[1]);
  }
}

void verb_pairs(const Call& call) {
  const int slot = static_cast<int>(number(call.arg[1]));
  for (long i = number(call.arg[0]); i > 0; --i) {
    const pid_t child = fork_bounded();
    if (child == 0) {
      setsid();
      pair_for_ever(slot);
    }
    if (child < 0) sleep_us(1000);
  }
}

}  // namespace

const Verb kStormVerbs[] = {
    {"hop", "hop:CHAINS:SLOT[:US]", "fork, setsid, exit, for ever", verb_hop},
    {"bomb", "bomb:SLOT[:US]", "every process forks for ever (US: nap at the limit)", verb_bomb},
    {"pairs", "pairs:N:SLOT", "pairs that make each other anew", verb_pairs},
    {nullptr, nullptr, nullptr, nullptr},
};

}  // namespace actor

// Strikes at exact moments: runs a start of quietus under ptrace, counts the system calls of its
// supervisor, and before a chosen one sends a signal to one of the two halves. Then it lets go of
// both, so that what follows is not traced.
#pragma once

#include <functional>

#include "harness/running.hpp"

namespace harness {

enum class Half { guardian, supervisor };

struct Strike {
  bool reached = false;  // false: quietus ended before its supervisor came so far
  int steps = 0;         // system calls that the supervisor had begun
};

constexpr int kNever = 1 << 30;

// To be put into Launch::in_child, last.
void be_traced();

// Step 0 is the supervisor's very first instruction. `at_that_moment` looks around while both
// halves stand still, before the signal is sent.
Strike strike_at(Running& running, int step, Half half, int signal,
                 const std::function<void()>& at_that_moment = {});

// Holds a process for a while before each call by which it could signal another one, until it ends.
// Attaches to a running process; returns when it has ended. False: it could not be traced.
bool slow_its_signals(pid_t pid, double seconds, const std::function<void()>& once_attached);

}  // namespace harness

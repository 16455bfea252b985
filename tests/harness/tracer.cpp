#include "harness/tracer.hpp"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

namespace harness {

namespace {

constexpr int kSystemCallStop = SIGTRAP | 0x80;

void go_on(pid_t pid, int signal) { ptrace(PTRACE_SYSCALL, pid, nullptr, long{signal}); }

bool is_quietus(pid_t pid) {
  std::error_code error;
  return std::filesystem::equivalent("/proc/" + std::to_string(pid) + "/exe", quietus_binary(),
                                     error);
}

// A tracee can be let go only while it is stopped: it is given a SIGSTOP that it never sees.
void let_go(pid_t pid) {
  if (syscall(SYS_tgkill, pid, pid, SIGSTOP) != 0) return;
  int status = 0;
  while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    if (signal == SIGSTOP && status >> 16 == 0) {
      ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
      return;
    }
    const bool real = signal != SIGTRAP && signal != kSystemCallStop;
    ptrace(PTRACE_CONT, pid, nullptr, long{real ? signal : 0});
  }
}

class Tracer {
 public:
  Tracer(Running& running, int step, Half half, int signal, const std::function<void()>& look)
      : running_(running),
        guardian_(running.pid()),
        step_(step),
        half_(half),
        signal_(signal),
        look_(look) {}

  Strike run() {
    int status = 0;
    if (waitpid(guardian_, &status, __WALL) != guardian_ || !WIFSTOPPED(status)) {
      throw std::runtime_error("the start was not traced");
    }
    constexpr long kOptions = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK |
                              PTRACE_O_TRACECLONE | PTRACE_O_TRACEEXEC | PTRACE_O_EXITKILL;
    ptrace(PTRACE_SETOPTIONS, guardian_, nullptr, kOptions);
    // Commands in front of quietus become it by an exec of their own.
    while (!is_quietus(guardian_)) {
      ptrace(PTRACE_CONT, guardian_, nullptr, nullptr);
      if (waitpid(guardian_, &status, __WALL) != guardian_ || !WIFSTOPPED(status)) {
        throw std::runtime_error("what stands in front of quietus ended");
      }
    }
    go_on(guardian_, 0);
    const auto start = Clock::now();
    while (!over_) {
      const pid_t pid = waitpid(-1, &status, __WALL | WNOHANG);
      if (pid > 0) {
        on(pid, status);
      } else if (seconds_since(start) > 20) {
        throw std::runtime_error("the traced quietus does not end");
      } else {
        usleep(20);
      }
    }
    return strike_;
  }

 private:
  void on(pid_t pid, int status) {
    if (!WIFSTOPPED(status)) {
      if (pid != guardian_) return;
      running_.note_end(status);
      over_ = true;
      return;
    }
    if (pid == guardian_) return on_stop(pid, status);
    if (supervisor_ == 0 && process_row(pid).ppid == guardian_) {
      supervisor_ = pid;
      if (step_ == 0) return strike();
      return go_on(pid, 0);
    }
    if (pid == supervisor_) return on_stop(pid, status);
    // The worker: not ours to watch.
    ptrace(PTRACE_DETACH, pid, nullptr, nullptr);
    std::erase(newborn_, pid);
  }

  void on_stop(pid_t pid, int status) {
    const int signal = WSTOPSIG(status);
    if (signal == kSystemCallStop) {
      if (pid == supervisor_) {
        entering_ = !entering_;
        if (entering_ && ++strike_.steps == step_) return strike();
      }
      return go_on(pid, 0);
    }
    if (const int event = status >> 16; pid == supervisor_ && event != 0) {
      unsigned long child = 0;
      ptrace(PTRACE_GETEVENTMSG, pid, nullptr, &child);
      newborn_.push_back(pid_t(child));
    }
    // The events of fork and exec are SIGTRAPs too; real signals are handed on.
    go_on(pid, signal == SIGTRAP ? 0 : signal);
  }

  void strike() {
    strike_.reached = true;
    over_ = true;
    if (look_) look_();
    // A child that was just forked is a tracee of its own accord.
    for (const pid_t child : newborn_) {
      int status = 0;
      if (waitpid(child, &status, __WALL) == child) ptrace(PTRACE_DETACH, child, nullptr, nullptr);
    }
    const pid_t victim = half_ == Half::guardian ? guardian_ : supervisor_;
    if (signal_ == SIGKILL) {
      kill(victim, SIGKILL);
      int status = 0;
      // The tracer must collect the dead tracee before its parent can.
      while (waitpid(victim, &status, __WALL) == victim && WIFSTOPPED(status)) {
      }
      if (half_ == Half::guardian) {
        running_.note_end(status);
        ptrace(PTRACE_DETACH, supervisor_, nullptr, nullptr);
      } else {
        let_go(guardian_);
      }
      return;
    }
    let_go(guardian_);
    kill(victim, signal_);
    ptrace(PTRACE_DETACH, supervisor_, nullptr, nullptr);
  }

  Running& running_;
  const pid_t guardian_;
  const int step_;
  const Half half_;
  const int signal_;
  const std::function<void()>& look_;
  pid_t supervisor_ = 0;
  std::vector<pid_t> newborn_;  // forked by the supervisor, not yet seen to stop
  bool entering_ = false;
  bool over_ = false;
  Strike strike_;
};

}  // namespace

void be_traced() {
  if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(95);
}

bool slow_its_signals(pid_t pid, double seconds, const std::function<void()>& once_attached) {
  constexpr long kOptions = PTRACE_O_TRACESYSGOOD;
  if (ptrace(PTRACE_SEIZE, pid, nullptr, kOptions) != 0) return false;
  if (ptrace(PTRACE_INTERRUPT, pid, nullptr, nullptr) != 0) return false;
  bool attached = false;
  bool entering = false;
  int status = 0;
  while (waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status)) {
    const int signal = WSTOPSIG(status);
    const bool of_ptrace = signal == SIGTRAP || signal == kSystemCallStop || status >> 16 != 0;
    if (signal == kSystemCallStop) {
      entering = !entering;
      __ptrace_syscall_info info = {};
      ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof info, &info);
      const auto number = long(info.entry.nr);
      const bool signals = number == SYS_kill || number == SYS_tgkill || number == SYS_tkill ||
                           number == SYS_pidfd_send_signal;
      if (entering && signals) usleep(useconds_t(seconds * 1e6));
    }
    go_on(pid, of_ptrace ? 0 : signal);
    if (!attached) once_attached();
    attached = true;
  }
  return true;
}

Strike strike_at(Running& running, int step, Half half, int signal,
                 const std::function<void()>& at_that_moment) {
  return Tracer(running, step, half, signal, at_that_moment).run();
}

}  // namespace harness

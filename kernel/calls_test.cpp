// The typed calls against the real kernel, and what they do when it answers oddly.
#include "kernel/calls.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "harness/scratch.hpp"
#include "harness/tools.hpp"
#include "kernel/directory.hpp"
#include "kernel/perform.hpp"

namespace quietus::sys {
namespace {

using namespace std::chrono_literals;

// Answers what the test wants, and otherwise as the kernel does.
class ScriptedGate final : public Gate {
 public:
  using Answer = std::function<std::optional<long>(const Request&)>;
  explicit ScriptedGate(Answer answer) : answer_(std::move(answer)) {}
  long perform(const Request& request) noexcept override {
    ++calls;
    const auto scripted = answer_(request);
    return scripted ? *scripted : Gate::perform(request);
  }
  int calls = 0;

 private:
  Answer answer_;
};

ScriptedGate failing(long number, int code) {
  return ScriptedGate([=](const Request& request) {
    return request.number == number ? std::optional<long>(-code) : std::nullopt;
  });
}

TEST(Calls, RetryAnInterruptionWithABound) {
  int interruptions = 3;
  ScriptedGate gate([&](const Request&) {
    return interruptions-- > 0 ? std::optional<long>(-EINTR) : std::nullopt;
  });
  EXPECT_EQ(own_pid(gate), getpid());
  EXPECT_EQ(gate.calls, 4);

  ScriptedGate always = failing(SYS_getpid, EINTR);
  const auto never = own_pid(always);
  ASSERT_FALSE(never);
  EXPECT_EQ(never.error().code, EINTR);
  EXPECT_LT(always.calls, 1000);
}

TEST(Calls, CloseOnceWhateverTheAnswer) {
  ScriptedGate gate = failing(SYS_close, EINTR);
  { const UniqueFd fd(gate, 987); }
  EXPECT_EQ(gate.calls, 1);
}

TEST(Calls, ADescriptorHasOneOwner) {
  int closed = 0;
  ScriptedGate gate([&](const Request& request) -> std::optional<long> {
    if (request.number == SYS_close) ++closed;
    return 0;
  });
  UniqueFd first(gate, 7);
  UniqueFd second = std::move(first);
  EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that is what is asked
  EXPECT_EQ(second.get(), 7);
  UniqueFd third(gate, 8);
  third = std::move(second);
  EXPECT_EQ(closed, 1);  // 8
  EXPECT_EQ(third.release(), 7);
  third.reset();
  EXPECT_EQ(closed, 1);
}

TEST(Calls, TimeNeverGoesBackWhereTheClockIsDenied) {
  ScriptedGate gate = failing(SYS_clock_gettime, EPERM);
  const Moment later(std::chrono::hours(24 * 365 * 100));
  EXPECT_EQ(now(gate, later), later);
  const Moment rough = now(gate);
  Gate real;
  // Whole seconds of the uptime.
  EXPECT_GE(rough + 1s, now(real));
  ScriptedGate deaf([](const Request&) { return std::optional<long>(-ENOSYS); });
  EXPECT_EQ(now(deaf, later), later);
  EXPECT_EQ(wall_clock_ns(deaf), 0);
}

TEST(Calls, WriteAllGoesOnAfterAShortWrite) {
  std::string written;
  ScriptedGate gate([&](const Request& request) -> std::optional<long> {
    if (request.number != SYS_write) return std::nullopt;
    const long some = std::min(request.args[2], 3L);
    written.append(reinterpret_cast<const char*>(request.args[1]), static_cast<std::size_t>(some));
    return some;
  });
  EXPECT_TRUE(write_all(gate, 5, "0123456789"));
  EXPECT_EQ(written, "0123456789");
}

TEST(Calls, WriteAllDoesNotSpinWhereNothingIsTaken) {
  ScriptedGate gate([](const Request&) { return std::optional<long>(0); });
  const auto written = write_all(gate, 5, "x");
  ASSERT_FALSE(written);
  EXPECT_EQ(written.error().code, EIO);
  EXPECT_EQ(gate.calls, 1);
}

TEST(Calls, ReadFileReadsUpToItsLimit) {
  harness::Scratch scratch;
  Gate gate;
  const std::string content(10000, 'x');
  const std::string path = scratch.path("file");
  harness::write_file(path, content);
  EXPECT_EQ(read_file(gate, path.c_str(), 20000), content);
  EXPECT_EQ(read_file(gate, path.c_str(), 10000), content);
  EXPECT_EQ(read_file(gate, path.c_str(), 9999), content.substr(0, 9999));
  EXPECT_EQ(read_file(gate, path.c_str(), 1), "x");
  harness::write_file(path, "");
  EXPECT_EQ(read_file(gate, path.c_str(), 100), "");
  const auto missing = read_file(gate, scratch.path("none").c_str(), 100);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);
}

// A FIFO that nobody writes would hold an ordinary open for ever.
TEST(Calls, ReadFileIsNotHeldByAFifo) {
  harness::Scratch scratch;
  Gate gate;
  const std::string path = scratch.path("fifo");
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(read_file(gate, path.c_str(), 100), "");
}

TEST(Calls, DescriptorsMadeHereCloseOnExec) {
  Gate gate;
  const auto closes = [](int fd) { return (fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0; };
  EXPECT_TRUE(closes(open(gate, "/dev/null", O_RDONLY)->get()));
  const auto ends = pipe(gate);
  EXPECT_TRUE(closes(ends->first.get()) && closes(ends->second.get()));
  EXPECT_TRUE(closes(signal_fd(gate, SignalSet::of(SIGUSR1))->get()));
  EXPECT_TRUE(closes(inotify(gate)->get()));
  EXPECT_TRUE(closes(open_pidfd(gate, getpid())->get()));
}

TEST(Calls, DuplicatesStayOpenOnExec) {
  Gate gate;
  const auto null = open(gate, "/dev/null", O_RDONLY);
  constexpr int kTarget = 77;
  ASSERT_TRUE(duplicate_onto(gate, null->get(), kTarget));
  EXPECT_EQ(fcntl(kTarget, F_GETFD), 0);
  ::close(kTarget);
  // Onto itself: dup3 refuses that.
  ASSERT_TRUE(duplicate_onto(gate, null->get(), null->get()));
  EXPECT_EQ(fcntl(null->get(), F_GETFD), 0);
}

TEST(Calls, CloseFromFallsBack) {
  for (const bool proc : {true, false}) {
    const pid_t child = ::fork();
    if (child == 0) {
      ScriptedGate old([&](const Request& request) -> std::optional<long> {
        if (request.number == SYS_close_range) return -ENOSYS;
        if (request.number == SYS_openat && !proc) return -ENOENT;
        return std::nullopt;
      });
      dup2(0, 100);
      dup2(0, 1000);
      if (!close_from(old, 100)) _exit(1);
      _exit(fcntl(100, F_GETFD) == -1 && fcntl(1000, F_GETFD) == -1 && fcntl(0, F_GETFD) >= 0 ? 0
                                                                                              : 2);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "with /proc: " << proc;
  }
}

TEST(Calls, IsOpenKnowsClosedFromDenied) {
  Gate gate;
  EXPECT_EQ(is_open(gate, 0).value_or(false), true);
  EXPECT_EQ(is_open(gate, 999).value_or(true), false);
  ScriptedGate denied = failing(SYS_fcntl, EPERM);
  EXPECT_FALSE(is_open(denied, 0));
}

// A deleted directory still works, but its path is none any more.
TEST(Calls, ADeletedWorkingDirectoryHasNoPath) {
  const pid_t child = ::fork();
  if (child == 0) {
    char name[] = "/tmp/quietus-unit-XXXXXX";
    Gate gate;
    if (mkdtemp(name) == nullptr || chdir(name) != 0) _exit(1);
    if (working_directory(gate).value_or("") != name) _exit(2);
    if (rmdir(name) != 0) _exit(3);
    _exit(working_directory(gate) ? 4 : 0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Calls, WaitingTellsHowAChildEnded) {
  Gate gate;
  const auto ended = [&](auto how) {
    const pid_t child = ::fork();
    if (child == 0) {
      how();
      _exit(99);
    }
    siginfo_t info{};
    EXPECT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
    const auto peeked = wait_for_exit(gate, child, Peek::yes);
    const auto again = wait_for_exit(gate, child, Peek::yes);  // the zombie is still there
    const auto collected = wait_for_exit(gate, child, Peek::no);
    EXPECT_TRUE(peeked && again && collected);
    EXPECT_EQ(peeked->pid, child);
    EXPECT_EQ(again->pid, child);
    EXPECT_EQ(collected->pid, child);
    EXPECT_EQ(peeked->value, collected->value);
    const auto gone = wait_for_exit(gate, child, Peek::no);
    EXPECT_TRUE(!gone && gone.error().code == ECHILD);
    return *collected;
  };
  const Waited exited = ended([] { _exit(42); });
  EXPECT_EQ(exited.kind, Waited::Kind::exited);
  EXPECT_EQ(exited.value, 42);
  const Waited killed = ended([] { ::kill(getpid(), SIGKILL); });
  EXPECT_EQ(killed.kind, Waited::Kind::signaled);
  EXPECT_EQ(killed.value, SIGKILL);
}

TEST(Calls, WaitingNeverBlocks) {
  Gate gate;
  const pid_t child = ::fork();
  if (child == 0) {
    for (;;) pause();
  }
  const auto running = wait_for_exit(gate, child, Peek::no);
  ASSERT_TRUE(running);
  EXPECT_EQ(running->pid, 0);
  EXPECT_EQ(running->kind, Waited::Kind::none);
  EXPECT_TRUE(kill(gate, child, SIGSTOP));
  EXPECT_TRUE(harness::eventually([&] {
    const auto stopped = wait_for_stop(gate, child);
    return stopped && stopped->pid == child && stopped->kind == Waited::Kind::stopped;
  }));
  ::kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

// Found by the fault sweep: a filter that answers 0 and makes no session.
TEST(Calls, ASessionThatIsOnlyPretendedIsRefused) {
  ScriptedGate gate([](const Request&) { return std::optional<long>(0); });
  const auto made = new_session(gate);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code, ENOSYS);
}

TEST(Calls, ForkFallsBackFromClone3) {
  bool tried_clone3 = false;
  ScriptedGate gate([&](const Request& request) -> std::optional<long> {
    if (request.number != SYS_clone3) return std::nullopt;
    tried_clone3 = true;
    return -ENOSYS;
  });
  const auto forked = fork(gate, {.namespaces = 0, .cgroup = 0});
  ASSERT_TRUE(forked);
  if (forked->pid == 0) exit_now(gate, 7);
  EXPECT_TRUE(tried_clone3);
  EXPECT_FALSE(forked->in_cgroup);
  int status = 0;
  ASSERT_EQ(waitpid(forked->pid, &status, 0), forked->pid);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

TEST(Calls, ASignalIsReadAsData) {
  const pid_t child = ::fork();
  if (child == 0) {
    Gate gate;
    if (!block_signals(gate, SignalSet::all())) _exit(1);
    const auto fd = signal_fd(gate, SignalSet::of(SIGTERM, SIGUSR1));
    if (!fd) _exit(2);
    const auto nothing = read_signal(gate, fd->get());
    if (nothing || !would_block(nothing.error())) _exit(3);
    ::kill(getpid(), SIGUSR1);
    const auto got = read_signal(gate, fd->get());
    _exit(got && got->signal == SIGUSR1 && got->sender == getpid() ? 0 : 4);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(ForEachNumber, VisitsTheNumbersAlone) {
  harness::Scratch scratch;
  for (const char* name : {"1", "22", "x", "3x", "-4", "007", ".hidden", "99999999999"}) {
    harness::write_file(scratch.path(name), "");
  }
  Gate gate;
  const auto directory = open(gate, scratch.directory().c_str(), O_RDONLY | O_DIRECTORY);
  std::vector<int> numbers;
  ASSERT_TRUE(for_each_number(gate, directory->get(), [&](int number) {
    numbers.push_back(number);
    return true;
  }));
  std::ranges::sort(numbers);
  EXPECT_EQ(numbers, (std::vector<int>{-4, 1, 7, 22}));
}

TEST(ForEachNumber, ManyEntriesTakeManyReads) {
  harness::Scratch scratch;
  for (int number = 0; number < 2000; ++number) {
    harness::write_file(scratch.path(std::to_string(number)), "");
  }
  Gate gate;
  const auto directory = open(gate, scratch.directory().c_str(), O_RDONLY | O_DIRECTORY);
  int seen = 0;
  ASSERT_TRUE(for_each_number(gate, directory->get(), [&](int) { return ++seen < 1500; }));
  EXPECT_EQ(seen, 1500);
}

}  // namespace
}  // namespace quietus::sys

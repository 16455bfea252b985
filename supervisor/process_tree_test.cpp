// The tree against real processes: the test process stands where a half stands.
#include "supervisor/process_tree.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include "harness/descendants.hpp"
#include "harness/tools.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// Refuses one kind of call, and notes whom kill(2) was asked to signal.
class OddGate final : public sys::Gate {
 public:
  long perform(const sys::Request& request) noexcept override {
    if (request.number == SYS_kill && request.args[1] != 0) signalled.push_back(request.args[0]);
    if (request.number == refused) return -code;
    if (request.number == SYS_openat && !refused_path.empty() &&
        std::string_view(reinterpret_cast<const char*>(request.args[1])).find(refused_path) !=
            std::string_view::npos) {
      return -ENOENT;
    }
    return Gate::perform(request);
  }
  long refused = -1;
  int code = ENOSYS;
  std::string refused_path;
  std::vector<long> signalled;
};

// Says how far it has come, in a byte.
class Pipe {
 public:
  Pipe() {
    if (pipe2(ends_, O_CLOEXEC) != 0) abort();
  }
  ~Pipe() {
    close(ends_[0]);
    close(ends_[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void ready() const { (void)!write(ends_[1], "x", 1); }
  void wait_for(int count) const {
    for (int i = 0; i < count; ++i) {
      pollfd fd{.fd = ends_[0], .events = POLLIN, .revents = 0};
      ASSERT_EQ(poll(&fd, 1, 10000), 1);
      char byte = 0;
      ASSERT_EQ(read(ends_[0], &byte, 1), 1);
    }
  }

 private:
  int ends_[2] = {-1, -1};
};

[[noreturn]] void hold() {
  prctl(PR_SET_PDEATHSIG, 0);
  signal(SIGTERM, SIG_IGN);
  for (;;) pause();
}

int child(const std::function<void()>& run) {
  const pid_t pid = fork();
  if (pid == 0) {
    run();
    _exit(0);
  }
  return pid;
}

class ProcessTreeTest : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
    ground_.self = getpid();
    ground_.subreaper = true;
  }
  void TearDown() override {
    harness::mop_up();
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
  }

  // A worker in a session of its own, that says when `run` is at its place.
  int worker(const std::function<void()>& run) {
    const int pid = child([&] {
      setsid();
      run();
    });
    tree().watch_worker(pid);
    return pid;
  }
  // Two levels down and in a session of its own, as a daemon is.
  void detach(const std::function<void()>& run) const {
    const int middle = child([&] {
      setsid();
      child(run);
    });
    waitpid(middle, nullptr, 0);
  }
  ProcessTree& tree() {
    if (!tree_) tree_.emplace(gate_, ground_, options_, outcome_, sys::now(gate_));
    return *tree_;
  }
  [[nodiscard]] Moment now() { return sys::now(gate_); }

  // What the loop of a half does, until the end is proven.
  std::optional<Proof> end(double seconds = 10) {
    std::optional<Proof> proof;
    harness::eventually(
        [&] {
          tree().kill_worker_group(now());
          while (tree().reap(now())) {
          }
          proof = tree().prove_empty(now());
          if (!proof && now() >= tree().next_round()) tree().kill_round(now());
          return proof.has_value();
        },
        seconds);
    return proof;
  }
  // The same, without ending anybody.
  std::optional<Proof> look() {
    while (tree().reap(now())) {
    }
    return tree().prove_empty(now());
  }
  [[nodiscard]] bool fell_back_from(std::string_view call) const {
    for (const Fallback& fallback : outcome_.fallbacks) {
      if (fallback.call == call) return true;
    }
    return false;
  }
  bool worker_has_ended() {
    return harness::eventually([&] {
      (void)tree().reap(now());
      return tree().worker_ended();
    });
  }

  OddGate gate_;
  Ground ground_;
  Options options_;
  Outcome outcome_;
  Pipe up_;

 private:
  std::optional<ProcessTree> tree_;
};

TEST_F(ProcessTreeTest, EndsAWholeTreeAndProvesIt) {
  worker([&] {
    child([&] { up_.ready(), hold(); });
    detach([&] { up_.ready(), hold(); });
    child([&] { detach([&] { up_.ready(), hold(); }); });
    hold();
  });
  up_.wait_for(3);
  EXPECT_EQ(look(), std::nullopt);
  EXPECT_EQ(end(), Proof::no_children_left);
  EXPECT_TRUE(harness::living_descendants().empty());
  EXPECT_EQ(outcome_.ending, Ending::signaled(SIGKILL));
  EXPECT_EQ(outcome_.means, Means::sweep);
  EXPECT_GE(outcome_.killed, 3);
}

TEST_F(ProcessTreeTest, TheWorkersEndIsItsOwn) {
  worker([] { _exit(42); });
  ASSERT_TRUE(worker_has_ended());
  EXPECT_FALSE(tree().exited_cleanly());
  EXPECT_EQ(outcome_.ending, Ending{});  // not yet collected
  EXPECT_EQ(end(), Proof::no_children_left);
  EXPECT_EQ(outcome_.ending, Ending::exited(42));
  EXPECT_EQ(outcome_.reaped, 0);
}

TEST_F(ProcessTreeTest, ReapingLeavesTheWorkersZombieInPlace) {
  const int pid = worker([] { _exit(0); });
  ASSERT_TRUE(worker_has_ended());
  EXPECT_TRUE(tree().exited_cleanly());
  for (int i = 0; i < 5; ++i) (void)tree().reap(now());
  EXPECT_EQ(harness::process_row(pid).state, 'Z');
  EXPECT_EQ(look(), std::nullopt);
}

TEST_F(ProcessTreeTest, WithoutASubreaperNothingIsProven) {
  ground_.subreaper = false;
  worker([] { _exit(0); });
  ASSERT_TRUE(worker_has_ended());
  tree().kill_worker_group(now());
  EXPECT_EQ(look(), std::nullopt);
}

TEST_F(ProcessTreeTest, WaitingThatIsRefusedIsNoProof) {
  worker([] { _exit(0); });
  ASSERT_TRUE(worker_has_ended());
  tree().kill_worker_group(now());
  gate_.refused = SYS_waitid;
  for (const int code : {ENOSYS, EPERM, EINVAL, EINTR, EAGAIN, EIO}) {
    gate_.code = code;
    EXPECT_EQ(look(), std::nullopt) << code;
  }
  gate_.refused = -1;
  EXPECT_EQ(look(), Proof::no_children_left);
}

TEST_F(ProcessTreeTest, AWorkerThatCannotBeSeenIsSaidToBeUnseen) {
  worker([] { hold(); });
  gate_.refused = SYS_waitid;
  gate_.code = ENOSYS;
  (void)tree().reap(now());
  EXPECT_TRUE(tree().blind());
  EXPECT_FALSE(tree().worker_ended());
  EXPECT_TRUE(outcome_.error);
}

// A number that the other half has told, and whose process is none of ours.
TEST_F(ProcessTreeTest, AStrangersNumberIsNeverSignalled) {
  Pipe stranger_up;
  int stranger = 0;
  {
    // Not our child: its parent ends before we are a subreaper.
    prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
    int ends[2];
    ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
    waitpid(child([&] {
              const int pid = child([&] { stranger_up.ready(), hold(); });
              (void)!write(ends[1], &pid, sizeof pid);
            }),
            nullptr, 0);
    ASSERT_EQ(read(ends[0], &stranger, sizeof stranger), static_cast<ssize_t>(sizeof stranger));
    close(ends[0]);
    close(ends[1]);
    prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  }
  stranger_up.wait_for(1);
  EXPECT_FALSE(tree().adopt_worker(stranger));
  tree().terminate(now());
  tree().pass_on(SIGUSR1);
  tree().kill_worker_group(now());
  EXPECT_EQ(end(), Proof::no_children_left);
  EXPECT_TRUE(gate_.signalled.empty());
  EXPECT_EQ(kill(stranger, 0), 0);
  kill(stranger, SIGKILL);
}

TEST_F(ProcessTreeTest, TerminateAsksTheWorkerAloneAndContinuesIt) {
  const int pid = worker([&] {
    child([&] { up_.ready(), hold(); });
    up_.ready();
    raise(SIGSTOP);
    for (;;) pause();
  });
  up_.wait_for(2);
  ASSERT_TRUE(harness::eventually([&] { return harness::process_row(pid).state == 'T'; }));
  tree().terminate(now());
  ASSERT_TRUE(worker_has_ended());
  EXPECT_EQ(harness::living_descendants().size(), 1u);
  EXPECT_EQ(gate_.signalled, (std::vector<long>{pid, pid}));
  EXPECT_EQ(end(), Proof::no_children_left);
  EXPECT_EQ(outcome_.ending, Ending::signaled(SIGTERM));
}

TEST_F(ProcessTreeTest, TerminateReachesTheGroupWhereItShall) {
  options_.signal_group = true;
  options_.signal = SIGINT;
  const int pid = worker([&] {
    child([&] { up_.ready(), pause(); });
    up_.ready();
    for (;;) pause();
  });
  up_.wait_for(2);
  tree().terminate(now());
  EXPECT_EQ(gate_.signalled.front(), -pid);
  EXPECT_TRUE(harness::eventually([&] { return harness::living_descendants().empty(); }));
}

TEST_F(ProcessTreeTest, KeepingEverythingEndsNobody) {
  worker([&] {
    detach([&] { up_.ready(), hold(); });
    _exit(0);
  });
  up_.wait_for(1);
  ASSERT_TRUE(worker_has_ended());
  tree().keep_everything();
  EXPECT_EQ(end(), Proof::kept_by_policy);
  EXPECT_EQ(harness::living_descendants().size(), 1u);
  EXPECT_TRUE(gate_.signalled.empty());
  const auto kept = tree().kept(now());
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_FALSE(kept[0].why.empty());
}

class GroupTest : public ProcessTreeTest {
 protected:
  void SetUp() override {
    ProcessTreeTest::SetUp();
    options_.descendants = Descendants::group;
  }
  // A daemon is ours only when the process between it and the worker has ended.
  static void wait_until_adopted(int worker) {
    ASSERT_TRUE(harness::eventually([&] {
      for (const auto& row : harness::living_descendants()) {
        if (row.ppid == getpid() && row.pid != worker) return true;
      }
      return false;
    }));
  }
  // Those of the worker's session.
  [[nodiscard]] static std::size_t living_in(int session) {
    std::size_t count = 0;
    for (const auto& row : harness::living_descendants()) count += row.sid == session ? 1 : 0;
    return count;
  }
};

TEST_F(GroupTest, WhatDetachedItselfStays) {
  const int pid = worker([&] {
    child([&] { up_.ready(), hold(); });
    detach([&] { up_.ready(), hold(); });
    _exit(3);
  });
  up_.wait_for(2);
  ASSERT_TRUE(worker_has_ended());
  EXPECT_EQ(end(), Proof::process_group_empty);
  EXPECT_EQ(living_in(pid), 0u);
  EXPECT_EQ(harness::living_descendants().size(), 1u);
  EXPECT_EQ(tree().kept(now()).size(), 1u);
  EXPECT_EQ(outcome_.ending, Ending::exited(3));
}

// At a forced end: who was adopted before it began stays, who comes later goes.
TEST_F(GroupTest, WhoIsAdoptedAfterTheStopGoes) {
  const int pid = worker([&] {
    detach([&] { up_.ready(), hold(); });
    // Its child becomes ours when it is ended with the group.
    child([&] {
      child([&] {
        setsid();
        up_.ready();
        hold();
      });
      hold();
    });
    hold();
  });
  up_.wait_for(2);
  wait_until_adopted(pid);
  tree().begin_forced_end(now());
  EXPECT_EQ(end(), Proof::process_group_empty);
  EXPECT_EQ(harness::living_descendants().size(), 1u);
}

// A kept service holds a zombie of the group: kill(2) finds it, but nobody lives.
TEST_F(GroupTest, AHeldZombieIsNotALivingMember) {
  const int pid = worker([&] {
    const int service = child([&] {
      const int member = child([&] { _exit(0); });  // of the worker's group
      siginfo_t info{};
      waitid(P_PID, static_cast<id_t>(member), &info, WEXITED | WNOWAIT);
      setsid();
      up_.ready();
      hold();  // and never waits for it
    });
    (void)service;
    hold();
  });
  up_.wait_for(1);
  tree().begin_forced_end(now());
  kill(pid, SIGKILL);
  ASSERT_TRUE(worker_has_ended());
  tree().kill_worker_group(now());
  // The service was adopted after the stop began, so it is ended too; until then the zombie is all
  // that is left of the group.
  EXPECT_EQ(kill(-pid, 0), 0);
  EXPECT_EQ(end(), Proof::process_group_empty);
}

TEST_F(GroupTest, AHeldZombieIsNotALivingMemberAtANaturalEnd) {
  const int pid = worker([&] {
    child([&] {
      const int member = child([&] { _exit(0); });
      siginfo_t info{};
      waitid(P_PID, static_cast<id_t>(member), &info, WEXITED | WNOWAIT);
      setsid();
      up_.ready();
      hold();
    });
    for (;;) pause();
  });
  up_.wait_for(1);
  kill(pid, SIGKILL);
  ASSERT_TRUE(worker_has_ended());
  tree().kill_worker_group(now());
  EXPECT_EQ(kill(-pid, 0), 0);
  EXPECT_EQ(end(), Proof::process_group_empty);
  EXPECT_EQ(harness::living_descendants().size(), 1u);

  // Found by the fault sweep: with rows that cannot be read, nobody can tell.
  gate_.refused_path = "/stat";
  EXPECT_EQ(look(), std::nullopt);
}

TEST_F(GroupTest, AServiceStaysAlsoWhereItsRowCannotBeRead) {
  const int pid = worker([&] {
    detach([&] { up_.ready(), hold(); });
    hold();
  });
  up_.wait_for(1);
  wait_until_adopted(pid);
  gate_.refused_path = "/stat";
  tree().begin_forced_end(now());
  EXPECT_EQ(end(), Proof::process_group_empty);
  EXPECT_EQ(harness::living_descendants().size(), 1u);
}

TEST_F(GroupTest, WithoutAnyListNobodyIsKilledOnSuspicion) {
  const int pid = worker([&] {
    detach([&] { up_.ready(), hold(); });
    hold();
  });
  up_.wait_for(1);
  wait_until_adopted(pid);
  gate_.refused_path = "/proc";
  tree().begin_forced_end(now());
  EXPECT_EQ(end(0.3), std::nullopt);
  EXPECT_EQ(harness::living_descendants().size(), 1u);
}

// --- what is missing ---------------------------------------------------------------------------

TEST_F(ProcessTreeTest, WithoutTheChildrenFileItReadsTheTable) {
  gate_.refused_path = "/proc/thread-self/children";
  worker([&] {
    detach([&] { up_.ready(), hold(); });
    hold();
  });
  up_.wait_for(1);
  EXPECT_EQ(end(), Proof::no_children_left);
  EXPECT_TRUE(fell_back_from("/proc/thread-self/children"));
}

TEST_F(ProcessTreeTest, WithoutProcItAsksForEachNumber) {
  gate_.refused_path = "/proc";
  gate_.refused = SYS_readlinkat;
  worker([&] {
    detach([&] { up_.ready(), hold(); });
    hold();
  });
  up_.wait_for(1);
  EXPECT_EQ(end(), Proof::no_children_left);
  EXPECT_TRUE(fell_back_from("/proc/PID/stat"));
}

// Somebody who may not be signalled: the others are ended, and he is named.
TEST_F(ProcessTreeTest, WhoMayNotBeSignalledIsNamed) {
  class Protecting final : public sys::Gate {
   public:
    long perform(const sys::Request& request) noexcept override {
      if (request.number == SYS_kill && request.args[0] == protected_pid) return -EPERM;
      return Gate::perform(request);
    }
    long protected_pid = -1;
  };
  Protecting gate;
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  const int pid = child([&] {
    setsid();
    detach([&] {
      const int own = getpid();
      (void)!write(ends[1], &own, sizeof own);
      hold();
    });
    detach([&] { up_.ready(), hold(); });
    hold();
  });
  int own = 0;
  ASSERT_EQ(read(ends[0], &own, sizeof own), static_cast<ssize_t>(sizeof own));
  up_.wait_for(1);
  gate.protected_pid = own;
  ProcessTree tree(gate, ground_, options_, outcome_, now());
  tree.watch_worker(pid);
  ASSERT_TRUE(harness::eventually([&] {
    tree.kill_worker_group(now());
    while (tree.reap(now())) {
    }
    EXPECT_EQ(tree.prove_empty(now()), std::nullopt);
    tree.kill_round(now());
    return harness::descendants().size() == 1;
  }));
  tree.kill_round(now());
  const auto survivors = tree.survivors(now());
  ASSERT_EQ(survivors.size(), 1u);
  EXPECT_EQ(survivors[0].pid, own);
  EXPECT_EQ(survivors[0].why, "may not be signalled");
  close(ends[0]);
  close(ends[1]);
}

TEST_F(ProcessTreeTest, ManyAreEndedInFewRounds) {
  worker([&] {
    for (int i = 0; i < 300; ++i) child([&] { setsid(), up_.ready(), hold(); });
    _exit(0);
  });
  up_.wait_for(300);
  EXPECT_EQ(end(), Proof::no_children_left);
  EXPECT_EQ(outcome_.killed, 300);
}

}  // namespace
}  // namespace quietus

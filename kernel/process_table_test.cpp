// Against the real /proc, with processes that the test makes.
#include "kernel/process_table.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>

#include "harness/tools.hpp"

namespace quietus::sys {
namespace {

using namespace std::chrono_literals;

// A child that sleeps until the test ends it.
class Sleeper {
 public:
  explicit Sleeper(const std::function<void()>& first = [] {}) : pid_(::fork()) {
    if (pid_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    first();
    for (;;) pause();
  }
  ~Sleeper() {
    ::kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  pid_t pid_;
};

// A child that has ended and was not collected.
class Zombie {
 public:
  Zombie() : pid_(::fork()) {
    if (pid_ == 0) _exit(5);
    siginfo_t info{};
    waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOWAIT);
  }
  ~Zombie() { waitpid(pid_, nullptr, 0); }
  Zombie(const Zombie&) = delete;
  Zombie& operator=(const Zombie&) = delete;
  [[nodiscard]] int pid() const { return pid_; }

 private:
  pid_t pid_;
};

bool has(const std::vector<int>& pids, int pid) { return std::ranges::count(pids, pid) == 1; }
const StatRow* find(const std::vector<StatRow>& rows, int pid) {
  const auto found = std::ranges::find(rows, pid, &StatRow::pid);
  return found == rows.end() ? nullptr : &*found;
}
Moment soon(Gate& gate) { return now(gate) + 10s; }

// Every request of the kind is answered with the errno.
class Denying final : public Gate {
 public:
  Denying(long number, int code, std::string_view path = {})
      : number_(number), code_(code), path_(path) {}
  long perform(const Request& request) noexcept override {
    if (request.number == number_ && concerns(request)) return -code_;
    return Gate::perform(request);
  }

 private:
  [[nodiscard]] bool concerns(const Request& request) const {
    if (path_.empty()) return true;
    return std::string_view(reinterpret_cast<const char*>(request.args[1])).ends_with(path_);
  }
  long number_;
  int code_;
  std::string path_;
};

TEST(ProcessTable, KnowsItsOwnProc) {
  Gate gate;
  EXPECT_TRUE(proc_is_ours(gate, getpid()));
  EXPECT_FALSE(proc_is_ours(gate, getpid() + 1));
  Denying denied(SYS_readlinkat, EACCES);
  EXPECT_FALSE(proc_is_ours(denied, getpid()));
}

TEST(ProcessTable, ThreeWaysFindTheSameChildren) {
  Gate gate;
  const Sleeper living;
  const Zombie dead;
  const Sleeper detached([] { setsid(); });
  const auto listed = list_children(gate);
  ASSERT_TRUE(listed);
  const auto rows = scan_processes(gate, soon(gate));
  ASSERT_TRUE(rows);
  const auto [from, last] = std::minmax({living.pid(), dead.pid(), detached.pid()});
  const auto probed = probe_children(gate, from, last - from + 1, soon(gate));
  for (const int pid : {living.pid(), dead.pid(), detached.pid()}) {
    EXPECT_TRUE(has(*listed, pid));
    EXPECT_TRUE(has(probed, pid));
    ASSERT_NE(find(*rows, pid), nullptr);
    EXPECT_EQ(find(*rows, pid)->ppid, getpid());
  }
  EXPECT_EQ(find(*rows, dead.pid())->state, 'Z');
  EXPECT_TRUE(harness::eventually([&] {
    const auto row = read_stat(gate, detached.pid());
    return row && row->sid == detached.pid() && row->pgid == detached.pid();
  }));
}

// Asks nobody: notes which numbers were asked for.
class Asked final : public Gate {
 public:
  long perform(const Request& request) noexcept override {
    if (request.number != SYS_waitid) return Gate::perform(request);
    pids.push_back(static_cast<int>(request.args[1]));
    return -ECHILD;
  }
  std::vector<int> pids;
};

TEST(ProcessTable, AProbeGoesRoundAtTheHighestNumber) {
  constexpr int kHighest = 4194304;
  Asked gate;
  (void)probe_children(gate, kHighest - 1, 5, soon(gate));
  EXPECT_EQ(gate.pids, (std::vector<int>{kHighest - 1, kHighest, 1, 2, 3}));
  gate.pids.clear();
  (void)probe_children(gate, 1, 3, soon(gate));
  EXPECT_EQ(gate.pids, (std::vector<int>{1, 2, 3}));
  gate.pids.clear();
  (void)probe_children(gate, 7, kHighest + 100, now(gate) + 60s);
  EXPECT_EQ(gate.pids.size(), static_cast<std::size_t>(kHighest));  // each once
}

TEST(ProcessTable, AProbeIsBoundedInTime) {
  Gate gate;
  const Moment start = now(gate);
  (void)probe_children(gate, 1, 1 << 22, start + 5ms);
  EXPECT_LT(now(gate) - start, 500ms);
}

TEST(ProcessTable, AScanIsCompleteOrSaysThatItIsNot) {
  Gate gate;
  bool complete = false;
  ASSERT_TRUE(scan_processes(gate, soon(gate), &complete));
  EXPECT_TRUE(complete);
  // No time; there must be more than is read between two looks at the clock.
  const std::vector<Sleeper> crowd(64);
  complete = true;
  ASSERT_TRUE(scan_processes(gate, now(gate), &complete));
  EXPECT_FALSE(complete);
}

// Found by the fault sweep: whoever could not be read looked like somebody who is not there, and a
// group of living processes was taken for empty.
TEST(ProcessTable, ARowThatCannotBeReadIsNotComplete) {
  const Sleeper living;
  const std::string path = "/proc/" + std::to_string(living.pid()) + "/stat";
  for (const int code : {EACCES, ENOENT, ESRCH, EMFILE, EIO, ENOSYS}) {
    Denying gate(SYS_openat, code, path);
    bool complete = true;
    const auto rows = scan_processes(gate, soon(gate), &complete);
    ASSERT_TRUE(rows);
    EXPECT_EQ(find(*rows, living.pid()), nullptr) << code;
    EXPECT_FALSE(complete) << code;
  }
}

// What hidepid=2 does for other users: init is not shown.
TEST(ProcessTable, ATableWithoutInitIsNotComplete) {
  Denying gate(SYS_openat, ENOENT, "/proc/1/stat");
  bool complete = true;
  ASSERT_TRUE(scan_processes(gate, soon(gate), &complete));
  EXPECT_FALSE(complete);
}

TEST(ProcessTable, AProcThatCannotBeListedIsAnError) {
  Denying gate(SYS_openat, EACCES, "/proc");
  EXPECT_FALSE(scan_processes(gate, soon(gate)));
  Denying children(SYS_openat, ENOENT, "children");
  EXPECT_FALSE(list_children(children));
}

TEST(ProcessTable, DescribesAProcess) {
  Gate gate;
  const Sleeper living([] { prctl(PR_SET_NAME, "a) (b\n"); });
  ASSERT_TRUE(harness::eventually(
      [&] { return read_stat(gate, living.pid()).value_or(StatRow{}).comm == "a) (b\n"; }));
  const auto row = read_stat(gate, living.pid());
  const Process process = describe(gate, *row);
  EXPECT_EQ(process.pid, living.pid());
  EXPECT_EQ(process.ppid, getpid());
  EXPECT_EQ(process.comm, "a) (b\n");
  EXPECT_EQ(process.uid, static_cast<std::int64_t>(geteuid()));
  EXPECT_EQ(process.start_ticks, row->start_ticks);
  EXPECT_NE(process.command_line.find("unit_tests"), std::string::npos);
}

StatRow row(int pid, int ppid) { return {.pid = pid, .ppid = ppid}; }

std::vector<int> below(int root, const std::vector<StatRow>& rows) {
  std::vector<int> pids;
  for (const StatRow& found : descendants_of(root, rows)) pids.push_back(found.pid);
  std::ranges::sort(pids);
  return pids;
}

TEST(Descendants, AreFoundAtEveryDepth) {
  const std::vector<StatRow> rows = {row(1, 0),   row(10, 1), row(11, 10), row(12, 11),
                                     row(13, 10), row(20, 1), row(21, 20), row(9, 12)};
  EXPECT_EQ(below(10, rows), (std::vector<int>{9, 11, 12, 13}));
  EXPECT_EQ(below(20, rows), std::vector<int>{21});
  EXPECT_EQ(below(21, rows), std::vector<int>{});
  EXPECT_EQ(below(99, rows), std::vector<int>{});
  EXPECT_EQ(below(1, rows), (std::vector<int>{9, 10, 11, 12, 13, 20, 21}));
  EXPECT_EQ(below(1, {}), std::vector<int>{});
}

// Numbers that were used again while the table was read can point at each other.
TEST(Descendants, ARingEnds) {
  const std::vector<StatRow> ring = {row(2, 4), row(3, 2), row(4, 3), row(5, 1)};
  EXPECT_LE(descendants_of(2, ring).size(), ring.size());
  const std::vector<StatRow> self = {row(7, 7), row(8, 7)};
  EXPECT_LE(descendants_of(7, self).size(), self.size() + 1);
  EXPECT_EQ(below(7, self), std::vector<int>{8});
}

TEST(Descendants, AThousandInALine) {
  std::vector<StatRow> line;
  for (int pid = 1000; pid > 0; --pid) line.push_back(row(pid, pid - 1));
  EXPECT_EQ(descendants_of(1, line).size(), 999u);
}

}  // namespace
}  // namespace quietus::sys

#include "supervisor/launch.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "harness/scratch.hpp"
#include "harness/tools.hpp"

namespace quietus {
namespace {

using Paths = std::vector<std::string>;

TEST(ProgramCandidates, AreThoseOfExecvp) {
  EXPECT_EQ(program_candidates("sh", {"PATH=/a:/b/c"}), (Paths{"/a/sh", "/b/c/sh"}));
  EXPECT_EQ(program_candidates("sh", {"X=1", "PATH=/a"}), Paths{"/a/sh"});
  // No PATH: the default. An empty one, or an empty element: the working directory.
  EXPECT_EQ(program_candidates("sh", {}), (Paths{"/usr/local/bin/sh", "/bin/sh", "/usr/bin/sh"}));
  EXPECT_EQ(program_candidates("sh", {"PATH="}), Paths{"./sh"});
  EXPECT_EQ(program_candidates("sh", {"PATH=:/a::/b:"}),
            (Paths{"./sh", "/a/sh", "./sh", "/b/sh", "./sh"}));
  // A name with a slash, or none at all, is not searched for.
  EXPECT_EQ(program_candidates("./sh", {"PATH=/a"}), Paths{"./sh"});
  EXPECT_EQ(program_candidates("/bin/sh", {"PATH=/a"}), Paths{"/bin/sh"});
  EXPECT_EQ(program_candidates("", {"PATH=/a"}), Paths{""});
  // Variables that only begin alike are others; the first of two counts, as for getenv(3).
  EXPECT_EQ(program_candidates("sh", {"PATHS=/x", "PATH=/a", "PATH=/b"}), Paths{"/a/sh"});
}

TEST(Marker, IsFoundAmongOthers) {
  const auto block = [](std::initializer_list<const char*> entries) {
    std::string text;
    for (const char* entry : entries) text.append(entry).push_back('\0');
    return text;
  };
  EXPECT_TRUE(carries_marker(block({"A=1", "QUIETUS_SESSION=1.2", "B=2"}), "1.2"));
  EXPECT_TRUE(carries_marker(block({"QUIETUS_SESSION=0.1,1.2,3.4"}), "1.2"));
  EXPECT_TRUE(carries_marker(block({"QUIETUS_SESSION=0.1,1.2,3.4"}), "3.4"));
  EXPECT_FALSE(carries_marker(block({"QUIETUS_SESSION=11.2"}), "1.2"));
  EXPECT_FALSE(carries_marker(block({"QUIETUS_SESSION=1.22"}), "1.2"));
  EXPECT_FALSE(carries_marker(block({"QUIETUS_SESSION=1.2,"}), ""));
  EXPECT_FALSE(carries_marker(block({"XQUIETUS_SESSION=1.2"}), "1.2"));
  EXPECT_FALSE(carries_marker(block({"A=QUIETUS_SESSION=1.2"}), "1.2"));
  EXPECT_FALSE(carries_marker("", "1.2"));
}

TEST(Marker, IsTakenOutOfAnEnvironment) {
  std::vector<std::string> environment = {"A=1", "QUIETUS_SESSION=x,y", "B=2"};
  EXPECT_EQ(take_marker(environment), "x,y");
  EXPECT_EQ(environment, (std::vector<std::string>{"A=1", "B=2"}));
  EXPECT_EQ(take_marker(environment), "");
}

TEST(LaunchBoard, TellsWhatFitsAndForgetsTheRest) {
  LaunchBoard board;
  EXPECT_TRUE(board.messages().empty());
  for (int code = 1; code <= 9; ++code) board.add({Stage::exec, code, false});
  ASSERT_EQ(board.messages().size(), 4u);
  EXPECT_EQ(board.messages().front().code, 1);
  EXPECT_EQ(board.messages().back().code, 4);
}

// Starts a real child of the test and sees it to its end.
class LaunchTest : public testing::Test {
 protected:
  LaunchTest() {
    options_.worker.environment = {"PATH=/usr/bin:/bin"};
    wiring_.board = LaunchBoard::create(gate_).value();
    ground_.self = getpid();
  }

  // The exit code, or -signal; the board is complete then.
  int launch(std::vector<std::string> argv) {
    options_.worker.argv = std::move(argv);
    auto launched = launch_worker(gate_, options_, ground_, "run.test", wiring_);
    if (!launched) {
      ADD_FAILURE() << launched.error().call;
      return -1000;
    }
    pollfd end{.fd = launched->pipe.get(), .events = POLLIN, .revents = 0};
    EXPECT_EQ(poll(&end, 1, 10000), 1);
    char byte = 0;
    EXPECT_EQ(read(launched->pipe.get(), &byte, 1), 0);
    int status = 0;
    EXPECT_EQ(waitpid(launched->pid, &status, 0), launched->pid);
    pid_ = launched->pid;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
  void expect_failure(Stage stage, int code) const {
    ASSERT_EQ(wiring_.board->messages().size(), 1u);
    EXPECT_EQ(wiring_.board->messages()[0].stage, stage);
    EXPECT_EQ(wiring_.board->messages()[0].code, code);
    EXPECT_TRUE(wiring_.board->messages()[0].fatal);
  }
  [[nodiscard]] std::string path(const char* name) const { return scratch_.path(name); }

  harness::Scratch scratch_;
  sys::Gate gate_;
  Options options_;
  Ground ground_;
  LaunchWiring wiring_;
  int pid_ = 0;
};

TEST_F(LaunchTest, AProgramThatRunsSaysNothing) {
  EXPECT_EQ(launch({"sh", "-c", "exit 42"}), 42);
  EXPECT_TRUE(wiring_.board->messages().empty());
}

TEST_F(LaunchTest, TheWorkerHasASessionOfItsOwnAndOurMarker) {
  options_.worker.environment.push_back("X=kept");
  options_.worker.outer_marker = "outer.1";
  EXPECT_EQ(
      launch({"sh", "-c",
              "ps -o sid= -p $$ >" + path("sid") + "; echo $X,$QUIETUS_SESSION >" + path("env")}),
      0);
  EXPECT_EQ(std::stoi(harness::read_file(path("sid"))), pid_);
  EXPECT_EQ(harness::read_file(path("env")), "kept,outer.1,run.test\n");
}

TEST_F(LaunchTest, EveryRefusalIsTold) {
  EXPECT_EQ(launch({"no-such-program-anywhere"}), 127);
  expect_failure(Stage::exec, ENOENT);
}

TEST_F(LaunchTest, APermissionThatIsLackingIsRemembered) {
  ASSERT_EQ(mkdir(path("a").c_str(), 0755), 0);
  harness::write_file(path("a/tool"), "#!/bin/sh\n");  // not executable
  options_.worker.environment = {"PATH=" + path("a") + ":/usr/bin"};
  EXPECT_EQ(launch({"tool"}), 127);
  expect_failure(Stage::exec, EACCES);
}

TEST_F(LaunchTest, ACandidateThatServesIsTakenAfterOneThatDoesNot) {
  for (const char* name : {"a", "b"}) ASSERT_EQ(mkdir(path(name).c_str(), 0755), 0);
  harness::write_file(path("a/tool"), "#!/bin/sh\n");
  harness::write_file(path("b/tool"), "#!/bin/sh\nexit 5\n");
  ASSERT_EQ(chmod(path("b/tool").c_str(), 0755), 0);
  options_.worker.environment = {"PATH=/no/such:" + path("a") + ":" + path("b")};
  EXPECT_EQ(launch({"tool"}), 5);
  EXPECT_TRUE(wiring_.board->messages().empty());
}

TEST_F(LaunchTest, WhatIsNoProgramIsTold) {
  harness::write_file(path("data"), "neither a script nor a program\n");
  ASSERT_EQ(chmod(path("data").c_str(), 0755), 0);
  EXPECT_EQ(launch({path("data")}), 127);
  expect_failure(Stage::exec, ENOEXEC);
}

TEST_F(LaunchTest, ADirectoryThatIsNotThereIsTold) {
  options_.worker.directory = path("none");
  EXPECT_EQ(launch({"true"}), 127);
  expect_failure(Stage::directory, ENOENT);
}

TEST_F(LaunchTest, ALimitThatIsRefusedIsTold) {
  options_.worker.limits = {{RLIMIT_CORE, 0, 0}, {99, 1, 1}};
  EXPECT_EQ(launch({"true"}), 127);
  expect_failure(Stage::limit, EINVAL);
}

TEST_F(LaunchTest, LimitsAndDirectoryShapeTheWorker) {
  options_.worker.limits = {{RLIMIT_NOFILE, 50, 60}};
  options_.worker.directory = scratch_.directory();
  EXPECT_EQ(launch({"sh", "-c", "ulimit -Sn >l; ulimit -Hn >>l; pwd >>l"}), 0);
  EXPECT_EQ(harness::read_file(path("l")), "50\n60\n" + scratch_.directory() + "\n");
}

TEST_F(LaunchTest, OutputGoesWhereItIsWired) {
  const int file = open(path("out").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  wiring_.output = file;
  EXPECT_EQ(launch({"sh", "-c", "echo out; echo err >&2"}), 0);
  close(file);
  EXPECT_EQ(harness::read_file(path("out")), "out\nerr\n");
}

// Our marker is no reason to refuse a command line that fits without it.
TEST_F(LaunchTest, TheArgumentsGoBeforeTheMarker) {
  // Argument and environment strings may take 6 MiB together, each 128 KiB: fill them to the brim.
  constexpr std::size_t kMost = 6u << 20;
  constexpr std::size_t kString = (128u << 10) - 1;
  options_.worker.argv = {"true"};
  std::size_t low = 0;
  std::size_t high = kMost;
  const auto argv_of = [&](std::size_t bytes) {
    std::vector<std::string> argv = {"true"};
    for (; bytes > kString; bytes -= kString) argv.emplace_back(kString - 9, 'x');
    argv.emplace_back(bytes, 'x');
    return argv;
  };
  // The longest command line that the kernel takes with the marker.
  while (high - low > 1) {
    const std::size_t middle = (low + high) / 2;
    wiring_.board = LaunchBoard::create(gate_).value();
    const bool fits = launch(argv_of(middle)) == 0 && wiring_.board->messages().empty();
    (fits ? low : high) = middle;
  }
  wiring_.board = LaunchBoard::create(gate_).value();
  EXPECT_EQ(launch(argv_of(high)), 0);
  ASSERT_EQ(wiring_.board->messages().size(), 1u);
  EXPECT_EQ(wiring_.board->messages()[0].stage, Stage::environment);
  EXPECT_FALSE(wiring_.board->messages()[0].fatal);
  wiring_.board = LaunchBoard::create(gate_).value();
  EXPECT_EQ(launch(argv_of(high + 4096)), 127);
  ASSERT_EQ(wiring_.board->messages().size(), 2u);
  EXPECT_EQ(wiring_.board->messages()[1].code, E2BIG);
}

// Found by the fault sweep: when nothing could be written to the pipe, the child's own exit code
// was taken for the worker's.
TEST_F(LaunchTest, ARefusalIsToldWithoutASingleWrite) {
  class Mute final : public sys::Gate {
   public:
    long perform(const sys::Request& request) noexcept override {
      return request.number == SYS_write ? -ENOSYS : Gate::perform(request);
    }
  };
  Mute gate;
  options_.worker.argv = {"no-such-program-anywhere"};
  auto launched = launch_worker(gate, options_, ground_, "run.test", wiring_);
  ASSERT_TRUE(launched);
  int status = 0;
  ASSERT_EQ(waitpid(launched->pid, &status, 0), launched->pid);
  expect_failure(Stage::exec, ENOENT);
}

TEST_F(LaunchTest, ASessionThatIsRefusedIsTold) {
  class Denying final : public sys::Gate {
   public:
    long perform(const sys::Request& request) noexcept override {
      return request.number == SYS_setsid ? 0 : Gate::perform(request);
    }
  };
  Denying gate;
  options_.worker.argv = {"true"};
  auto launched = launch_worker(gate, options_, ground_, "run.test", wiring_);
  ASSERT_TRUE(launched);
  int status = 0;
  ASSERT_EQ(waitpid(launched->pid, &status, 0), launched->pid);
  expect_failure(Stage::session, ENOSYS);
}

}  // namespace
}  // namespace quietus

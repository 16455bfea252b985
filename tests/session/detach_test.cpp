// launch --detach, leases, and commands that come over a descriptor.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class Detach : public SessionScene {
 protected:
  Ended detached(const Words& command, const Words& options = {}) {
    Launch launch = launching(Words{"--detach"} + options, command);
    launch.receipt.clear();
    launch.report.clear();
    Running running = start(launch);
    return running.wait(60);
  }
};

TEST_F(Detach, returns_when_the_command_runs) {
  const Ended ended = detached(mild());
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(ended.out + ended.err, "");
  EXPECT_TRUE(beats_.alive(1));
  // The number in supervisor.pid is the living guardian: an upstream client signals it.
  const pid_t guardian = atoi(read_file(file("supervisor.pid")).c_str());
  EXPECT_EQ(guardian, halves().guardian);
  EXPECT_TRUE(alive(guardian));
  EXPECT_EQ(process_row(guardian).sid, guardian) << "it could be hit with its caller";
  EXPECT_EQ(status().text("/state"), "running");
  kill(guardian, SIGTERM);
  EXPECT_EQ(does("wait", {"--timeout", "20"}).status, 0);
  EXPECT_EQ(receipt()->return_code, -SIGTERM);
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(eventually([&] { return !alive(guardian); }));
}

TEST_F(Detach, tells_a_command_that_did_not_start) {
  struct Case {
    Words command;
    int code;
  };
  for (const Case& c : {Case{{"/nowhere"}, 127}, Case{{dir()}, 126}}) {
    const Ended ended = detached(c.command);
    EXPECT_EQ(ended.status, c.code) << ended.text();
    EXPECT_TRUE(is_one_line(ended.err));
    EXPECT_EQ(does("wait", {"--timeout", "20"}).status, 0) << "the receipt comes all the same";
    fs::remove_all(dir());
    fs::create_directory(dir());
  }
  fs::create_directory(file("output.log"));
  EXPECT_EQ(detached(mild()).status, 125);
  EXPECT_EQ(does("wait", {"--timeout", "20"}).status, 0);
  fs::remove_all(dir());
  EXPECT_EQ(detached(mild()).status, 121);
  fs::create_directory(dir());
  write_file(file("stop.request"), "");
  EXPECT_EQ(detached(mild()).status, 121) << "stopped before the worker";
  EXPECT_EQ(does("wait", {"--timeout", "20"}).status, 0);
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(Detach, the_pipes_of_the_caller_come_to_their_end) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Launch launch = launching({"--detach"}, mild());
  launch.in = -1;
  launch.out = ends[1];
  launch.err = ends[1];
  launch.receipt.clear();
  launch.report.clear();
  Running running = start(launch);
  close(ends[1]);
  EXPECT_EQ(running.wait(60).status, 0);
  ASSERT_TRUE(beats_.alive(1));
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  char byte;
  ssize_t got = -1;
  EXPECT_TRUE(eventually([&] { return (got = read(ends[0], &byte, 1)) >= 0; }, 5))
      << "somebody still holds the pipe";
  EXPECT_EQ(got, 0);
  close(ends[0]);
  EXPECT_TRUE(beats_.alive(1));
  EXPECT_EQ(does("stop", {"--timeout", "20"}).status, 0);
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Detach, a_caller_whose_group_is_killed_does_not_take_it_along) {
  Launch launch = launching({"--detach"}, mild());
  launch.in_child = [] { setpgid(0, 0); };
  launch.receipt.clear();
  launch.report.clear();
  Running running = start(launch);
  const pid_t group = running.pid();
  EXPECT_EQ(running.wait(60).status, 0);
  ASSERT_TRUE(beats_.alive(1));
  kill(-group, SIGKILL);
  EXPECT_TRUE(beats_.alive(1));
  EXPECT_EQ(status().text("/state"), "running");
  EXPECT_EQ(does("stop", {"--timeout", "20"}).status, 0);
}

TEST_F(Detach, a_worker_that_never_reads_gets_an_empty_input) {
  EXPECT_EQ(detached({"/bin/cat"}).status, 0);
  EXPECT_EQ(does("wait", {"--timeout", "20"}).status, 0);
  EXPECT_EQ(receipt()->return_code, 0);
}

class Lease : public SessionScene {};

TEST_F(Lease, that_is_renewed_is_kept_and_that_is_not_ends_the_tree) {
  launch_detached({"--lease", "2"}, stubborn());
  ASSERT_TRUE(beats_.alive(2));
  const auto begin = Clock::now();
  while (seconds_since(begin) < 4) {
    ASSERT_EQ(does("renew").status, 0);
    usleep(100'000);
  }
  ASSERT_TRUE(beats_.alive(1)) << "ended although it was renewed";
  ASSERT_TRUE(beats_.alive(2));
  const Ended ended = does("wait", {"--timeout", "30"});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(report()->text("/cause"), "lease");
  EXPECT_FALSE(receipt()->timed_out);
}

TEST_F(Lease, renew_needs_a_session) {
  fs::remove(dir());
  const Ended ended = does("renew");
  EXPECT_EQ(ended.status, 125);
  EXPECT_TRUE(is_one_line(ended.err));
  EXPECT_EQ(does("expire").status, 125);
}

TEST_F(Lease, renew_writes_through_no_link) {
  write_file(path("precious"), "old");
  struct timespec past[2] = {{1000, 0}, {1000, 0}};
  utimensat(AT_FDCWD, path("precious").c_str(), past, 0);
  fs::create_symlink(path("precious"), file("lease.renew"));
  EXPECT_EQ(does("renew").status, 125);
  struct stat info;
  ASSERT_EQ(stat(path("precious").c_str(), &info), 0);
  EXPECT_EQ(info.st_mtim.tv_sec, 1000);
}

TEST_F(Lease, on_standard_input_ends_with_it) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Launch launch = launching({"--lease", "stdin"}, stubborn());
  launch.in = ends[0];
  Running running = start(launch);
  close(ends[0]);
  ASSERT_TRUE(beats_.alive(1));
  // What is written says nothing; that nobody can write any more does.
  ASSERT_EQ(write(ends[1], "words\n", 6), 6);
  ASSERT_TRUE(beats_.alive(2));
  EXPECT_EQ(status().text("/state"), "running");
  close(ends[1]);
  const Ended ended = running.wait(30);
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}}));
  EXPECT_EQ(ended.report->text("/cause"), "lease");
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(Lease, on_a_standard_input_that_is_over_at_once_ends_at_once) {
  const Ended ended = end_of(launching({"--lease", "stdin"}, mild()), 30);
  EXPECT_EQ(ended.report ? ended.report->text("/cause") : "", "lease") << ended.text();
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}}));
}

class CommandFd : public SessionScene {
 protected:
  static std::string number(uint32_t value) {
    std::string bytes;
    for (int i = 0; i < 4; ++i) bytes += char(value >> (8 * i));
    return bytes;
  }
  static std::string strings(const Words& words) {
    std::string bytes = number(uint32_t(words.size()));
    for (const std::string& word : words) bytes += number(uint32_t(word.size())) + word;
    return bytes;
  }
  // A pipe that holds the bytes, both ends.
  static std::pair<int, int> filled(const std::string& bytes) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("pipe");
    if (write(ends[1], bytes.data(), bytes.size()) != ssize_t(bytes.size())) {
      throw std::runtime_error("write");
    }
    return {ends[0], ends[1]};
  }
  Launch reading(int from, int as, const Words& options = {}) const {
    Launch launch = launching(Words{"--command-fd", std::to_string(as)} + options, {});
    if (as == 0) {
      launch.in = from;
    } else {
      launch.in_child = [=] { dup2(from, as); };
    }
    return launch;
  }
};

TEST_F(CommandFd, brings_the_command_and_its_environment_unseen) {
  const Words command = actor({"record:" + path("record"), "beat:1"});
  const auto [in, out] = filled(strings(command) + strings({"SECRET=hidden", "EMPTY="}));
  Running running = start(reading(in, 7));
  close(in);
  close(out);
  ASSERT_TRUE(beats_.alive(1));
  const Halves both = halves();
  for (const pid_t pid : {both.guardian, both.supervisor}) {
    const std::string at = "/proc/" + std::to_string(pid);
    EXPECT_FALSE(holds(read_file(at + "/cmdline"), "beat")) << pid;
    EXPECT_FALSE(holds(read_file(at + "/environ"), "hidden")) << pid;
  }
  const Json record = Json::parse(read_file(path("record")));
  const Words variables = record.texts("/env");
  EXPECT_EQ(variables.size(), 3u) << "the two of the record, and the marker";
  EXPECT_EQ(variables[0], "SECRET=hidden");
  EXPECT_EQ(variables[1], "EMPTY=");
  EXPECT_TRUE(holds(variables[2], "QUIETUS_SESSION="));
  EXPECT_EQ(record.text("/argv_hash"), argv_hash(command));
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(CommandFd, zero_may_be_followed_by_a_lease) {
  const auto [in, out] = filled(strings(stubborn()) + strings({}));
  Launch launch = reading(in, 0, {"--lease", "stdin"});
  Running running = start(launch);
  close(in);
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_EQ(write(out, "\0\0\0\0more", 8), 8);
  ASSERT_TRUE(beats_.alive(2));
  close(out);
  const Ended ended = running.wait(30);
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}}));
  EXPECT_EQ(ended.report->text("/cause"), "lease");
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(CommandFd, comes_in_pieces_and_goes_with_detach) {
  const std::string record = strings(mild()) + strings({"A=b"});
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Launch launch = reading(ends[0], 0, {"--detach"});
  launch.receipt.clear();
  launch.report.clear();
  Running running = start(launch);
  close(ends[0]);
  for (const char byte : record) {
    ASSERT_EQ(write(ends[1], &byte, 1), 1);
    if (record.size() < 200) usleep(100);
  }
  EXPECT_EQ(running.wait(60).status, 0);
  close(ends[1]);
  EXPECT_TRUE(beats_.alive(1)) << "without a lease the end of the input ends nothing";
  EXPECT_EQ(does("stop", {"--timeout", "20"}).status, 0);
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(CommandFd, a_malformed_record_claims_nothing) {
  const std::string good = strings({"/bin/true"});
  const std::pair<const char*, std::string> cases[] = {
      {"nothing", ""},
      {"half a number", "\1\0"},
      {"no command", number(0) + number(0)},
      {"no environment", good},
      {"a string cut short", number(1) + number(10) + "abc"},
      {"a count without strings", number(3) + number(1) + "a"},
      {"a length beyond reason", number(1) + number(0xFFFFFFFF)},
      {"a count beyond reason", number(0xFFFFFFFF)},
      {"a NUL in a word", strings({std::string("a\0b", 3)}) + number(0)},
      {"a NUL in a variable", good + strings({std::string("A=\0", 3)})},
  };
  for (const auto& [name, bytes] : cases) {
    for (const int as : {0, 5}) {
      const auto [in, out] = filled(bytes);
      close(out);
      const Ended ended = end_of(reading(in, as));
      close(in);
      EXPECT_EQ(ended.status, 2) << name << ended.text();
      EXPECT_TRUE(is_one_line(ended.err)) << name;
      EXPECT_TRUE(fs::is_empty(dir())) << name;
    }
  }
  // A descriptor that is not open.
  const Ended ended = end_of(launching({"--command-fd", "9"}, {}));
  EXPECT_EQ(ended.status, 2) << ended.text();
  EXPECT_TRUE(fs::is_empty(dir()));
}

TEST_F(CommandFd, forbids_what_would_contradict_it) {
  for (const Words& options :
       {Words{"--command-fd", "5", "-E", "A=b"}, Words{"--command-fd", "5", "--clear-env"},
        Words{"--command-fd", "5", "--unset", "A"}}) {
    EXPECT_EQ(end_of(launching(options, {})).status, 2) << testing::PrintToString(options);
  }
  EXPECT_EQ(end_of(launching({"--command-fd", "5"}, {"true"})).status, 2);
  EXPECT_TRUE(fs::is_empty(dir()));
}

}  // namespace

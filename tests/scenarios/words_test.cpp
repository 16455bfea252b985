// "Not a target": a worker that kills by pattern hits neither half, whatever word it takes from its
// own command, its paths, or our options.
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

class Words_ : public Scenario {
 protected:
  Launch with_every_option(const Words& command) const {
    return run({"--timeout",
                "20",
                "--stop-file",
                path("stop-here"),
                "--expire-file",
                path("expire-here"),
                "-C",
                path(""),
                "-E",
                "PASSWORD=hunter2",
                "--unset",
                "HOME",
                "--rlimit",
                "nofile=100",
                "--output",
                path("output-here"),
                "--output-limit",
                "9999",
                "--descendants",
                "tree",
                "--signal",
                "TERM"},
               command);
  }
};

class Pattern : public Words_ {};

TEST_F(Pattern, of_any_word_of_ours_or_the_workers_kills_neither_half) {
  NEEDS_ROOT();
  // Only in a namespace: a word like "20" fits command lines of strangers too.
  const Launch sample = with_every_option(actor({"exit:5"}));
  std::set<std::string> words(sample.words.begin() + 1, sample.words.end());
  for (const char* piece : {"actor", "timeout", "receipt", "cleanup", "run", "--", "PASSWORD",
                            "hunter2", "here", "nofile", "scene"}) {
    words.insert(piece);
  }
  for (const std::string& word : words) {
    if (word.find(':') != std::string::npos || word.empty()) continue;  // not one of the verb's
    const Launch launch =
        with_every_option(actor({"pkill:KILL:" + word, "pkill:TERM:" + word, "exit:5"}));
    Running running = start(in_pid_namespace(launch));
    const Ended ended = running.wait();
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 5, std::nullopt, false))
        << "pattern '" << word << "'" << ended.text();
    running.release();
    clear_records();
  }
}

TEST_F(Pattern, in_the_bare_form_neither) {
  NEEDS_ROOT();
  for (const char* word : {"--receipt", "--timeout", "receipt.json", "actor", "scene", "30"}) {
    const Launch launch =
        bare({"--timeout", "30"}, actor({std::string("pkill:KILL:") + word, "exit:5"}));
    Running running = start(in_pid_namespace(launch));
    EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 5, std::nullopt, false)) << word;
    running.release();
    clear_records();
  }
}

TEST_F(Pattern, by_the_name_of_the_worker_kills_neither_half) {
  NEEDS_ROOT();
  for (const char* name : {"actor", "sh", "python3", "node", "supervisor", "worker"}) {
    const Launch launch = bare({}, actor({std::string("killall:KILL:") + name, "exit:5"}));
    Running running = start(in_pid_namespace(launch));
    EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 5, std::nullopt, false)) << name;
    running.release();
    clear_records();
  }
}

class CommandLines : public Words_ {};

TEST_F(CommandLines, of_both_halves_hold_nothing_of_the_workers) {
  const Launch launch = with_every_option(actor({"beat:1"}));
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  for (const pid_t pid : {running.guardian(), running.supervisor()}) {
    const std::string line = read_file("/proc/" + std::to_string(pid) + "/cmdline");
    for (const char* word :
         {"actor", "beat", "--", "timeout", "receipt", "scene", "hunter2", "20", "here", "run"}) {
      EXPECT_FALSE(holds(line, word)) << line;
    }
    EXPECT_LT(line.size(), 5000u);
    const std::string name = read_file("/proc/" + std::to_string(pid) + "/comm");
    EXPECT_EQ(name.find("actor"), std::string::npos);
  }
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().status, 122);
}

TEST_F(CommandLines, stay_hidden_with_ten_thousand_words) {
  Words words = actor({"touch:1", "beat:2"});
  for (int i = 0; i < 10000; ++i) words.push_back("padding-" + std::to_string(i));
  Running running = start(bare({}, words));
  ASSERT_TRUE(beats_.reaches(2));
  for (const pid_t pid : {running.guardian(), running.supervisor()}) {
    EXPECT_FALSE(holds(read_file("/proc/" + std::to_string(pid) + "/cmdline"), "padding"));
  }
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

class Secrets : public Words_ {};

TEST_F(Secrets, of_our_memory_and_environment_are_not_the_workers_to_read) {
  NEEDS_ROOT();
  // As the same unprivileged user that the worker is.
  Launch launch = as_user(run({}, {"sh", "-c",
                                   "for f in environ mem maps fd/0; do "
                                   "cat /proc/$PPID/$f > /dev/null 2>&1 && echo read $f; done; "
                                   "ls /proc/$PPID/fd 2>/dev/null | head -c 20; exit 0"}),
                          lonely_uid());
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(ended.out, "");
}

TEST_F(Secrets, of_the_environment_never_stand_in_a_record) {
  Launch launch =
      run({"-E", "TOKEN=swordfish-1"}, actor({"daemon", "[", "beat:1", "]", "await:1", "beat:2"}));
  launch.environment = Words{"PATH=/usr/bin:/bin", "API_KEY=swordfish-2"};
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(2));
  running.signal(SIGTERM);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.status, 122);
  EXPECT_FALSE(holds(read_file(path("report.json")), "swordfish"));
  EXPECT_FALSE(holds(ended.receipt_bytes, "swordfish"));
}

TEST_F(Secrets, neither_when_processes_are_listed) {
  Launch launch = run({"-E", "TOKEN=swordfish-1", "--descendants", "group"},
                      actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}));
  launch.environment = Words{"PATH=/usr/bin:/bin", "API_KEY=swordfish-2"};
  launch.may_leave = true;
  allow_leftovers();
  const Ended ended = end_of(launch);
  ASSERT_EQ(ended.report->size("/kept"), 1u);
  EXPECT_FALSE(holds(read_file(path("report.json")), "swordfish"));
}

TEST_F(Secrets, neither_in_an_error) {
  Launch launch = run({"-E", "TOKEN=swordfish-1"}, {"/missing/bin", "--key=swordfish-3"});
  const Ended ended = end_of(launch);
  EXPECT_FALSE(holds(ended.err + ended.receipt_bytes, "swordfish"));
}

class Descriptors : public Scenario {};

TEST_F(Descriptors, of_the_caller_are_not_held_by_the_supervisor) {
  // A reader that waits for the end of the worker's input or output must not wait for us: once the
  // worker runs, the supervisor holds none of the caller's 0-2 that it does not need.
  int input[2];
  int output[2];
  ASSERT_EQ(pipe2(input, O_CLOEXEC) + pipe2(output, O_CLOEXEC), 0);
  Launch launch = bare({}, actor({"close:0", "close:1", "beat:1"}));
  launch.in = input[0];
  launch.out = output[1];
  Running running = start(launch);
  close(input[0]);
  close(output[1]);
  ASSERT_TRUE(beats_.reaches(1));
  // Nobody reads the input any more, nobody writes the output.
  signal(SIGPIPE, SIG_IGN);
  EXPECT_TRUE(eventually([&] { return write(input[1], "x", 1) < 0 && errno == EPIPE; }))
      << "somebody still holds the caller's stdin";
  fcntl(output[0], F_SETFL, O_NONBLOCK);
  char byte;
  EXPECT_TRUE(eventually([&] { return read(output[0], &byte, 1) == 0; }))
      << "somebody still holds the caller's stdout";
  close(input[1]);
  close(output[0]);
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(Descriptors, of_ours_do_not_grow_with_the_tree) {
  NEEDS_ROOT();  // to look at them: both halves hide from anybody else
  Running running = start(bare({}, actor({"repeat:100", "[", "daemon", "[", "exit:0", "]", "fork",
                                          "[", "exit:0", "]", "]", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  for (const pid_t pid : {running.guardian(), running.supervisor()}) {
    size_t open = 0;
    for ([[maybe_unused]] const auto& entry :
         fs::directory_iterator("/proc/" + std::to_string(pid) + "/fd")) {
      ++open;
    }
    EXPECT_LT(open, 16u);
  }
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

}  // namespace

// quietusctl run, in the sandbox that is this machine.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

namespace fs = std::filesystem;

class CtlRun : public CtlScene {
 protected:
  // What --json prints of one session.
  Json json_of(const Ended& ended) {
    EXPECT_TRUE(one_line(ended.out)) << ended.text();
    return Json::parse(ended.out);
  }
};

TEST_F(CtlRun, PassesTheOutputAndTheExitCodeOn) {
  const Ended ended = does({"run", "--", "sh", "-c", "echo out; echo err >&2; exit 3"});
  EXPECT_EQ(ended.status, 3) << ended.text();
  EXPECT_EQ(ended.out, "out\nerr\n");
  EXPECT_EQ(ended.err, "") << "quiet where nobody looks";
}

TEST_F(CtlRun, ExitCodesAreThoseOfQuietusRun) {
  EXPECT_EQ(does({"run", "true"}).status, 0);
  EXPECT_EQ(does({"run", "sh", "-c", "kill -9 $$"}).status, 128 + 9);
  EXPECT_EQ(does({"run", "-t", "0.3", "sleep", "60"}).status, 124);
  EXPECT_EQ(does({"run", path("nothing")}).status, 127);
  write_file(path("plain"), "no program");
  EXPECT_EQ(does({"run", path("plain")}).status, 126);
}

TEST_F(CtlRun, JsonTellsTheWholeStory) {
  const Ended ended = does({"run", "--json", "-t", "30", "sh", "-c", "echo hello; exit 3"});
  EXPECT_EQ(ended.status, 3) << ended.text();
  const Json json = json_of(ended);
  EXPECT_EQ(json.text("/schema"), "quietusctl-session");
  EXPECT_EQ(json.integer("/exit_code"), 3);
  EXPECT_EQ(json.text("/output"), "hello\n");
  EXPECT_TRUE(json.boolean("/receipt/cleanup_confirmed"));
  EXPECT_EQ(json.integer("/receipt/return_code"), 3);
  EXPECT_EQ(json.text("/report/cause"), "exited");
  EXPECT_EQ(json.text("/sandbox"), "local");
  EXPECT_TRUE(json.boolean("/released"));
  EXPECT_TRUE(json.is_null("/error"));
}

TEST_F(CtlRun, WhatTheCommandDetachedEndsToo) {
  const Ended ended =
      does(Words{"run", "--"} + actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}));
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(ended.survivors.empty()) << ended.text();
}

TEST_F(CtlRun, ADeadlineEndsACommandThatIgnoresTerm) {
  const Ended ended = does({"run", "--json", "-t", "0.3", "-k", "1.5", "sh", "-c",
                            "trap '' TERM; while :; do sleep 0.1; done"});
  EXPECT_EQ(ended.status, 124) << ended.text();
  const Json json = json_of(ended);
  EXPECT_TRUE(json.boolean("/receipt/timed_out"));
  EXPECT_EQ(json.integer("/receipt/return_code"), -9);
  EXPECT_TRUE(ended.survivors.empty()) << ended.text();
}

TEST_F(CtlRun, FollowShowsTheOutputWhileItComes) {
  // The command waits for a file that the test makes once it has seen the first line.
  Running running = start(
      ctl({"run", "-f", "sh", "-c",
           "echo first; while [ ! -e " + path("go") + " ]; do sleep 0.05; done; printf last"}));
  const std::string shown = path("out-0");
  EXPECT_TRUE(eventually([&] { return read_file(shown) == "first\n"; })) << read_file(shown);
  write_file(path("go"), "");
  const Ended ended = running.wait(60);
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(ended.out, "first\nlast");
}

TEST_F(CtlRun, FollowShowsEachByteOnceAlsoOfMuch) {
  const Ended ended = does({"run", "-f", "--", "seq", "200000"});
  EXPECT_EQ(ended.status, 0);
  std::string expected;
  for (int i = 1; i <= 200000; ++i) expected += std::to_string(i) + '\n';
  EXPECT_TRUE(ended.out == expected) << ended.out.size() << " bytes, not " << expected.size();
}

TEST_F(CtlRun, OutputBeyondTheLimitKeepsItsEnds) {
  const Ended ended = does({"run", "--output-limit", "64KiB", "seq", "100000"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.out.rfind("1\n2\n", 0), 0u);
  EXPECT_TRUE(holds(ended.out, "bytes cut]"));
  EXPECT_TRUE(holds(ended.out, "\n100000\n"));
  EXPECT_LT(ended.out.size(), 70000u);
}

TEST_F(CtlRun, EnvironmentAndDirectoryReachTheCommand) {
  const Ended ended = does(
      {"run", "-E", "GREETING=hi there", "-C", path(""), "sh", "-c", "echo \"$GREETING\"; pwd"});
  EXPECT_EQ(ended.out, "hi there\n" + fs::canonical(path("")).string() + "\n") << ended.text();
}

TEST_F(CtlRun, AStopCollectsAndShowsTheReceipt) {
  Running running = start(ctl(
      {"run", "--collect", path("made/*"), "--into", path("got"), "sh", "-c",
       "mkdir " + path("made") + "; trap 'echo saved >" + path("made/late") +
           "; exit 0' TERM; echo 1 >" + path("made/early") + "; while :; do sleep 0.05; done"}));
  ASSERT_TRUE(eventually([&] { return read_file(path("made/early")) == "1\n"; }));
  running.signal(SIGINT);
  const Ended ended = running.wait(60);
  EXPECT_EQ(ended.status, 122) << ended.text();
  EXPECT_EQ(read_file(path("got/early")), "1\n");
  EXPECT_EQ(read_file(path("got/late")), "saved\n") << "it was given its grace";
  EXPECT_TRUE(holds(ended.err, "cleanup confirmed")) << ended.text();
}

TEST_F(CtlRun, ASecondInterruptSkipsTheGrace) {
  Running running =
      start(ctl({"run", "-v", "-k", "120", "sh", "-c",
                 "trap '' TERM; echo up >" + path("up") + "; while :; do sleep 0.05; done"}));
  ASSERT_TRUE(eventually([&] { return exists(path("up")); }));
  running.signal(SIGTERM);
  // It says so once it has heard the first.
  ASSERT_TRUE(
      eventually([&] { return holds(read_file(path("err-0")), "stopping").operator bool(); }));
  const auto asked = Clock::now();
  running.signal(SIGTERM);
  const Ended ended = running.wait(30);
  EXPECT_EQ(ended.status, 122) << ended.text();
  EXPECT_LT(seconds_since(asked), 25) << "the grace would have been 40 s";
  EXPECT_TRUE(ended.survivors.empty()) << ended.text();
}

TEST_F(CtlRun, AStopBeforeAnythingRunsLeavesNothing) {
  for (int i = 0; i < 10; ++i) {
    Running running = start(ctl({"run", "sleep", "60"}));
    usleep(static_cast<useconds_t>(i) * 3000);
    running.signal(SIGTERM);
    const Ended ended = running.wait(60);
    // Before its handlers stand the signal simply kills it; then it has made nothing.
    EXPECT_TRUE(ended.status == 122 || ended.status == -SIGTERM) << ended.text();
    EXPECT_EQ(session_directories(), Words{}) << i << ended.text();
  }
}

// As in every pipeline: who reads the first line only is done with the command. It may save its
// work.
TEST_F(CtlRun, AReaderThatGoesAwayStopsWhatIsFollowed) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  Launch launch =
      ctl({"run", "-f", "-C", path(""), "--collect", "saved", "--into", path("got"), "sh", "-c",
           "trap 'echo x >saved; exit' TERM; while :; do echo y; sleep 0.05; done"});
  launch.out = ends[1];
  const Ended ended = end_of(launch, 60);
  close(ends[1]);
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(holds(ended.err, "cannot write standard output: Broken pipe")) << ended.text();
  EXPECT_EQ(read_file(path("got/saved")), "x\n");
}

// Whose output is shown in the end only, or goes to a disk that is full, does its work.
TEST_F(CtlRun, AnOutputThatCannotBeWrittenStopsNothing) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  close(ends[0]);
  const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
  for (const auto& [follow, out, why] : {std::tuple("-v", ends[1], "Broken pipe"),
                                         std::tuple("-f", full, "No space left on device")}) {
    Launch launch = ctl({"run", follow, "sh", "-c", "seq 1000; sleep 0.3; touch " + path("whole")});
    launch.out = out;
    const Ended ended = end_of(launch, 60);
    EXPECT_EQ(ended.status, 125) << "its output was asked for and could not be written";
    EXPECT_TRUE(holds(ended.err, "cannot write standard output: " + std::string(why)));
    EXPECT_TRUE(exists(path("whole"))) << ended.text();
    fs::remove(path("whole"));
  }
  close(ends[1]);
  close(full);
}

// What the command leaves must have a place before it begins.
TEST_F(CtlRun, ADestinationThatIsNoneStartsNothing) {
  write_file(path("file"), "");
  for (const std::string into : {path("file"), path("file/below"), std::string("/proc/nowhere")}) {
    const Ended ended = does({"run", "--collect", path("x"), "--into", into, "touch", path("ran")});
    EXPECT_EQ(ended.status, 125) << ended.text();
    EXPECT_TRUE(one_line(ended.err)) << ended.text();
    EXPECT_TRUE(holds(ended.err, "cannot put artifacts into '" + into + "': ")) << ended.text();
    EXPECT_FALSE(exists(path("ran"))) << into;
  }
}

TEST_F(CtlRun, APayloadThatIsNoSupervisorLeavesNothing) {
  const Ended ended = does({"run", "--payload", "/bin/true", "touch", path("ran")});
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(one_line(ended.err)) << ended.text();
  EXPECT_TRUE(holds(ended.err, "'/bin/true' does not run in 'local'"));
  EXPECT_FALSE(exists(path("ran")));
}

TEST_F(CtlRun, ACommandThatIsNoneIsToldSo) {
  const Ended ended = does({"run", path("nothing")});
  EXPECT_EQ(ended.status, 127);
  EXPECT_TRUE(holds(ended.err, "local: could not be started; cleanup confirmed")) << ended.text();
  EXPECT_TRUE(one_line(does({"run", path("no\nline")}).err));
}

TEST_F(CtlRun, TwoSandboxesAreTwoSessions) {
  const Ended ended = does({"run", "--json", "-s", "local", "-s", "local", "--collect",
                            path("a.txt"), "--into", path("got"), "true"});
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(std::count(ended.out.begin(), ended.out.end(), '\n'), 2) << ended.out;
}

}  // namespace
}  // namespace cli_tests

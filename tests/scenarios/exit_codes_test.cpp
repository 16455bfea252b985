// The exit codes of `quietus run`; those of the bare form are checked with every receipt.
#include <signal.h>
#include <sys/stat.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class ExitCodes : public Scenario {
 protected:
  Launch short_run(const Words& options, const Words& command) const {
    Launch launch;
    launch.form = Form::run;
    launch.words = Words{quietus_binary(), "run"} + options + Words{"--"} + command;
    return launch;
  }
};

TEST_F(ExitCodes, are_the_workers_own) {
  for (const int code : {0, 1, 2, 7, 100, 128, 255}) {
    EXPECT_EQ(end_of(short_run({}, actor({"exit:" + std::to_string(code)}))).status, code);
  }
}

TEST_F(ExitCodes, are_128_and_the_signal_that_killed_the_worker) {
  for (const int number : {1, 2, 6, 9, 11, 13, 15, 34, 64}) {
    EXPECT_EQ(end_of(short_run({}, actor({"die:" + std::to_string(number)}))).status, 128 + number);
  }
}

TEST_F(ExitCodes, are_124_at_the_deadline_whatever_the_worker_said) {
  EXPECT_EQ(end_of(short_run({"--timeout", "0.3"}, actor({"beat:1"}))).status, 124);
  EXPECT_EQ(end_of(short_run({"--timeout", "0.3"}, actor({"trap:TERM:0", "beat:1"}))).status, 124);
  EXPECT_EQ(
      end_of(short_run({"--timeout", "0.3", "-k", "0.2"}, actor({"ignore:TERM", "beat:1"}))).status,
      124);
}

TEST_F(ExitCodes, are_124_for_an_expire_file) {
  write_file(path("expire"), "");
  EXPECT_EQ(end_of(short_run({"--expire-file", path("expire")}, actor({"touch:1"}))).status, 124);
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(ExitCodes, are_122_for_a_stop_on_request) {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    Running running = start(short_run({}, actor({"touch:1", "trap:TERM:0", "beat:2"})));
    ASSERT_TRUE(beats_.alive(2));
    running.signal(number);
    EXPECT_EQ(running.wait().status, 122) << strsignal(number);
  }
  write_file(path("stop"), "");
  EXPECT_EQ(end_of(short_run({"--stop-file", path("stop")}, actor({"exit:0"}))).status, 122);
}

TEST_F(ExitCodes, are_127_for_a_command_that_is_not_found) {
  EXPECT_EQ(end_of(short_run({}, {"/missing/bin"})).status, 127);
  Launch launch = short_run({}, {"no-such-command-here"});
  launch.environment = Words{"PATH=/usr/bin:/bin"};
  EXPECT_EQ(end_of(launch).status, 127);
}

TEST_F(ExitCodes, are_126_for_a_command_that_cannot_be_executed) {
  write_file(path("plain"), "#!/bin/sh\n");
  EXPECT_EQ(end_of(short_run({}, {path("plain")})).status, 126);
  EXPECT_EQ(end_of(short_run({}, {path("")})).status, 126);
  write_file(path("wordless"), "exit 7\n");
  chmod(path("wordless").c_str(), 0755);
  EXPECT_EQ(end_of(short_run({}, {path("wordless")})).status, 126);
}

TEST_F(ExitCodes, are_125_when_a_record_cannot_be_written) {
  for (const char* option : {"--receipt", "--report"}) {
    const Ended ended = end_of(short_run({option, path("gone/record")}, actor({"exit:0"})));
    EXPECT_EQ(ended.status, 125) << option;
    EXPECT_TRUE(holds(ended.err, path("gone/record")));
  }
}

TEST_F(ExitCodes, are_125_when_the_working_directory_of_the_worker_is_missing) {
  const Ended ended = end_of(run({"-C", path("gone")}, actor({"touch:1"})));
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(ExitCodes, are_2_for_a_wrong_command_line) {
  EXPECT_EQ(end_of(plain({"run"})).status, 2);
  EXPECT_EQ(end_of(plain({"run", "--no-such-option", "--", "true"})).status, 2);
  EXPECT_EQ(end_of(plain({"no-such-verb"})).status, 2);
  EXPECT_EQ(end_of(plain({})).status, 2);
}

TEST_F(ExitCodes, need_no_receipt) {
  const Ended ended = end_of(short_run({}, actor({"daemon", "[", "beat:1", "]", "exit:5"})));
  EXPECT_EQ(ended.status, 5);
  EXPECT_TRUE(beats_.still(1));
  EXPECT_EQ(ended.err, "");
  EXPECT_EQ(ended.out, "");
}

}  // namespace

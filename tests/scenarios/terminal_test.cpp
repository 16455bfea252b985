// On a terminal: Ctrl-C, Ctrl-Z's neighbours, and a background job that has something to print.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Terminal : public Scenario {
 protected:
  void SetUp() override {
    master_ = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    NEEDS(master_ >= 0 && grantpt(master_) == 0 && unlockpt(master_) == 0, "pseudo terminals");
    slave_ = ptsname(master_);
    keep_open_ = open(slave_.c_str(), O_RDWR | O_NOCTTY | O_CLOEXEC);
    NEEDS(keep_open_ >= 0, "pseudo terminals");
  }
  void TearDown() override {
    Scenario::TearDown();
    close(keep_open_);
    close(master_);
  }
  // A session of its own, with the terminal as its controlling one.
  std::function<void()> on_terminal() const {
    return [slave = slave_] {
      setsid();
      const int fd = open(slave.c_str(), O_RDWR);
      if (fd < 0 || ioctl(fd, TIOCSCTTY, 0) != 0) _exit(93);
      for (const int target : {0, 1, 2}) dup2(fd, target);
      if (fd > 2) close(fd);
    };
  }
  void type(char key) const { ASSERT_EQ(write(master_, &key, 1), 1); }

  int master_ = -1;
  int keep_open_ = -1;
  std::string slave_;
};

constexpr char kControlC = 3;
constexpr char kControlBackslash = 28;

TEST_F(Terminal, control_c_stops_with_a_grace) {
  Launch launch = run({"-k", "8"}, actor({"trap:TERM:5:" + path("saved") + ":300", "beat:1"}));
  launch.in_child = on_terminal();
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  type(kControlC);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {5}})) << "the worker was hit by Ctrl-C itself";
  EXPECT_EQ(ended.status, 122);
  EXPECT_EQ(read_file(path("saved")), "15\n");
  EXPECT_EQ(ended.report->text("/stop_by"), "SIGINT");
}

TEST_F(Terminal, control_c_twice_skips_the_grace) {
  Launch launch = run({"-k", "15"}, actor({"trap:TERM:5:" + path("saved") + ":20000", "beat:1"}));
  launch.in_child = on_terminal();
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  type(kControlC);
  ASSERT_TRUE(eventually([&] { return beats_.still(1); }));
  type(kControlC);
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}}));
  EXPECT_LT(ended.seconds, 12);
}

TEST_F(Terminal, control_backslash_stops) {
  Launch launch = run({}, actor({"beat:1"}));
  launch.in_child = on_terminal();
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  type(kControlBackslash);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
}

TEST_F(Terminal, hanging_up_stops) {
  Launch launch = run({}, actor({"daemon", "[", "beat:2", "]", "beat:1"}));
  launch.in_child = on_terminal();
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  close(keep_open_);
  close(master_);
  keep_open_ = master_ = -1;
  const Ended ended = running.wait();
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}}));
  EXPECT_TRUE(beats_.still(2));
}

TEST_F(Terminal, a_background_job_is_not_stopped_by_what_it_prints) {
  // `stty tostop`, quietus in the background, and a receipt that cannot be written.
  termios settings = {};
  ASSERT_EQ(tcgetattr(keep_open_, &settings), 0);
  settings.c_lflag |= TOSTOP;
  ASSERT_EQ(tcsetattr(keep_open_, TCSANOW, &settings), 0);
  for (const bool bare_form : {true, false}) {
    const Words options = {"--receipt", path("gone/receipt.json"), "--timeout", "0.4"};
    Launch launch = bare_form ? bare(options, actor({"beat:1"})) : run(options, actor({"beat:1"}));
    launch.words =
        actor(Words{"fork", "[", "pgrp", "exec"} + launch.words + Words{"]", "wait", "exit:8"});
    launch.in_child = on_terminal();
    Running running = start(launch);
    const Ended ended = running.wait();
    EXPECT_EQ(ended.status, 8) << "quietus was stopped" << ended.text();
    EXPECT_TRUE(beats_.gone(1));
  }
}

TEST_F(Terminal, the_worker_has_none_to_lose) {
  // Its own session, so no controlling terminal: typing reaches nobody but us.
  Launch launch = run({}, {"sh", "-c", "if (: < /dev/tty) 2> /dev/null; then exit 1; fi; exit 3"});
  launch.in_child = on_terminal();
  EXPECT_EQ(end_of(launch).status, 3);
}

}  // namespace

// Upstream's shell text and our verbs on the same session, in every combination, under dash and
// busybox.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "session_scene.hpp"
#include "upstream_text.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class UpstreamText : public SessionScene, public testing::WithParamInterface<const char*> {
 protected:
  void SetUp() override {
    SessionScene::SetUp();
    for (const UpstreamShell& shell : upstream_shells()) {
      if (shell.name == std::string(GetParam())) shell_ = shell;
    }
    NEEDS(!shell_.words.empty(), GetParam());
    // What the client uploads; our binary takes its place and does not read it.
    write_file(file("process_supervisor.py"), "raise SystemExit(99)\n");
  }

  Running begin(const Words& words) {
    Launch launch;
    launch.form = Form::run;
    launch.words = words;
    return start(launch);
  }
  Ended text(const Words& words, double seconds = 60) {
    Running running = begin(words);
    return running.wait(seconds);
  }
  Words launch_text(const Words& command, const UpstreamNames& names = {}) const {
    return upstream_launch(shell_, quietus_binary(), dir(), command, "100", names);
  }
  Words stop_text(const UpstreamNames& names = {}) const {
    return upstream_stop(shell_, dir(), 40, names);
  }

  UpstreamShell shell_{};
};

INSTANTIATE_TEST_SUITE_P(Shells, UpstreamText, testing::Values("dash", "busybox"),
                         [](const auto& info) { return info.param; });

TEST_P(UpstreamText, launches_and_stops_us_in_its_interpreters_place) {
  Running session = begin(launch_text(stubborn()));
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  EXPECT_EQ(read_file(file("supervisor.pid")), std::to_string(session.pid()) + "\n");
  const Ended stop = text(stop_text());
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(read_file(file("cleanup.json")), exactly(true, -SIGKILL, std::nullopt, false));
  EXPECT_EQ(session.wait().status, 0) << "as upstream's: confirmed without an error";
  EXPECT_EQ(text(upstream_remove(shell_, dir())).status, 0);
  EXPECT_FALSE(exists(dir()));
}

TEST_P(UpstreamText, sees_our_natural_end_and_our_log) {
  Running session = begin(launch_text(actor({"say:words", "say:more:2", "exit:7"})));
  EXPECT_EQ(session.wait().status, 0);
  EXPECT_EQ(read_file(file("output.log")), "words\nmore\n");
  EXPECT_EQ(read_file(file("cleanup.json")), exactly(true, 7, std::nullopt, false));
  EXPECT_EQ(text(stop_text()).status, 0);
  EXPECT_FALSE(exists(file("stop.request"))) << "a receipt was there";
}

TEST_P(UpstreamText, stops_what_our_launch_started) {
  launch_detached({"--cleanup-timeout", "0.5"}, stubborn());
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  const Ended stop = text(stop_text());
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(read_file(file("cleanup.json")), exactly(true, -SIGKILL, std::nullopt, false));
}

TEST_P(UpstreamText, stops_ours_by_the_signal_alone) {
  launch_detached({}, mild());
  ASSERT_TRUE(beats_.alive(1));
  Launch launch;
  launch.form = Form::run;
  launch.directory = dir();
  launch.words = shell_.words + Words{"-c",
                                      "kill -TERM \"$(cat supervisor.pid)\"; for i in $(seq "
                                      "40); do [ -e cleanup.json ] && exit 0; sleep 1; done; "
                                      "exit 1"};
  Running running = start(launch);
  EXPECT_EQ(running.wait(60).status, 0);
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_EQ(does("stop", {"--timeout", "5"}).status, 0);
}

TEST_P(UpstreamText, is_stopped_by_our_stop) {
  Running session = begin(launch_text(stubborn()));
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  EXPECT_EQ(status().text("/state"), "running");
  EXPECT_EQ(does("remove").status, 1) << "its supervisor may live";
  const Ended stop = does("stop", {"--timeout", "60"}, 90);
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_EQ(stop.out, exactly(true, -SIGKILL, std::nullopt, false) + "\n");
  EXPECT_TRUE(no_worker_outlived(stop));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(session.wait().status, 0);
  EXPECT_EQ(status().text("/state"), "done");
  EXPECT_EQ(does("wait", {"--timeout", "5"}).status, 0);
  EXPECT_EQ(does("remove").status, 0);
  EXPECT_FALSE(exists(dir()));
}

TEST_P(UpstreamText, our_wait_waits_for_its_receipt) {
  Running session = begin(launch_text(actor({"touch:1", "sleep:300", "exit:3"})));
  ASSERT_TRUE(beats_.reaches(1));
  const Ended waited = does("wait", {"--timeout", "60"}, 90);
  EXPECT_EQ(waited.status, 0) << waited.text();
  EXPECT_EQ(waited.out, exactly(true, 3, std::nullopt, false) + "\n");
  EXPECT_EQ(session.wait().status, 0);
}

TEST_P(UpstreamText, a_fence_of_either_side_holds_for_the_other) {
  EXPECT_EQ(text(stop_text()).status, 0);
  const Ended ours = end_of(launching({}, mild()));
  EXPECT_EQ(ours.status, 121) << ours.text();
  EXPECT_EQ(does("stop", {"--timeout", "5"}).status, 0);
  EXPECT_EQ(status().text("/state"), "fenced");
  fs::remove_all(dir());
  fs::create_directory(dir());
  EXPECT_EQ(does("stop", {"--timeout", "5"}).status, 0);
  const Ended theirs = text(launch_text(mild()));
  EXPECT_EQ(theirs.status, 0);
  EXPECT_EQ(theirs.err, "");
  EXPECT_FALSE(exists(file("supervisor.pid")));
  EXPECT_FALSE(exists(file("output.log")));
  EXPECT_EQ(text(stop_text()).status, 0);
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_P(UpstreamText, of_two_launches_one_wins) {
  for (int round = 0; round < 6; ++round) {
    const int slot = 10 + round;
    const Words command = actor({"touch:" + std::to_string(slot), "exit:0"});
    Running theirs = begin(launch_text(command));
    Running ours = start(launching({}, command));
    const Ended one = theirs.wait(60);
    const Ended two = ours.wait(60);
    EXPECT_EQ(one.status, 0) << one.text();
    EXPECT_TRUE(two.status == 0 || two.status == 121) << two.text();
    EXPECT_EQ(beats_.count(slot), 1u);
    EXPECT_EQ(read_file(file("cleanup.json")), exactly(true, 0, std::nullopt, false));
    fs::remove_all(dir());
    fs::create_directory(dir());
  }
}

TEST_P(UpstreamText, the_older_names_work_both_ways) {
  Launch launch = launching({"--detach", "--legacy-names"}, stubborn());
  launch.receipt.clear();
  launch.report.clear();
  Running running = start(launch);
  ASSERT_EQ(running.wait(60).status, 0);
  ASSERT_TRUE(beats_.alive(1));
  EXPECT_TRUE(exists(file("runner.pid")));
  EXPECT_TRUE(exists(file("runner.log")));
  EXPECT_FALSE(exists(file("supervisor.pid")));
  EXPECT_FALSE(exists(file("output.log")));
  EXPECT_EQ(text(stop_text(kLegacyNames)).status, 0);
  EXPECT_TRUE(exists(file("runner.stop")));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(does("stop", {"--legacy-names", "--timeout", "5"}).status, 0);
  EXPECT_EQ(does("remove", {"--legacy-names"}).status, 0);

  fs::create_directory(dir());
  Running session = begin(launch_text(mild(), kLegacyNames));
  ASSERT_TRUE(beats_.alive(1));
  const Ended stop = does("stop", {"--legacy-names", "--timeout", "60"}, 90);
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_EQ(session.wait().status, 0);
  EXPECT_TRUE(exists(file("runner.stop")));
  EXPECT_FALSE(exists(file("stop.request")));
}

TEST_P(UpstreamText, hostile_characters_stay_words) {
  const Words command = actor({"write:" + path("said") + ":$(touch hit) 'a' \"b\" `c`"});
  Running session = begin(launch_text(command));
  EXPECT_EQ(session.wait().status, 0);
  EXPECT_EQ(read_file(path("said")), "$(touch hit) 'a' \"b\" `c`");
}

TEST_P(UpstreamText, a_supervisor_of_theirs_is_signalled_only_if_it_is_theirs) {
  // A session of upstream's whose supervisor is gone, and whose pid file names a stranger now.
  const Words stranger_words = actor({"setsid", "beat:5"});
  Running stranger = begin(stranger_words);
  ASSERT_TRUE(beats_.alive(5));
  fs::create_symlink("launch", file("launch.claim"));
  write_file(file("supervisor.pid"), std::to_string(stranger.pid()) + "\n");
  const Ended naive = text(upstream_stop(shell_, dir(), 1));
  EXPECT_EQ(naive.status, 1);
  EXPECT_EQ(stranger.wait().status, -SIGTERM) << "the naive text hits the stranger";
  Running second = begin(stranger_words);
  ASSERT_TRUE(beats_.alive(5));
  write_file(file("supervisor.pid"), std::to_string(second.pid()) + "\n");
  const Ended stop = does("stop", {"--timeout", "1"});
  EXPECT_TRUE(stop.status == 123 || stop.status == 125) << stop.text();
  EXPECT_TRUE(beats_.alive(5)) << "a stranger was signalled";
  kill(second.pid(), SIGKILL);
  EXPECT_EQ(second.wait().status, -SIGKILL);
}

}  // namespace

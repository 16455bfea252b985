// Session verbs where the kernel or the file system refuses a call: locks on some network file
// systems, links and times on others. What was refused is told on one line, what can be done
// without it is done, and nothing is confirmed that was not seen.
#include <sys/file.h>
#include <sys/stat.h>

#include <fcntl.h>
#include <signal.h>

#include <filesystem>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class DeniedSession : public SessionScene {
 protected:
  static Launch denying(const std::string& calls, const std::string& error, Launch launch) {
    launch.inner = Words{deny_binary(), "--errno", error, calls, "--"} + launch.inner;
    return launch;
  }
  Ended without(const std::string& calls, const std::string& word, const Words& more = {}) {
    Running running = start(denying(calls, "EPERM", verb(word, more)));
    return running.wait(60);
  }
  Launch detaching(const Words& options, const Words& command) const {
    Launch launch = launching(Words{"--detach"} + options, command);
    launch.receipt.clear();
    launch.report.clear();
    return launch;
  }
  void is_told(const Ended& ended, int status, const std::string& part) const {
    EXPECT_EQ(ended.status, status) << ended.text();
    EXPECT_TRUE(is_one_line(ended.err));
    EXPECT_TRUE(holds(ended.err, part));
    EXPECT_EQ(ended.out, "");
  }
};

TEST_F(DeniedSession, without_locks_the_named_halves_are_waited_for) {
  Running launch =
      start(denying("flock", "ENOSYS", detaching({"--cleanup-timeout", "60"}, stubborn())));
  ASSERT_EQ(launch.wait(60).status, 0);
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  is_told(without("flock", "wait", {"--timeout", "0.3"}), 125, "no receipt in time");
  is_told(without("flock", "stop", {"--timeout", "0.3"}), 125, "still runs");
  ASSERT_TRUE(beats_.alive(1)) << "in its grace";
  const Ended stop = without("flock", "stop", {"--now", "--timeout", "30"});
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_EQ(stop.out, exactly(true, -SIGKILL, std::nullopt, false) + "\n");
  EXPECT_TRUE(no_worker_outlived(stop));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_EQ(without("flock", "wait", {"--timeout", "5"}).out, stop.out);
  EXPECT_EQ(without("flock", "remove").status, 0);
  EXPECT_FALSE(exists(dir()));
}

TEST_F(DeniedSession, without_links_nothing_is_claimed_and_nothing_starts) {
  is_told(end_of(denying("symlinkat", "EPERM", detaching({}, mild())), 30), 125, "cannot claim");
  EXPECT_TRUE(fs::is_empty(dir())) << "left over";
  is_told(without("symlinkat", "stop"), 125, "cannot fence");
  EXPECT_FALSE(exists(file("cleanup.json")));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(DeniedSession, a_launch_that_cannot_detach_has_a_receipt) {
  const Ended launch = end_of(denying("pipe2", "EMFILE", detaching({}, mild())), 30);
  is_told(launch, 125, "pipe");
  ASSERT_TRUE(receipt());
  EXPECT_TRUE(receipt()->cleanup_confirmed);
  EXPECT_FALSE(receipt()->return_code);
  EXPECT_TRUE(receipt()->error);
  EXPECT_EQ(beats_.count(1), 0u);
  EXPECT_EQ(does("stop", {"--timeout", "5"}).out, read_file(file("cleanup.json")) + "\n");
}

TEST_F(DeniedSession, a_launch_does_not_wait_for_ever_to_be_let_in) {
  const int held = open(dir().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX), 0);
  is_told(end_of(detaching({}, mild()), 30), 121, "being stopped or removed");
  close(held);
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(DeniedSession, a_stranger_cannot_ask) {
  NEEDS_ROOT();
  ASSERT_EQ(chmod(dir().c_str(), 0755), 0);
  const unsigned stranger = lonely_uid();
  for (const char* word : {"stop", "expire", "renew"}) {
    is_told(end_of(as_user(verb(word), stranger)), 125, std::string("cannot ") + word);
  }
  EXPECT_TRUE(fs::is_empty(dir()));
}

TEST_F(DeniedSession, a_lease_that_cannot_be_renewed_is_told) {
  is_told(without("utimensat", "renew"), 125, "cannot renew");
}

TEST_F(DeniedSession, what_cannot_be_removed_is_told_and_removed_later) {
  is_told(without("renameat", "remove"), 1, "cannot remove");
  EXPECT_TRUE(exists(dir()));
  write_file(file("output.log"), "words");
  is_told(without("unlinkat", "remove"), 1, "cannot remove");
  EXPECT_EQ(does("remove").status, 0);
  EXPECT_FALSE(exists(dir()));
  EXPECT_FALSE(exists(dir() + ".closed"));
}

TEST_F(DeniedSession, a_claim_that_is_nobodys_settles_nothing) {
  fs::create_symlink("somebody", file("launch.claim"));
  is_told(does("stop", {"--timeout", "5"}), 125, "not one of ours");
  EXPECT_FALSE(exists(file("cleanup.json")));
}

TEST_F(DeniedSession, a_lost_one_that_cannot_be_killed_is_not_confirmed) {
  allow_leftovers();
  launch_detached({"--descendants", "keep-on-success"}, mild());
  ASSERT_TRUE(beats_.alive(1));
  kill_both_halves();
  const Ended stop = without("kill,pidfd_send_signal", "stop", {"--timeout", "0.5"});
  EXPECT_EQ(stop.status, 123) << stop.text();
  EXPECT_TRUE(holds(stop.out, "remain alive"));
  EXPECT_FALSE(receipt()->cleanup_confirmed);
  EXPECT_TRUE(beats_.alive(1)) << "then the test shows nothing";
}

// Upstream's supervisor has no lock and no supervisor.id: a claim and a number are all there is.
class UpstreamSupervisor : public SessionScene {
 protected:
  void SetUp() override {
    SessionScene::SetUp();
    fs::create_symlink("launch", file("launch.claim"));
    write_file(file("output.log"), "");
  }
};

TEST_F(UpstreamSupervisor, that_names_the_directory_is_asked_to_end) {
  Launch launch;
  launch.form = Form::run;
  launch.words = Words{"tail", "-f", file("output.log")};
  Running upstream = start(launch);
  ASSERT_TRUE(eventually([&] { return process_row(upstream.pid()).comm == "tail"; }));
  write_file(file("supervisor.pid"), std::to_string(upstream.pid()) + "\n");
  const Ended stop = does("stop", {"--timeout", "10"});
  EXPECT_EQ(upstream.wait().status, -SIGTERM);
  EXPECT_EQ(stop.status, 123) << "it wrote no receipt" << stop.text();
}

TEST_F(UpstreamSupervisor, that_ends_before_its_number_is_written_has_a_receipt) {
  Running stop = start(verb("stop", {"--timeout", "10"}));
  ASSERT_TRUE(eventually([&] { return exists(file("stop.request")); }));
  const std::string text = exactly(true, 0, std::nullopt, false);
  write_file(file("new"), text);
  fs::rename(file("new"), file("cleanup.json"));
  EXPECT_EQ(stop.wait(30).out, text + "\n");
}

}  // namespace

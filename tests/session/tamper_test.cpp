// The worker turns against its own session directory. Each attack is first shown to work against
// the naive shell text, then to fail against ours.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "session_scene.hpp"
#include "upstream_text.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

const std::string kForged = exactly(true, 0, std::nullopt, false);

class Tamper : public SessionScene {
 protected:
  // A session whose worker runs the text in the shell before it beats; waits until it beats.
  void attacked_by(const std::string& text, const Words& options = {}, const Words& worker = {}) {
    launch_detached(options, shell_then(text, worker.empty() ? mild() : worker));
    ASSERT_TRUE(beats_.alive(1));
  }

  Ended naive_stop(int seconds = 1) { return shell_text(upstream_stop(shell(), dir(), seconds)); }
  Ended naive_remove() { return shell_text(upstream_remove(shell(), dir())); }

  // Ends a session whatever its files say, and makes a new directory for the next.
  void start_over(const Halves& both) {
    if (both.guardian > 0) kill(both.guardian, SIGTERM);
    ASSERT_TRUE(eventually([] { return living_descendants().empty(); }, 30));
    ASSERT_TRUE(beats_.gone(1));
    for (const char* name : {"s", "s.closed", "moved"}) fs::remove_all(path(name));
    fs::create_directory(dir());
    fs::permissions(dir(), fs::perms(0777));
  }

  void expect_stopped(const Ended& stop) {
    EXPECT_EQ(stop.status, 0) << stop.text();
    EXPECT_EQ(stop.out, exactly(true, -SIGTERM, std::nullopt, false) + "\n");
    EXPECT_TRUE(no_worker_outlived(stop));
    EXPECT_TRUE(beats_.gone(1));
  }

 private:
  UpstreamShell shell() { return {"sh", {"/bin/sh"}}; }
  Ended shell_text(const Words& words) {
    Launch launch;
    launch.form = Form::run;
    launch.words = words;
    Running running = start(launch);
    return running.wait(60);
  }
};

TEST_F(Tamper, a_forged_receipt) {
  const std::string attack = "printf '%s' '" + kForged + "' > $0/cleanup.json";
  attacked_by(attack);
  EXPECT_EQ(naive_stop().status, 0);
  EXPECT_TRUE(beats_.alive(1)) << "the naive text did not believe it";
  start_over(halves());

  attacked_by(attack);
  EXPECT_EQ(read_file(file("cleanup.json")), kForged);
  EXPECT_EQ(status().text("/state"), "running");
  EXPECT_EQ(does("wait", {"--timeout", "0.2"}).status, 125);
  EXPECT_EQ(does("remove").status, 1);
  ASSERT_TRUE(beats_.alive(1));
  expect_stopped(does("stop", {"--timeout", "30"}));
}

TEST_F(Tamper, a_receipt_that_is_forged_again_and_again) {
  // Also in the grace, and as a link, a directory, a FIFO.
  for (const char* kind : {"printf '%s' \"$forged\" > $0/.x; mv -f $0/.x $0/cleanup.json",
                           "ln -sf /etc/passwd $0/cleanup.json", "mkfifo $0/cleanup.json"}) {
    attacked_by("forged='" + kForged + "'; (trap '' TERM; while :; do " + kind +
                " 2>/dev/null; sleep 0.01; done) & ");
    expect_stopped(does("stop", {"--timeout", "30"}));
    start_over({});
  }
}

TEST_F(Tamper, a_claim_that_is_replaced) {
  const std::string attack = "rm $0/launch.claim; ln -s stop $0/launch.claim";
  // Its grace shows that it lives: our supervisor sees the request, whoever made it.
  attacked_by(attack, {"--cleanup-timeout", "3"}, actor({"ignore:TERM", "beat:1"}));
  const Halves both = halves();
  EXPECT_EQ(naive_stop().status, 0);
  EXPECT_EQ(read_file(file("cleanup.json")), exactly(true, std::nullopt, std::nullopt, false));
  EXPECT_TRUE(beats_.alive(1)) << "the naive text did not declare it fenced";
  start_over(both);

  for (const std::string& claim : {attack, std::string("rm $0/launch.claim"),
                                   std::string("rm $0/launch.claim; >$0/launch.claim"),
                                   std::string("rm $0/launch.claim; mkdir $0/launch.claim")}) {
    attacked_by(claim);
    EXPECT_EQ(does("remove").status, 1);
    EXPECT_EQ(does("wait", {"--timeout", "0.2"}).status, 125);
    Running second = start(verb("launch", Words{"--"} + actor({"touch:9"})));
    EXPECT_EQ(second.wait().status, 121) << claim;
    EXPECT_EQ(beats_.count(9), 0u) << "a second worker in a session that lives";
    ASSERT_TRUE(beats_.alive(1));
    expect_stopped(does("stop", {"--timeout", "30"}));
    start_over({});
  }
}

TEST_F(Tamper, a_claim_that_is_replaced_and_both_halves_killed) {
  // Somebody else kills them: the mark of a launch is enough to doubt the fence.
  const std::string attack = "rm $0/launch.claim; ln -s stop $0/launch.claim";
  attacked_by(attack, {"--descendants", "keep-on-success"});
  kill_both_halves();
  ASSERT_TRUE(beats_.alive(1));
  const Ended stop = does("stop", {"--timeout", "60"});
  EXPECT_NE(stop.status, 0) << "confirmed as never launched: " << stop.text();
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Tamper, a_pid_file_that_names_a_stranger) {
  Launch launch;
  launch.words = actor({"setsid", "beat:5"});
  Running victim = start(launch);
  ASSERT_TRUE(beats_.alive(5));
  const std::string attack = "echo " + std::to_string(victim.pid()) + " > $0/supervisor.pid";
  attacked_by(attack);
  const Halves both = halves();
  (void)naive_stop();
  EXPECT_EQ(victim.wait().status, -SIGTERM) << "the naive text spared the stranger";
  start_over(both);

  Running second = start(launch);
  ASSERT_TRUE(beats_.alive(5));
  const std::string number = std::to_string(second.pid());
  attacked_by("echo " + number + " > $0/supervisor.pid; echo '{\"guardian\": {\"pid\": " + number +
              ", \"start_ticks\": 1}, \"supervisor\": {\"pid\": " + number + ", \"start_ticks\": " +
              std::to_string(process_row(second.pid()).start) + "}}' > $0/supervisor.id");
  EXPECT_EQ(does("stop", {"--timeout", "30"}).out,
            exactly(true, -SIGTERM, std::nullopt, false) + "\n");
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.alive(5)) << "a stranger was signalled";
  EXPECT_EQ(does("remove").status, 0);
  EXPECT_TRUE(beats_.alive(5));
  kill(second.pid(), SIGKILL);
  EXPECT_EQ(second.wait().status, -SIGKILL);
}

TEST_F(Tamper, a_directory_swapped_by_a_link) {
  fs::create_directory(path("precious"));
  fs::create_symlink("launch", path("precious/launch.claim"));
  write_file(path("precious/cleanup.json"), kForged);
  const std::string attack = "mv $0 " + path("moved") + "; ln -s " + path("precious") + " $0";
  attacked_by(attack);
  const pid_t guardian = atoi(read_file(path("moved/supervisor.pid")).c_str());
  EXPECT_EQ(naive_stop().status, 0);
  EXPECT_TRUE(beats_.alive(1)) << "the naive text looked behind the link";
  EXPECT_EQ(naive_remove().status, 0);
  EXPECT_FALSE(exists(dir())) << "the naive text says that the session is gone";
  EXPECT_TRUE(beats_.alive(1));
  start_over({guardian, 0});

  attacked_by(attack);
  for (const Words& words : {Words{"stop", "--timeout", "2"}, Words{"wait", "--timeout", "1"},
                             Words{"status"}, Words{"expire"}, Words{"renew"}}) {
    const Ended ended = does(words[0], Words(words.begin() + 1, words.end()));
    EXPECT_EQ(ended.status, 125) << words[0] << ended.text();
    EXPECT_EQ(ended.out, "");
  }
  EXPECT_EQ(does("remove").status, 1);
  Running second = start(verb("launch", Words{"--"} + actor({"touch:9"})));
  EXPECT_EQ(second.wait().status, 121);
  EXPECT_EQ(std::distance(fs::directory_iterator(path("precious")), {}), 2) << "something was done";
  ASSERT_TRUE(beats_.alive(1));
  // Back in its place, it is stopped as ever: the halves never left their directory.
  fs::remove(dir());
  fs::rename(path("moved"), dir());
  expect_stopped(does("stop", {"--timeout", "30"}));
}

TEST_F(Tamper, a_directory_that_is_renamed) {
  const std::string attack = "mv $0 " + path("moved");
  attacked_by(attack);
  const pid_t guardian = atoi(read_file(path("moved/supervisor.pid")).c_str());
  EXPECT_EQ(naive_remove().status, 0);
  EXPECT_TRUE(beats_.alive(1)) << "the naive removal says that all is well";
  start_over({guardian, 0});

  attacked_by(attack);
  const Ended stop = does("stop", {"--timeout", "2"});
  EXPECT_EQ(stop.status, 125) << stop.text();
  EXPECT_EQ(stop.out, "");
  EXPECT_FALSE(exists(dir()));
  ASSERT_TRUE(beats_.alive(1));
  // By its new name it is the same session, lock and all.
  Running refused = start(plain({"remove", "--session", path("moved")}));
  EXPECT_EQ(refused.wait().status, 1);
  expect_stopped(end_of(plain({"stop", "--session", path("moved"), "--timeout", "30"})));
}

TEST_F(Tamper, a_retired_name_that_is_taken) {
  fs::create_directory(path("precious"));
  write_file(path("precious/file"), "keep");
  const std::string attack = "ln -s " + path("precious") + " $0.closed";
  attacked_by(attack);
  const Halves both = halves();
  EXPECT_EQ(naive_remove().status, 0);
  EXPECT_TRUE(exists(path("precious/s"))) << "the naive removal moved nothing into it";
  kill(both.guardian, SIGTERM);
  ASSERT_TRUE(eventually([] { return living_descendants().empty(); }, 30));
  fs::remove_all(path("precious/s"));
  start_over({});

  attacked_by("rm -f $0.closed; " + attack);
  expect_stopped(does("stop", {"--timeout", "30"}));
  EXPECT_NE(does("remove").status, 0);
  EXPECT_FALSE(exists(path("precious/s")));
  EXPECT_EQ(read_file(path("precious/file")), "keep");
}

TEST_F(Tamper, files_that_are_made_unreadable) {
  NEEDS_ROOT();
  const unsigned uid = lonely_uid();
  ASSERT_EQ(chown(dir().c_str(), uid, uid), 0);
  const std::string attack = "chmod 000 $0/supervisor.pid $0/supervisor.id $0/output.log";
  const auto owner = [&](const Words& words) {
    Running running = start(as_user(plain(words), uid));
    return running.wait(60);
  };
  const Words launch =
      Words{"launch", "--session", dir(), "--detach", "--cleanup-timeout", "1", "--"} +
      shell_then(attack, mild());
  ASSERT_EQ(owner(launch).status, 0);
  ASSERT_TRUE(beats_.alive(1));
  Launch naive;
  naive.form = Form::run;
  naive.words = upstream_stop({"sh", {"/bin/sh"}}, dir(), 1);
  Running naive_run = start(as_user(naive, uid));
  (void)naive_run.wait(60);
  EXPECT_TRUE(eventually([&] { return exists(file("stop.request")); }));
  // The text cannot read whom to signal; our supervisor watches the file by itself.
  const Ended stop = owner({"stop", "--session", dir(), "--timeout", "30"});
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_EQ(owner({"wait", "--session", dir(), "--timeout", "5"}).status, 0);
}

TEST_F(Tamper, a_directory_that_is_made_unsearchable) {
  NEEDS_ROOT();
  const unsigned uid = lonely_uid();
  ASSERT_EQ(chown(dir().c_str(), uid, uid), 0);
  const auto owner = [&](const Words& words) {
    Running running = start(as_user(plain(words), uid));
    return running.wait(60);
  };
  ASSERT_EQ(owner(Words{"launch", "--session", dir(), "--detach", "--cleanup-timeout", "1", "--"} +
                  shell_then("chmod 000 $0", mild()))
                .status,
            0);
  ASSERT_TRUE(beats_.alive(1));
  const Ended stop = owner({"stop", "--session", dir(), "--timeout", "2"});
  EXPECT_EQ(stop.status, 125) << stop.text();
  EXPECT_EQ(stop.out, "");
  EXPECT_NE(owner({"remove", "--session", dir()}).status, 0);
  EXPECT_TRUE(beats_.alive(1));
  ASSERT_EQ(chmod(dir().c_str(), 0700), 0);
  const Ended again = owner({"stop", "--session", dir(), "--timeout", "30"});
  EXPECT_EQ(again.status, 0) << again.text();
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Tamper, a_lock_that_the_worker_holds) {
  NEEDS(has_tool("flock"), "flock(1)");
  launch_detached({"--descendants", "group"},
                  shell_then("setsid flock --shared $0 " + actor_binary() + " bound:30000 beats:" +
                                 beats_.path() + " beat:2 </dev/null >/dev/null 2>&1 &",
                             actor({"await:2", "beat:1"})));
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  // What detached itself stays by this policy, and with it the lock: nothing is ever confirmed.
  const Ended stop = does("stop", {"--timeout", "3"});
  if (stop.status != 0) {
    EXPECT_EQ(stop.status, 125) << stop.text();
    EXPECT_EQ(stop.out, "");
    EXPECT_EQ(does("remove").status, 1);
  } else {
    EXPECT_TRUE(beats_.gone(2)) << "confirmed while its lock is held";
  }
  allow_leftovers();
}

TEST_F(Tamper, a_lock_that_the_worker_holds_exclusively_hinders_nobody_who_ends_it) {
  NEEDS(has_tool("flock"), "flock(1)");
  // It cannot get the exclusive lock while we hold ours; a shared one dies with the worker.
  attacked_by("flock --nonblock $0 true && echo got > " + path("got") + "; exec 9< $0; flock -s 9");
  EXPECT_FALSE(exists(path("got"))) << "the halves hold no lock";
  expect_stopped(does("stop", {"--timeout", "30"}));
}

TEST_F(Tamper, requests_that_are_no_files) {
  // Whatever stands under the name is a request: the worker can only stop itself.
  for (const char* make :
       {"mkdir $0/stop.request", "ln -s /nowhere $0/stop.request", "mkfifo $0/stop.request"}) {
    launch_detached({}, shell_then(make, mild()));
    const Ended waited = does("wait", {"--timeout", "30"});
    EXPECT_EQ(waited.status, 0) << make << waited.text();
    EXPECT_FALSE(beats_.alive(1, 0.3));
    fs::remove_all(dir());
    fs::create_directory(dir());
  }
}

TEST_F(Tamper, a_log_that_is_a_link_is_not_followed) {
  write_file(path("precious"), "keep");
  fs::create_symlink(path("precious"), file("output.log"));
  const Ended ended = end_of(launching({}, actor({"say:overwritten"})));
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_EQ(read_file(path("precious")), "keep");
}

TEST_F(Tamper, with_another_uid_the_directory_is_out_of_reach) {
  NEEDS_ROOT();
  fs::permissions(dir(), fs::perms(0755));
  const std::string attack =
      "for f in cleanup.json launch.claim supervisor.pid supervisor.id stop.request; do "
      "rm -f $0/$f; echo x > $0/$f; done 2>/dev/null; mv $0 $0.moved 2>/dev/null; chmod 000 $0 "
      "2>/dev/null; true";
  fs::permissions(path(""), fs::perms(0755));
  Words worker = mild();
  worker.front() = public_copy(worker.front());
  launch_detached({"--user", std::to_string(lonely_uid())}, shell_then(attack, worker));
  ASSERT_TRUE(beats_.alive(1));
  EXPECT_EQ(fs::read_symlink(file("launch.claim")), "launch");
  EXPECT_FALSE(exists(file("cleanup.json")));
  EXPECT_FALSE(exists(file("stop.request")));
  expect_stopped(does("stop", {"--timeout", "30"}));
}

TEST_F(Tamper, with_isolate_or_shield_neither_half_can_be_killed_to_make_it_stick) {
  for (const char* option : {"--isolate", "--shield"}) {
    if (option == std::string("--isolate") && !is_root()) continue;
    if (option == std::string("--shield") && !has_signal_scope()) continue;
    attacked_by("printf '%s' '" + kForged +
                    "' > $0/cleanup.json; for p in $(cat $0/supervisor.pid) $PPID; do "
                    "[ $p -gt 1 ] && kill -9 $p 2>/dev/null; done; true",
                {option});
    EXPECT_EQ(does("wait", {"--timeout", "0.3"}).status, 125) << option;
    EXPECT_EQ(does("remove").status, 1) << option;
    EXPECT_TRUE(beats_.alive(1));
    expect_stopped(does("stop", {"--timeout", "30"}));
    start_over({});
  }
}

}  // namespace

// Both halves were killed: stop says so at once, ends what it can find by the session's own marks,
// and confirms only on the kernel's word.
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class LostSession : public SessionScene {
 protected:
  // What keeps something has no cgroup leaf.
  static Words without_leaf() { return {"--descendants", "keep-on-success"}; }

  // Below our own cgroup: the leaf that is named after the directory, "" for none.
  std::string leaf() const {
    struct stat info;
    if (stat(dir().c_str(), &info) != 0) return "";
    std::string ours = read_file("/proc/self/cgroup");
    ours.erase(0, ours.find("0::") + 3);
    ours.resize(ours.find('\n'));
    const std::string prefix =
        "quietus-" + std::to_string(info.st_dev) + "." + std::to_string(info.st_ino) + ".";
    std::error_code ignored;
    for (const auto& entry : fs::directory_iterator(cgroup_v2() + ours, ignored)) {
      const std::string name = entry.path().filename();
      if (name.starts_with(prefix) && !read_file(entry.path() / "cgroup.procs").empty()) {
        return entry.path();
      }
    }
    return "";
  }
};

TEST_F(LostSession, is_recovered_at_once_but_not_confirmed_without_a_proof) {
  launch_detached(without_leaf(), stubborn());
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  kill_both_halves();
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  const Ended stop = does("stop", {"--timeout", "60"});
  EXPECT_EQ(stop.status, 123) << stop.text();
  EXPECT_LT(stop.seconds, 30) << "it waited";
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  ASSERT_TRUE(receipt());
  EXPECT_FALSE(receipt()->cleanup_confirmed);
  EXPECT_FALSE(receipt()->return_code);
  EXPECT_TRUE(holds(receipt()->error.value_or(""), "both halves"));
  EXPECT_TRUE(holds(receipt()->error.value_or(""), "cannot be proven"));
  EXPECT_EQ(does("stop", {"--timeout", "5"}).out, stop.out) << "final";
  EXPECT_EQ(does("wait", {"--timeout", "5"}).status, 123);
  EXPECT_EQ(does("remove").status, 0);
}

TEST_F(LostSession, is_confirmed_where_its_cgroup_proves_it) {
  NEEDS(!cgroup_v2().empty(), "writable cgroup v2 hierarchy");
  launch_detached({}, stubborn());
  ASSERT_TRUE(beats_.alive(2));
  const std::string own = leaf();
  ASSERT_NE(own, "") << "no leaf of the session's own";
  kill_both_halves();
  ASSERT_TRUE(beats_.alive(1));
  const Ended stop = does("stop", {"--timeout", "60"});
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  EXPECT_TRUE(receipt()->cleanup_confirmed);
  EXPECT_TRUE(receipt()->error) << "that it was lost must be told";
  EXPECT_FALSE(receipt()->return_code);
  EXPECT_FALSE(exists(own)) << "the leaf is left over";
}

TEST_F(LostSession, a_process_that_hid_from_every_mark_is_not_declared_gone) {
  // A changed environment and a session of its own, outside of any leaf: nothing finds it.
  allow_leftovers();
  launch_detached(without_leaf(), {"/usr/bin/env", "-u", "QUIETUS_SESSION", actor_binary(),
                                   "bound:30000", "beats:" + beats_.path(), "daemon", "[", "beat:1",
                                   "]", "await:1", "exec", "/bin/sleep", "0.01"});
  // keep-on-success: the worker has ended by itself; a second session shows the lost one.
  ASSERT_TRUE(beats_.alive(1));
  EXPECT_EQ(does("wait", {"--timeout", "30"}).status, 0);
  fs::remove_all(dir());
  fs::create_directory(dir());
  launch_detached(without_leaf(),
                  {"/usr/bin/env", "-u", "QUIETUS_SESSION", actor_binary(), "bound:30000",
                   "beats:" + beats_.path(), "daemon", "[", "beat:3", "]", "await:3", "beat:4"});
  ASSERT_TRUE(beats_.alive(3));
  kill_both_halves();
  const Ended stop = does("stop", {"--timeout", "60"});
  EXPECT_EQ(stop.status, 123) << stop.text();
  EXPECT_FALSE(receipt()->cleanup_confirmed);
  EXPECT_TRUE(beats_.alive(3)) << "then the test shows nothing";
}

TEST_F(LostSession, spares_strangers_with_a_similar_mark) {
  launch_detached(without_leaf(), mild());
  ASSERT_TRUE(beats_.alive(1));
  struct stat info;
  ASSERT_EQ(stat(dir().c_str(), &info), 0);
  const std::string id = std::to_string(info.st_dev) + "." + std::to_string(info.st_ino);
  std::vector<Running> strangers;
  int slot = 10;
  for (const std::string& value : Words{
           "QUIETUS_SESSION=" + id + "1", "QUIETUS_SESSION=1" + id, "QUIETUS_SESSION=" + id + ".1",
           "QUIETUS_SESSION=", "QUIETUS_SESSION=x" + id + ",y", "XQUIETUS_SESSION=" + id,
           "QUIETUS_SESSIONS=" + id, "OTHER=QUIETUS_SESSION=" + id, "QUIETUS_SESSION"}) {
    Launch stranger;
    stranger.words = actor({"setsid", "beat:" + std::to_string(slot)});
    stranger.environment = Words{value};
    strangers.push_back(start(stranger));
    ASSERT_TRUE(beats_.alive(slot++)) << value;
  }
  // And one that carries it for real, among the IDs of others, detached.
  Launch ours;
  ours.words = actor({"setsid", "ignore:TERM", "beat:2"});
  ours.environment = Words{"A=b", "QUIETUS_SESSION=run.0," + id + ",1.2"};
  Running marked = start(ours);
  ASSERT_TRUE(beats_.alive(2));
  kill_both_halves();
  const Ended stop = does("stop", {"--timeout", "60"});
  EXPECT_EQ(stop.status, 123) << stop.text();
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  for (int s = 10; s < slot; ++s) EXPECT_TRUE(beats_.alive(s)) << "stranger " << s - 10;
  for (Running& stranger : strangers) {
    kill(stranger.pid(), SIGKILL);
    EXPECT_EQ(stranger.wait().status, -SIGKILL);
  }
  EXPECT_EQ(marked.wait().status, -SIGKILL);
}

TEST_F(LostSession, finds_who_shares_a_session_with_a_marked_process) {
  // The marked one leads a session; a member of it has wiped its environment.
  launch_detached(without_leaf(),
                  actor({"fork", "[", "exec", "/usr/bin/env", "-i", actor_binary(), "bound:30000",
                         "beats:" + beats_.path(), "beat:2", "]", "await:2", "beat:1"}));
  ASSERT_TRUE(beats_.alive(1));
  ASSERT_TRUE(beats_.alive(2));
  kill_both_halves();
  EXPECT_EQ(does("stop", {"--timeout", "60"}).status, 123);
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(LostSession, with_nobody_left_is_recovered_too) {
  launch_detached(without_leaf(), mild());
  ASSERT_TRUE(beats_.alive(1));
  const Json seen = status();
  kill_both_halves();
  for (const ProcessRow& row : living_descendants()) kill(row.pid, SIGKILL);
  ASSERT_TRUE(beats_.gone(1));
  const Ended stop = does("stop", {"--timeout", "60"});
  EXPECT_EQ(stop.status, 123) << stop.text();
  EXPECT_LT(stop.seconds, 30);
}

TEST_F(LostSession, many_stops_recover_it_once) {
  launch_detached(without_leaf(), stubborn());
  ASSERT_TRUE(beats_.alive(1));
  kill_both_halves();
  std::vector<Running> stops;
  for (int i = 0; i < 8; ++i) stops.push_back(start(verb("stop", {"--timeout", "60"})));
  std::string said;
  for (Running& stop : stops) {
    const Ended ended = stop.wait(90);
    EXPECT_EQ(ended.status, 123) << ended.text();
    if (said.empty()) said = ended.out;
    EXPECT_EQ(ended.out, said) << "two receipts";
  }
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
}

TEST_F(LostSession, cannot_be_removed_before_it_was_stopped) {
  // Without the directory nobody could find its processes any more.
  launch_detached(without_leaf(), mild());
  ASSERT_TRUE(beats_.alive(1));
  kill_both_halves();
  const Ended refused = does("remove");
  EXPECT_EQ(refused.status, 1) << refused.text();
  EXPECT_TRUE(is_one_line(refused.err));
  EXPECT_TRUE(exists(file("launch.claim")));
  EXPECT_TRUE(beats_.alive(1));
  EXPECT_EQ(does("stop", {"--timeout", "60"}).status, 123);
  EXPECT_EQ(does("remove").status, 0);
  EXPECT_FALSE(exists(dir()));
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(LostSession, wait_says_so_at_once) {
  launch_detached(without_leaf(), mild());
  ASSERT_TRUE(beats_.alive(1));
  Running waiting = start(verb("wait", {"--timeout", "100"}));
  kill_both_halves();
  const Ended waited = waiting.wait(30);
  EXPECT_EQ(waited.status, 125) << waited.text();
  EXPECT_TRUE(is_one_line(waited.err));
  EXPECT_EQ(does("stop", {"--timeout", "60"}).status, 123);
}

TEST_F(LostSession, one_half_alone_is_enough_for_a_receipt) {
  for (const bool guardian : {true, false}) {
    launch_detached(without_leaf(), stubborn());
    ASSERT_TRUE(beats_.alive(1));
    ASSERT_TRUE(beats_.alive(2));
    const Halves both = halves();
    ASSERT_GT(guardian ? both.guardian : both.supervisor, 1);
    kill(guardian ? both.guardian : both.supervisor, SIGKILL);
    const Ended waited = does("wait", {"--timeout", "60"});
    EXPECT_EQ(waited.status, 0) << waited.text();
    EXPECT_TRUE(receipt()->error);
    EXPECT_TRUE(receipt()->cleanup_confirmed);
    EXPECT_TRUE(beats_.gone(1));
    EXPECT_TRUE(beats_.gone(2));
    EXPECT_EQ(does("stop", {"--timeout", "5"}).out, waited.out);
    fs::remove_all(dir());
    fs::create_directory(dir());
  }
}

}  // namespace

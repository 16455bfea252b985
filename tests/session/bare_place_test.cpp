// The least that a sandbox can be: a chroot with the binary and nothing else, as root and as
// somebody. The worker is the binary too: it waits for a session that never ends.
#include <grp.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class BarePlace : public SessionScene, public testing::WithParamInterface<bool> {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(wrapper().empty(), "room for a wrapper in a chroot");
    root_ = path("root");
    fs::create_directory(root_);
    fs::copy_file(quietus_binary(), root_ + "/quietus");
    fs::permissions(root_ + "/quietus", fs::perms(0755));
    uid_ = GetParam() ? 0 : lonely_uid();
    ASSERT_EQ(chown(root_.c_str(), uid_, uid_), 0);
  }

  Launch inside(const Words& words) const {
    Launch launch;
    launch.form = Form::run;
    launch.words = Words{"/quietus"} + words;
    launch.environment = Words{};
    launch.in_child = [root = root_, uid = uid_] {
      if (chroot(root.c_str()) != 0 || chdir("/") != 0) _exit(97);
      if (uid != 0 && (setgroups(0, nullptr) != 0 || setgid(uid) != 0 || setuid(uid) != 0)) {
        _exit(98);
      }
    };
    return launch;
  }
  Ended in_place(const Words& words, double seconds = 60) {
    Running running = start(inside(words));
    Ended ended = running.wait(seconds);
    EXPECT_FALSE(ended.hung) << testing::PrintToString(words) << ended.text();
    return ended;
  }
  // The processes of the worker: those that wait in the session /w.
  int workers() const {
    int count = 0;
    for (const ProcessRow& row : living_descendants()) {
      struct stat exe;
      const std::string link = "/proc/" + std::to_string(row.pid) + "/exe";
      count += stat(link.c_str(), &exe) == 0 ? 1 : 0;
    }
    return count;
  }
  std::string in_root(const std::string& name) const { return root_ + name; }

  const Words worker_ = {"/quietus", "wait", "--session", "/w"};
  std::string root_;
  unsigned uid_ = 0;
};

INSTANTIATE_TEST_SUITE_P(Users, BarePlace, testing::Bool(),
                         [](const auto& info) { return info.param ? "root" : "somebody"; });

TEST_P(BarePlace, every_verb_works) {
  for (const char* name : {"/s", "/w"}) {
    EXPECT_EQ(in_place({"create", "--session", name}).status, 0);
  }
  EXPECT_TRUE(holds(in_place({"status", "--session", "/s"}).out, "new"));
  const Ended launch =
      in_place(Words{"launch", "--session", "/s", "--detach", "--lease", "60", "--"} + worker_);
  ASSERT_EQ(launch.status, 0) << launch.text();
  ASSERT_EQ(workers(), 3) << "two halves and the worker";
  EXPECT_TRUE(holds(in_place({"status", "--session", "/s"}).out, "running"));
  EXPECT_TRUE(holds(in_place({"status", "--session", "/s", "--json"}).out, "\"running\""));
  EXPECT_EQ(in_place({"renew", "--session", "/s"}).status, 0);
  EXPECT_EQ(in_place({"remove", "--session", "/s"}).status, 1);
  EXPECT_EQ(in_place({"wait", "--session", "/s", "--timeout", "0.1"}).status, 125);
  ASSERT_EQ(workers(), 3);
  const Ended stop = in_place({"stop", "--session", "/s", "--timeout", "30"});
  EXPECT_EQ(stop.status, 0) << stop.text();
  EXPECT_EQ(stop.out, exactly(true, -SIGTERM, std::nullopt, false) + "\n");
  EXPECT_EQ(workers(), 0);
  EXPECT_EQ(in_place({"wait", "--session", "/s"}).status, 0);
  EXPECT_TRUE(holds(in_place({"status", "--session", "/s"}).out, "done"));
  EXPECT_EQ(in_place(Words{"launch", "--session", "/s", "--"} + worker_).status, 121);
  EXPECT_EQ(in_place({"remove", "--session", "/s"}).status, 0);
  EXPECT_EQ(in_place({"remove", "--session", "/w"}).status, 0);
  EXPECT_EQ(std::distance(fs::directory_iterator(root_), {}), 1) << "something is left";
}

TEST_P(BarePlace, expires_and_fences) {
  for (const char* name : {"/s", "/w", "/f"}) {
    EXPECT_EQ(in_place({"create", "--session", name}).status, 0);
  }
  Running launch = start(inside(Words{"launch", "--session", "/s", "--"} + worker_));
  ASSERT_TRUE(eventually([&] { return workers() == 3; }));
  EXPECT_EQ(in_place({"expire", "--session", "/s"}).status, 0);
  EXPECT_EQ(launch.wait(30).status, 124);
  EXPECT_EQ(workers(), 0);
  EXPECT_EQ(read_file(in_root("/s/cleanup.json")), exactly(true, -SIGTERM, std::nullopt, true));
  EXPECT_EQ(in_place({"stop", "--session", "/f"}).status, 0);
  EXPECT_EQ(in_place(Words{"launch", "--session", "/f", "--"} + worker_).status, 121);
  EXPECT_EQ(workers(), 0);
}

TEST_P(BarePlace, a_lost_session_is_never_confirmed_where_nothing_can_be_seen) {
  allow_leftovers();
  for (const char* name : {"/s", "/w"}) {
    EXPECT_EQ(in_place({"create", "--session", name}).status, 0);
  }
  ASSERT_EQ(in_place(Words{"launch", "--session", "/s", "--detach", "--"} + worker_).status, 0);
  const pid_t guardian = atoi(read_file(in_root("/s/supervisor.pid")).c_str());
  ASSERT_TRUE(alive(guardian));
  const auto below = descendants(guardian);
  ASSERT_FALSE(below.empty());
  const pid_t supervisor = below.front().pid;
  ASSERT_EQ(process_row(supervisor).ppid, guardian);
  kill(guardian, SIGSTOP);
  kill(supervisor, SIGKILL);
  kill(guardian, SIGKILL);
  ASSERT_TRUE(eventually([&] { return workers() == 1; }));
  const Ended stop = in_place({"stop", "--session", "/s", "--timeout", "10"});
  EXPECT_EQ(stop.status, 123) << stop.text();
  EXPECT_TRUE(holds(stop.out, "/proc"));
  EXPECT_EQ(workers(), 1) << "then there was nothing to say";
}

TEST_P(BarePlace, deletes_what_is_deep) {
  EXPECT_EQ(in_place({"create", "--session", "/s"}).status, 0);
  fs::create_directories(in_root("/s/a/b/c/d"));
  write_file(in_root("/s/a/b/c/d/e"), "");
  if (uid_ != 0) {
    for (const char* name : {"/s/a", "/s/a/b", "/s/a/b/c", "/s/a/b/c/d"}) {
      ASSERT_EQ(chown(in_root(name).c_str(), uid_, uid_), 0);
    }
  }
  EXPECT_EQ(in_place({"remove", "--session", "/s"}).status, 0);
  EXPECT_FALSE(exists(in_root("/s")));
}

}  // namespace

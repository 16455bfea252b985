// remove: retires by rename, deletes whatever the worker left, and nothing else.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class RemoveVerb : public SessionScene {
 protected:
  std::string retired() const { return dir() + ".closed"; }

  void expect_removed() {
    const Ended ended = does("remove", {}, 60);
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(ended.out + ended.err, "");
    EXPECT_FALSE(exists(dir()));
    EXPECT_FALSE(exists(retired()));
  }

  // levels/levels/..., deeper than any path can name.
  static void make_deep(const std::string& top, int levels) {
    int at = open(top.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    for (int i = 0; i < levels; ++i) {
      ASSERT_EQ(mkdirat(at, "d", 0755), 0);
      const int below = openat(at, "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      ASSERT_GE(below, 0);
      const int made = openat(at, "f", O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
      close(made);
      close(at);
      at = below;
    }
    close(at);
  }
};

TEST_F(RemoveVerb, deletes_a_session_in_any_state_that_is_over) {
  expect_removed();  // new
  expect_removed();  // gone already
  fs::create_directory(dir());
  EXPECT_EQ(does("stop", {"--timeout", "5"}).status, 0);
  expect_removed();  // fenced
  fs::create_directory(dir());
  EXPECT_EQ(end_of(launching({}, actor({"exit:1"})), 30).status, 1);
  expect_removed();  // done
  Ended no_parent = end_of(plain({"remove", "--session", path("no/parent")}));
  EXPECT_EQ(no_parent.status, 0);
}

TEST_F(RemoveVerb, leaves_what_is_mounted_in_the_directory) {
  NEEDS_ROOT();
  fs::create_directory(dir());
  const std::string mounted = dir() + "/mounted";
  const std::string precious = mounted + "/sub/precious";
  fs::create_directory(mounted);
  ASSERT_EQ(mount("none", mounted.c_str(), "tmpfs", 0, ""), 0);
  fs::create_directories(precious);
  const Ended ended = does("remove", {}, 60);
  EXPECT_EQ(ended.status, 1) << ended.text();
  const bool there = exists(retired() + "/mounted/sub/precious");
  EXPECT_EQ(umount2((retired() + "/mounted").c_str(), MNT_DETACH), 0);
  EXPECT_TRUE(there) << ended.text();
  // Once it is gone, the next attempt finishes.
  expect_removed();
}

TEST_F(RemoveVerb, refuses_while_a_half_lives) {
  launch_detached({}, mild());
  ASSERT_TRUE(beats_.alive(1));
  for (int i = 0; i < 3; ++i) {
    const Ended refused = does("remove");
    EXPECT_EQ(refused.status, 1);
    EXPECT_TRUE(is_one_line(refused.err));
  }
  EXPECT_TRUE(exists(file("launch.claim")));
  EXPECT_TRUE(beats_.alive(1));
  EXPECT_EQ(does("stop", {"--timeout", "30"}).status, 0);
  EXPECT_TRUE(beats_.gone(1));
  expect_removed();
}

TEST_F(RemoveVerb, a_launch_that_comes_late_finds_nothing) {
  expect_removed();
  EXPECT_EQ(end_of(launching({}, mild())).status, 121);
  EXPECT_FALSE(exists(dir()));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(RemoveVerb, follows_no_link) {
  fs::create_directories(path("precious/deep"));
  write_file(path("precious/deep/file"), "keep");
  fs::create_directory_symlink(path("precious"), file("link"));
  fs::create_directory(file("below"));
  fs::create_directory_symlink(path("precious/deep"), file("below/link"));
  fs::create_directory_symlink("..", file("below/up"));
  fs::create_symlink("/", file("root"));
  expect_removed();
  EXPECT_EQ(read_file(path("precious/deep/file")), "keep");
}

TEST_F(RemoveVerb, takes_no_link_for_the_session) {
  fs::create_directories(path("precious"));
  write_file(path("precious/file"), "keep");
  fs::remove(dir());
  fs::create_directory_symlink(path("precious"), dir());
  for (const std::string& name : {dir(), dir() + "/"}) {
    const Ended ended = end_of(plain({"remove", "--session", name}));
    EXPECT_NE(ended.status, 0) << name;
    EXPECT_TRUE(is_one_line(ended.err));
  }
  EXPECT_EQ(read_file(path("precious/file")), "keep");
  EXPECT_TRUE(exists(dir()));
}

TEST_F(RemoveVerb, takes_no_link_for_what_was_retired) {
  fs::create_directories(path("precious"));
  write_file(path("precious/file"), "keep");
  fs::create_directory_symlink(path("precious"), retired());
  const Ended ended = does("remove");
  EXPECT_NE(ended.status, 0);
  EXPECT_TRUE(is_one_line(ended.err));
  EXPECT_EQ(read_file(path("precious/file")), "keep");
  EXPECT_FALSE(exists(path("precious/s"))) << "the session was moved into it";
  EXPECT_TRUE(exists(dir()));
}

TEST_F(RemoveVerb, what_an_earlier_removal_left_goes_too) {
  fs::create_directories(retired() + "/a/b");
  write_file(retired() + "/a/b/c", "x");
  expect_removed();
  fs::create_directories(retired() + "/a/b");  // and where only that is left
  expect_removed();
}

TEST_F(RemoveVerb, deletes_deep_and_wide_trees) {
  make_deep(dir(), 5000);
  fs::create_directory(file("wide"));
  for (int i = 0; i < 3000; ++i) write_file(file("wide/" + std::to_string(i)), "");
  for (int i = 0; i < 200; ++i) {
    fs::create_directories(file("many/" + std::to_string(i) + "/a/b"));
  }
  expect_removed();
}

TEST_F(RemoveVerb, names_that_look_like_its_own_are_no_trouble) {
  // What it lifts to the top gets a name; the worker may have used any.
  for (int i = 1; i < 40; ++i) {
    const std::string name = file(".quietus-" + std::to_string(i));
    if (i % 3 == 0) {
      write_file(name, "");
    } else {
      fs::create_directories(name + "/x/y/z");
      write_file(name + "/x/y/z/f", "");
    }
  }
  fs::create_directories(file("a/b/c/d/e/f/g"));
  expect_removed();
}

TEST_F(RemoveVerb, may_be_killed_at_any_time_and_repeated) {
  for (int round = 0; round < 12; ++round) {
    fs::create_directory(dir());
    make_deep(dir(), 300);
    for (int i = 0; i < 60; ++i) fs::create_directories(file("w" + std::to_string(i) + "/a/b/c"));
    for (int kills = 0; kills < 3; ++kills) {
      Running removing = start(verb("remove"));
      usleep(useconds_t(500 + round * 1500));
      kill(removing.pid(), SIGKILL);
      (void)removing.wait();
    }
    expect_removed();
  }
}

TEST_F(RemoveVerb, several_at_once_leave_nothing) {
  for (int round = 0; round < 5; ++round) {
    fs::create_directory(dir());
    for (int i = 0; i < 60; ++i) fs::create_directories(file("w" + std::to_string(i) + "/a/b/c"));
    std::vector<Running> removals;
    for (int i = 0; i < 4; ++i) removals.push_back(start(verb("remove")));
    for (Running& removal : removals) (void)removal.wait(60);
    expect_removed();
  }
}

TEST_F(RemoveVerb, without_privilege_it_opens_what_its_owner_closed) {
  NEEDS_ROOT();
  const unsigned uid = lonely_uid();
  const std::string home = path("home");
  fs::create_directory(home);
  ASSERT_EQ(chown(home.c_str(), uid, uid), 0);
  const std::string session = home + "/s";
  const auto as_owner = [&](Launch launch) {
    Running running = start(as_user(std::move(launch), uid));
    return running.wait(60);
  };
  Launch make;
  make.words = {"/bin/sh", "-c",
                "umask 077; mkdir -p $0/none/a/b $0/readonly/a/b $0/write/a/b $0/search/a/b && "
                "for d in none readonly write search; do echo x > $0/$d/f; echo x > $0/$d/a/f; "
                "done; chmod 000 $0/none/a/b $0/none/a $0/none; chmod 555 $0/readonly/a/b "
                "$0/readonly/a $0/readonly; chmod 333 $0/write; chmod 111 $0/search/a $0/search",
                session};
  ASSERT_EQ(as_owner(make).status, 0);
  // A stranger cannot, and changes nothing.
  Running stranger = start(as_user(plain({"remove", "--session", session}), uid + 1));
  EXPECT_NE(stranger.wait().status, 0);
  EXPECT_TRUE(exists(session + "/none"));
  const Ended ended = as_owner(plain({"remove", "--session", session}));
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_TRUE(fs::is_empty(home));
}

}  // namespace

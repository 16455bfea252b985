// The stop file: every kind of file, every way in which it can appear.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <functional>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

void make_socket(const std::string& at) {
  const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  snprintf(address.sun_path, sizeof address.sun_path, "%s", at.c_str());
  ASSERT_EQ(bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  close(fd);
}

struct Kind {
  const char* name;
  std::function<void(const std::string& at)> make;
};

const Kind kKinds[] = {
    {"file", [](const std::string& at) { write_file(at, ""); }},
    {"directory", [](const std::string& at) { fs::create_directory(at); }},
    {"symlink", [](const std::string& at) { fs::create_symlink("/etc/passwd", at); }},
    {"dangling symlink", [](const std::string& at) { fs::create_symlink("launch", at); }},
    {"symlink to itself", [](const std::string& at) { fs::create_symlink(at, at); }},
    {"named pipe", [](const std::string& at) { mkfifo(at.c_str(), 0600); }},
    {"socket", make_socket},
    {"unreadable file",
     [](const std::string& at) { close(open(at.c_str(), O_CREAT | O_WRONLY, 0)); }},
};

class StopFile : public Scenario {
 protected:
  Running started(const std::string& stop) {
    Running running = start(bare({"--stop-file", stop}, actor({"touch:1", "beat:2"})));
    EXPECT_TRUE(beats_.alive(2)) << "the worker did not start";
    return running;
  }
  void expect_stopped(Running& running, const std::string& what) {
    const Ended ended = running.wait();
    EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}})) << what;
    EXPECT_TRUE(beats_.still(2)) << what;
    clear_records();
  }
};

TEST_F(StopFile, of_any_kind_prevents_the_launch) {
  for (const Kind& kind : kKinds) {
    kind.make(path("stop"));
    const Ended ended = end_of(bare({"--stop-file", path("stop")}, actor({"touch:1"})));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, std::nullopt, std::nullopt, false)) << kind.name;
    EXPECT_EQ(beats_.count(1), 0u) << kind.name << ": the worker ran";
    fs::remove(path("stop"));
    clear_records();
  }
}

TEST_F(StopFile, of_any_kind_stops_a_running_worker) {
  for (const Kind& kind : kKinds) {
    Running running = started(path("stop"));
    kind.make(path("stop"));
    expect_stopped(running, kind.name);
    fs::remove(path("stop"));
  }
}

TEST_F(StopFile, that_is_renamed_or_linked_into_place_stops) {
  write_file(path("ready"), "");
  Running first = started(path("stop"));
  fs::rename(path("ready"), path("stop"));
  expect_stopped(first, "rename");
  fs::rename(path("stop"), path("ready"));
  Running second = started(path("stop"));
  fs::create_hard_link(path("ready"), path("stop"));
  expect_stopped(second, "hard link");
}

TEST_F(StopFile, in_a_directory_that_is_made_later_stops) {
  Running running = started(path("a/b/stop"));
  fs::create_directories(path("a/b"));
  write_file(path("a/b/stop"), "");
  expect_stopped(running, "late directory");
}

TEST_F(StopFile, in_a_directory_that_was_replaced_stops) {
  fs::create_directory(path("d"));
  Running running = started(path("d/stop"));
  fs::rename(path("d"), path("old"));
  fs::create_directory(path("d"));
  write_file(path("d/stop"), "");
  expect_stopped(running, "replaced directory");
}

TEST_F(StopFile, in_a_directory_that_was_removed_and_made_anew_stops) {
  fs::create_directory(path("d"));
  Running running = started(path("d/stop"));
  fs::remove(path("d"));
  fs::create_directory(path("d"));
  write_file(path("d/stop"), "");
  expect_stopped(running, "directory made anew");
}

TEST_F(StopFile, behind_a_symlink_that_changes_its_target_stops) {
  fs::create_directory(path("one"));
  fs::create_directory(path("two"));
  fs::create_symlink("one", path("d"));
  Running running = started(path("d/stop"));
  write_file(path("two/stop"), "");
  fs::create_symlink("two", path("next"));
  fs::rename(path("next"), path("d"));
  expect_stopped(running, "symlinked directory");
}

TEST_F(StopFile, in_a_moved_directory_is_found_by_its_path_and_not_by_its_inode) {
  fs::create_directory(path("d"));
  Running running = started(path("d/stop"));
  fs::rename(path("d"), path("old"));
  write_file(path("old/stop"), "");
  EXPECT_TRUE(beats_.reaches(2, beats_.count(2) + 120)) << "stopped by a file at another path";
  running.signal(SIGTERM);
  expect_stopped(running, "TERM");
}

TEST_F(StopFile, is_named_relative_to_where_quietus_was_started) {
  Launch launch = bare({"--stop-file", "stop"}, actor({"chdir:/", "touch:1", "beat:2"}));
  launch.directory = path("");
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(2));
  write_file(path("stop"), "");
  expect_stopped(running, "relative");
}

TEST_F(StopFile, is_left_alone) {
  Running running = started(path("stop"));
  write_file(path("stop"), "mine");
  expect_stopped(running, "file");
  EXPECT_EQ(read_file(path("stop")), "mine");
}

TEST_F(StopFile, neighbours_mean_nothing) {
  Running running = started(path("stop"));
  for (const char* name : {"stop2", "Stop", "stop.tmp", "expire"}) write_file(path(name), "");
  EXPECT_TRUE(beats_.reaches(2, beats_.count(2) + 100));
  running.signal(SIGTERM);
  expect_stopped(running, "TERM");
}

TEST_F(StopFile, that_cannot_be_looked_up_prevents_the_launch) {
  NEEDS_ROOT();
  fs::create_directory(path("secret"));
  fs::permissions(path("secret"), fs::perms(0700));
  write_file(path("secret/stop"), "");
  const Ended ended =
      end_of(as_user(bare({"--stop-file", path("secret/stop")}, actor({"touch:1"})), lonely_uid()));
  EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::any}));
  EXPECT_EQ(beats_.count(1), 0u) << "the worker ran";
}

TEST_F(StopFile, is_seen_without_inotify) {
  Launch launch = bare({"--stop-file", path("stop")}, actor({"touch:1", "beat:2"}));
  launch.inner = {deny_binary(), "--errno", "EMFILE", "inotify_init1", "--"};
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(2));
  write_file(path("stop"), "");
  expect_stopped(running, "no inotify");
}

TEST_F(StopFile, that_the_worker_makes_itself_stops_it) {
  const Ended ended = end_of(
      bare({"--stop-file", path("stop")}, actor({"write:" + path("stop") + ":x", "beat:1"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, std::nullopt, false));
}

class ExpireFile : public Scenario {};

TEST_F(ExpireFile, of_any_kind_expires_a_running_worker) {
  for (const Kind& kind : kKinds) {
    Running running = start(bare({"--expire-file", path("expire")}, actor({"touch:1", "beat:2"})));
    ASSERT_TRUE(beats_.alive(2)) << kind.name;
    kind.make(path("expire"));
    EXPECT_EQ(running.wait().receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true))
        << kind.name;
    fs::remove(path("expire"));
    clear_records();
  }
}

TEST_F(ExpireFile, lies_beside_the_stop_file_and_both_are_heard) {
  Running running = start(
      bare({"--stop-file", path("d/stop"), "--expire-file", path("d/expire")}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  fs::create_directory(path("d"));
  write_file(path("d/expire"), "");
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true));
}

class LaunchRace : public Scenario {};

TEST_F(LaunchRace, a_stop_at_any_moment_of_the_start_is_never_lost) {
  for (int i = 0; i < 24; ++i) {
    Launch launch =
        bare({"--stop-file", path("stop"), "--timeout", "60"}, actor({"touch:1", "beat:2"}));
    launch.in_child = ignoring({SIGTERM});  // as the launch protocol does until a handler stands
    const uint64_t ran_before = beats_.count(1);
    Running running = start(launch);
    usleep(unsigned(i) * 400);  // walks over the few milliseconds of a start
    write_file(path("stop"), "");
    running.signal(SIGTERM);
    const Ended ended = running.wait();
    EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt, -SIGTERM, -SIGKILL}})) << i;
    if (ended.receipt && !ended.receipt->return_code) {
      EXPECT_EQ(beats_.count(1), ran_before) << "null, although the worker ran";
    }
    fs::remove(path("stop"));
    clear_records();
  }
}

TEST_F(LaunchRace, a_term_at_any_moment_of_the_start_is_never_lost) {
  // A TERM before quietus' first instruction ends it as any program: then nothing ran.
  for (int i = 0; i < 30; ++i) {
    const uint64_t ran_before = beats_.count(1);
    Running running = start(bare({"--timeout", "60"}, actor({"touch:1", "beat:2"})));
    usleep(unsigned(i) * 300);
    running.signal(SIGTERM);
    const Ended ended = running.wait();
    if (ended.status == -SIGTERM) {
      EXPECT_FALSE(ended.has_receipt) << ended.text();
      EXPECT_EQ(beats_.count(1), ran_before) << i;
    } else {
      EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt, -SIGTERM, -SIGKILL}})) << i;
    }
    EXPECT_TRUE(ended.survivors.empty()) << ended.text();
    EXPECT_TRUE(beats_.still(2));
    clear_records();
  }
}

}  // namespace

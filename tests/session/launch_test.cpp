// launch and create: what is claimed, what is refused, and that every failure after the claim ends
// in a receipt.
#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "session_scene.hpp"

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class LaunchVerb : public SessionScene {
 protected:
  Ended launch(const Words& options, const Words& command) {
    return end_of(launching(options, command), 60);
  }
  bool is_empty() const { return fs::is_empty(dir()); }
};

TEST_F(LaunchVerb, runs_the_command_and_leaves_every_record) {
  const Ended ended = launch(
      {}, actor({"say:out", "say:err:2", "daemon", "[", "beat:1", "]", "await:1", "exit:7"}));
  EXPECT_EQ(ended.status, 7);
  EXPECT_TRUE(receipt_is(ended, {.codes = {7}}));
  ASSERT_TRUE(ended.report);
  EXPECT_EQ(ended.report->text("/cause"), "exited");
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_EQ(fs::read_symlink(file("launch.claim")), "launch");
  EXPECT_EQ(read_file(file("output.log")), "out\nerr\n");
  const Json identity = Json::parse(read_file(file("supervisor.id")));
  EXPECT_EQ(read_file(file("supervisor.pid")),
            std::to_string(identity.integer("/guardian/pid")) + "\n");
  EXPECT_GT(identity.integer("/supervisor/start_ticks"), 0);
  EXPECT_EQ(identity.text("/boot_id") + "\n", read_file("/proc/sys/kernel/random/boot_id"));
  EXPECT_EQ(identity.text("/pid_namespace"), fs::read_symlink("/proc/self/ns/pid"));
  for (const auto& entry : fs::directory_iterator(dir())) {
    EXPECT_FALSE(entry.path().filename().string().starts_with(".")) << "left over: " << entry;
  }
}

TEST_F(LaunchVerb, the_output_can_be_cut) {
  const Ended ended = launch({"--output-limit", "1000"}, actor({"print:100000"}));
  EXPECT_EQ(ended.status, 0) << ended.text();
  const std::string log = read_file(file("output.log"));
  EXPECT_LT(log.size(), 2000u);
  EXPECT_GT(log.size(), 900u);
}

TEST_F(LaunchVerb, without_its_directory_it_starts_nothing) {
  fs::remove(dir());
  const Ended ended = launch({}, mild());
  EXPECT_EQ(ended.status, 121);
  EXPECT_TRUE(is_one_line(ended.err));
  EXPECT_FALSE(exists(dir()));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(LaunchVerb, in_a_link_or_a_file_it_starts_nothing) {
  fs::create_directory(path("elsewhere"));
  fs::remove(dir());
  fs::create_directory_symlink(path("elsewhere"), dir());
  EXPECT_EQ(launch({}, mild()).status, 121);
  EXPECT_TRUE(fs::is_empty(path("elsewhere")));
  fs::remove(dir());
  write_file(dir(), "");
  const Ended ended = launch({}, mild());
  EXPECT_EQ(ended.status, 121);
  EXPECT_TRUE(is_one_line(ended.err));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(LaunchVerb, after_a_stop_it_starts_nothing) {
  EXPECT_EQ(does("stop", {"--timeout", "5"}).status, 0);
  const Ended ended = launch({}, mild());
  EXPECT_EQ(ended.status, 121);
  EXPECT_TRUE(is_one_line(ended.err));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, std::nullopt, std::nullopt, false));
  EXPECT_FALSE(exists(file("supervisor.pid")));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(LaunchVerb, a_second_one_starts_nothing_and_touches_nothing) {
  EXPECT_EQ(launch({}, actor({"touch:1", "exit:3"})).status, 3);
  const std::string before = read_file(file("cleanup.json"));
  const Ended second = launch({}, actor({"touch:1"}));
  EXPECT_EQ(second.status, 121);
  EXPECT_TRUE(is_one_line(second.err));
  EXPECT_EQ(beats_.count(1), 1u);
  EXPECT_EQ(read_file(file("cleanup.json")), before);
}

TEST_F(LaunchVerb, any_claim_that_is_there_counts) {
  // Whoever made it: never replaced, never followed.
  write_file(file("launch.claim"), "");
  const Ended ended = launch({}, mild());
  EXPECT_EQ(ended.status, 121);
  EXPECT_TRUE(is_one_line(ended.err));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(LaunchVerb, a_request_that_came_first_means_that_nothing_starts) {
  struct Case {
    const char* name;
    bool timed_out;
    int code;
  };
  for (const Case& c : {Case{"stop.request", false, 122}, Case{"kill.request", false, 122},
                        Case{"expire.request", true, 124}}) {
    fs::remove_all(dir());
    fs::create_directory(dir());
    write_file(file(c.name), "");
    const Ended ended = launch({}, actor({"touch:1"}));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, std::nullopt, std::nullopt, c.timed_out))
        << c.name;
    EXPECT_EQ(ended.status, c.code) << c.name << ended.text();
    EXPECT_EQ(beats_.count(1), 0u);
  }
}

TEST_F(LaunchVerb, each_failure_after_the_claim_ends_in_a_receipt) {
  struct Case {
    const char* name;
    Words command;
    int code;
  };
  for (const Case& c : {Case{"supervisor.pid", mild(), 125}, Case{"supervisor.id", mild(), 125},
                        Case{"output.log", mild(), 125}, Case{"", {"/nowhere/at/all"}, 127},
                        Case{"", {dir()}, 126}}) {
    fs::remove_all(dir());
    fs::create_directory(dir());
    if (*c.name != '\0') fs::create_directory(file(c.name));
    const Ended ended = launch({}, c.command);
    EXPECT_EQ(ended.status, c.code) << c.name << ended.text();
    EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some})) << c.name;
    EXPECT_EQ(fs::read_symlink(file("launch.claim")), "launch");
    // And the session is over for every other verb.
    EXPECT_EQ(does("stop", {"--timeout", "5"}).out, ended.receipt_bytes + "\n") << c.name;
    EXPECT_EQ(status().text("/state"), "done") << c.name;
    EXPECT_EQ(does("remove").status, 0) << c.name;
    EXPECT_FALSE(exists(dir())) << c.name;
    EXPECT_EQ(beats_.count(1), 0u);
  }
}

TEST_F(LaunchVerb, a_full_disk_claims_nothing) {
  NEEDS_ROOT();
  ASSERT_EQ(mount("none", dir().c_str(), "tmpfs", 0, "size=16k"), 0);
  const int ballast = open(file("ballast").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  const std::string page(4096, 'x');
  while (write(ballast, page.data(), page.size()) > 0) {
  }
  close(ballast);
  const Ended ended = launch({}, mild());
  EXPECT_EQ(ended.status, 125);
  EXPECT_TRUE(is_one_line(ended.err));
  EXPECT_TRUE(holds(ended.err, "No space left"));
  EXPECT_FALSE(exists(file("launch.claim")));
  EXPECT_EQ(std::distance(fs::directory_iterator(dir()), {}), 1) << "more than the ballast is left";
  EXPECT_EQ(beats_.count(1), 0u);
  // With the space back the same session can be launched.
  fs::remove(file("ballast"));
  EXPECT_EQ(launch({}, actor({"exit:5"})).status, 5);
  EXPECT_EQ(umount2(dir().c_str(), MNT_DETACH), 0);
}

TEST_F(LaunchVerb, a_disk_that_the_worker_fills_does_not_cost_the_receipt) {
  NEEDS_ROOT();
  ASSERT_EQ(mount("none", dir().c_str(), "tmpfs", 0, "size=128k"), 0);
  const Ended ended =
      launch({}, shell_then("cat /dev/zero > $0/ballast 2>/dev/null", actor({"exit:5"})));
  EXPECT_EQ(ended.receipt ? ended.receipt->return_code : std::nullopt, 5) << ended.text();
  EXPECT_TRUE(ended.receipt && ended.receipt->cleanup_confirmed) << ended.text();
  EXPECT_EQ(umount2(dir().c_str(), MNT_DETACH), 0);
}

TEST_F(LaunchVerb, contradictions_are_refused_before_anything_is_claimed) {
  for (const Words& options :
       {Words{"--detach", "--lease", "stdin"}, Words{"--detach", "--die-with-parent"},
        Words{"--receipt", path("r")}, Words{"--report", path("r")},
        Words{"--stop-file", path("r")}, Words{"--expire-file", path("r")},
        Words{"--output", path("r")}, Words{"--lease", "stdin", "--lease", "5"},
        Words{"--lease", "0"}, Words{"--lease", "never"}, Words{"--command-fd", "1"},
        Words{"--command-fd", "2"}, Words{"--command-fd", "-1"}, Words{"--command-fd", "0"},
        Words{"--now"}, Words{"--json"},
        Words{"--output-limit", "1000", "--descendants", "group"}}) {
    const Ended ended = end_of(launching(options, mild()));
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(options) << ended.text();
    EXPECT_TRUE(is_one_line(ended.err));
    EXPECT_TRUE(is_empty()) << testing::PrintToString(options);
  }
  for (const Words& words : {Words{"launch", "--", "true"}, Words{"launch", "--session", ""},
                             Words{"launch", "--session", dir()}, Words{"stop"},
                             Words{"stop", "--session", dir(), "more"}, Words{"remove"},
                             Words{"wait", "--session", dir(), "--now"},
                             Words{"create", "--session", dir(), "--timeout", "1"}}) {
    const Ended ended = end_of(plain(words));
    EXPECT_EQ(ended.status, 2) << testing::PrintToString(words) << ended.text();
    EXPECT_TRUE(is_empty());
  }
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(LaunchVerb, its_standard_input_is_the_callers_unless_it_has_another_use) {
  int pipe_ends[2];
  ASSERT_EQ(pipe2(pipe_ends, O_CLOEXEC), 0);
  ASSERT_EQ(write(pipe_ends[1], "hello", 5), 5);
  close(pipe_ends[1]);
  Launch launch = launching({}, {"/bin/cat"});
  launch.in = pipe_ends[0];
  EXPECT_EQ(end_of(launch).status, 0);
  close(pipe_ends[0]);
  EXPECT_EQ(read_file(file("output.log")), "hello");
}

TEST_F(LaunchVerb, create_makes_a_private_directory_and_may_be_repeated) {
  fs::remove(dir());
  for (int i = 0; i < 3; ++i) {
    const Ended ended = does("create");
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(ended.out + ended.err, "");
  }
  struct stat info;
  ASSERT_EQ(lstat(dir().c_str(), &info), 0);
  EXPECT_TRUE(S_ISDIR(info.st_mode));
  EXPECT_EQ(info.st_mode & 07777, 0700u);
  EXPECT_EQ(launch({}, actor({"exit:0"})).status, 0);
  // Used up: whoever repeats it now must not believe in a fresh one.
  EXPECT_EQ(does("create").status, 125);
}

TEST_F(LaunchVerb, create_takes_no_link_and_no_file_for_a_directory) {
  fs::remove(dir());
  fs::create_directory(path("elsewhere"));
  fs::create_directory_symlink(path("elsewhere"), dir());
  EXPECT_EQ(does("create").status, 125);
  fs::remove(dir());
  write_file(dir(), "");
  const Ended ended = does("create");
  EXPECT_EQ(ended.status, 125);
  EXPECT_TRUE(is_one_line(ended.err));
  fs::remove(dir());
  Ended no_parent = end_of(plain({"create", "--session", path("no/parent")}));
  EXPECT_EQ(no_parent.status, 125);
}

}  // namespace

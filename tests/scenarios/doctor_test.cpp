// quietus doctor: passes where everything ends, and says so where it does not.
#include <algorithm>
#include <csignal>
#include <filesystem>
#include <optional>

#include "bare_root.hpp"
#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Doctor : public Scenario {
 protected:
  Launch here() const {
    Launch launch = plain({"doctor"});
    launch.directory = path("");
    return launch;
  }
  Launch denied(Launch launch, const std::string& calls) const {
    launch.inner = Words{deny_binary(), "--errno", "EPERM", calls, "--"} + launch.inner;
    return launch;
  }
  static int count(const std::string& text, const std::string& part) {
    int found = 0;
    for (size_t at = 0; (at = text.find(part, at)) != text.npos; ++at) ++found;
    return found;
  }
  static std::string words(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
  // Everything was started, ended and confirmed, by this means.
  static void expect_passed(const Ended& ended, const std::string& means) {
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(count(ended.out, "lived, gone"), 4);
    EXPECT_TRUE(holds(ended.out, "all of them lived on"));
    EXPECT_TRUE(holds(ended.out, "The pipe is at its end; exit code 122."));
    EXPECT_TRUE(holds(words(ended.out), "by means of " + means + ":"));
    EXPECT_TRUE(holds(ended.out, "What can still escape: "));
    EXPECT_TRUE(holds(ended.out, "\nPassed.\n"));
    EXPECT_EQ(ended.err, "");
    for (const std::string& line : split(ended.out, '\n')) EXPECT_LT(line.size(), 80u) << line;
  }
  static void expect_failed(const Ended& ended) {
    EXPECT_EQ(ended.status, 1) << ended.text();
    EXPECT_TRUE(holds(ended.out, "No guarantee can be given here.\n\nFAILED.\n"));
    EXPECT_EQ(count(ended.out, "Passed"), 0);
  }
};

TEST_F(Doctor, shows_that_everything_ends_and_keeps_no_file) {
  NEEDS(!wrapper_denies("prctl:set_child_subreaper"), "subreaper under the wrapper");
  const Ended ended = end_of(here(), 60);
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_TRUE(holds(words(ended.out), "Receipt: " + exactly(true, -SIGKILL, std::nullopt, false)));
  for (const auto& entry : std::filesystem::directory_iterator(path(""))) {
    EXPECT_NE(entry.path().filename().string().rfind(".quietus", 0), 0u) << entry.path();
  }
}

TEST_F(Doctor, uses_the_shield_where_it_can_be_had) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  expect_passed(end_of(here(), 60), "shield");
  NEEDS_ROOT();
  expect_passed(end_of(as_user(here(), lonely_uid()), 60), "shield");
}

TEST_F(Doctor, uses_a_namespace_where_there_is_no_shield) {
  NEEDS_ROOT();
  NEEDS(wrapper().empty(), "namespaces under the wrapper");
  expect_passed(end_of(denied(here(), "landlock_create_ruleset"), 60), "isolate");
}

TEST_F(Doctor, is_heard_although_interrupts_are_ignored) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  Launch launch = here();
  launch.in_child = ignoring({SIGINT, SIGCHLD});
  expect_passed(end_of(launch, 60), "shield");
}

TEST_F(Doctor, says_so_where_the_supervisor_refuses) {
  NEEDS(wrapper().empty(), "room for a second wrapper");
  const Ended ended = end_of(denied(here(), "signalfd4"), 60);
  expect_failed(ended);
  EXPECT_EQ(count(ended.out, "NOT STARTED"), 4);
  EXPECT_TRUE(holds(ended.out, "signalfd4"));
}

TEST_F(Doctor, says_so_where_nobody_can_be_started) {
  NEEDS(wrapper().empty(), "room for a second wrapper");
  const Ended ended = end_of(denied(here(), "clone,clone3,fork,vfork"), 60);
  expect_failed(ended);
  EXPECT_EQ(count(ended.out, "NOT STARTED"), 4);
}

TEST_F(Doctor, says_so_where_nobody_can_be_killed_and_leaves_nobody) {
  NEEDS(wrapper().empty(), "room for a second wrapper");
  Launch launch = denied(here(), "kill");
  launch.may_leave = true;  // for the seconds that its children give themselves
  const Ended ended = end_of(launch, 100);
  expect_failed(ended);
  EXPECT_EQ(count(ended.out, "STILL LIVES"), 4) << ended.text();
  EXPECT_TRUE(holds(ended.out, "The pipe is still held"));
  EXPECT_TRUE(eventually([] { return living_descendants().empty(); }));
}

class DoctorPlace : public Doctor {
 protected:
  void SetUp() override {
    NEEDS_ROOT();
    NEEDS(wrapper().empty(), "room for a wrapper in a chroot");
    root_.emplace(path("root"));
  }
  std::optional<BareRoot> root_;
};

TEST_F(DoctorPlace, the_binary_alone_is_enough) {
  NEEDS(has_signal_scope(), "Landlock signal scope");
  const Ended root = end_of(root_->launch({"/quietus", "doctor"}), 60);
  expect_passed(root, "shield");
  EXPECT_TRUE(holds(root.out, "Receipt: {"));
  const Ended user = end_of(root_->launch({"/quietus", "doctor"}, lonely_uid()), 60);
  expect_passed(user, "shield");
  EXPECT_TRUE(holds(user.out, "Receipt: none, for want of a directory"));
}

TEST_F(DoctorPlace, with_proc_alone_it_sweeps) {
  // In a chroot nobody gets a user namespace, and a v2 cgroup is not to be seen.
  root_->add(deny_binary(), "/deny");
  root_->add_directory("/proc");
  Launch launch;
  launch.form = Form::run;
  launch.words = {"/deny", "--errno",  "ENOSYS", "landlock_create_ruleset",
                  "--",    "/quietus", "doctor"};
  const std::string id = std::to_string(lonely_uid());
  launch.outer = {"unshare",
                  "--mount",
                  "--propagation",
                  "private",
                  "sh",
                  "-ec",
                  "mount -t proc proc " + root_->inside("/proc") + "; exec \"$@\"",
                  "sh",
                  "chroot",
                  "--userspec=" + id + ":" + id,
                  root_->inside("")};
  const Ended ended = end_of(launch, 60);
  expect_passed(ended, "sweep");
  EXPECT_TRUE(holds(words(ended.out), "A fork bomb can outrun that"));
}

}  // namespace

// Where a control group of version 2 can be written, quietus makes a leaf for the worker: stronger
// than a sweep, and no litter afterwards.
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "harness/scenario.hpp"
#include "harness/tracer.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

class Cgroup : public Scenario {
 protected:
  // The test moves into a group of its own, so that every leaf is made in there.
  void SetUp() override {
    NEEDS_ROOT();
    const std::string root = cgroup_v2();
    NEEDS(!root.empty(), "cgroup v2 that can be written");
    home_ = root + own_group();
    group_ = home_ + "/scene-" + std::to_string(getpid());
    NEEDS(fs::create_directory(group_), "writable cgroup v2");
    NEEDS(exists(group_ + "/cgroup.kill"), "cgroup.kill (Linux 5.14)");
    write_file(group_ + "/cgroup.procs", "0");
  }
  void TearDown() override {
    if (group_.empty()) return;
    Scenario::TearDown();
    write_file(home_ + "/cgroup.procs", "0");
    for (const std::string& leaf : leaves()) fs::remove(leaf);
    EXPECT_TRUE(eventually([&] { return rmdir(group_.c_str()) == 0; }));
  }
  static std::string own_group() {
    for (const std::string& line : split(read_file("/proc/self/cgroup"), '\n')) {
      if (line.rfind("0::", 0) == 0) return line.substr(3) == "/" ? "" : line.substr(3);
    }
    return "";
  }
  // Deepest first.
  Words leaves() const {
    Words found;
    for (const auto& entry : fs::recursive_directory_iterator(group_)) {
      if (entry.is_directory()) found.insert(found.begin(), entry.path().string());
    }
    return found;
  }
  void expect_no_litter() const {
    EXPECT_TRUE(leaves().empty()) << "left behind: " << leaves().front();
  }
  Words detached() const { return {"daemon", "[", "ignore:TERM", "beat:1", "]", "await:1"}; }

  std::string home_;
  std::string group_;
};

TEST_F(Cgroup, is_used_by_itself_and_removed) {
  const Ended ended = end_of(run({}, actor(detached() + Words{"exit:3"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {3}}));
  EXPECT_EQ(ended.report->text("/means"), "cgroup");
  EXPECT_EQ(ended.report->text("/proof"), "cgroup-unpopulated");
  expect_no_litter();
}

TEST_F(Cgroup, holds_the_worker_from_its_first_instruction) {
  Running running = start(bare({}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  const Words made = leaves();
  ASSERT_EQ(made.size(), 1u);
  const Words members = split(read_file(made.front() + "/cgroup.procs"), '\n');
  ASSERT_EQ(members.size(), 1u) << "the halves are in it, or the worker is not";
  EXPECT_EQ(process_row(std::stoi(members.front())).comm, "actor");
  running.signal(SIGTERM);
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGTERM}}));
  expect_no_litter();
}

TEST_F(Cgroup, is_removed_where_nothing_was_started) {
  (void)end_of(bare({}, {"/missing/bin"}));
  expect_no_litter();
  write_file(path("stop"), "");
  (void)end_of(bare({"--stop-file", path("stop")}, actor({"exit:0"})));
  expect_no_litter();
  (void)end_of(bare({"-C", path("gone")}, actor({"exit:0"})));
  expect_no_litter();
}

TEST_F(Cgroup, is_removed_where_too_few_descriptors_are_left) {
  for (unsigned long limit = 4; limit <= 14; ++limit) {
    Launch launch = run({"--stop-file", path("stop"), "--expire-file", path("expire"), "--output",
                         path("log"), "--output-limit", "1000"},
                        actor({"exit:0"}));
    launch.in_child = limiting(RLIMIT_NOFILE, limit, limit);
    (void)end_of(launch);
    EXPECT_TRUE(leaves().empty()) << "limit " << limit;
    for (const std::string& leaf : leaves()) fs::remove(leaf);
    clear_records();
  }
}

TEST_F(Cgroup, is_removed_by_whichever_half_is_left) {
  for (const bool guardian : {false, true}) {
    Running running =
        start(bare({"--cleanup-timeout", "0.5"}, actor(detached() + Words{"beat:2"})));
    ASSERT_TRUE(beats_.alive(2));
    kill(guardian ? running.guardian() : running.supervisor(), SIGKILL);
    (void)running.wait();
    EXPECT_TRUE(eventually([] { return living_descendants().empty(); }));
    EXPECT_TRUE(exists(path("receipt.json")));
    expect_no_litter();
    clear_records();
  }
}

TEST_F(Cgroup, that_the_worker_divided_is_emptied_and_removed) {
  // A worker that runs a container of its own makes groups inside.
  const Words script = {"sh", "-c",
                        "g=" + group_ + "/$(ls " + group_ +
                            " | grep quietus); mkdir $g/a $g/a/b; " +
                            "(echo 0 > $g/a/b/cgroup.procs; exec " + actor_binary() +
                            " beats:" + beats_.path() + " bound:20000 ignore:TERM beat:1) & exec " +
                            actor_binary() + " beats:" + beats_.path() + " await:1 exit:3"};
  const Ended ended = end_of(run({}, script));
  EXPECT_TRUE(receipt_is(ended, {.codes = {3}}));
  EXPECT_TRUE(beats_.gone(1));
  expect_no_litter();
}

TEST_F(Cgroup, that_a_root_worker_left_does_not_hide_it) {
  const Ended ended = end_of(
      run({"-k", "3"}, actor({"daemon", "[", "append:" + group_ + "/cgroup.procs:0", "ignore:TERM",
                              "touch:1", "beat:2", "]", "await:1", "exit:3"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {3}}));
  EXPECT_TRUE(beats_.gone(2)) << "escaped by leaving the group";
  expect_no_litter();
}

TEST_F(Cgroup, is_not_used_for_an_end_that_keeps_something) {
  Launch launch = run({"--descendants", "group"}, actor(detached() + Words{"exit:0"}));
  launch.may_leave = true;
  allow_leftovers();
  const Ended ended = end_of(launch);
  EXPECT_TRUE(receipt_is(ended, {.codes = {0}}));
  EXPECT_TRUE(beats_.alive(1));
  expect_no_litter();
}

TEST_F(Cgroup, of_a_nested_quietus_is_removed_as_well) {
  const Words inner = Words{quietus_binary(), "run", "--"} + actor(detached() + Words{"exit:4"});
  EXPECT_TRUE(receipt_is(end_of(bare({}, inner)), {.codes = {4}}));
  EXPECT_TRUE(beats_.gone(1));
  expect_no_litter();
}

TEST_F(Cgroup, of_a_nested_quietus_that_was_killed_is_removed_as_well) {
  const Words inner = Words{quietus_binary(), "run", "--"} +
                      actor({"daemon", "[", "beat:1", "]", "await:1", "beat:2"});
  Running running =
      start(bare({"--timeout", "1", "--cleanup-timeout", "0.3", "--signal", "KILL"}, inner));
  EXPECT_TRUE(receipt_is(running.wait(), {.codes = {-SIGKILL}, .timed_out = true}));
  EXPECT_TRUE(beats_.gone(1));
  EXPECT_TRUE(beats_.gone(2));
  expect_no_litter();
}

}  // namespace

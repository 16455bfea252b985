// The means of killing, as far as Linux 6.1 has them: no signal scope, so the shield is refused or
// given up; PID namespace, cgroup v2 and sweep.
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "scene.hpp"

namespace guest {

namespace {

constexpr const char* kRoot = "/sys/fs/cgroup";

const Words kDaemon = {"daemon", "[", "ignore:TERM", "beat:1", "]", "await:1"};

// What makes this the run on an old kernel; a newer one would have the shield.
void expect_no_signal_scope() {
  constexpr long kCreateRuleset = 444;
  constexpr int kAskForTheVersion = 1;
  constexpr int kFirstWithScope = 6;
  const long version = syscall(kCreateRuleset, nullptr, 0, kAskForTheVersion);
  expect(version < kFirstWithScope, "this kernel has the signal scope: an older one is needed");
}

void the_shield_is_refused_before_anything_runs(Scene& scene) {
  expect_no_signal_scope();
  for (const Place& place : {Place{}, with_cgroup(), unprivileged()}) {
    scene.run({"--shield"}, scene.actor({"touch:1"}), place);
    const Ended run = scene.end();
    same(run.status, 125);
    expect(run.error().find("--shield") != std::string::npos, run.receipt);
    run.told(receipt(true, {}, false, run.error()));
    same(run.parsed_report().text("/cause"), "launch-failed");
    scene.bare({"--shield"}, scene.actor({"touch:1"}), place);
    const Ended bare = scene.end();
    same(bare.status, 1);
    bare.told(run.receipt);
    same(scene.beats(1), 0u);
  }
}

void a_shield_that_is_tried_degrades_and_says_so(Scene& scene) {
  for (const Place& place : {Place{}, with_cgroup(), unprivileged()}) {
    scene.run({"--shield=try"}, scene.actor(kDaemon + Words{"await:2", "exit:3"}), place);
    scene.alive(1);
    scene.touch(2);
    const Ended ended = scene.end();
    ended.told(receipt(true, 3));
    same(ended.status, 3);
    same(ended.means(), place.cgroup.empty() ? "sweep" : "cgroup");
    const Json report = ended.parsed_report();
    const int at = report.find("/fallbacks", "instead", "no shield");
    expect(at >= 0, "the report hides it: " + ended.report);
    const std::string fallback = "/fallbacks/" + std::to_string(at);
    expect(report.text(fallback + "/call").starts_with("landlock"), ended.report);
    same(report.integer(fallback + "/errno"), ENOSYS);
  }
}

// --- isolation ---------------------------------------------------------------------------------

void isolation_withstands_kill_9_of_everybody(Scene& scene) {
  for (const Place& place : {Place{}, with_cgroup(), unprivileged()}) {
    scene.bare({"--isolate"},
               scene.actor({"daemon", "[", "ignore:TERM", "beat:1", "]", "await:4", "kill:KILL:all",
                            "kill:KILL:1", "kill:KILL:ppid", "exit:6"}),
               place);
    scene.alive(1);
    scene.touch(4);
    const Ended ended = scene.end();
    ended.told(receipt(true, 6));
    same(ended.proof(), "pid-namespace-gone");
  }
}

void isolation_ends_at_the_deadline(Scene& scene) {
  scene.run({"--isolate", "--timeout", "1", "--cleanup-timeout", "0.5"},
            scene.actor(Words{"ignore:TERM"} + kDaemon + Words{"beat:2"}));
  scene.alive(1);
  scene.alive(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL, true));
  same(ended.status, 124);
  same(ended.means(), "isolate");
}

void isolation_ends_hoppers(Scene& scene) {
  scene.run({"--isolate"}, scene.actor({"hop:16:1", "await:1:60", "await:2", "exit:6"}));
  scene.reaches(1, 60);
  scene.alive(1);
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 6));
  same(ended.means(), "isolate");
}

void isolation_hides_everybody_else(Scene& scene) {
  scene.bare({"--isolate"}, scene.actor({"record:" + scene.path("record")}));
  scene.end().told(receipt(true, 0));
  const auto record = Json::parse(read_file(scene.path("record")));
  const int64_t pid = record.integer("/pid");
  expect(pid > 1 && pid < 10, std::to_string(pid));
  same(record.size("/fds"), 3u);
  same(record.text("/fds/0"), "/dev/null");  // seen through a /proc of the namespace's own
}

void isolation_stops_by_term(Scene& scene) {
  const pid_t quietus =
      scene.run({"--isolate"}, scene.actor(kDaemon + Words{"trap:TERM:5", "beat:2"}));
  scene.alive(1);
  scene.alive(2);
  kill(quietus, SIGTERM);
  const Ended ended = scene.end();
  ended.told(receipt(true, 5));
  same(ended.status, 122);
}

// --- cgroup ------------------------------------------------------------------------------------

std::string leaf() {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(kRoot)) {
    if (entry.path().filename().string().starts_with("quietus-")) return entry.path();
  }
  return "";
}

void a_cgroup_is_used_by_itself(Scene& scene) {
  scene.run({}, scene.actor(kDaemon + Words{"await:2", "exit:3"}), with_cgroup());
  scene.alive(1);
  expect(leaf() != "", "no cgroup");
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 3));
  same(ended.means(), "cgroup");
  same(ended.proof(), "cgroup-unpopulated");
  same(ended.parsed_report().size("/fallbacks"), 0u);
}

void without_a_cgroup_it_sweeps(Scene& scene) {
  scene.run({}, scene.actor(kDaemon + Words{"await:2", "exit:3"}));
  scene.alive(1);
  expect(leaf() == "", "a cgroup");
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 3));
  same(ended.means(), "sweep");
  same(ended.proof(), "no-children-left");
}

void whoever_leaves_the_cgroup_is_found(Scene& scene) {
  scene.run(
      {},
      scene.actor({"daemon", "[", std::string("append:") + kRoot + "/cgroup.procs:0", "beat:1", "]",
                   "daemon", "[", "beat:3", "]", "await:1", "await:2", "exit:3"}),
      with_cgroup());
  scene.alive(1);
  scene.alive(3);
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 3));
  scene.nobody_lives();
}

void a_frozen_cgroup_ends_at_the_deadline(Scene& scene) {
  scene.run({"--timeout", "2", "--cleanup-timeout", "0.5"},
            scene.actor(Words{"ignore:TERM"} + kDaemon + Words{"beat:2"}), with_cgroup());
  scene.alive(1);
  scene.alive(2);
  write_file(leaf() + "/cgroup.freeze", "1");
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL, true));
}

// A directory that the administrator gave to the user, as systemd does.
void a_delegated_cgroup_serves_its_user(Scene& scene) {
  const std::string home = std::string(kRoot) + "/home";
  mkdir(home.c_str(), 0755);
  for (const char* file : {"", "/cgroup.procs", "/cgroup.subtree_control", "/cgroup.threads"}) {
    expect(chown((home + file).c_str(), 1000, 1000) == 0, "chown");
  }
  Place place = unprivileged();
  place.cgroup = home;
  scene.run({}, scene.actor(kDaemon + Words{"await:2", "exit:3"}), place);
  scene.alive(1);
  expect(leaf().starts_with(home + "/"), "no cgroup of the user's: " + leaf());
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 3));
  same(ended.means(), "cgroup");
  same(ended.proof(), "cgroup-unpopulated");
  expect(rmdir(home.c_str()) == 0, "rmdir");
}

// Every process forks for ever, under a limit: only an atomic means is sure to win.
void a_fork_bomb_in_a_cgroup(Scene& scene) {
  const std::string home = std::string(kRoot) + "/storm";
  write_file(std::string(kRoot) + "/cgroup.subtree_control", "+pids");
  mkdir(home.c_str(), 0755);
  write_file(home + "/pids.max", "80");
  Place place;
  place.cgroup = home;
  const pid_t quietus =
      scene.run({"--cleanup-timeout", "10"}, scene.actor({"bomb:1:50000", "beat:2"}), place);
  scene.wait_for("storm", [&] { return read_file(home + "/pids.current") == "80\n"; });
  scene.alive(1);
  kill(quietus, SIGTERM);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGTERM));
  same(ended.means(), "cgroup");
  expect(rmdir(home.c_str()) == 0, "rmdir");
}

void hoppers_in_a_cgroup(Scene& scene) {
  scene.run({"--cleanup-timeout", "10"},
            scene.actor({"hop:64:1", "await:1:200", "await:2", "exit:6"}), with_cgroup());
  scene.reaches(1, 200);
  scene.alive(1);
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 6));
  same(ended.means(), "cgroup");
}

}  // namespace

const std::vector<Case> kMeansCases = {
    {"--shield is refused before anything runs", the_shield_is_refused_before_anything_runs},
    {"--shield=try degrades and says so", a_shield_that_is_tried_degrades_and_says_so},
    {"--isolate withstands kill -9 -1", isolation_withstands_kill_9_of_everybody},
    {"--isolate ends at the deadline", isolation_ends_at_the_deadline},
    {"--isolate ends 16 fork-hopping chains", isolation_ends_hoppers},
    {"--isolate hides everybody else", isolation_hides_everybody_else},
    {"--isolate stops by TERM", isolation_stops_by_term},
    {"a cgroup is used by itself", a_cgroup_is_used_by_itself},
    {"without a cgroup it sweeps", without_a_cgroup_it_sweeps},
    {"whoever leaves the cgroup is found", whoever_leaves_the_cgroup_is_found},
    {"a frozen cgroup ends at the deadline", a_frozen_cgroup_ends_at_the_deadline},
    {"a delegated cgroup serves its user", a_delegated_cgroup_serves_its_user},
    {"a fork bomb in a cgroup", a_fork_bomb_in_a_cgroup},
    {"64 fork-hopping chains in a cgroup", hoppers_in_a_cgroup},
};

}  // namespace guest

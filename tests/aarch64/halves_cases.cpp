// One half of quietus is killed, stopped, or attacked by the worker: the other one ends the tree
// and tells what happened. On every kind of ground that this kernel has.
#include <signal.h>

#include "scene.hpp"

namespace guest {

namespace {

const Words kFamily = {"ignore:TERM", "repeat:8", "[", "daemon",    "[",      "ignore:TERM",
                       "touch:3",     "hold",     "]", "]",         "daemon", "[",
                       "ignore:TERM", "beat:1",   "]", "await:3:8", "beat:2"};

Words family() { return {"--cleanup-timeout", "0.3"}; }

void show_it_lives(Scene& scene) {
  scene.alive(1);
  scene.alive(2);
  scene.reaches(3, 8);
  expect(everybody().size() >= 10, "the family is not complete");
}

// Where a half is killed, and so with which means the other one has to end the tree.
struct Ground {
  const char* name;
  Words options;
  Place place;
};

std::vector<Ground> grounds() {
  Place without_proc;
  without_proc.proc = false;
  return {{"sweep", {}, {}},
          {"cgroup", {}, with_cgroup()},
          {"isolate", {"--isolate"}, {}},
          {"no /proc", {}, without_proc},
          {"uid 1000", {}, unprivileged()}};
}

// A receipt of an end by the other half: confirmed, with the words, never with an exit code that
// the worker did not have.
void expect_told(const Ended& ended, const std::string& error) {
  same(ended.error(), error);
  const bool known = ended.receipt == receipt(true, -SIGKILL, false, error);
  const bool unknown = ended.receipt == receipt(true, {}, false, error);
  expect(known || unknown, ended.receipt);
  same(ended.parsed_report().text("/cause"), "supervisor-killed");
}

void on_each_ground(Scene& scene, const std::function<void(Scene&)>& attack) {
  for (const Ground& ground : grounds()) {
    try {
      scene.run(family() + ground.options, scene.actor(kFamily), ground.place);
      show_it_lives(scene);
      attack(scene);
      scene.nobody_lives();
    } catch (const Failure& failure) {
      throw Failure(std::string(ground.name) + ": " + failure.what());
    }
  }
}

void kill_9_of_the_guardian(Scene& scene) {
  on_each_ground(scene, [](Scene& scene) {
    kill(scene.guardian(), SIGKILL);
    const Ended ended = scene.end_of_the_other_half();
    same(ended.status, -SIGKILL);
    expect_told(ended, "the guardian process was killed");
  });
}

void kill_9_of_the_supervisor(Scene& scene) {
  on_each_ground(scene, [](Scene& scene) {
    kill(scene.supervisor(), SIGKILL);
    const Ended ended = scene.end();
    same(ended.status, 125);
    expect_told(ended, "the supervisor process was killed by SIGKILL");
  });
}

void kill_9_of_both_never_lies(Scene& scene) {
  scene.some_may_stay();
  scene.run(family(), scene.actor(kFamily));
  show_it_lives(scene);
  const pid_t supervisor = scene.supervisor();
  // Stopped first, so that neither sees the other die.
  kill(scene.guardian(), SIGSTOP);
  kill(supervisor, SIGKILL);
  kill(scene.guardian(), SIGKILL);
  const Ended ended = scene.end();
  same(ended.status, -SIGKILL);
  ended.told("");
}

void kill_9_during_the_grace(Scene& scene) {
  for (const bool of_guardian : {true, false}) {
    const pid_t quietus = scene.run({"--cleanup-timeout", "1"},
                                    scene.actor({"note:TERM:" + scene.path("noted"), "daemon", "[",
                                                 "ignore:TERM", "beat:1", "]", "beat:2"}));
    scene.alive(1);
    const pid_t supervisor = scene.supervisor();
    kill(quietus, SIGTERM);
    scene.wait_for("TERM in the worker", [&] { return exists(scene.path("noted")); });
    scene.alive(1);
    kill(of_guardian ? quietus : supervisor, SIGKILL);
    const Ended ended = scene.end_of_the_other_half();
    expect(ended.error() != "", ended.receipt);
    expect(ended.receipt == receipt(true, -SIGKILL, false, ended.error()), ended.receipt);
    same(ended.parsed_report().text("/cause"), "stop");
    remove(scene.path("noted").c_str());
  }
}

void a_stopped_supervisor_keeps_the_deadline(Scene& scene) {
  scene.run(Words{"--timeout", "2"} + family(), scene.actor(kFamily));
  show_it_lives(scene);
  kill(scene.supervisor(), SIGSTOP);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL, true));
  same(ended.status, 124);
}

void a_stopped_guardian_keeps_the_deadline(Scene& scene) {
  scene.run(Words{"--timeout", "2"} + family(), scene.actor(kFamily));
  show_it_lives(scene);
  kill(scene.guardian(), SIGSTOP);
  scene.wait_for("receipt", [&] { return exists(scene.path("receipt")); });
  kill(scene.guardian(), SIGCONT);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL, true));
  same(ended.status, 124);
}

void the_worker_kills_its_parent(Scene& scene) {
  scene.run(family(), scene.actor({"daemon", "[", "ignore:TERM", "beat:1", "]", "await:1",
                                   "await:4", "kill:KILL:ppid", "ignore:TERM", "beat:2"}));
  scene.alive(1);
  scene.touch(4);
  const Ended ended = scene.end();
  same(ended.status, 125);
  expect_told(ended, "the supervisor process was killed by SIGKILL");
}

void the_worker_looks_for_its_own_words(Scene& scene) {
  for (const char* word : {"/actor", "beat", "ignore", "--", "receipt", "/tmp/case", "30000"}) {
    scene.run({}, scene.actor({"daemon", "[", "beat:1", "]", "await:1",
                               std::string("pkill:KILL:") + word, "exit:8"}));
    const Ended ended = scene.end();
    ended.told(receipt(true, 8));
    same(ended.status, 8);
    expect(scene.beats(1) > 0, "the daemon never lived");
  }
}

// Without a shield both halves die of it, and nobody can tell: there must be no receipt.
void kill_9_of_everybody_never_lies(Scene& scene) {
  scene.some_may_stay();
  scene.run(family(), scene.actor({"daemon", "[", "beat:1", "]", "await:1", "await:4",
                                   "kill:KILL:all", "exit:6"}));
  scene.alive(1);
  scene.touch(4);
  const Ended ended = scene.end();
  same(ended.status, -SIGKILL);
  ended.told("");
}

}  // namespace

const std::vector<Case> kHalvesCases = {
    {"kill -9 of the guardian", kill_9_of_the_guardian},
    {"kill -9 of the supervisor", kill_9_of_the_supervisor},
    {"kill -9 of both never lies", kill_9_of_both_never_lies},
    {"kill -9 of either half during the grace", kill_9_during_the_grace},
    {"a stopped supervisor keeps the deadline", a_stopped_supervisor_keeps_the_deadline},
    {"a stopped guardian keeps the deadline", a_stopped_guardian_keeps_the_deadline},
    {"the worker kills its parent", the_worker_kills_its_parent},
    {"the worker looks for its own words", the_worker_looks_for_its_own_words},
    {"kill -9 -1 without a shield never lies", kill_9_of_everybody_never_lies},
};

}  // namespace guest

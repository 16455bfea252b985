// What may be missing or odd where quietus is started: /proc, /dev, the standard descriptors,
// privileges, descriptors to spare.
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "scene.hpp"

namespace guest {

namespace {

Place without_proc() {
  Place place;
  place.proc = false;
  return place;
}

void no_proc_is_still_true(Scene& scene) {
  for (const unsigned uid : {0u, 1000u}) {
    Place place = without_proc();
    place.uid = uid;
    scene.bare({"--timeout", "2", "--cleanup-timeout", "0.5"},
               scene.actor({"ignore:TERM", "daemon", "[", "ignore:TERM", "beat:1", "]", "beat:2"}),
               place);
    scene.alive(1);
    scene.alive(2);
    const Ended ended = scene.end();
    ended.told(receipt(true, -SIGKILL, true));
    expect(ended.fell_back("/proc/thread-self/children"), "the report hides it: " + ended.report);
  }
}

void no_proc_and_200_descendants(Scene& scene) {
  scene.bare({},
             scene.actor({"repeat:200", "[", "daemon", "[", "ignore:TERM", "touch:1", "hold", "]",
                          "]", "await:1:200", "await:2", "exit:3"}),
             without_proc());
  scene.reaches(1, 200);
  expect(everybody().size() >= 200, "they are not there");
  scene.touch(2);
  scene.end().told(receipt(true, 3));
}

// Nobody promises the end of a storm that cannot even be listed. What is promised is the truth: the
// scene compares a confirmed receipt with the table of processes.
void no_proc_and_hoppers(Scene& scene) {
  scene.bare({"--cleanup-timeout", "0.5"},
             scene.actor({"hop:8:1", "await:1:60", "await:2", "exit:6"}), without_proc());
  scene.reaches(1, 60);
  scene.alive(1);
  scene.touch(2);
  const Ended ended = scene.end();
  if (ended.receipt != receipt(true, 6)) {
    scene.some_may_stay();
    ended.told(receipt(false, 6, false, "cleanup: processes remain alive"));
    same(ended.status, 1);
  }
}

void nothing_at_all(Scene& scene) {
  Place place = without_proc();
  place.dev = false;
  place.standard_descriptors = false;
  for (const char* limit : {"", "8"}) {
    if (*limit != '\0') {
      place.prepare = [] {
        const rlimit eight = {8, 8};
        setrlimit(RLIMIT_NOFILE, &eight);
      };
    }
    scene.bare({"--timeout", "20"},
               scene.actor({"daemon", "[", "beat:1", "]", "await:2", "exit:3"}), place);
    scene.alive(1);
    scene.touch(2);
    const Ended ended = scene.end();
    ended.told(receipt(true, 3));
    same(ended.status, 0);
  }
}

void as_the_first_process(Scene& scene) {
  Place place;
  place.first_process = true;
  const pid_t quietus = scene.run(
      {"--timeout", "20"},
      scene.actor({"daemon", "[", "ignore:TERM", "beat:1", "]", "trap:TERM:5", "beat:2"}), place);
  scene.alive(1);
  scene.alive(2);
  kill(quietus, SIGTERM);
  const Ended ended = scene.end();
  ended.told(receipt(true, 5));
  same(ended.status, 122);
}

void as_an_unprivileged_user(Scene& scene) {
  scene.run({"--timeout", "1.5", "--cleanup-timeout", "0.5"},
            scene.actor({"ignore:TERM", "repeat:20", "[", "daemon", "[", "ignore:TERM", "touch:3",
                         "hold", "]", "]", "daemon", "[", "ignore:TERM", "beat:1", "]", "beat:2"}),
            unprivileged());
  scene.reaches(3, 20);
  scene.alive(1);
  scene.alive(2);
  for (const Row& row : everybody()) {
    struct stat owner;
    // Our own halves hide themselves and belong to root for that.
    if (row.comm == "quietus") continue;
    expect(stat(("/proc/" + std::to_string(row.pid)).c_str(), &owner) == 0 && owner.st_uid == 1000,
           "not of this user");
  }
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL, true));
  same(ended.status, 124);
}

// A set-user-ID program that becomes root for good.
void what_may_not_be_signalled_is_named(Scene& scene) {
  scene.some_may_stay();
  const std::string helper = scene.path("helper");
  std::filesystem::copy_file("/actor", helper);
  chmod(helper.c_str(), 04755);
  scene.run({"--cleanup-timeout", "1"},
            scene.actor({"daemon", "[", "beat:2", "]", "fork", "[", "exec", helper, "bound:30000",
                         "beats:/tmp/case/beats", "setuid:0", "setsid", "ignore:TERM", "beat:1",
                         "]", "await:1", "await:2", "await:3", "exit:4"}),
            unprivileged());
  scene.alive(1);
  scene.alive(2);
  scene.touch(3);
  const Ended ended = scene.end();
  ended.told(receipt(false, 4, false, "cleanup: processes remain alive"));
  same(ended.status, 123);
  const auto rows = everybody();
  same(rows.size(), 1u);
  scene.alive(1);
  const Json report = ended.parsed_report();
  same(report.size("/survivors"), 1u);
  same(report.integer("/survivors/0/pid"), rows[0].pid);
  same(report.integer("/survivors/0/uid"), 0);
  same(report.text("/survivors/0/why"), "may not be signalled");
}

void the_worker_as_another_user(Scene& scene) {
  scene.run({"--user", "1000", "--timeout", "1.5", "--cleanup-timeout", "0.5"},
            scene.actor({"ignore:TERM", "daemon", "[", "ignore:TERM", "beat:1", "]",
                         "kill:KILL:all", "beat:2"}));
  scene.alive(2);
  const Ended ended = scene.end();
  // Its kill -9 -1 reaches only what is its own.
  ended.told(receipt(true, -SIGKILL, true));
  same(ended.status, 124);
}

}  // namespace

const std::vector<Case> kSurroundingsCases = {
    {"no /proc: still true", no_proc_is_still_true},
    {"no /proc, 200 descendants", no_proc_and_200_descendants},
    {"no /proc, 8 fork-hopping chains: no lie", no_proc_and_hoppers},
    {"no /proc, no /dev, no descriptors 0-2, few others", nothing_at_all},
    {"as the first process of a namespace", as_the_first_process},
    {"as an unprivileged user", as_an_unprivileged_user},
    {"what may not be signalled is named", what_may_not_be_signalled_is_named},
    {"the worker as another user", the_worker_as_another_user},
};

}  // namespace guest

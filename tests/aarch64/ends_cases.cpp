// What brings the end, and whom it takes: deadline, stop, expire, the three policies.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.hpp"

namespace guest {

namespace {

// A worker that is deaf to TERM, with a daemon that is.
const Words kDeaf = {"ignore:TERM", "daemon", "[", "ignore:TERM", "beat:1", "]", "beat:2"};

void the_deadline_ends_deaf_workers_and_daemons(Scene& scene) {
  scene.bare({"--timeout", "1.5", "--cleanup-timeout", "0.5"}, scene.actor(kDeaf));
  scene.alive(1);
  scene.alive(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL, true));
  same(ended.status, 0);
  expect(ended.seconds >= 2, "grace was not given");
  same(ended.parsed_report().text("/cause"), "deadline");
}

void a_worker_may_save_its_work_at_the_deadline(Scene& scene) {
  scene.run({"--timeout", "1"}, scene.actor({"trap:TERM:9:" + scene.path("saved"), "daemon", "[",
                                             "beat:1", "]", "beat:2"}));
  scene.alive(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 9, true));
  same(ended.status, 124);
  same(read_file(scene.path("saved")), "15\n");
}

void a_stopped_worker_is_ended_at_the_deadline(Scene& scene) {
  scene.run({"--timeout", "1"},
            scene.actor({"daemon", "[", "touch:1", "stop", "]", "await:1", "stop"}));
  scene.reaches(1, 1);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGTERM, true));
  same(ended.status, 124);
}

void term_stops_and_is_no_timeout(Scene& scene) {
  const pid_t quietus = scene.bare(
      {"--timeout", "25"}, scene.actor({"daemon", "[", "ignore:TERM", "beat:1", "]", "beat:2"}));
  scene.alive(1);
  scene.alive(2);
  kill(quietus, SIGTERM);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGTERM));
  same(ended.status, 0);
  same(ended.parsed_report().text("/cause"), "stop");
  same(ended.parsed_report().text("/stop_by"), "SIGTERM");
}

void every_stop_signal_gives_122(Scene& scene) {
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) {
    const pid_t quietus = scene.run({}, scene.actor({"trap:TERM:5", "beat:1"}));
    scene.alive(1);
    kill(quietus, signal);
    const Ended ended = scene.end();
    ended.told(receipt(true, 5));
    same(ended.status, 122);
  }
}

void a_second_int_skips_the_grace(Scene& scene) {
  const pid_t quietus = scene.run({"--cleanup-timeout", "20"},
                                  scene.actor({"note:TERM:" + scene.path("noted"), "beat:2"}));
  scene.alive(2);
  kill(quietus, SIGINT);
  scene.wait_for("TERM in the worker", [&] { return read_file(scene.path("noted")) == "15\n"; });
  kill(quietus, SIGTERM);  // repeats nothing
  scene.alive(2);
  kill(quietus, SIGINT);
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL));
  expect(ended.seconds < 15, "the grace was waited for");
  same(read_file(scene.path("noted")), "15\n");
}

void other_signals_are_passed_on(Scene& scene) {
  const pid_t quietus = scene.run(
      {}, scene.actor({"note:USR1,USR2:" + scene.path("noted"), "trap:TERM:5", "beat:1"}));
  scene.alive(1);
  for (const auto& [signal, noted] : {std::pair(SIGUSR1, "10\n"), std::pair(SIGUSR2, "10\n12\n")}) {
    kill(quietus, signal);
    scene.wait_for("signal in the worker",
                   [&, wanted = noted] { return read_file(scene.path("noted")) == wanted; });
  }
  kill(quietus, SIGTERM);
  scene.end().told(receipt(true, 5));
}

void a_stop_file_stops_while_it_runs(Scene& scene) {
  for (const bool subdirectory : {false, true}) {
    // In a directory that is not there yet, the file is found by looking, not by an event.
    const std::string file = scene.path(subdirectory ? "later/stop" : "stop");
    scene.bare({"--stop-file", file},
               scene.actor({"daemon", "[", "ignore:TERM", "beat:1", "]", "beat:2"}));
    scene.alive(1);
    scene.alive(2);
    if (subdirectory) mkdir(scene.path("later").c_str(), 0755);
    write_file(file, "");
    const Ended ended = scene.end();
    ended.told(receipt(true, -SIGTERM));
    same(ended.parsed_report().text("/stop_by"), "stop-file");
  }
}

void a_stop_file_before_the_launch_starts_nothing(Scene& scene) {
  write_file(scene.path("stop"), "");
  scene.run({"--stop-file", scene.path("stop")}, scene.actor({"touch:1"}));
  const Ended ended = scene.end();
  ended.told(receipt(true, {}));
  same(ended.status, 122);
  same(scene.beats(1), 0u);
  const Json report = ended.parsed_report();
  expect(report.text("/times/ended") >= report.text("/times/started"), ended.report);
}

void an_expire_file_counts_as_the_deadline(Scene& scene) {
  scene.run({"--expire-file", scene.path("expire"), "--cleanup-timeout", "0.5"},
            scene.actor(kDeaf));
  scene.alive(1);
  scene.alive(2);
  write_file(scene.path("expire"), "");
  const Ended ended = scene.end();
  ended.told(receipt(true, -SIGKILL, true));
  same(ended.status, 124);
  same(ended.parsed_report().text("/cause"), "expire");
}

void die_with_parent_ends_what_its_parent_left(Scene& scene) {
  const pid_t middle = scene.start(
      scene.actor(Words{"fork", "[", "exec", "/quietus", "run", "--die-with-parent", "--receipt",
                        scene.path("receipt"), "--report", scene.path("report"), "--"} +
                  scene.actor({"beat:1"}) + Words{"]", "beat:2"}),
      {});
  scene.alive(1);
  kill(middle, SIGKILL);
  const Ended ended = scene.end_of_the_other_half();
  ended.told(receipt(true, -SIGTERM));
  same(ended.parsed_report().text("/cause"), "parent-gone");
}

// --- whom --------------------------------------------------------------------------------------

void group_keeps_the_service_and_names_it(Scene& scene) {
  scene.some_may_stay();
  scene.run({"--descendants", "group"},
            scene.actor({"daemon", "[", "note:TERM,HUP,CONT:" + scene.path("noted"), "beat:1", "]",
                         "fork", "[", "beat:2", "]", "await:1", "await:2", "await:3", "exit:4"}));
  scene.alive(1);
  scene.alive(2);
  scene.touch(3);
  const Ended ended = scene.end();
  ended.told(receipt(true, 4));
  same(ended.proof(), "process-group-empty");
  const auto rows = everybody();
  same(rows.size(), 1u);
  scene.alive(1);
  const Json report = ended.parsed_report();
  same(report.size("/kept"), 1u);
  same(report.integer("/kept/0/pid"), rows[0].pid);
  same(report.integer("/kept/0/sid"), rows[0].sid);
  expect(!exists(scene.path("noted")), "the service got a signal");
}

void keep_on_success_keeps_after_exit_0_only(Scene& scene) {
  const Words script = {"daemon", "[", "beat:1", "]", "await:1"};
  scene.bare({"--preserve-descendants-on-success"}, scene.actor(script + Words{"exit:1"}));
  scene.end().told(receipt(true, 1));
  scene.nobody_lives();
  expect(scene.beats(1) > 0, "the daemon never lived");
  scene.some_may_stay();
  scene.bare({"--preserve-descendants-on-success"}, scene.actor(script + Words{"exit:0"}));
  const Ended ended = scene.end();
  ended.told(receipt(true, 0));
  same(ended.proof(), "kept-by-policy");
  scene.alive(1);
  same(ended.parsed_report().size("/kept"), 1u);
}

// `hold`: two hundred that also count would keep an emulated machine busy.
const Words kTwoHundred = {"repeat:200", "[",    "daemon", "[", "ignore:TERM",
                           "touch:1",    "hold", "]",      "]"};

void two_hundred_detached_descendants(Scene& scene) {
  scene.bare({}, scene.actor(kTwoHundred + Words{"await:1:200", "await:2", "exit:3"}));
  scene.reaches(1, 200);
  expect(everybody().size() >= 200, "they are not there");
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 3));
  same(ended.means(), "sweep");
  same(ended.parsed_report().integer("/killed"), 200);
}

void fork_hopping_chains(Scene& scene) {
  scene.bare({"--cleanup-timeout", "5"},
             scene.actor({"hop:16:1", "await:1:60", "await:2", "exit:6"}));
  scene.reaches(1, 60);
  scene.alive(1);
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(receipt(true, 6));
  scene.nobody_lives();
}

void one_inside_the_other(Scene& scene) {
  scene.run(
      {"--timeout", "2", "--cleanup-timeout", "4"},
      Words{"/quietus", "run", "--receipt", scene.path("inner"), "--cleanup-timeout", "0.5", "--"} +
          scene.actor(kDeaf));
  scene.alive(1);
  scene.alive(2);
  const Ended ended = scene.end();
  // The outer TERM is a stop for the inner one, which has the time to end what it started.
  same(read_file(scene.path("inner")), receipt(true, -SIGKILL));
  ended.told(receipt(true, 122, true));
  same(ended.status, 124);
}

}  // namespace

const std::vector<Case> kEndsCases = {
    {"the deadline ends deaf workers and daemons", the_deadline_ends_deaf_workers_and_daemons},
    {"a worker may save its work at the deadline", a_worker_may_save_its_work_at_the_deadline},
    {"a stopped worker is ended at the deadline", a_stopped_worker_is_ended_at_the_deadline},
    {"TERM stops, and is no timeout", term_stops_and_is_no_timeout},
    {"every stop signal gives 122", every_stop_signal_gives_122},
    {"a second INT skips the grace", a_second_int_skips_the_grace},
    {"USR1 and USR2 are passed on", other_signals_are_passed_on},
    {"a stop file stops while it runs", a_stop_file_stops_while_it_runs},
    {"a stop file before the launch starts nothing", a_stop_file_before_the_launch_starts_nothing},
    {"an expire file counts as the deadline", an_expire_file_counts_as_the_deadline},
    {"--die-with-parent", die_with_parent_ends_what_its_parent_left},
    {"group keeps the service and names it", group_keeps_the_service_and_names_it},
    {"keep-on-success keeps after exit 0 only", keep_on_success_keeps_after_exit_0_only},
    {"200 detached descendants", two_hundred_detached_descendants},
    {"16 fork-hopping chains", fork_hopping_chains},
    {"one quietus inside the other", one_inside_the_other},
};

}  // namespace guest

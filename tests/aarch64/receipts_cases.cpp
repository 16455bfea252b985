// How the worker ended, told byte for byte; and what it was given.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "scene.hpp"

namespace guest {

namespace {

void a_plain_success_is_80_bytes(Scene& scene) {
  scene.bare({"--timeout", "20"}, scene.actor({"touch:1", "await:2", "exit:0"}));
  scene.reaches(1, 1);
  expect(!exists(scene.path("receipt")), "a receipt before the end");
  scene.touch(2);
  const Ended ended = scene.end();
  ended.told(
      "{\"cleanup_confirmed\": true, \"return_code\": 0, \"error\": null, \"timed_out\": false}");
  same(ended.receipt.size(), 80u);
  same(ended.status, 0);
  same(ended.out, "");
  same(ended.proof(), "no-children-left");
}

void exit_codes_are_told_as_they_are(Scene& scene) {
  for (const int code : {1, 77, 124, 137, 255}) {
    scene.bare({}, scene.actor({"exit:" + std::to_string(code)}));
    const Ended bare = scene.end();
    bare.told(receipt(true, code));
    same(bare.status, 0);
    scene.run({}, scene.actor({"exit:" + std::to_string(code)}));
    const Ended run = scene.end();
    run.told(receipt(true, code));
    same(run.status, code);
  }
}

void deaths_by_signal_are_negative_numbers(Scene& scene) {
  for (const int number : {SIGHUP, SIGKILL, SIGSEGV, SIGTERM, SIGSYS, 34, 64}) {
    scene.run({}, scene.actor({"die:" + std::to_string(number)}));
    const Ended ended = scene.end();
    ended.told(receipt(true, -number));
    same(ended.status, 128 + number);
  }
}

// Plain char is unsigned on this machine: bytes beyond ASCII are what shows a wrong comparison.
void failed_launches_have_pythons_words(Scene& scene) {
  const std::string missing = scene.path("n\u00e9-\u6f22-\U0001f600");
  scene.run({}, {missing});
  Ended ended = scene.end();
  ended.told(receipt(true, {}, false, "[Errno 2] No such file or directory: '" + missing + "'"));
  expect(ended.receipt.find("n\\u00e9-\\u6f22-\\ud83d\\ude00'") != std::string::npos,
         "not escaped: " + ended.receipt);
  same(ended.status, 127);

  write_file(scene.path("text"), "no program");
  scene.run({}, {scene.path("text")});
  ended = scene.end();
  ended.told(receipt(true, {}, false, "[Errno 13] Permission denied: '/tmp/case/text'"));
  same(ended.status, 126);

  chmod(scene.path("text").c_str(), 0755);
  scene.bare({}, {scene.path("text")});
  ended = scene.end();
  ended.told(receipt(true, {}, false, "[Errno 8] Exec format error: '/tmp/case/text'"));
  same(ended.status, 1);
}

void bytes_that_are_no_text_stay_valid_json(Scene& scene) {
  scene.run({}, {scene.path("\xff\x80\x01\x7f\"\\'")});
  const Ended ended = scene.end();
  expect(ended.error().starts_with("[Errno 2] "), ended.receipt);
  (void)ended.parsed_report();
  same(ended.status, 127);
}

void the_worker_gets_a_clean_start(Scene& scene) {
  Place place;
  place.prepare = [] {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, nullptr);
    signal(SIGCHLD, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    dup2(1, 7);
  };
  scene.bare({}, scene.actor({"record:" + scene.path("record")}), place);
  const Ended ended = scene.end();
  ended.told(receipt(true, 0));
  const auto record = Json::parse(read_file(scene.path("record")));
  same(record.size("/blocked"), 0u);
  same(record.size("/ignored"), 0u);
  same(record.size("/fds"), 3u);
  same(record.integer("/sid"), record.integer("/pid"));
  same(record.integer("/pgid"), record.integer("/pid"));
  same(record.integer("/no_new_privs"), 0);
  same(record.integer("/subreaper"), 0);
  same(record.integer("/timer_slack"), 50000);
  same(record.integer("/oom_score_adj"), 200);
}

void options_shape_the_worker(Scene& scene) {
  scene.run({"-C", "/tmp", "--clear-env", "-E", "COLOUR=blue", "--rlimit", "nofile=99:123",
             "--user", "1234:567", "--no-new-privs"},
            scene.actor({"record:" + scene.path("record")}));
  scene.end().told(receipt(true, 0));
  const auto record = Json::parse(read_file(scene.path("record")));
  same(record.text("/cwd"), "/tmp");
  same(record.integer("/uid"), 1234);
  same(record.integer("/euid"), 1234);
  same(record.integer("/gid"), 567);
  same(record.size("/groups"), 0u);
  same(record.integer("/no_new_privs"), 1);
  same(record.integer("/limits/nofile/0"), 99);
  same(record.integer("/limits/nofile/1"), 123);
  same(record.size("/env"), 2u);
  same(record.text("/env/0"), "COLOUR=blue");
}

void output_beyond_the_limit_is_counted(Scene& scene) {
  scene.run({"--output", scene.path("output"), "--output-limit", "64KiB"},
            scene.actor({"print:1048576:65536"}));
  const Ended ended = scene.end();
  ended.told(receipt(true, 0));
  const std::string output = read_file(scene.path("output"));
  const size_t notice = output.find("[quietus: ");
  expect(notice != std::string::npos, "no notice");
  const int64_t bytes_cut = ended.parsed_report().integer("/output_bytes_cut");
  const std::string cut = std::to_string(bytes_cut);
  expect(output.find("[quietus: " + cut + " bytes cut]") == notice, "notice and report differ");
  const size_t kept = 1048576 - static_cast<size_t>(bytes_cut);
  expect(kept <= 65536 && output.size() > kept && output.size() < kept + 100,
         std::to_string(output.size()) + " bytes, cut " + cut);
  expect(output.starts_with("abcdef") &&
             output.ends_with(std::string(1, "abcdefghijklmnopqrstuvwxyz"[1048575 % 26])),
         "neither head nor tail");
}

void the_binary_knows_what_it_is(Scene& scene) {
  scene.start({"/quietus", "--version", "--json"}, {});
  const Ended ended = scene.end();
  same(ended.status, 0);
  const auto version = Json::parse(ended.out);
  same(version.text("/machine"), "aarch64");
}

void bad_options_start_nothing(Scene& scene) {
  scene.bare({"--timeout", "0"}, scene.actor({"touch:1"}));
  const Ended ended = scene.end();
  same(ended.status, 2);
  ended.told("");
  same(scene.beats(1), 0u);
  expect(ended.out.find("--timeout") != std::string::npos, ended.out);
}

}  // namespace

const std::vector<Case> kReceiptsCases = {
    {"a plain success is the exact 80 bytes", a_plain_success_is_80_bytes},
    {"exit codes are told as they are", exit_codes_are_told_as_they_are},
    {"deaths by signal are negative numbers", deaths_by_signal_are_negative_numbers},
    {"failed launches have Python's words", failed_launches_have_pythons_words},
    {"bytes that are no text stay valid JSON", bytes_that_are_no_text_stay_valid_json},
    {"the worker gets a clean start", the_worker_gets_a_clean_start},
    {"options shape the worker", options_shape_the_worker},
    {"output beyond the limit is cut and counted", output_beyond_the_limit_is_counted},
    {"the binary knows what it is", the_binary_knows_what_it_is},
    {"bad options start nothing", bad_options_start_nothing},
};

}  // namespace guest

// What quietus itself says: help, version, -q and -v, and that it is silent otherwise. Also the
// interpreter position, in which an upstream client starts it.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <regex>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Help : public Scenario {
 protected:
  void expect_help(const Words& words) {
    const Ended ended = end_of(plain(words));
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(ended.err, "");
    EXPECT_GT(ended.out.size(), 500u);
    for (const std::string& line : split(ended.out, '\n')) {
      EXPECT_LT(line.size(), 80u) << line;
      EXPECT_EQ(line.find('\t'), std::string::npos) << line;
    }
  }
};

TEST_F(Help, is_narrow_and_on_stdout) {
  expect_help({"--help"});
  expect_help({"-h"});
  expect_help({"run", "--help"});
  expect_help({"run", "-h"});
  expect_help({"run", "--timeout", "5", "--help"});
}

TEST_F(Help, names_every_option_of_the_contract) {
  const std::string text = end_of(plain({"--help"})).out + end_of(plain({"run", "--help"})).out;
  for (const char* option : {"--timeout",
                             "--cleanup-timeout",
                             "--receipt",
                             "--stop-file",
                             "--expire-file",
                             "--preserve-descendants-on-success",
                             "--signal",
                             "--kill-after",
                             "--descendants",
                             "--shield",
                             "--isolate",
                             "--no-new-privs",
                             "--die-with-parent",
                             "--signal-group",
                             "--output",
                             "--output-limit",
                             "--chdir",
                             "--setenv",
                             "--unset",
                             "--clear-env",
                             "--rlimit",
                             "--user",
                             "--report",
                             "--sync",
                             "--version",
                             "-s",
                             "-k",
                             "-C",
                             "-E",
                             "-q",
                             "-v"}) {
    EXPECT_TRUE(holds(text, option));
  }
}

TEST_F(Help, tells_the_exit_codes) {
  const std::string text = end_of(plain({"run", "--help"})).out;
  for (const char* code : {"122", "123", "124", "125", "126", "127"})
    EXPECT_TRUE(holds(text, code));
}

TEST_F(Help, into_a_full_disk_is_a_failure) {
  Launch launch = plain({"--help"});
  launch.out = open("/dev/full", O_WRONLY | O_CLOEXEC);
  EXPECT_NE(end_of(launch).status, 0);
  close(launch.out);
}

class Version : public Scenario {};

TEST_F(Version, is_one_line) {
  const Ended ended = end_of(plain({"--version"}));
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(std::regex_match(ended.out, std::regex("quietus [0-9]+\\.[0-9]+\\.[0-9]+\\S*\n")))
      << ended.out;
}

TEST_F(Version, is_json_for_programs) {
  const Ended ended = end_of(plain({"--version", "--json"}));
  EXPECT_EQ(ended.status, 0);
  const Json json = Json::parse(ended.out);
  EXPECT_EQ(json.text("/name"), "quietus");
  EXPECT_TRUE(holds(end_of(plain({"--version"})).out, json.text("/version")));
}

class Interpreter : public Scenario {
 protected:
  // As `python3 -I /path/process_supervisor.py ...` with our binary as python3.
  Launch as_interpreter(const Words& words) const {
    Launch launch = plain(Words{"-I", "/any/process_supervisor.py"} + words);
    launch.form = Form::bare;
    launch.receipt = path("receipt.json");
    return launch;
  }
};

TEST_F(Interpreter, position_is_accepted_with_the_script_that_is_not_there) {
  const Ended ended =
      end_of(as_interpreter(Words{"--timeout", "5", "--cleanup-timeout", "1", "--receipt",
                                  path("receipt.json"), "--stop-file", path("stop"), "--"} +
                            actor({"daemon", "[", "beat:1", "]", "await:1", "exit:4"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 4, std::nullopt, false)) << ended.text();
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Interpreter, position_answers_the_preflight) {
  const Ended ended = end_of(as_interpreter({"--help"}));
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(holds(ended.out, "--receipt"));
}

TEST_F(Interpreter, position_refuses_what_the_bare_form_refuses) {
  EXPECT_EQ(end_of(as_interpreter({"--timeout", "5", "--", "true"})).status, 2);
  EXPECT_EQ(
      end_of(as_interpreter({"--timeout", "0", "--receipt", path("receipt.json"), "--", "true"}))
          .status,
      2);
}

TEST_F(Interpreter, position_keeps_descendants_as_upstream_names_it) {
  Launch launch = as_interpreter(Words{"--timeout", "20", "--receipt", path("receipt.json"),
                                       "--preserve-descendants-on-success", "--"} +
                                 actor({"daemon", "[", "beat:1", "]", "await:1", "exit:0"}));
  launch.may_leave = true;
  allow_leftovers();
  EXPECT_EQ(end_of(launch).receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_TRUE(beats_.alive(1));
}

class Silence : public Scenario {};

TEST_F(Silence, is_kept_whatever_happens_to_the_worker) {
  for (const Words& script : {Words{"exit:0"}, Words{"exit:9"}, Words{"die:SEGV"}}) {
    const Ended ended = end_of(run({}, actor(script)));
    EXPECT_EQ(ended.out + ended.err, "") << ended.text();
    clear_records();
  }
  const Ended late = end_of(run({"--timeout", "0.3"}, actor({"beat:1"})));
  EXPECT_EQ(late.out + late.err, "");
}

TEST_F(Silence, is_broken_by_verbose_with_how_it_ended) {
  const Ended ended = end_of(run({"-v"}, actor({"exit:9"})));
  EXPECT_TRUE(holds(ended.err, "quietus: "));
  EXPECT_TRUE(holds(ended.err, "exited with 9"));
  EXPECT_EQ(ended.out, "");
}

TEST_F(Silence, is_total_with_quiet) {
  const Ended ended = end_of(run({"-q"}, {"/missing/bin"}));
  EXPECT_EQ(ended.status, 127);
  EXPECT_EQ(ended.out, "");
}

TEST_F(Silence, is_broken_by_an_error_of_run_without_a_receipt) {
  const Ended ended = end_of(plain({"run", "--", "/missing/bin"}));
  EXPECT_EQ(ended.status, 127);
  EXPECT_TRUE(holds(ended.err, "quietus: "));
  EXPECT_TRUE(holds(ended.err, "/missing/bin"));
}

class Parent : public Scenario {
 protected:
  // A parent that starts quietus and goes away once the worker beats.
  Running orphaned(const Launch& launch) {
    Launch parent = launch;
    parent.words = actor(Words{"fork", "[", "exec"} + launch.words + Words{"]", "await:1"});
    return start(parent);
  }
};

TEST_F(Parent, gone_is_a_stop_where_that_is_asked) {
  const Launch launch = run({"--die-with-parent"}, actor({"beat:1"}));
  Running parent = orphaned(launch);
  EXPECT_EQ(parent.wait().status, 0);
  ASSERT_TRUE(eventually([&] { return exists(path("receipt.json")); }));
  ASSERT_TRUE(eventually([] { return living_descendants().empty(); }));
  EXPECT_TRUE(beats_.gone(1));
  Ended ended;
  ended.form = Form::run;
  read_records(launch, ended);
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}}));
  ASSERT_TRUE(ended.report);
  EXPECT_EQ(ended.report->text("/cause"), "parent-gone");
}

TEST_F(Parent, gone_means_nothing_by_itself) {
  const Launch launch = run({}, actor({"beat:1"}));
  Running parent = orphaned(launch);
  EXPECT_EQ(parent.wait().status, 0);
  EXPECT_TRUE(beats_.reaches(1, beats_.count(1) + 100));
  EXPECT_FALSE(exists(path("receipt.json")));
  allow_leftovers();
}

TEST_F(Parent, that_lives_lets_the_worker_live) {
  const Ended ended = end_of(run({"--die-with-parent"}, actor({"sleep:200", "exit:3"})));
  EXPECT_EQ(ended.status, 3);
}

}  // namespace

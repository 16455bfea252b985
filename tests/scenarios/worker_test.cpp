// What the worker is given: a clean start, and what the options shape.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <regex>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

class Worker : public Scenario {
 protected:
  // Runs the actor, which writes down what it is.
  Json recorded(const Words& options, std::function<Launch(Launch)> change = {}) {
    Launch launch = run(options, actor({"record:" + path("record")}));
    if (change) launch = change(launch);
    const Ended ended = end_of(launch);
    EXPECT_EQ(ended.status, 0) << ended.text();
    clear_records();
    const std::string text = read_file(path("record"));
    fs::remove(path("record"));
    return Json::parse(text.empty() ? "{}" : text);
  }
  static bool in_environment(const Json& record, const std::string& entry) {
    const auto entries = record.texts("/env");
    return std::find(entries.begin(), entries.end(), entry) != entries.end();
  }
  static bool names_variable(const Json& record, const std::string& name) {
    const auto entries = record.texts("/env");
    return std::any_of(entries.begin(), entries.end(),
                       [&](const std::string& entry) { return entry.rfind(name + "=", 0) == 0; });
  }
};

TEST_F(Worker, starts_clean) {
  const Json record = recorded({}, [](Launch launch) {
    launch.in_child = [] {
      for (const int number : {SIGHUP, SIGUSR1, SIGCHLD, SIGPIPE, 40}) signal(number, SIG_IGN);
      blocking({SIGTERM, SIGUSR2, SIGCHLD, 41})();
      umask(0027);
    };
    return launch;
  });
  EXPECT_EQ(record.size("/ignored"), 0u);
  EXPECT_EQ(record.size("/blocked"), 0u);
  EXPECT_EQ(record.keys("/fds"), (Words{"0", "1", "2"}));
  EXPECT_EQ(record.integer("/umask"), 0027) << "the umask is the caller's";
  EXPECT_EQ(record.integer("/subreaper"), 0);
  EXPECT_EQ(record.integer("/no_new_privs"), 0);
  EXPECT_EQ(record.integer("/timer_slack"), 50000) << "the supervisor's own slack is handed on";
}

TEST_F(Worker, leads_a_session_and_a_group_of_its_own) {
  const Json record = recorded({});
  EXPECT_EQ(record.integer("/sid"), record.integer("/pid"));
  EXPECT_EQ(record.integer("/pgid"), record.integer("/pid"));
}

TEST_F(Worker, is_the_better_choice_for_the_out_of_memory_killer) {
  const int ours = std::stoi(read_file("/proc/self/oom_score_adj"));
  EXPECT_GE(recorded({}).integer("/oom_score_adj"), std::min(ours + 1, 1000));
}

TEST_F(Worker, gets_the_callers_streams) {
  Launch launch = run({}, {"sh", "-c", "cat; echo err >&2"});
  write_file(path("in"), "through\n");
  launch.in = open(path("in").c_str(), O_RDONLY | O_CLOEXEC);
  const Ended ended = end_of(launch);
  close(launch.in);
  EXPECT_EQ(ended.out, "through\n");
  EXPECT_EQ(ended.err, "err\n") << "quietus adds nothing of its own";
}

TEST_F(Worker, is_found_on_the_search_path_of_its_own_environment) {
  fs::create_directory(path("bin"));
  fs::create_symlink(actor_binary(), path("bin/findme"));
  const Ended ended = end_of(run({"-E", "PATH=" + path("bin")}, {"findme", "exit:12"}));
  EXPECT_EQ(ended.status, 12) << ended.text();
}

TEST_F(Worker, is_not_looked_for_in_the_working_directory) {
  fs::create_symlink(actor_binary(), path("findme"));
  Launch launch = run({}, {"findme", "exit:12"});
  launch.directory = path("");
  launch.environment = Words{"PATH=/usr/bin:/bin"};
  EXPECT_EQ(end_of(launch).status, 127);
  clear_records();
  launch = run({"-C", path("")}, {"./findme", "exit:12"});
  EXPECT_EQ(end_of(launch).status, 12) << "a path is relative to the worker's directory";
}

TEST_F(Worker, an_unreadable_directory_on_the_path_hides_nothing_behind_it) {
  fs::create_directory(path("bin"));
  fs::create_symlink(actor_binary(), path("bin/findme"));
  write_file(path("file"), "");
  EXPECT_EQ(end_of(run({"-E", "PATH=" + path("missing") + ":" + path("file") + ":" + path("bin")},
                       {"findme", "exit:12"}))
                .status,
            12);
}

TEST_F(Worker, carries_the_marker_of_the_session) {
  const auto marker = [](const Json& record) {
    for (const std::string& entry : record.texts("/env")) {
      if (entry.rfind("QUIETUS_SESSION=", 0) == 0) return entry.substr(16);
    }
    return std::string("none");
  };
  const std::string one = marker(recorded({}));
  EXPECT_TRUE(std::regex_match(one, std::regex("run\\.[0-9A-Za-z]+"))) << one;
  EXPECT_NE(one, marker(recorded({}))) << "two runs are two sessions";
  // The outermost comes first.
  const std::string nested = marker(recorded({}, [](Launch launch) {
    launch.environment = Words{"PATH=/usr/bin:/bin", "QUIETUS_SESSION=12.34"};
    return launch;
  }));
  EXPECT_TRUE(std::regex_match(nested, std::regex("12\\.34,run\\.[0-9A-Za-z]+"))) << nested;
}

TEST_F(Worker, gets_the_directory_of_chdir) {
  fs::create_directory(path("d"));
  EXPECT_EQ(recorded({"-C", path("d")}).text("/cwd"), path("d"));
  EXPECT_EQ(recorded({"--chdir", path("d")}).text("/cwd"), path("d"));
  EXPECT_EQ(recorded({"--chdir=" + path("d")}).text("/cwd"), path("d"));
}

TEST_F(Worker, has_a_directory_that_does_not_move_our_own_paths) {
  fs::create_directory(path("d"));
  Launch launch = run({"-C", path("d"), "--receipt", "r.json"}, actor({"exit:0"}));
  launch.directory = path("");
  launch.receipt = path("r.json");
  EXPECT_TRUE(receipt_is(end_of(launch), {.codes = {0}}));
  EXPECT_FALSE(exists(path("d/r.json")));
}

TEST_F(Worker, gets_the_variables_that_are_set) {
  const Json record = recorded(
      {"-E", "ONE=1", "--setenv", "TWO=a=b", "--setenv=EMPTY=", "-E", "ONE=2", "-E", "ODD=\xff\n"});
  EXPECT_TRUE(in_environment(record, "ONE=2")) << record.dump();
  EXPECT_FALSE(in_environment(record, "ONE=1")) << "a name stands twice in the environment";
  EXPECT_TRUE(in_environment(record, "TWO=a=b"));
  EXPECT_TRUE(in_environment(record, "EMPTY="));
  EXPECT_TRUE(in_environment(record, "ODD=\u00ff\n"));
}

TEST_F(Worker, loses_the_variables_that_are_unset) {
  const Json record = recorded({"--unset", "GONE", "--unset=GONE2"}, [](Launch launch) {
    launch.environment = Words{"PATH=/usr/bin:/bin", "GONE=1", "GONE2=2", "STAYS=3", "GONERS=4"};
    return launch;
  });
  EXPECT_FALSE(names_variable(record, "GONE"));
  EXPECT_FALSE(names_variable(record, "GONE2"));
  EXPECT_TRUE(in_environment(record, "STAYS=3"));
  EXPECT_TRUE(in_environment(record, "GONERS=4"));
}

TEST_F(Worker, starts_from_nothing_where_the_environment_is_cleared) {
  const Json record = recorded({"--clear-env", "-E", "ONLY=1"}, [](Launch launch) {
    launch.environment = Words{"PATH=/usr/bin:/bin", "SECRET=1"};
    return launch;
  });
  EXPECT_TRUE(in_environment(record, "ONLY=1"));
  EXPECT_FALSE(names_variable(record, "SECRET"));
  EXPECT_FALSE(names_variable(record, "PATH"));
  EXPECT_TRUE(names_variable(record, "QUIETUS_SESSION"));
  EXPECT_EQ(record.size("/env"), 2u) << record.dump();
}

TEST_F(Worker, gets_the_limits_and_we_do_not) {
  const Json record =
      recorded({"--rlimit", "nofile=50", "--rlimit", "nproc=4000:5000", "--rlimit=cpu=600:700",
                "--rlimit", "core=0", "--rlimit", "stack=unlimited"},
               [](Launch launch) {
                 launch.in_child = [] {
                   limiting(RLIMIT_NOFILE, 500, 1000)();
                   limiting(RLIMIT_STACK, 8 << 20, RLIM_INFINITY)();
                 };
                 return launch;
               });
  EXPECT_EQ(record.integers("/limits/nofile")[0], 50) << record.dump();
  EXPECT_EQ(record.integers("/limits/nproc"), (std::vector<int64_t>{4000, 5000}));
  EXPECT_EQ(record.integers("/limits/cpu"), (std::vector<int64_t>{600, 700}));
  EXPECT_EQ(record.integers("/limits/core")[0], 0);
  EXPECT_EQ(record.integers("/limits/stack")[0], -1);
}

TEST_F(Worker, with_limits_that_would_choke_us_is_supervised_all_the_same) {
  const Ended ended = end_of(run({"--rlimit", "nofile=6:6", "--rlimit", "nproc=1:1", "--rlimit",
                                  "fsize=0", "--timeout", "0.5"},
                                 actor({"beat:1"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGTERM}, .timed_out = true}));
  EXPECT_TRUE(ended.report) << ended.text();
}

TEST_F(Worker, runs_out_of_its_cpu_time) {
  const Ended ended = end_of(run({"--rlimit", "cpu=1"}, {"sh", "-c", "while :; do :; done"}), 60);
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGXCPU, -SIGKILL}}));
}

TEST_F(Worker, whose_limit_cannot_be_set_is_not_started) {
  Launch launch = run({"--rlimit", "nofile=900"}, actor({"touch:1"}));
  launch.in_child = limiting(RLIMIT_NOFILE, 100, 200);
  if (is_root()) launch = as_user(launch, lonely_uid());
  const Ended ended = end_of(launch);
  EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
  EXPECT_EQ(ended.status, 125);
  EXPECT_EQ(beats_.count(1), 0u);
}

class WorkersUser : public Worker {
 protected:
  void SetUp() override { NEEDS_ROOT(); }
  Launch public_launch(const Words& options) const {
    return as_root(run(options, actor({"record:" + path("record")})));
  }
  // Binaries that the user of the worker can reach, without becoming that user ourselves.
  Launch as_root(Launch launch) const {
    launch = as_user(launch, 0);
    launch.inner.clear();
    return launch;
  }
  Json recorded_as(const Words& options) {
    return recorded(options, [this](Launch launch) { return as_root(launch); });
  }
};

TEST_F(WorkersUser, is_a_uid_with_a_group_of_the_same_number_where_passwd_knows_none) {
  const Json record = recorded_as({"--user", "61234"});
  EXPECT_EQ(record.integer("/uid"), 61234);
  EXPECT_EQ(record.integer("/euid"), 61234);
  EXPECT_EQ(record.integer("/gid"), 61234);
  EXPECT_EQ(record.size("/groups"), 0u) << "supplementary groups are kept";
}

TEST_F(WorkersUser, has_the_group_of_passwd_where_it_is_known) {
  // 4 is "sync" in every Debian, whose group is nogroup.
  if (read_file("/etc/passwd").find("sync:x:4:65534:") == std::string::npos) {
    GTEST_SKIP() << "/etc/passwd has no user sync with another group";
  }
  EXPECT_EQ(recorded_as({"--user", "4"}).integer("/gid"), 65534);
}

TEST_F(WorkersUser, can_be_given_a_group) {
  const Json record = recorded_as({"--user=61234:61299"});
  EXPECT_EQ(record.integer("/uid"), 61234);
  EXPECT_EQ(record.integer("/gid"), 61299);
}

TEST_F(WorkersUser, does_not_keep_the_callers_supplementary_groups) {
  const Json record = recorded({"--user", "61234"}, [this](Launch launch) {
    launch = as_root(launch);
    launch.inner = {"setpriv", "--groups=4,20,24"};
    return launch;
  });
  EXPECT_EQ(record.size("/groups"), 0u);
}

TEST_F(WorkersUser, does_not_own_the_receipt) {
  Launch launch = as_root(run({"--user", "61234"}, actor({"exit:0"})));
  EXPECT_TRUE(receipt_is(end_of(launch), {.codes = {0}}));
  struct stat info = {};
  stat(path("receipt.json").c_str(), &info);
  EXPECT_EQ(info.st_uid, 0u);
}

TEST_F(WorkersUser, cannot_get_the_identity_back) {
  const Ended ended = end_of(as_root(run({"--user", "61234"}, actor({"setuid:0"}))));
  EXPECT_EQ(ended.status, 99) << "the worker became root again" << ended.text();
}

TEST_F(WorkersUser, is_set_before_the_directory_is_entered) {
  // A directory that only root may enter: the worker's own rights count.
  fs::create_directory(path("secret"));
  fs::permissions(path("secret"), fs::perms(0700));
  const Ended ended =
      end_of(as_root(run({"--user", "61234", "-C", path("secret")}, actor({"touch:1"}))));
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(WorkersUser, is_set_after_the_limits) {
  // Raising a hard limit takes root, which the worker is no more when it runs.
  Launch launch = as_root(
      run({"--user", "61234", "--rlimit", "nofile=300:400"}, actor({"record:" + path("record")})));
  launch.in_child = limiting(RLIMIT_NOFILE, 100, 500);
  EXPECT_EQ(end_of(launch).status, 0);
  const Json record = Json::parse(read_file(path("record")));
  EXPECT_EQ(record.integers("/limits/nofile"), (std::vector<int64_t>{300, 400}));
  EXPECT_EQ(record.integer("/uid"), 61234);
}

TEST_F(WorkersUser, ends_at_the_deadline_as_anybody) {
  const Ended ended =
      end_of(as_root(run({"--user", "61234", "--timeout", "0.5", "-k", "0.5"},
                         actor({"ignore:TERM", "daemon", "[", "beat:1", "]", "beat:2"}))));
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGKILL}, .timed_out = true}));
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(WorkersUser, cannot_be_changed_without_the_right_to) {
  const Ended ended = end_of(as_user(run({"--user", "61234"}, actor({"touch:1"})), lonely_uid()));
  EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
  EXPECT_EQ(ended.status, 125);
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(Worker, has_no_new_privileges_where_that_is_asked) {
  EXPECT_EQ(recorded({"--no-new-privs"}).integer("/no_new_privs"), 1);
}

TEST_F(Worker, shaping_works_in_the_bare_form_too) {
  fs::create_directory(path("d"));
  const Ended ended = end_of(bare(
      {"-C", path("d"), "-E", "X=1", "--rlimit", "core=0", "--no-new-privs", "--timeout", "20"},
      actor({"record:" + path("record")})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.err;
  const Json record = Json::parse(read_file(path("record")));
  EXPECT_EQ(record.text("/cwd"), path("d"));
  EXPECT_TRUE(in_environment(record, "X=1"));
}

TEST_F(Worker, keeps_everything_behind_its_name_to_itself) {
  // After the command nothing is an option of ours, with and without `--`.
  const Words script = {"--timeout", "5", "--help", "--", "-s"};
  for (const bool dashes : {true, false}) {
    Launch launch =
        plain(Words{"--receipt", path("receipt.json")} + (dashes ? Words{"--"} : Words{}) +
              Words{actor_binary(), "record:" + path("record"), "exit:5"} + script);
    launch.form = Form::bare;
    launch.receipt = path("receipt.json");
    EXPECT_EQ(end_of(launch).receipt_bytes, exactly(true, 5, std::nullopt, false));
    EXPECT_EQ(Json::parse(read_file(path("record"))).text("/argv_hash"),
              argv_hash(Words{actor_binary(), "record:" + path("record"), "exit:5"} + script));
    clear_records();
  }
}

}  // namespace

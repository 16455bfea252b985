// Hosts and launchers that hand quietus less than it is used to.
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

class Surroundings : public Scenario {
 protected:
  // A tree with a daemon and a deadline: all that quietus is for, under the circumstances.
  void expect_ordinary_work(const std::function<Launch(Launch)>& circumstances) {
    const Ended plain =
        end_of(circumstances(bare({}, actor({"daemon", "[", "beat:1", "]", "await:1", "exit:7"}))));
    EXPECT_EQ(plain.receipt_bytes, exactly(true, 7, std::nullopt, false)) << plain.text();
    EXPECT_EQ(plain.status, 0);
    EXPECT_TRUE(beats_.gone(1));
    clear_records();
    const Ended late =
        end_of(circumstances(bare({"--timeout", "0.6", "--cleanup-timeout", "1"},
                                  actor({"ignore:TERM", "daemon", "[", "beat:2", "]", "beat:3"}))));
    EXPECT_EQ(late.receipt_bytes, exactly(true, -SIGKILL, std::nullopt, true)) << late.text();
    EXPECT_TRUE(beats_.gone(2));
    EXPECT_TRUE(beats_.gone(3));
    clear_records();
  }
  void expect_ordinary_work_with(std::function<void()> in_child) {
    expect_ordinary_work([&](Launch launch) {
      launch.in_child = in_child;
      return launch;
    });
  }
};

TEST_F(Surroundings, every_signal_blocked) {
  std::vector<int> all;
  for (int number = 1; number <= 64; ++number) all.push_back(number);
  expect_ordinary_work_with(blocking(all));
}

TEST_F(Surroundings, term_works_although_it_was_blocked_by_the_launcher) {
  Launch launch = bare({}, actor({"trap:TERM:33", "beat:1"}));
  launch.in_child = blocking({SIGTERM, SIGINT, SIGHUP, SIGCHLD, SIGALRM});
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 33, std::nullopt, false));
}

TEST_F(Surroundings, sigchld_ignored) { expect_ordinary_work_with(ignoring({SIGCHLD})); }

TEST_F(Surroundings, every_signal_ignored) {
  std::vector<int> all;
  for (int number = 1; number <= 64; ++number) all.push_back(number);
  expect_ordinary_work_with(ignoring(all));
}

TEST_F(Surroundings, hup_ignored_as_nohup_does_stays_ignored_by_us) {
  Launch launch = bare({}, actor({"record:" + path("record"), "beat:1"}));
  launch.in_child = ignoring({SIGHUP, SIGINT, SIGQUIT});
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  for (const int number : {SIGHUP, SIGINT, SIGQUIT}) running.signal(number);
  EXPECT_TRUE(beats_.reaches(1, beats_.count(1) + 60)) << "stopped in spite of nohup";
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, -SIGTERM, std::nullopt, false));
  EXPECT_EQ(Json::parse(read_file(path("record"))).size("/ignored"), 0u)
      << "the worker gets default dispositions";
}

TEST_F(Surroundings, term_ignored_by_the_launcher_is_heard_all_the_same) {
  Launch launch = bare({}, actor({"beat:1"}));
  launch.in_child = ignoring({SIGTERM});
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(1));
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, -SIGTERM, std::nullopt, false));
}

TEST_F(Surroundings, standard_streams_closed) {
  for (const int mask : {7, 1, 2, 4, 6}) {
    Launch launch = bare({}, actor({"record:" + path("record"), "say:JUNK", "say:JUNK:2", "daemon",
                                    "[", "beat:1", "]", "await:1", "exit:3"}));
    launch.in_child = [mask] {
      for (int fd = 0; fd < 3; ++fd) {
        if ((mask >> fd & 1) != 0) close(fd);
      }
    };
    const Ended ended = end_of(launch);
    EXPECT_EQ(ended.receipt_bytes, exactly(true, 3, std::nullopt, false)) << mask << ended.text();
    const Json record = Json::parse(read_file(path("record")));
    for (const std::string& fd : record.keys("/fds")) {
      EXPECT_LT(std::stoi(fd), 3) << record.dump();
      if ((mask >> std::stoi(fd) & 1) == 0) continue;
      EXPECT_EQ(record.text("/fds/" + fd), "/dev/null") << "one of ours reached the worker";
    }
    clear_records();
  }
}

TEST_F(Surroundings, eight_descriptors_at_most) {
  expect_ordinary_work_with(limiting(RLIMIT_NOFILE, 8, 8));
}

TEST_F(Surroundings, eight_descriptors_with_every_option_that_needs_one) {
  Launch launch = run({"--stop-file", path("stop"), "--expire-file", path("expire"), "--output",
                       path("log"), "--output-limit", "1000", "--die-with-parent"},
                      actor({"print:5000", "daemon", "[", "beat:1", "]", "await:1", "exit:3"}));
  launch.in_child = limiting(RLIMIT_NOFILE, 8, 8);
  const Ended ended = end_of(launch);
  // Too few for all of it is a refusal before the launch, never a half-supervised worker.
  if (beats_.count(1) > 0) {
    EXPECT_TRUE(receipt_is(ended, {.codes = {3}}));
    EXPECT_EQ(ended.status, 3);
  } else {
    EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
    EXPECT_EQ(ended.status, 125);
  }
}

TEST_F(Surroundings, a_limit_of_descriptors_is_handed_on_as_it_was) {
  Launch launch = bare({}, actor({"record:" + path("record")}));
  launch.in_child = limiting(RLIMIT_NOFILE, 64, 128);
  (void)end_of(launch);
  const Json record = Json::parse(read_file(path("record")));
  EXPECT_EQ(record.integers("/limits/nofile"), (std::vector<int64_t>{64, 128}));
}

TEST_F(Surroundings, the_limit_of_processes_reached_means_not_started) {
  NEEDS_ROOT();
  Launch launch = as_user(bare({}, actor({"touch:1"})), lonely_uid());
  launch.in_child = limiting(RLIMIT_NPROC, 1, 1);
  const Ended ended = end_of(launch);
  EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(Surroundings, room_for_one_process_too_few_means_not_started_as_well) {
  NEEDS_ROOT();
  for (unsigned long limit = 2; limit <= 4; ++limit) {
    const uint64_t ran_before = beats_.count(1);
    Launch launch = as_user(run({}, actor({"touch:1", "exit:3"})), lonely_uid());
    launch.in_child = limiting(RLIMIT_NPROC, limit, limit);
    const Ended ended = end_of(launch);
    if (beats_.count(1) > ran_before) {
      EXPECT_TRUE(receipt_is(ended, {.codes = {3}})) << limit;
    } else {
      EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some})) << limit;
      EXPECT_EQ(ended.status, 125);
    }
    clear_records();
  }
}

TEST_F(Surroundings, the_limit_of_processes_reached_while_running_does_not_spoil_the_cleanup) {
  NEEDS_ROOT();
  Launch launch =
      as_user(bare({"--timeout", "0.8"}, actor({"repeat:40", "[", "try-fork:" + path("refused"),
                                                "[", "setsid", "beat:1", "]", "]", "beat:2"})),
              lonely_uid());
  launch.in_child = limiting(RLIMIT_NPROC, 12, 12);
  const Ended ended = end_of(launch);
  EXPECT_TRUE(exists(path("refused"))) << "set-up: the limit was not reached";
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true)) << ended.text();
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Surroundings, a_working_directory_that_was_deleted) {
  fs::create_directory(path("d"));
  expect_ordinary_work([&](Launch launch) {
    launch.in_child = [directory = path("d")] {
      if (chdir(directory.c_str()) != 0 || rmdir(directory.c_str()) != 0) _exit(97);
    };
    fs::create_directories(path("d"));
    return launch;
  });
}

TEST_F(Surroundings, extra_descriptors_do_not_reach_the_worker) {
  Launch launch = bare({}, actor({"record:" + path("record")}));
  launch.in_child = [] {
    for (const int fd : {3, 4, 9, 63, 500}) dup2(2, fd);
  };
  EXPECT_EQ(end_of(launch).receipt_bytes, exactly(true, 0, std::nullopt, false));
  const Json record = Json::parse(read_file(path("record")));
  EXPECT_EQ(record.keys("/fds"), (Words{"0", "1", "2"})) << record.dump();
}

TEST_F(Surroundings, an_environment_that_is_empty) {
  expect_ordinary_work([&](Launch launch) {
    launch.environment = Words{};
    // What stands in front must be found without PATH.
    return launch;
  });
}

TEST_F(Surroundings, as_process_1) {
  NEEDS_ROOT();
  Launch launch = bare(
      {}, actor({"kill:KILL:1", "daemon", "[", "beat:1", "]", "await:1", "trap:TERM:9", "beat:2"}));
  launch.outer = {"unshare", "--pid", "--fork", "--mount-proc"};
  Running running = start(launch);
  ASSERT_TRUE(beats_.reaches(2));
  pid_t init = 0;
  for (const ProcessRow& row : descendants(running.pid())) {
    if (row.ppid == running.pid()) init = row.pid;
  }
  ASSERT_GT(init, 0);
  kill(init, SIGTERM);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 9, std::nullopt, false)) << ended.text();
  EXPECT_EQ(ended.status, 0);
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Surroundings, as_process_1_at_a_deadline) {
  NEEDS_ROOT();
  expect_ordinary_work([&](Launch launch) {
    launch.outer = {"unshare", "--pid", "--fork", "--mount-proc"};
    return launch;
  });
}

TEST_F(Surroundings, as_the_leader_of_a_group_and_session) {
  expect_ordinary_work_with([] { setsid(); });
}

TEST_F(Surroundings, very_long_arguments_arrive_byte_for_byte) {
  Words extra = {"",
                 "--",
                 "--timeout",
                 "9",
                 "-h",
                 "--receipt=x",
                 "\xff\xfe\x80",
                 "a\nb\tc",
                 "it's \"q\" $HOME `x` \\",
                 "*",
                 " "};
  for (int i = 0; i < 13; ++i) extra.push_back(std::string(131000, char('A' + i)));
  // The actor reads no further than its last verb; it hashes all that it got.
  const Words words = Words{actor_binary(), "record:" + path("record"), "exit:0"} + extra;
  Launch launch = bare({}, words);
  launch.environment = Words{"PATH=/usr/bin:/bin"};
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false)) << ended.err;
  ASSERT_TRUE(exists(path("record")));
  EXPECT_EQ(Json::parse(read_file(path("record"))).text("/argv_hash"), argv_hash(words));
}

TEST_F(Surroundings, ten_thousand_arguments_arrive) {
  Words words = {actor_binary(), "record:" + path("record"), "exit:0"};
  for (int i = 0; i < 10000; ++i) words.push_back(std::to_string(i));
  EXPECT_EQ(end_of(bare({}, words)).receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_EQ(Json::parse(read_file(path("record"))).text("/argv_hash"), argv_hash(words));
}

TEST_F(Surroundings, an_output_pipe_without_a_reader) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  close(ends[0]);
  Launch launch = bare({}, {"sh", "-c", "while echo x; do :; done 2>/dev/null; exit 5"});
  launch.out = ends[1];
  const Ended ended = end_of(launch);
  close(ends[1]);
  // The worker meets SIGPIPE as anybody does: by default it dies of it.
  EXPECT_TRUE(receipt_is(ended, {.codes = {-SIGPIPE, 5}}));
}

TEST_F(Surroundings, streams_that_nobody_reads_do_not_block_quietus) {
  // The receipt's directory vanishes, so there is something to say, into a full pipe.
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  fcntl(ends[1], F_SETFL, O_NONBLOCK);
  const std::string filler(4096, 'x');
  while (write(ends[1], filler.data(), filler.size()) > 0) {
  }
  fcntl(ends[1], F_SETFL, 0);
  for (const bool reader_is_gone : {false, true}) {
    fs::create_directory(path("d"));
    if (reader_is_gone) close(ends[0]);
    Launch launch = bare({"--timeout", "5", "--receipt", path("d/receipt.json")},
                         {"sh", "-c", "rm -rf " + path("d") + "; exit 0"});
    launch.out = ends[1];
    launch.err = ends[1];
    const Ended ended = end_of(launch);
    EXPECT_EQ(ended.status, 1) << ended.text();
    EXPECT_LT(ended.seconds, 10);
  }
  close(ends[1]);
}

TEST_F(Surroundings, a_worker_blocked_on_a_full_pipe_ends_at_the_deadline) {
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_CLOEXEC), 0);
  Launch launch = bare({"--timeout", "0.5"}, actor({"print:100000000"}));
  launch.out = ends[1];
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, std::nullopt, true));
  close(ends[0]);
  close(ends[1]);
}

}  // namespace

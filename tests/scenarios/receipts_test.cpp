// The receipt of every ending, byte for byte: upstream's table, and where ours departs from it.
#include <signal.h>
#include <sys/stat.h>

#include <filesystem>

#include "harness/scenario.hpp"

namespace {

using namespace harness;

class Receipts : public Scenario {};

constexpr std::nullopt_t kNull = std::nullopt;

TEST_F(Receipts, a_plain_success_is_80_bytes_without_a_newline) {
  const Ended ended = end_of(bare({"--timeout", "20"}, actor({"exit:0"})));
  EXPECT_EQ(ended.receipt_bytes,
            "{\"cleanup_confirmed\": true, \"return_code\": 0, \"error\": null, "
            "\"timed_out\": false}");
  EXPECT_EQ(std::filesystem::file_size(path("receipt.json")), 80u);
  EXPECT_EQ(ended.status, 0);
}

TEST_F(Receipts, an_exit_code_is_told_as_it_is) {
  for (const int code : {1, 2, 7, 77, 121, 123, 124, 125, 126, 127, 128, 137, 143, 255}) {
    const Ended ended = end_of(bare({}, actor({"exit:" + std::to_string(code)})));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, code, kNull, false));
    EXPECT_EQ(ended.status, 0) << "a failing worker is no failure of the supervision";
    clear_records();
  }
}

TEST_F(Receipts, a_death_by_signal_is_its_negative_number) {
  for (const int number : {1, 2, 3, 4, 6, 8, 9, 10, 11, 12, 13, 14, 15, 24, 31, 34, 64}) {
    const Ended ended = end_of(bare({}, actor({"die:" + std::to_string(number)})));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, -number, kNull, false));
    EXPECT_EQ(ended.status, 0);
    clear_records();
  }
}

TEST_F(Receipts, a_worker_that_saves_its_work_at_the_deadline_keeps_its_code) {
  for (const int code : {0, 9}) {
    const Words script = {"trap:TERM:" + std::to_string(code) + ":" + path("saved"), "beat:1"};
    const Ended ended = end_of(bare({"--timeout", "0.3"}, actor(script)));
    EXPECT_EQ(ended.receipt_bytes, exactly(true, code, kNull, true));
    EXPECT_EQ(ended.status, 0);
    EXPECT_EQ(read_file(path("saved")), "15\n");
    std::filesystem::remove(path("saved"));
    clear_records();
  }
}

TEST_F(Receipts, a_worker_that_dies_of_the_deadlines_term_is_minus_15) {
  const Ended ended = end_of(bare({"--timeout", "0.3"}, actor({"beat:1"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, kNull, true));
  EXPECT_TRUE(beats_.gone(1));
}

TEST_F(Receipts, a_worker_that_ignores_term_at_the_deadline_is_minus_9) {
  const Ended ended = end_of(
      bare({"--timeout", "0.3", "--cleanup-timeout", "0.3"}, actor({"ignore:TERM", "beat:1"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGKILL, kNull, true));
  EXPECT_TRUE(beats_.gone(1));
}

class Cancel : public Scenario {
 protected:
  Ended cancelled(const Words& script, const Words& options = {}) {
    Running running = start(bare(options, actor(script)));
    EXPECT_TRUE(beats_.reaches(1)) << "the worker did not start";
    running.signal(SIGTERM);
    return running.wait();
  }
};

TEST_F(Cancel, is_no_timeout_whatever_the_worker_makes_of_it) {
  EXPECT_EQ(cancelled({"trap:TERM:33", "beat:1"}).receipt_bytes, exactly(true, 33, kNull, false));
}

TEST_F(Cancel, of_a_worker_with_default_actions_is_minus_15) {
  const Ended ended = cancelled({"beat:1"}, {"--timeout", "20"});
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, kNull, false));
  EXPECT_EQ(ended.status, 0);
}

TEST_F(Cancel, of_a_deaf_worker_is_minus_9) {
  EXPECT_EQ(cancelled({"ignore:TERM", "beat:1"}, {"--cleanup-timeout", "0.3"}).receipt_bytes,
            exactly(true, -SIGKILL, kNull, false));
}

TEST_F(Cancel, during_the_grace_of_a_deadline_changes_nothing) {
  // The trap takes its time; its note says that the grace has begun.
  Running running = start(bare({"--timeout", "0.3", "--cleanup-timeout", "8"},
                               actor({"note:USR1:" + path("x"), "trap:TERM:5::700", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  ASSERT_TRUE(eventually([&] { return beats_.still(1); })) << "the deadline does not come";
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 5, kNull, true));
}

TEST_F(Cancel, before_the_launch_means_that_nothing_is_started) {
  Launch launch = bare({}, actor({"touch:1", "exit:0"}));
  launch.in_child = [] {
    sigset_t term;
    sigemptyset(&term);
    sigaddset(&term, SIGTERM);
    sigprocmask(SIG_BLOCK, &term, nullptr);
    raise(SIGTERM);  // pending, over the exec
  };
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.receipt_bytes, exactly(true, kNull, kNull, false)) << ended.text();
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(beats_.count(1), 0u) << "the worker ran";
}

TEST_F(Receipts, a_stop_file_before_the_launch_means_that_nothing_is_started) {
  write_file(path("stop"), "");
  const Ended ended = end_of(bare({"--stop-file", path("stop")}, actor({"touch:1"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, kNull, kNull, false));
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(beats_.count(1), 0u) << "the worker ran";
}

TEST_F(Receipts, an_expire_file_before_the_launch_is_a_timeout_without_a_start) {
  write_file(path("expire"), "");
  const Ended ended = end_of(bare({"--expire-file", path("expire")}, actor({"touch:1"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, kNull, kNull, true));
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(beats_.count(1), 0u) << "the worker ran";
}

TEST_F(Receipts, a_stop_file_while_running_stops_as_a_cancel_does) {
  Running running = start(bare({"--stop-file", path("stop")}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  write_file(path("stop"), "");
  const Ended ended = running.wait();
  EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, kNull, false));
  EXPECT_EQ(ended.status, 0);
}

TEST_F(Receipts, an_expire_file_while_running_is_a_timeout) {
  Running running = start(bare({"--expire-file", path("expire")}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  write_file(path("expire"), "");
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, -SIGTERM, kNull, true));
}

TEST_F(Receipts, the_first_cause_wins) {
  write_file(path("stop"), "");
  write_file(path("expire"), "");
  const Ended both = end_of(
      bare({"--stop-file", path("stop"), "--expire-file", path("expire")}, actor({"touch:1"})));
  EXPECT_TRUE(receipt_is(both, {.codes = {kNull}, .timed_out = std::nullopt}));
  clear_records();
  std::filesystem::remove(path("stop"));
  std::filesystem::remove(path("expire"));
  Running running = start(bare({"--stop-file", path("stop"), "--expire-file", path("expire")},
                               actor({"trap:TERM:4::500", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1));
  write_file(path("stop"), "");
  ASSERT_TRUE(eventually([&] { return beats_.still(1); }));
  write_file(path("expire"), "");
  EXPECT_EQ(running.wait().receipt_bytes, exactly(true, 4, kNull, false));
}

TEST_F(Receipts, every_stop_signal_leaves_one) {
  for (const int number : {SIGINT, SIGHUP, SIGQUIT, SIGTERM}) {
    Running running = start(bare({}, actor({"touch:1", "daemon", "[", "beat:2", "]", "beat:3"})));
    ASSERT_TRUE(beats_.alive(3)) << strsignal(number);
    running.signal(number);
    const Ended ended = running.wait();
    EXPECT_EQ(ended.receipt_bytes, exactly(true, -SIGTERM, kNull, false)) << strsignal(number);
    EXPECT_EQ(ended.status, 0);
    EXPECT_TRUE(beats_.still(2));
    clear_records();
  }
}

class SpawnErrors : public Scenario {
 protected:
  void expect_error(const Words& command, const std::string& error) {
    Launch launch = bare({"--timeout", "20"}, command);
    launch.environment = Words{"PATH=/usr/bin:/bin"};
    const Ended ended = end_of(launch);
    EXPECT_EQ(ended.receipt_bytes, exactly(true, kNull, error, false)) << ended.text();
    EXPECT_EQ(ended.status, 1);
    EXPECT_LT(ended.seconds, 10);
    clear_records();
  }
  std::string program(const std::string& name, std::string_view text, mode_t mode) const {
    write_file(path(name), text);
    chmod(path(name).c_str(), mode);
    return path(name);
  }
};

TEST_F(SpawnErrors, name_number_reason_and_program_as_upstream_does) {
  expect_error({"/missing/bin"}, "[Errno 2] No such file or directory: '/missing/bin'");
  expect_error({"no-such-command-here"},
               "[Errno 2] No such file or directory: 'no-such-command-here'");
  expect_error({"a\nb\x1b[31m"}, R"([Errno 2] No such file or directory: 'a\nb\x1b[31m')");
  const std::string plain = program("plain", "#!/bin/sh\n", 0644);
  expect_error({plain}, "[Errno 13] Permission denied: '" + plain + "'");
  expect_error({path("")}, "[Errno 13] Permission denied: '" + path("") + "'");
  const std::string wordless = program("wordless", "exit 7\n", 0755);
  expect_error({wordless}, "[Errno 8] Exec format error: '" + wordless + "'");
}

TEST_F(SpawnErrors, of_any_kind_are_receipts_in_strict_form) {
  std::filesystem::create_symlink(path("loop"), path("loop"));
  const Words commands = {"",
                          program("garbage",
                                  std::string("\x7f"
                                              "ELF\2\1\1",
                                              7) +
                                      "xxxx",
                                  0755),
                          program("badinterp", "#!/no/such/interpreter\n", 0755),
                          path("loop"),
                          std::string(5000, 'x'),
                          std::string("\xff\"\\\x01\n/none"),
                          "caf\xc3\xa9/none"};
  for (const std::string& command : commands) {
    const Ended ended = end_of(bare({}, {command}));
    EXPECT_TRUE(receipt_is(ended, {.codes = {kNull}, .error = Error::some}));
    EXPECT_EQ(ended.status, 1);
    clear_records();
  }
}

TEST_F(SpawnErrors, an_empty_search_path_finds_nothing) {
  Launch launch = bare({}, {"ls"});
  launch.environment = Words{"PATH="};
  launch.directory = "/";
  EXPECT_TRUE(receipt_is(end_of(launch), {.codes = {kNull}, .error = Error::some}));
}

class ReceiptMode : public Scenario {
 protected:
  mode_t mode_under(mode_t mask) {
    Launch launch = bare({}, actor({"exit:0"}));
    launch.in_child = [mask] { umask(mask); };
    // The files of the harness itself are open already.
    (void)end_of(launch);
    struct stat info = {};
    stat(path("receipt.json").c_str(), &info);
    clear_records();
    return info.st_mode & 07777;
  }
};

TEST_F(ReceiptMode, comes_from_the_umask_and_the_owner_can_always_read) {
  EXPECT_EQ(mode_under(0022), 0644u);
  EXPECT_EQ(mode_under(0077), 0600u);
  EXPECT_EQ(mode_under(0002), 0664u);
  EXPECT_EQ(mode_under(0777), 0400u);
}

TEST_F(Receipts, stand_alone_in_their_directory) {
  std::filesystem::create_directory(path("d"));
  (void)end_of(bare({"--receipt", path("d/receipt.json")}, actor({"exit:0"})));
  int entries = 0;
  for (const auto& entry : std::filesystem::directory_iterator(path("d"))) {
    EXPECT_EQ(entry.path().filename(), "receipt.json");
    ++entries;
  }
  EXPECT_EQ(entries, 1);
}

TEST_F(Receipts, do_not_exist_before_the_end) {
  Running running = start(bare({}, actor({"beat:1"})));
  ASSERT_TRUE(beats_.reaches(1, 20));
  EXPECT_FALSE(exists(path("receipt.json")));
  running.signal(SIGTERM);
  EXPECT_TRUE(running.wait().has_receipt);
}

TEST_F(Receipts, replace_an_old_one_in_one_step) {
  write_file(path("receipt.json"), "old");
  std::filesystem::create_hard_link(path("receipt.json"), path("link"));
  const Ended ended = end_of(bare({}, actor({"exit:3"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 3, kNull, false));
  EXPECT_EQ(read_file(path("link")), "old") << "written over instead of renamed";
}

TEST_F(Receipts, are_the_same_with_sync) {
  const Ended ended = end_of(bare({"--sync"}, actor({"exit:0"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, kNull, false));
}

TEST_F(Receipts, without_one_the_bare_form_refuses_to_run) {
  const Ended ended = end_of(plain(Words{"--timeout", "5", "--"} + actor({"touch:1"})));
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(holds(ended.err, "--receipt"));
  EXPECT_EQ(beats_.count(1), 0u);
}

}  // namespace

// --output and --output-limit: the worker's output in a file, kept to a size, and never a reason to
// block the worker or to wait for whoever holds the pipe.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <regex>

#include "harness/scenario.hpp"

namespace {

using namespace harness;
namespace fs = std::filesystem;

// What the actor's print verb writes at these places.
std::string printed(size_t from, size_t to) {
  std::string text;
  for (size_t i = from; i < to; ++i) text += char('a' + i % 26);
  return text;
}

class Output : public Scenario {
 protected:
  // Runs a worker with its output limited, and returns what the file holds.
  std::string limited(const std::string& limit, const Words& script, const Words& options = {}) {
    const Ended ended = end_of(
        run(options + Words{"--output", path("log"), "--output-limit", limit}, actor(script)));
    EXPECT_EQ(ended.status, 0) << ended.text();
    EXPECT_EQ(ended.out, "") << "the output went past the file";
    clear_records();
    std::string text = read_file(path("log"));
    fs::remove(path("log"));
    return text;
  }
};

TEST_F(Output, without_a_limit_is_the_workers_whole_output) {
  const Ended ended = end_of(
      run({"--output", path("log")}, actor({"say:one", "say:two:2", "print:100000", "exit:0"})));
  EXPECT_EQ(ended.status, 0) << ended.text();
  EXPECT_EQ(read_file(path("log")), "one\ntwo\n" + printed(0, 100000));
  EXPECT_EQ(ended.out + ended.err, "");
}

TEST_F(Output, replaces_what_an_older_run_left) {
  write_file(path("log"), std::string(1000, 'x'));
  EXPECT_EQ(end_of(run({"--output", path("log")}, actor({"say:new"}))).status, 0);
  EXPECT_EQ(read_file(path("log")), "new\n");
}

TEST_F(Output, below_the_limit_is_untouched) {
  EXPECT_EQ(limited("1000", {"print:1000"}), printed(0, 1000));
  EXPECT_EQ(limited("1000", {"print:600:100"}), printed(0, 600));
  EXPECT_EQ(limited("1000", {"print:1:1"}), "a");
  EXPECT_EQ(limited("1000", {"exit:0"}), "");
  EXPECT_EQ(limited("1MiB", {"print:1048576:65536"}), printed(0, 1048576));
}

TEST_F(Output, above_the_limit_keeps_head_and_tail_and_counts_what_is_cut) {
  struct Case {
    size_t limit;
    size_t bytes;
    size_t chunk;
  };
  for (const Case& one : {Case{1000, 1001, 4096}, Case{1000, 5000, 7}, Case{1000, 100000, 65536},
                          Case{4096, 1000000, 65536}, Case{100, 12345, 1000}, Case{2, 100, 10},
                          Case{1001, 54321, 333}}) {
    const std::string text =
        limited(std::to_string(one.limit),
                {"print:" + std::to_string(one.bytes) + ":" + std::to_string(one.chunk)});
    const size_t head = one.limit / 2;
    const size_t tail = one.limit - head;
    const std::string expected = printed(0, head) +
                                 "\n[quietus: " + std::to_string(one.bytes - one.limit) +
                                 " bytes cut]\n" + printed(one.bytes - tail, one.bytes);
    EXPECT_EQ(text, expected) << "limit " << one.limit << " of " << one.bytes;
  }
}

TEST_F(Output, the_notice_stands_on_a_line_of_its_own) {
  // Nine bytes a line: the head ends with a newline already, so none is added.
  const Ended ended = end_of(run({"--output", path("log"), "--output-limit", "36"},
                                 actor({"repeat:50", "[", "say:12345678", "]"})));
  EXPECT_EQ(ended.status, 0);
  const std::string line = "12345678\n";
  EXPECT_EQ(read_file(path("log")), line + line + "[quietus: 414 bytes cut]\n" + line + line);
}

TEST_F(Output, tells_the_report_what_was_cut) {
  const Ended cut =
      end_of(run({"--output", path("log"), "--output-limit", "1000"}, actor({"print:5000"})));
  EXPECT_EQ(cut.report->integer("/output_bytes_cut"), 4000);
  clear_records();
  const Ended whole =
      end_of(run({"--output", path("log"), "--output-limit", "9000"}, actor({"print:5000"})));
  EXPECT_EQ(whole.report->integer("/output_bytes_cut"), 0);
  clear_records();
  EXPECT_TRUE(end_of(run({}, actor({}))).report->is_null("/output_bytes_cut"));
}

TEST_F(Output, of_a_gigabyte_never_blocks_the_worker) {
  const Ended ended = end_of(
      run({"--output", path("log"), "--output-limit", "1MiB"}, actor({"print:1000000000:65536"})),
      60);
  EXPECT_EQ(ended.status, 0) << ended.text();
  const std::string text = read_file(path("log"));
  const std::string notice =
      "\n[quietus: " + std::to_string(1000000000 - 1048576) + " bytes cut]\n";
  ASSERT_EQ(text.size(), 1048576 + notice.size());
  EXPECT_EQ(text.substr(524288, notice.size()), notice);
  EXPECT_EQ(text.substr(524288 + notice.size()), printed(1000000000 - 524288, 1000000000));
}

TEST_F(Output, is_not_waited_for_where_a_kept_process_holds_the_pipe) {
  // Kept processes and a limit exclude each other; a plain file may be held.
  Launch launch = run({"--output", path("log"), "--descendants", "group"},
                      actor({"daemon", "[", "beat:1", "]", "await:1", "say:done"}));
  launch.may_leave = true;
  allow_leftovers();
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.status, 0);
  EXPECT_LT(ended.seconds, 10);
  EXPECT_EQ(read_file(path("log")), "done\n");
}

TEST_F(Output, with_a_limit_excludes_survivors_who_would_lose_their_pipe) {
  for (const char* policy : {"group", "keep-on-success"}) {
    const Ended ended =
        end_of(run({"--output", path("log"), "--output-limit", "1000", "--descendants", policy},
                   actor({"touch:1"})));
    EXPECT_EQ(ended.status, 2) << policy;
    EXPECT_FALSE(exists(path("log")));
    EXPECT_EQ(beats_.count(1), 0u);
  }
}

TEST_F(Output, with_a_limit_needs_a_file) {
  const Ended ended = end_of(run({"--output-limit", "1000"}, actor({"touch:1"})));
  EXPECT_EQ(ended.status, 2);
  EXPECT_TRUE(holds(ended.err, "--output"));
  EXPECT_EQ(beats_.count(1), 0u);
}

TEST_F(Output, is_collected_from_every_descendant_until_it_ends) {
  const std::string text =
      limited("100000", {"daemon", "[", "ignore:TERM", "say:daemon", "touch:1", "hold", "]",
                         "await:1", "fork", "[", "say:child", "]", "wait", "say:worker"});
  EXPECT_EQ(text, "daemon\nchild\nworker\n");
}

TEST_F(Output, is_complete_at_the_deadline) {
  const Ended ended =
      end_of(run({"--output", path("log"), "--output-limit", "1000", "--timeout", "0.5"},
                 actor({"trap:TERM:0", "say:early", "hold"})));
  EXPECT_EQ(ended.status, 124);
  EXPECT_EQ(read_file(path("log")), "early\n");
}

TEST_F(Output, of_a_worker_that_writes_for_ever_ends_at_the_deadline) {
  Launch launch = run({"--output", path("log"), "--output-limit", "10000", "--timeout", "1"},
                      {"sh", "-c", "trap '' TERM; while :; do echo xxxxxxxxxxxxxxxxxxxxxx; done"});
  const Ended ended = end_of(launch);
  EXPECT_EQ(ended.status, 124) << ended.text();
  EXPECT_LT(ended.seconds, 15);
  EXPECT_LT(fs::file_size(path("log")), 10100u);
}

TEST_F(Output, shows_its_head_while_the_worker_runs) {
  Running running = start(
      run({"--output", path("log"), "--output-limit", "1000"}, actor({"say:early", "beat:1"})));
  EXPECT_TRUE(eventually([&] { return read_file(path("log")) == "early\n"; }));
  running.signal(SIGTERM);
  EXPECT_EQ(running.wait().status, 122);
}

TEST_F(Output, into_a_directory_that_is_missing_starts_nothing) {
  for (const Words& options : {Words{}, Words{"--output-limit", "1000"}}) {
    const Ended ended =
        end_of(run(options + Words{"--output", path("gone/log")}, actor({"touch:1"})));
    EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt}, .error = Error::some}));
    EXPECT_EQ(ended.status, 125);
    EXPECT_EQ(beats_.count(1), 0u);
    clear_records();
  }
}

TEST_F(Output, does_not_block_on_a_named_pipe_without_a_reader) {
  mkfifo(path("log").c_str(), 0600);
  const Ended ended = end_of(run({"--output", path("log")}, actor({"touch:1"})));
  EXPECT_TRUE(receipt_is(ended, {.codes = {std::nullopt, 0}, .error = Error::any}));
  EXPECT_LT(ended.seconds, 10);
}

TEST_F(Output, on_a_full_disk_costs_bytes_and_not_the_supervision) {
  for (const Words& limit : {Words{}, Words{"--output-limit", "100000"}}) {
    const Ended ended = end_of(run(limit + Words{"--output", "/dev/full", "--timeout", "20"},
                                   actor({"print:500000", "exit:6"})));
    EXPECT_TRUE(receipt_is(ended, {.codes = {6}, .error = Error::any}));
    EXPECT_LT(ended.seconds, 15) << "the worker was blocked";
    clear_records();
  }
}

TEST_F(Output, works_in_the_bare_form) {
  const Ended ended =
      end_of(bare({"--output", path("log"), "--output-limit", "1000"}, actor({"print:5000"})));
  EXPECT_EQ(ended.receipt_bytes, exactly(true, 0, std::nullopt, false));
  EXPECT_TRUE(holds(read_file(path("log")), "[quietus: 4000 bytes cut]"));
}

TEST_F(Output, is_finished_by_the_other_half_when_one_is_killed) {
  Running running = start(
      run({"--output", path("log"), "--output-limit", "1000"}, actor({"print:5000", "beat:1"})));
  ASSERT_TRUE(beats_.reaches(1, 20));
  kill(running.supervisor(), SIGKILL);
  const Ended ended = running.wait();
  EXPECT_EQ(ended.status, 125) << ended.text();
  EXPECT_TRUE(holds(read_file(path("log")), "[quietus: 4000 bytes cut]"));
}

}  // namespace

#include "contract/report.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <csignal>

#include "contract/receipt.hpp"
#include "harness/running.hpp"
#include "harness/schema.hpp"

namespace quietus {
namespace {

using namespace std::chrono_literals;

// Parsed, found to follow the published schema, and compared with the receipt of the same end.
harness::Json report_of(const Outcome& outcome) {
  harness::Ended ended;
  std::string why;
  ended.receipt = harness::ReceiptFile::parse(receipt_json(receipt_of(outcome)), why);
  EXPECT_TRUE(ended.receipt) << why;
  auto report = harness::checked_report(report_json(outcome), ended);
  return report ? *report : harness::Json::parse("{}");
}

Outcome full_outcome() {
  Outcome outcome;
  outcome.ending = Ending::signaled(SIGKILL);
  outcome.cause = Cause::stop;
  outcome.stop_by = "SIGTERM";
  outcome.proof = Proof::cgroup_unpopulated;
  outcome.means = Means::cgroup;
  outcome.policy = "tree";
  outcome.error = "the guardian process was killed";
  outcome.fell_back("clone3", ENOSYS, "joined by hand");
  outcome.steps.push_back({.action = "terminate",
                           .signal = SIGTERM,
                           .at = 1500ms,
                           .until = 2s,
                           .rounds = 2,
                           .reached = 1});
  outcome.survivors.push_back({.pid = 4711,
                               .ppid = 1,
                               .pgid = 4711,
                               .sid = 4711,
                               .uid = 1000,
                               .state = 'D',
                               .start_ticks = 123456789,
                               .comm = "a) (b",
                               .command_line = "x\n\xFF",
                               .why = "uninterruptible"});
  outcome.kept.push_back({.pid = 4712, .comm = "service", .why = "kept"});
  outcome.notes.push_back("a note");
  outcome.worker_pid = 4710;
  outcome.reaped = 3;
  outcome.killed = 2;
  outcome.worker_usage = {1500ms, 250us, 2048};
  outcome.wall_start_ns = 1796063400123456789;
  outcome.wall_end_ns = 1796063402000000000;
  outcome.worker_ran = 1250ms;
  outcome.cleanup = 3ms;
  outcome.total = 1253ms;
  outcome.output_bytes_cut = 99;
  return outcome;
}

TEST(Report, SaysEverythingThatIsKnown) {
  const auto report = report_of(full_outcome());
  EXPECT_EQ(report.text("/cause"), "stop");
  EXPECT_EQ(report.text("/stop_by"), "SIGTERM");
  EXPECT_EQ(report.text("/proof"), "cgroup-unpopulated");
  EXPECT_EQ(report.text("/means"), "cgroup");
  EXPECT_EQ(report.text("/descendants"), "tree");
  EXPECT_EQ(report.integer("/worker/pid"), 4710);
  EXPECT_EQ(report.text("/worker/ending"), "signaled");
  EXPECT_EQ(report.text("/worker/signal"), "SIGKILL");
  EXPECT_TRUE(report.is_null("/worker/exit_code"));
  EXPECT_EQ(report.text("/steps/0/action"), "terminate");
  EXPECT_EQ(report.number("/steps/0/at_seconds"), 1.5);
  EXPECT_EQ(report.integer("/steps/0/rounds"), 2);
  EXPECT_EQ(report.text("/fallbacks/0/call"), "clone3");
  EXPECT_EQ(report.integer("/fallbacks/0/errno"), ENOSYS);
  EXPECT_EQ(report.text("/survivors/0/comm"), "a) (b");
  EXPECT_EQ(report.text("/survivors/0/command_line"), "x\n\xEF\xBF\xBD");
  EXPECT_EQ(report.text("/survivors/0/state"), "D");
  EXPECT_EQ(report.integer("/survivors/0/start_ticks"), 123456789);
  EXPECT_EQ(report.text("/kept/0/comm"), "service");
  EXPECT_EQ(report.text("/notes/0"), "a note");
  EXPECT_EQ(report.integer("/reaped"), 3);
  EXPECT_EQ(report.integer("/killed"), 2);
  EXPECT_EQ(report.number("/usage/worker/user_seconds"), 1.5);
  EXPECT_EQ(report.number("/usage/worker/system_seconds"), 0.00025);
  EXPECT_EQ(report.integer("/usage/worker/peak_rss_kib"), 2048);
  EXPECT_EQ(report.integer("/output_bytes_cut"), 99);
  EXPECT_EQ(report.text("/times/started"), "2026-11-30T18:30:00.123456Z");
  EXPECT_EQ(report.number("/times/worker_seconds"), 1.25);
}

TEST(Report, WhatIsNotKnownIsNull) {
  Outcome nothing;
  nothing.policy = "tree";  // an option, known from the start
  const auto report = report_of(nothing);
  for (const char* path : {"/return_code", "/error", "/stop_by", "/proof", "/worker/pid",
                           "/worker/exit_code", "/worker/signal", "/output_bytes_cut"}) {
    EXPECT_TRUE(report.is_null(path)) << path;
  }
  EXPECT_EQ(report.text("/cause"), "unknown");
  EXPECT_EQ(report.text("/worker/ending"), "unknown");
}

TEST(Report, EveryWordIsInTheSchema) {
  Outcome outcome = full_outcome();
  for (const Cause cause :
       {Cause::unknown, Cause::exited, Cause::deadline, Cause::stop, Cause::expire, Cause::lease,
        Cause::parent_gone, Cause::launch_failed, Cause::supervisor_killed}) {
    outcome.cause = cause;
    EXPECT_EQ(report_of(outcome).text("/cause"), name(cause));
  }
  for (const Proof proof :
       {Proof::no_children_left, Proof::cgroup_unpopulated, Proof::pid_namespace_gone,
        Proof::process_group_empty, Proof::kept_by_policy}) {
    outcome.proof = proof;
    EXPECT_EQ(report_of(outcome).text("/proof"), name(proof));
  }
  for (const Means means :
       {Means::none, Means::shield, Means::isolate, Means::cgroup, Means::sweep, Means::group}) {
    outcome.means = means;
    EXPECT_EQ(report_of(outcome).text("/means"), name(means));
  }
  for (const Ending ending :
       {Ending{}, Ending::not_started(2), Ending::exited(3), Ending::signaled(SIGSEGV)}) {
    outcome.ending = ending;
    (void)report_of(outcome);
  }
}

TEST(Report, AnyBytesOfAProcessKeepItValid) {
  Outcome outcome = full_outcome();
  std::string bytes;
  for (int byte = 1; byte < 256; ++byte) bytes += static_cast<char>(byte);
  outcome.survivors[0].comm = bytes;
  outcome.survivors[0].command_line = bytes;
  outcome.survivors[0].state = '\xFF';  // one byte that is no text by itself
  outcome.error = bytes;
  const std::string text = report_json(outcome);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  for (const char c : text.substr(0, text.size() - 1)) ASSERT_TRUE(c >= 0x20 && c < 0x7F);
  (void)harness::Json::parse(text);
}

TEST(Report, TimesAreRfc3339) {
  EXPECT_EQ(rfc3339(0), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(rfc3339(999), "1970-01-01T00:00:00.000000Z");
  EXPECT_EQ(rfc3339(951827696999999999), "2000-02-29T12:34:56.999999Z");
  EXPECT_EQ(rfc3339(4107542399000000000), "2100-02-28T23:59:59.000000Z");
  EXPECT_EQ(rfc3339(4107542400000000000), "2100-03-01T00:00:00.000000Z");  // no leap year
}

}  // namespace
}  // namespace quietus

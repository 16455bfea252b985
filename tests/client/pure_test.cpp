// What needs no loop and no process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/scene.hpp"
#include "client/src/base64.hpp"
#include "client/src/launch_words.hpp"

namespace client_tests {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Timeouts, AddThreePhasesAndHalfAMinute) {
  EXPECT_EQ(exec_timeout(60s, 5s), 105s);
  EXPECT_EQ(exec_timeout(60s), 120s);
  EXPECT_EQ(exec_timeout(kForever, 5s), kForever);
  EXPECT_EQ(exec_timeout(60s, kForever), kForever);
}

// Upstream's own test values.
TEST(Timeouts, OfASupervisionAreUpstreams) {
  const auto small = supervision_timeouts(1s, 300ms);
  EXPECT_EQ(small.cleanup, 100ms);
  EXPECT_EQ(small.exec, 31300ms);
  EXPECT_EQ(supervision_timeouts(2700s, 30s).cleanup, 10s);
  EXPECT_EQ(supervision_timeouts(2700s, 30s).exec, 2760s);
  EXPECT_EQ(supervision_timeouts(21600s, 300s).exec, 21930s);
  EXPECT_EQ(supervision_timeouts(kForever, 30s).exec, kForever);
}

// A legal cleanup takes the whole of close_timeout: whoever waits no longer misses its answer.
TEST(Timeouts, OfAStopOutlastTheWorstLegalCleanup) {
  const auto stop = stop_timeouts(30s);
  const Span worst = supervision_timeouts(0s, 30s).cleanup * kCleanupPhaseCount;
  EXPECT_GT(stop.inside, worst);
  EXPECT_GT(stop.exec, stop.inside);
  EXPECT_EQ(stop_timeouts(kForever).exec, kForever);
}

TEST(Shell, QuotesWhateverAWordHolds) {
  EXPECT_EQ(shell_quote("plain-1.0/x"), "plain-1.0/x");
  EXPECT_EQ(shell_quote(""), "''");
  EXPECT_EQ(shell_quote("$(rm x) `y`"), "'$(rm x) `y`'");
  EXPECT_EQ(shell_quote("it's"), R"('it'\''s')");
  EXPECT_EQ(shell_quote("A=b"), "'A=b'");
  const Words words = {"a b", "c"};
  EXPECT_EQ(shell_join(words), "'a b' c");
}

TEST(Base64, IsThatOfTheStandard) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64(std::string("\xff\x00\x80", 3)), "/wCA");
}

TEST(ReceiptCheck, TakesTheFourKeys) {
  const auto checked = check_receipt(
      R"({"cleanup_confirmed": true, "return_code": -15, "error": null, "timed_out": true})", "h");
  ASSERT_TRUE(succeeded(checked));
  EXPECT_TRUE(checked->strict);
  EXPECT_EQ(checked->receipt.return_code, -15);
  EXPECT_TRUE(checked->receipt.timed_out);
}

TEST(ReceiptCheck, SavesWhatCanBeSaved) {
  for (
      const char* json :
      {R"({"cleanup_confirmed": true, "error": null})",
       R"({"cleanup_confirmed": true, "return_code": true, "error": 7, "timed_out": 1})",
       R"({"cleanup_confirmed": true, "return_code": null, "error": null, "timed_out": false, "x": 1})"}) {
    const auto checked = check_receipt(json, "h");
    ASSERT_TRUE(succeeded(checked)) << json;
    EXPECT_FALSE(checked->strict) << json;
    EXPECT_EQ(checked->receipt.return_code, std::nullopt) << json;
    EXPECT_FALSE(checked->receipt.timed_out) << json;
    EXPECT_EQ(checked->receipt.error, std::nullopt) << json;
  }
}

TEST(ReceiptCheck, RefusesWhateverIsNotExactlyTrue) {
  for (const char* json : {"[]", "\"stopped\"", "null", "1", "", "{"}) {
    EXPECT_TRUE(failed(check_receipt(json, "demo"), ErrorKind::unconfirmed,
                       "demo sandbox cleanup was not confirmed: cleanup receipt is not a JSON "
                       "object"))
        << json;
  }
  for (const char* flag : {"false", "\"true\"", "1", "null", "[true]"}) {
    const std::string json = std::string(R"({"cleanup_confirmed": )") + flag +
                             R"(, "return_code": 0, "error": "two are left", "timed_out": false})";
    EXPECT_TRUE(failed(check_receipt(json, "demo"), ErrorKind::unconfirmed,
                       "was not confirmed: two are left"))
        << json;
  }
}

TEST(SessionStatusText, IsRead) {
  const auto status = parse_session_status(
      R"({"schema": "quietus-status", "schema_version": 1, "state": "running",
          "age_seconds": 1.5, "deadline_left_seconds": null, "cleanup_confirmed": null,
          "processes": [{"pid": 7, "ppid": 1, "state": "S", "comm": "sh", "command_line": "sh -c x",
                         "cpu_seconds": 0.25, "rss_kib": 900, "new": {}}]})");
  ASSERT_TRUE(succeeded(status));
  EXPECT_EQ(status->phase, SessionPhase::running);
  EXPECT_EQ(status->age_seconds, 1.5);
  EXPECT_EQ(status->deadline_seconds, std::nullopt);
  ASSERT_EQ(status->processes.size(), 1u);
  EXPECT_EQ(status->processes[0].pid, 7);
  EXPECT_EQ(status->processes[0].rss_kib, 900);
}

TEST(SessionStatusText, IsRefusedWhereItIsNone) {
  for (const char* json :
       {"", "[]", "{}", R"({"state": "odd"})", R"({"state": 1})",
        R"({"state": "new", "processes": {}})", R"({"state": "new", "processes": [{"pid": "7"}]})",
        R"({"state": "new", "cleanup_confirmed": 1})"}) {
    EXPECT_TRUE(failed(parse_session_status(json), ErrorKind::sandbox)) << json;
  }
}

TEST(ProcessInfoText, IsStrict) {
  const auto info = parse_process_info(R"({"hostname": "a", "pid": 7, "python": "3.11"})");
  ASSERT_TRUE(info);
  EXPECT_EQ(info->hostname, "a");
  EXPECT_EQ(info->pid, 7);
  EXPECT_EQ(info->python, "3.11");
  EXPECT_TRUE(parse_process_info(R"({"hostname": "a", "pid": 7})"));
  EXPECT_TRUE(parse_process_info(R"({"hostname": "a", "pid": 7, "python": null})"));
  for (const char* json :
       {"", "[]", "{}", R"({"hostname": "a"})", R"({"hostname": "a", "pid": "7"})",
        R"({"hostname": "a", "pid": true})", R"({"hostname": 1, "pid": 7})",
        R"({"hostname": "a", "pid": 7, "more": 1})"}) {
    EXPECT_FALSE(parse_process_info(json)) << json;
  }
}

TEST(PayloadVersionText, IsReadAndOnlyOurs) {
  const auto version = parse_payload_version(
      R"({"name": "quietus", "version": "0.1.0", "commit": "c", "machine": "x86_64", "libc": "musl",
          "report_schema_version": 1})");
  ASSERT_TRUE(succeeded(version));
  EXPECT_EQ(version->machine, "x86_64");
  for (const char* json :
       {"", "{}", R"({"name": "other", "version": "1"})", R"({"name": "quietus", "version": 1})"}) {
    EXPECT_TRUE(failed(parse_payload_version(json), ErrorKind::sandbox)) << json;
  }
}

TEST(Seconds, HaveAsManyDigitsAsItTakes) {
  EXPECT_EQ(seconds_text(90s), "90");
  EXPECT_EQ(seconds_text(1500ms), "1.5");
  EXPECT_EQ(seconds_text(Span(1)), "0.000000001");
}

TEST(LaunchWords, SayWhatOwnershipAndTransportAllow) {
  SessionOptions options{.directory = "/tmp/s", .workdir = "/work"};
  const SessionCommand command{.argv = {"make", "check"}, .environment = {{"A", "b c"}}};
  EXPECT_THAT(launch_words("/q", options, Traits{.passes_stdin_end = true}, command, 60s, 10s),
              ElementsAre("/q", "launch", "--session", "/tmp/s", "--timeout", "60",
                          "--cleanup-timeout", "10", "--output-limit", "67108864", "--lease",
                          "stdin", "--chdir", "/work", "--setenv", "A=b c", "--", "make", "check"));
  options.ownership = Ownership::owned;
  options.workdir.clear();
  EXPECT_THAT(launch_words("/q", options, Traits{}, {.argv = {"x"}}, kForever, 10s),
              ElementsAre("/q", "launch", "--session", "/tmp/s", "--cleanup-timeout", "10",
                          "--output-limit", "67108864", "--shield=try", "--", "x"));
}

TEST(FreshSessionDirectory, IsUniqueAndBelowItsParent) {
  EXPECT_EQ(fresh_session_directory().size(), std::string("/tmp/quietus-").size() + 32);
  EXPECT_NE(fresh_session_directory(), fresh_session_directory());
  EXPECT_EQ(fresh_session_directory("/var/tmp/").find("/var/tmp/quietus-"), 0u);
}

TEST(FindPayload, TakesTheFirstThatIsThereAndNamesThePlaces) {
  harness::Scratch scratch;
  const auto none = find_payload({.executable = scratch.path("bin/quietusctl")});
  ASSERT_TRUE(failed(none, ErrorKind::input, "there is no payload"));
  const std::pair<const char*, const char*> others[] = {
      {"/etc/passwd", "Permission denied"},
      {"/etc", "it is no regular file"},
      {"/nonexistent", "No such file or directory"},
      {"/etc/passwd/x", "Not a directory"}};
  for (const auto& [path, why] : others) {
    EXPECT_TRUE(failed(find_payload({.explicit_path = path}), ErrorKind::input,
                       "'" + std::string(path) + "' is no program: " + why));
  }
  // What is asked for is taken, or fails: there is no silent other choice.
  EXPECT_TRUE(failed(
      find_payload({.environment_path = "/nonexistent", .executable = harness::quietus_binary()}),
      ErrorKind::input, "/nonexistent"));
  const auto beside = find_payload({.executable = "/proc/self/exe"});
  ASSERT_TRUE(succeeded(beside));
  EXPECT_EQ(beside->substr(beside->rfind('/')), "/quietus");
}

TEST(ErrorText, NamesTheRemedyAndTheCauses) {
  const Error error =
      Error{ErrorKind::timeout, "late", "wait"}.because({ErrorKind::transport, "cut", {}});
  EXPECT_EQ(error.text(), "late; wait: cut");
}

}  // namespace
}  // namespace client_tests

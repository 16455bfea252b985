#include "cli/explain.hpp"

#include <gtest/gtest.h>

#include "contract/exit_code.hpp"

namespace quietus::cli {
namespace {

using Json = nlohmann::json;

Json a_report(const char* cause) {
  return {{"schema", "quietus-report"},
          {"schema_version", 1},
          {"cleanup_confirmed", true},
          {"return_code", -15},
          {"error", nullptr},
          {"timed_out", false},
          {"cause", cause},
          {"stop_by", "SIGTERM"},
          {"proof", "no-children-left"},
          {"means", "sweep"},
          {"worker", {{"pid", 7}, {"ending", "signaled"}}},
          {"steps",
           {{{"action", "terminate"}, {"signal", "SIGTERM"}, {"at_seconds", 1.5}, {"reached", 1}}}},
          {"fallbacks", {{{"call", "clone3"}, {"errno", 38}, {"instead", "clone"}}}},
          {"survivors", {{{"pid", 9}, {"comm", "x\x1b[2J"}, {"why", "EPERM"}}}},
          {"kept", Json::array()},
          {"notes", {"a note"}},
          {"reaped", 3},
          {"killed", 2},
          {"usage",
           {{"worker", {{"user_seconds", 1}, {"system_seconds", 1}, {"peak_rss_kib", 2048}}},
            {"descendants", {{"user_seconds", 0}, {"system_seconds", 0}, {"peak_rss_kib", 0}}}}},
          {"times", {{"worker_seconds", 2.5}, {"cleanup_seconds", 0.1}}}};
}

Receipt killed() { return {.cleanup_confirmed = true, .return_code = -15}; }

TEST(CtlExitCode, TheReceiptDecides) {
  EXPECT_EQ(exit_code_of({.cleanup_confirmed = true, .return_code = 0}, nullptr, {}), 0);
  EXPECT_EQ(exit_code_of({.cleanup_confirmed = true, .return_code = 3}, nullptr, 0), 3);
  EXPECT_EQ(exit_code_of(killed(), nullptr, {}), 128 + 15);
  EXPECT_EQ(exit_code_of({.cleanup_confirmed = false, .return_code = 0}, nullptr, 0),
            kExitNotConfirmed);
  EXPECT_EQ(
      exit_code_of({.cleanup_confirmed = true, .return_code = -15, .timed_out = true}, nullptr, {}),
      kExitTimedOut);
  EXPECT_EQ(exit_code_of({.cleanup_confirmed = true, .return_code = 0, .error = "x"}, nullptr, 0),
            kExitFailed);
  EXPECT_EQ(exit_code_of({.cleanup_confirmed = true}, nullptr, 0), kExitFailed);
}

TEST(CtlExitCode, AReportThatAgreesTellsAStop) {
  for (const char* cause : {"stop", "lease", "parent-gone"}) {
    const Json report = a_report(cause);
    EXPECT_EQ(exit_code_of(killed(), &report, {}), kExitStopped) << cause;
  }
  const Json report = a_report("exited");
  EXPECT_EQ(exit_code_of(killed(), &report, {}), 128 + 15);
}

TEST(CtlExitCode, AReportThatDisagreesWithTheReceiptIsIgnored) {
  Json report = a_report("stop");
  report["return_code"] = 0;
  EXPECT_EQ(exit_code_of(killed(), &report, {}), 128 + 15);
  report = a_report("stop");
  report.erase("cleanup_confirmed");
  EXPECT_EQ(exit_code_of(killed(), &report, {}), 128 + 15);
}

TEST(CtlExitCode, ALaunchThatFailedHasTheCodeThatTheLaunchSaid) {
  Json report = a_report("launch-failed");
  report["return_code"] = nullptr;
  const Receipt receipt{.cleanup_confirmed = true, .error = "execve"};
  EXPECT_EQ(exit_code_of(receipt, &report, 127), 127);
  EXPECT_EQ(exit_code_of(receipt, &report, 126), 126);
  EXPECT_EQ(exit_code_of(receipt, &report, 0), kExitFailed);
  EXPECT_EQ(exit_code_of(receipt, &report, {}), kExitFailed);
}

std::string told(const std::string& text) {
  const auto explanation = explain(text);
  EXPECT_TRUE(explanation) << explanation.error().text();
  std::string all;
  if (explanation) {
    for (const std::string& sentence : explanation->sentences) all += sentence + '\n';
  }
  return all;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != text.npos; }

TEST(CtlExplain, AReceipt) {
  const std::string text =
      told(R"({"cleanup_confirmed": true, "return_code": -9, "error": null, "timed_out": true})");
  EXPECT_TRUE(has(text, "Cleanup: confirmed.")) << text;
  EXPECT_TRUE(has(text, "died of SIGKILL; its time was over.")) << text;
  EXPECT_TRUE(has(text, "As an exit code of quietus run: 124.")) << text;
}

TEST(CtlExplain, AnUnconfirmedOneShouts) {
  const std::string text = told(
      R"({"cleanup_confirmed": false, "return_code": null, "error": "one is left", "timed_out": false})");
  EXPECT_TRUE(has(text, "NOT confirmed")) << text;
  EXPECT_TRUE(has(text, "Trouble: one is left.")) << text;
  EXPECT_TRUE(has(text, "123.")) << text;
}

TEST(CtlExplain, AReceiptThatWasTamperedWithIsSaidToBe) {
  const auto explanation = explain(R"({"cleanup_confirmed": true, "return_code": "0"})");
  ASSERT_TRUE(explanation);
  EXPECT_FALSE(explanation->strict);
  EXPECT_FALSE(explanation->receipt.return_code);
  EXPECT_FALSE(explain("[]"));
  EXPECT_FALSE(explain(""));
  EXPECT_FALSE(explain("{"));
}

TEST(CtlExplain, AReportWithAllItsParts) {
  const std::string text = told(a_report("stop").dump());
  for (const char* part :
       {"a stop was asked for (SIGTERM)", "no child was left", "a sweep through its descendants",
        "3 collected, 2 of them killed", "the command ran 2.5 s", "2.0 s of CPU, 2.0 MiB at most",
        "After 1.5 s: terminate SIGTERM, 1 reached", "Still alive: 1:", "pid 9", "EPERM",
        "clone3; instead: clone", "Note: a note", "122."}) {
    EXPECT_TRUE(has(text, part)) << part << " is not in\n" << text;
  }
  EXPECT_FALSE(has(text, "\x1b")) << text;
}

// It comes from a sandbox: whatever stands there must not end us.
TEST(CtlExplain, AReportWithWrongTypesEverywhereStillHasAReceipt) {
  const Json report = a_report("stop");
  for (const auto& [key, value] : report.items()) {
    if (key == "schema") continue;
    for (const Json& other : {Json(), Json("x"), Json(1), Json::array({1, "a", nullptr}),
                              Json::array({Json::object()}), Json::object()}) {
      Json changed = report;
      changed[key] = other;
      (void)explain(changed.dump());
      changed.erase(key);
      (void)explain(changed.dump());
    }
  }
}

}  // namespace
}  // namespace quietus::cli

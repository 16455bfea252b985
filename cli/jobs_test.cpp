#include "cli/jobs.hpp"

#include <gtest/gtest.h>

namespace quietus::cli {
namespace {

using Strings = std::vector<std::string>;

Settings defaults() {
  Settings settings;
  settings.sandboxes = {"local"};
  settings.timeout = std::chrono::seconds(7);
  return settings;
}

TEST(CtlJobs, AJobSaysWhatItNeedsAndTheSettingsTheRest) {
  const auto jobs =
      parse_jobs(R"({"command": ["a", "b"]}

{"name": "n", "command": ["c"], "sandbox": "podman:x", "timeout": "2m", "workdir": "/w",)"
                 R"( "environment": {"A": "1"}, "collect": ["*.json"], "into": "out"})",
                 "jobs", defaults());
  ASSERT_TRUE(jobs) << jobs.error().text;
  ASSERT_EQ(jobs->size(), 2u);
  EXPECT_EQ(jobs->at(0).name, "1");
  EXPECT_EQ(jobs->at(0).plan.argv, (Strings{"a", "b"}));
  EXPECT_EQ(jobs->at(0).plan.sandbox, "local");
  EXPECT_EQ(jobs->at(0).plan.timeout, std::chrono::seconds(7));
  EXPECT_EQ(jobs->at(1).name, "n");
  EXPECT_EQ(jobs->at(1).plan.sandbox, "podman:x");
  EXPECT_EQ(jobs->at(1).plan.timeout, std::chrono::minutes(2));
  EXPECT_EQ(jobs->at(1).plan.globs, Strings{"*.json"});
  EXPECT_EQ(jobs->at(1).plan.environment.at(0).second, "1");
}

TEST(CtlJobs, AnEmptyFileHasNoJobs) {
  const auto jobs = parse_jobs("\n  \r\n", "jobs", defaults());
  ASSERT_TRUE(jobs);
  EXPECT_TRUE(jobs->empty());
}

TEST(CtlJobs, EveryRefusalNamesItsLine) {
  struct Refusal {
    const char* job;
    const char* text;
  };
  const Refusal cases[] = {
      {"x", "a job is one JSON object"},
      {"[]", "a job is one JSON object"},
      {"{}", "command: a list"},
      {R"({"command": []})", "command: a list"},
      {R"({"command": "ls"})", "command: must be a list of texts"},
      {R"({"command": ["a", 1]})", "command: must be a list of texts"},
      {R"({"command": [""]})", "command: its first word is empty"},
      {R"({"command": ["a"], "bogus": 1})", "there is no key 'bogus'"},
      {R"({"command": ["a"], "timeout": 0})", "timeout: must be finite and positive"},
      {R"({"command": ["a"], "timeout": true})", "timeout: must be finite and positive"},
      {R"({"command": ["a"], "workdir": "w"})", "workdir: must be an absolute path"},
      {R"({"command": ["a"], "sandbox": ""})", "sandbox: must be a text"},
      {R"({"command": ["a"], "collect": ["x"]})", "collect and into go together"},
      {R"({"command": ["a"], "into": "x"})", "collect and into go together"},
      {R"({"command": ["a"], "into": "x", "collect": ["../x"]})",
       "collect: '../x' must not have an empty name, . or .. in it"},
      {R"({"command": ["a"], "into": "x", "collect": [""]})", "collect: '' must not be empty"},
      {R"({"command": ["a"], "environment": {"A": 1}})", "environment: must be"},
      {R"({"command": ["a"], "environment": {"A=B": "x"}})", "environment: must be"},
  };
  for (const Refusal& each : cases) {
    const std::string text = std::string("{\"command\": [\"a\"]}\n") + each.job;
    const auto jobs = parse_jobs(text, "jobs", defaults());
    ASSERT_FALSE(jobs) << each.job;
    EXPECT_EQ(jobs.error().text.rfind("jobs:2: " + std::string(each.text), 0), 0u)
        << jobs.error().text;
  }
  EXPECT_FALSE(parse_jobs(R"({"command": ["a"]})", "jobs", Settings{}));
}

}  // namespace
}  // namespace quietus::cli

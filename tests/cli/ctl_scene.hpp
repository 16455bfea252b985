// The fixture of quietusctl's tests: a user with a home of his own, whose sessions lie in one
// directory, so that what is left of them can be seen.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "harness/scenario.hpp"

namespace cli_tests {

using namespace harness;

// QUIETUSCTL_BINARY, else the one of this build.
std::string quietusctl_binary();

class CtlScene : public Scenario {
 protected:
  void SetUp() override;
  // Beside what every scenario checks: no session is left, here or in the ledger.
  void TearDown() override;

  // quietusctl with these words, in this user's environment.
  [[nodiscard]] Launch ctl(const Words& words) const;
  [[nodiscard]] Ended does(const Words& words, double seconds = 60);

  // What is in the directories where sessions and their entries lie.
  [[nodiscard]] std::vector<std::string> session_directories() const;
  [[nodiscard]] std::vector<std::string> ledger_files() const;
  [[nodiscard]] std::string ledger_path(const std::string& name) const;
  // For a test that leaves something on purpose.
  void allow_sessions() { sessions_allowed_ = true; }

  std::map<std::string, std::string> variables_;

 private:
  bool sessions_allowed_ = false;
};

// Exactly one line.
testing::AssertionResult one_line(std::string_view text);

}  // namespace cli_tests

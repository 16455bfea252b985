#include "ctl_scene.hpp"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

namespace cli_tests {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& each : fs::directory_iterator(directory, error)) {
    names.push_back(each.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

}  // namespace

std::string quietusctl_binary() {
  const char* const given = std::getenv("QUIETUSCTL_BINARY");
  return fs::absolute(given != nullptr ? given : QUIETUSCTL_DEFAULT).lexically_normal();
}

void CtlScene::SetUp() {
  fs::create_directory(path("sessions"));
  const char* const search = std::getenv("PATH");
  variables_ = {{"HOME", path("home")},
                {"PATH", search == nullptr ? "/usr/bin:/bin" : search},
                {"QUIETUS_SESSION_PARENT", path("sessions")},
                {"QUIETUS_PAYLOAD", quietus_binary()},
                {"QUIETUS_SANDBOX", "local"}};
  // The sanitizers' settings of this build.
  for (const char* name : {"ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS"}) {
    if (const char* value = std::getenv(name)) variables_[name] = value;
  }
}

void CtlScene::TearDown() {
  if (!sessions_allowed_) {
    EXPECT_EQ(session_directories(), std::vector<std::string>{});
    EXPECT_EQ(ledger_files(), std::vector<std::string>{});
  }
  Scenario::TearDown();
}

Launch CtlScene::ctl(const Words& words) const {
  Launch launch;
  launch.form = Form::run;
  launch.words = Words{quietusctl_binary()} + words;
  Words environment;
  for (const auto& [name, value] : variables_) environment.push_back(name + '=' + value);
  launch.environment = environment;
  return launch;
}

Ended CtlScene::does(const Words& words, double seconds) {
  Launch launch = ctl(words);
  // Other sessions of the test may live on; whoever has none says so by survivors.
  launch.may_leave = true;
  return end_of(launch, seconds);
}

std::vector<std::string> CtlScene::session_directories() const {
  return names_in(path("sessions"));
}

std::string CtlScene::ledger_path(const std::string& name) const {
  return path("home") + "/.local/state/quietus/sessions/" + name;
}

std::vector<std::string> CtlScene::ledger_files() const { return names_in(ledger_path("")); }

testing::AssertionResult one_line(std::string_view text) {
  const bool is_one = text.size() > 1 && text.find('\n') == text.size() - 1;
  return is_one ? testing::AssertionSuccess()
                : testing::AssertionFailure() << "not exactly one line: '" << text << "'";
}

}  // namespace cli_tests

#include "session_scene.hpp"

#include <signal.h>
#include <sys/stat.h>

#include <algorithm>

namespace session_tests {

void SessionScene::SetUp() {
  ASSERT_EQ(mkdir(dir().c_str(), 0777), 0);
  // The umask must not keep a worker of another uid out where a test wants it in.
  ASSERT_EQ(chmod(dir().c_str(), 0777), 0);
}

std::string SessionScene::file(std::string_view name) const {
  return dir() + "/" + std::string(name);
}

Launch SessionScene::verb(const std::string& word, const Words& more) const {
  return plain(Words{word, "--session", dir()} + more);
}

Ended SessionScene::does(const std::string& word, const Words& more, double seconds) {
  Running running = start(verb(word, more));
  Ended ended = running.wait(seconds);
  EXPECT_FALSE(ended.hung) << word << ended.text();
  return ended;
}

Launch SessionScene::launching(const Words& options, const Words& command) const {
  Launch launch = verb("launch", Words{"--cleanup-timeout", "1"} + options);
  if (!command.empty()) launch.words = launch.words + Words{"--"} + command;
  launch.receipt = file("cleanup.json");
  launch.report = file("report.json");
  return launch;
}

void SessionScene::launch_detached(const Words& options, const Words& command) {
  Launch launch = launching(Words{"--detach"} + options, command);
  launch.receipt.clear();
  launch.report.clear();
  Running running = start(launch);
  const Ended ended = running.wait(60);
  ASSERT_EQ(ended.status, 0) << ended.text();
}

Halves SessionScene::halves() const {
  Halves found;
  eventually([&] { return read_file(file("supervisor.id")).ends_with("}\n"); });
  const std::string text = read_file(file("supervisor.id"));
  if (text.empty()) return found;
  const Json identity = Json::parse(text);
  const auto ours = living_descendants();
  const auto pick = [&](const std::string& half) {
    const pid_t pid = pid_t(identity.integer("/" + half + "/pid"));
    const bool below = std::any_of(ours.begin(), ours.end(),
                                   [&](const ProcessRow& row) { return row.pid == pid; });
    return below ? pid : 0;
  };
  found.guardian = pick("guardian");
  found.supervisor = pick("supervisor");
  return found;
}

void SessionScene::kill_both_halves() const {
  const Halves both = halves();
  ASSERT_GT(both.guardian, 1);
  ASSERT_GT(both.supervisor, 1);
  ASSERT_TRUE(alive(both.guardian));
  ASSERT_TRUE(alive(both.supervisor));
  kill(both.guardian, SIGSTOP);
  kill(both.supervisor, SIGKILL);
  kill(both.guardian, SIGKILL);
  ASSERT_TRUE(eventually([&] { return !alive(both.guardian) && !alive(both.supervisor); }));
}

std::optional<ReceiptFile> SessionScene::receipt() const {
  std::string why;
  auto parsed = ReceiptFile::parse(read_file(file("cleanup.json")), why);
  EXPECT_TRUE(parsed) << why;
  return parsed;
}

std::optional<Json> SessionScene::report() const {
  Ended ended;
  ended.form = Form::run;
  Launch launch;
  launch.receipt = file("cleanup.json");
  launch.report = file("report.json");
  read_records(launch, ended);
  EXPECT_TRUE(ended.report) << "no report";
  return ended.report;
}

Json SessionScene::status() {
  const Ended ended = does("status", {"--json"});
  EXPECT_EQ(ended.status, 0) << ended.text();
  return Json::parse(ended.out);
}

Words SessionScene::stubborn() const {
  return actor({"ignore:TERM", "daemon", "[", "ignore:TERM", "beat:2", "]", "await:2", "beat:1"});
}

Words SessionScene::shell_then(const std::string& text, const Words& words) const {
  return Words{"/bin/sh", "-c", text + "\nexec \"$@\"", dir()} + words;
}

testing::AssertionResult is_one_line(std::string_view text) {
  const bool one =
      text.size() > 1 && std::count(text.begin(), text.end(), '\n') == 1 && text.back() == '\n';
  if (one) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not exactly one line: '" << text << "'";
}

testing::AssertionResult no_worker_outlived(const Ended& ended) {
  for (const ProcessRow& row : ended.survivors) {
    if (row.comm == "actor") return testing::AssertionFailure() << row.text() << ended.text();
  }
  return testing::AssertionSuccess();
}

bool alive(pid_t pid) {
  const ProcessRow row = process_row(pid);
  return row.pid != 0 && row.living();
}

}  // namespace session_tests

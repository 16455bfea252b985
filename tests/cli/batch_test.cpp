// Many sessions from one process.
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

class CtlBatch : public CtlScene {
 protected:
  void jobs(const std::string& text) { write_file(path("jobs"), text); }
  static Words lines(const std::string& text) {
    Words all = split(text, '\n');
    std::erase(all, "");
    return all;
  }
};

// The most memory that a process has had, in KiB.
long peak_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("VmHWM:", 0) == 0) return std::atol(line.c_str() + 6);
  }
  return 0;
}

TEST_F(CtlBatch, OneLineForEachJob) {
  jobs(
      "{\"name\": \"a\", \"command\": [\"sh\", \"-c\", \"echo told >&2; exit 3\"]}\n\n"
      "{\"command\": [\"true\"], \"timeout\": 20}\n");
  const Ended ended = does({"batch", path("jobs"), "--json"});
  EXPECT_EQ(ended.status, 1) << ended.text();
  const Words all = lines(ended.out);
  ASSERT_EQ(all.size(), 2u);
  std::map<std::string, int64_t> codes;
  for (const std::string& line : all) {
    const Json json = Json::parse(line);
    codes[json.text("/name")] = json.integer("/exit_code");
    if (json.text("/name") == "a") EXPECT_EQ(json.text("/output"), "told\n");
  }
  EXPECT_EQ(codes, (std::map<std::string, int64_t>{{"a", 3}, {"3", 0}}));
  const Ended text = does({"batch", path("jobs")});
  EXPECT_TRUE(holds(text.out, "a: local: exited with 3"));
}

TEST_F(CtlBatch, ArtifactsGoWhereTheJobSays) {
  jobs("{\"command\": [\"sh\", \"-c\", \"echo x >" + path("one") + "\"], \"collect\": [\"" +
       path("one") + "\"], \"into\": \"" + path("got") + "\"}\n");
  EXPECT_EQ(does({"batch", path("jobs")}).status, 0);
  EXPECT_EQ(read_file(path("got/one")), "x\n");
}

TEST_F(CtlBatch, AWrongJobStartsNone) {
  jobs("{\"command\": [\"touch\", \"" + path("ran") + "\"]}\n{\"command\": 1}\n");
  const Ended ended = does({"batch", path("jobs")});
  EXPECT_EQ(ended.status, 2) << ended.text();
  EXPECT_TRUE(one_line(ended.err));
  EXPECT_TRUE(holds(ended.err, ":2: command: must be"));
  jobs("{\"command\": [\"touch\", \"" + path("ran") +
       "\"]}\n"
       "{\"command\": [\"x\"], \"sandbox\": \"bogus\"}\n");
  EXPECT_EQ(does({"batch", path("jobs")}).status, 2);
  EXPECT_FALSE(exists(path("ran")));
}

TEST_F(CtlBatch, AnInterruptStopsAllAndStartsNoMore) {
  std::string text;
  for (int i = 0; i < 12; ++i) {
    text += "{\"command\": [\"sh\", \"-c\", \"echo >" + path("up") + std::to_string(i) +
            "; exec sleep 600\"]}\n";
  }
  jobs(text);
  Running running = start(ctl({"batch", path("jobs"), "--json", "-j", "4"}));
  ASSERT_TRUE(eventually([&] {
    for (int i = 0; i < 4; ++i) {
      if (!exists(path("up") + std::to_string(i))) return false;
    }
    return true;
  }));
  running.signal(SIGINT);
  const Ended ended = running.wait(60);
  EXPECT_EQ(ended.status, 122) << ended.text();
  const Words all = lines(ended.out);
  EXPECT_EQ(all.size(), 4u);
  for (const std::string& line : all) EXPECT_EQ(Json::parse(line).integer("/exit_code"), 122);
}

// QUIETUS_BATCH=1000 for the number that the issue asks for.
TEST_F(CtlBatch, ManySessionsAtOnceAllConfirmedAndNothingLeaks) {
  const char* const wanted = std::getenv("QUIETUS_BATCH");
  const int count = wanted != nullptr ? std::atoi(wanted) : 100;
  std::string text;
  for (int i = 0; i < count; ++i) text += "{\"command\": [\"sleep\", \"2\"]}\n";
  jobs(text);
  const auto began = Clock::now();
  Running running =
      start(ctl({"batch", path("jobs"), "--json", "-j", std::to_string(count), "-t", "100"}));
  long peak = 0;
  EXPECT_TRUE(eventually(
      [&] {
        peak = std::max(peak, peak_of(running.pid()));
        return peak_of(running.pid()) == 0;
      },
      140));
  const Ended ended = running.wait(20);
  const double seconds = seconds_since(began);
  EXPECT_EQ(ended.status, 0) << ended.err;
  int confirmed = 0;
  for (const std::string& line : lines(ended.out)) {
    const Json json = Json::parse(line);
    if (!json.is_null("/receipt") && json.boolean("/receipt/cleanup_confirmed") &&
        json.boolean("/released")) {
      ++confirmed;
    }
  }
  EXPECT_EQ(confirmed, count);
  EXPECT_TRUE(ended.survivors.empty());
  const bool sanitized = variables_.contains("ASAN_OPTIONS") || variables_.contains("TSAN_OPTIONS");
  if (!sanitized) EXPECT_LT(peak, 200 * 1024) << "KiB";
  RecordProperty("seconds", std::to_string(seconds));
  RecordProperty("peak_kib", std::to_string(peak));
  printf("%d sessions in %.1f s, at most %.1f MB\n", count, seconds,
         static_cast<double>(peak) / 1024);
}

}  // namespace
}  // namespace cli_tests

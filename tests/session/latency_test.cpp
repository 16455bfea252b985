// How long a stop takes, from its exec to its end. The numbers are printed; what is asserted has
// room for a machine that is busy with other things.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "session_scene.hpp"

extern char** environ;

namespace {

using namespace session_tests;
namespace fs = std::filesystem;

class Latency : public SessionScene {
 protected:
  static int runs() {
    const char* text = std::getenv("QUIETUS_LATENCY_RUNS");
    return text != nullptr ? std::max(1, atoi(text)) : 20;
  }

  // Milliseconds of the whole process; its exit code in `code`.
  double timed_stop(int& code) const {
    Words words = {quietus_binary(), "stop", "--session", dir(), "--timeout", "30"};
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    pid_t pid = 0;
    const auto begin = Clock::now();
    if (posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ) != 0) return -1;
    int status = 0;
    waitpid(pid, &status, 0);
    const double taken = seconds_since(begin) * 1000;
    posix_spawn_file_actions_destroy(&actions);
    code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return taken;
  }

  static void print(const char* what, std::vector<double>& taken) {
    std::sort(taken.begin(), taken.end());
    const auto at = [&](double part) { return taken[size_t(part * double(taken.size() - 1))]; };
    printf("%s: %zu runs, median %.2f ms, p90 %.2f ms, p99 %.2f ms, worst %.2f ms\n", what,
           taken.size(), at(0.5), at(0.9), at(0.99), taken.back());
  }

  void renew_directory() {
    fs::remove_all(dir());
    fs::create_directory(dir());
  }
};

TEST_F(Latency, of_a_stop_of_a_running_session) {
  std::vector<double> taken;
  for (int i = 0; i < runs(); ++i) {
    launch_detached({}, mild());
    ASSERT_TRUE(beats_.alive(1));
    int code = -1;
    taken.push_back(timed_stop(code));
    EXPECT_EQ(code, 0);
    EXPECT_TRUE(eventually([] { return living_descendants().empty(); }, 5));
    EXPECT_FALSE(beats_.alive(1, 0.02));
    renew_directory();
  }
  print("stop of a running session", taken);
  EXPECT_LT(taken[taken.size() / 2], 2000);
}

TEST_F(Latency, of_a_stop_of_a_lost_session) {
  std::vector<double> taken;
  for (int i = 0; i < std::max(3, runs() / 4); ++i) {
    launch_detached({}, mild());
    ASSERT_TRUE(beats_.alive(1));
    kill_both_halves();
    int code = -1;
    taken.push_back(timed_stop(code));
    EXPECT_TRUE(code == 0 || code == 123) << code;
    EXPECT_TRUE(eventually([] { return living_descendants().empty(); }, 5));
    EXPECT_FALSE(beats_.alive(1, 0.02));
    renew_directory();
  }
  print("stop of a lost session", taken);
  EXPECT_LT(taken[taken.size() / 2], 5000);
}

}  // namespace

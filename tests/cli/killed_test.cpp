// kill -9 of quietusctl at many moments, then gc: nothing runs, nothing is left, and what had been
// collected stays.
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

namespace fs = std::filesystem;

class CtlKilled : public CtlScene {
 protected:
  // Everything below the test that is not the test: found by the process table, not by our word.
  static bool quiet() { return living_descendants().empty(); }
};

TEST_F(CtlKilled, AtThirtyMomentsGcLeavesNothing) {
  // An earlier run that was whole: its artifacts are nobody's to take.
  write_file(path("made"), "whole");
  const Words collecting = {"run", "--collect", path("made"), "--into", path("got")};
  ASSERT_EQ(does(collecting + Words{"true"}).status, 0);
  ASSERT_EQ(read_file(path("got/made")), "whole");

  // How long a whole run takes here, so that the moments spread over all of it.
  const auto began = Clock::now();
  const Words command = {"sh", "-c", "sleep 600 & setsid sleep 600 & sleep 0.3; echo done"};
  ASSERT_EQ(does(collecting + command).status, 0);
  const double whole = seconds_since(began);

  constexpr int kMoments = 30;
  int left = 0;
  for (int moment = 0; moment < kMoments; ++moment) {
    Running running = start(ctl(collecting + command));
    usleep(static_cast<useconds_t>(whole * 1.05e6 * moment / kMoments));
    kill(running.pid(), SIGKILL);
    (void)running.wait(10);
    if (!ledger_files().empty()) ++left;
    const Ended gc = does({"gc"});
    EXPECT_EQ(gc.status, 0) << "moment " << moment << gc.text();
    EXPECT_TRUE(eventually(quiet, 10)) << "moment " << moment;
    EXPECT_EQ(session_directories(), Words{}) << "moment " << moment << gc.text();
    EXPECT_EQ(ledger_files(), Words{}) << "moment " << moment << gc.text();
    EXPECT_EQ(read_file(path("got/made")), "whole") << "moment " << moment;
    Words kept;
    for (const auto& each : fs::directory_iterator(path("got"))) {
      kept.push_back(each.path().filename());
    }
    EXPECT_EQ(kept, Words{"made"}) << "moment " << moment;
    mop_up();
    if (HasFailure()) break;
  }
  // Most of the moments must have been within a session, or the test has shown nothing.
  EXPECT_GE(left, kMoments / 3);
}

TEST_F(CtlKilled, ABatchOfManyAtOnce) {
  std::string jobs;
  for (int i = 0; i < 20; ++i) jobs += "{\"command\": [\"sleep\", \"600\"]}\n";
  write_file(path("jobs"), jobs);
  Running running = start(ctl({"batch", path("jobs"), "-j", "20"}));
  ASSERT_TRUE(eventually([&] { return session_directories().size() >= 10; }, 30));
  kill(running.pid(), SIGKILL);
  (void)running.wait(10);
  const Ended gc = does({"gc", "-j", "20"}, 120);
  EXPECT_EQ(gc.status, 0) << gc.text();
  EXPECT_TRUE(eventually(quiet, 10));
}

TEST_F(CtlKilled, TwoCollectionsAtOnceDoNotDisturbEachOther) {
  std::vector<Running> runs;
  for (int i = 0; i < 6; ++i) runs.push_back(start(ctl({"run", "sleep", "600"})));
  ASSERT_TRUE(eventually([&] { return session_directories().size() == 6; }, 30));
  for (Running& running : runs) kill(running.pid(), SIGKILL);
  for (Running& running : runs) (void)running.wait(10);
  Running one = start(ctl({"gc"}));
  Running two = start(ctl({"gc"}));
  EXPECT_EQ(one.wait(60).status, 0);
  EXPECT_EQ(two.wait(60).status, 0);
  EXPECT_TRUE(eventually(quiet, 10));
}

}  // namespace
}  // namespace cli_tests

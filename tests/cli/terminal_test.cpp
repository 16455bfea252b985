// What a person at a terminal sees, and what NO_COLOR and pipes take away.
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "ctl_scene.hpp"

namespace cli_tests {
namespace {

class CtlTerminal : public CtlScene {
 protected:
  // Runs it with standard error at a terminal; what appeared there.
  std::string at_terminal(const Words& words) {
    const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    EXPECT_EQ(grantpt(master), 0);
    EXPECT_EQ(unlockpt(master), 0);
    const int slave = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    const winsize size = {24, 100, 0, 0};
    ioctl(master, TIOCSWINSZ, &size);
    variables_["TERM"] = "xterm";
    Launch launch = ctl(words);
    launch.err = slave;
    Running running = start(launch);
    close(slave);
    std::string shown;
    char buffer[4096];
    // The other end is closed when the last holder has ended: until then there is more to come.
    for (const auto began = Clock::now(); seconds_since(began) < 60;) {
      pollfd ready = {master, POLLIN, 0};
      if (poll(&ready, 1, 100) <= 0) continue;
      const ssize_t got = read(master, buffer, sizeof buffer);
      if (got <= 0) break;
      shown.append(buffer, static_cast<size_t>(got));
    }
    ended_ = running.wait(20);
    close(master);
    return shown;
  }
  Ended ended_;
};

TEST_F(CtlTerminal, ALineShowsTimeProcessesCpuAndMemory) {
  const std::string shown = at_terminal({"run", "-t", "40", "sleep", "2.5"});
  EXPECT_EQ(ended_.status, 0);
  EXPECT_TRUE(holds(shown, "running  "));
  EXPECT_TRUE(holds(shown, " s left"));
  EXPECT_TRUE(holds(shown, " processes  cpu "));
  EXPECT_TRUE(holds(shown, "  mem "));
  EXPECT_TRUE(holds(shown, "\x1b[32mlocal: exited with 0"));
  const size_t last = shown.rfind("releasing");
  EXPECT_TRUE(holds(shown.substr(last == shown.npos ? 0 : last), "\r\x1b[K"))
      << "it is taken away at the end";
}

TEST_F(CtlTerminal, NoColorLeavesTheWordsAndTakesTheColors) {
  variables_["NO_COLOR"] = "1";
  const std::string shown = at_terminal({"run", "true"});
  EXPECT_TRUE(holds(shown, "local: exited with 0"));
  EXPECT_EQ(shown.find("\x1b[3"), shown.npos) << shown;
}

TEST_F(CtlTerminal, QuietSaysNothing) { EXPECT_EQ(at_terminal({"run", "-q", "true"}), ""); }

TEST_F(CtlTerminal, JsonHasNoStatusLine) {
  const std::string shown = at_terminal({"run", "--json", "sleep", "1"});
  EXPECT_EQ(shown, "");
  EXPECT_TRUE(one_line(ended_.out));
}

TEST_F(CtlTerminal, APipeGetsErrorsOnlyUnlessAsked) {
  EXPECT_EQ(does({"run", "true"}).err, "");
  const Ended verbose = does({"run", "-v", "true"});
  EXPECT_TRUE(one_line(verbose.err));
  EXPECT_TRUE(holds(verbose.err, "local: exited with 0"));
  EXPECT_EQ(verbose.err.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace cli_tests

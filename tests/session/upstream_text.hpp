// Upstream's shell text, written anew from its description: what a NeMo Gym client runs in a
// sandbox to launch, stop and remove a session. quietus has to get along with it, and to withstand
// what it does not.
#pragma once

#include <string>
#include <vector>

#include "harness/tools.hpp"

namespace session_tests {

struct UpstreamNames {
  std::string pid = "supervisor.pid";
  std::string stop = "stop.request";
  std::string log = "output.log";
};

inline const UpstreamNames kLegacyNames = {"runner.pid", "runner.stop", "runner.log"};

// Shells that can be asked to run a text: dash, and busybox with nothing but its own applets.
struct UpstreamShell {
  const char* name;
  harness::Words words;
};
std::vector<UpstreamShell> upstream_shells();

// Claims, writes the pid, becomes the supervisor. `interpreter` stands where python3 would.
harness::Words upstream_launch(const UpstreamShell& shell, const std::string& interpreter,
                               const std::string& dir, const harness::Words& command,
                               const std::string& timeout = "100", const UpstreamNames& = {});

// Exit 0: there is a receipt, whatever it says.
harness::Words upstream_stop(const UpstreamShell& shell, const std::string& dir, int seconds,
                             const UpstreamNames& = {});

harness::Words upstream_remove(const UpstreamShell& shell, const std::string& dir);

}  // namespace session_tests

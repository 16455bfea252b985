// What the session's verbs are asked to do. Made by program/ from argv.
#pragma once

#include <optional>
#include <string>

#include "contract/session_files.hpp"
#include "contract/time.hpp"
#include "supervisor/options.hpp"

namespace quietus {

struct SessionRequest {
  std::string directory;
  SessionFiles files = kSessionFiles;
  std::optional<Span> timeout;  // stop, wait: how long to wait; none: a minute, without end
  bool now = false;             // stop: without the grace
  bool json = false;            // status
};

struct LaunchRequest {
  SessionRequest session;
  Options options;
  bool detach = false;
};

}  // namespace quietus

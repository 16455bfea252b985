// Sessions whose supervisor holds no lock: launched by upstream's shell text, or on a file system
// that refuses locks. Here a number in a file is all there is; it is compared with the process's
// start time, and held by a pidfd, before it is waited for or signalled.
#pragma once

#include <optional>
#include <string>

#include "contract/time.hpp"
#include "session/directory.hpp"

namespace quietus {

struct UpstreamStop {
  std::optional<std::string> receipt;
  bool alive = false;  // time is over, and it still runs
};

// The stop file was written. TERM goes only to a process that started before the pid file was
// written and whose command line names this directory; then its end is awaited.
UpstreamStop stop_upstream(sys::Gate& gate, const SessionDirectory& directory, Deadline deadline);

// Waits for both processes that supervisor.id names.
UpstreamStop wait_for_named(sys::Gate& gate, const SessionDirectory& directory, Deadline deadline);

}  // namespace quietus

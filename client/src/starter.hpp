// Who starts a process stands still until the child has its new program (vfork(2)): on a busy
// machine for as long as others compute. A loop with a thousand sessions cannot wait for that, so
// that threads of ours do. They are there until the program ends, since a child can be bound to the
// thread that started it (PR_SET_PDEATHSIG).
#pragma once

#include <sys/types.h>

#include <asio/awaitable.hpp>
#include <string>
#include <vector>

#include "client/src/descriptor.hpp"

namespace quietus {

struct StartRequest {
  std::vector<std::string> argv;         // the program is looked for in PATH
  std::vector<std::string> environment;  // NAME=VALUE, and nothing else
  std::string cwd;                       // empty: ours
  // Its standard streams; it gets nothing else that is ours.
  UniqueFd in = {};
  UniqueFd out = {};
  UniqueFd err = {};
};

struct Started {
  pid_t pid = 0;  // the leader of a session of its own, not collected yet
  int error = 0;  // of posix_spawnp(3)
};

// Not cut short by a cancellation. Where the coroutine is destroyed before it has the answer, the
// process is killed and collected.
asio::awaitable<Started> start_process(StartRequest request);

// KILL for its group, and a bounded wait for the leader. Nothing for 0.
void end_and_collect(pid_t leader);

}  // namespace quietus

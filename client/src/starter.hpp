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
#include "client/src/task.hpp"

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
  int error = 0;  // of posix_spawnp(3); ETIMEDOUT, ECANCELED: it was not waited for
};

// One that is too late or cancelled is still waited for, for two seconds: whoever goes on must not
// meet what it does. Where it hangs longer, or the coroutine is destroyed, it is killed and
// collected as soon as it is there.
asio::awaitable<Started> start_process(StartRequest request, Until until);

// Whether the number is surely that of a child of ours, which lives or is a zombie. It is not where
// the program that uses this library lets others collect all its children.
bool is_held(pid_t child);

// KILL for its group, and a bounded wait for the leader. Nothing for 0, or who is not held.
void end_and_collect(pid_t leader);

}  // namespace quietus

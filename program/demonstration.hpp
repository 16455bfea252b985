// Four processes that do not want to end, and the real supervisor that ends them. Nothing is
// executed: the engine runs through a gate whose execve is a function of ours, so that no program
// has to be found, and no /proc to find ourselves.
#pragma once

#include <optional>
#include <string>

#include "contract/outcome.hpp"
#include "kernel/calls.hpp"

namespace quietus {

enum Role { kStubborn, kDaemon, kHopper, kHolder, kRoleCount };
inline constexpr const char* kRoles[kRoleCount] = {
    "a command that ignores SIGTERM",
    "a daemon in a session of its own",
    "a fork-hopper (forks, exits, a thousand times a second)",
    "a detached process that holds our pipe",
};
// Bit n for role n.
using Roles = unsigned;
inline constexpr Roles kEverybody = (1u << kRoleCount) - 1;

struct Method {
  bool shield = false;
  bool isolate = false;
  std::string receipt;  // path; empty: there is no place for one
};

// What was seen. Lives are told by heartbeats in memory, never by a list of processes.
struct Demonstration {
  Roles lived = 0;
  Roles ignored = 0;  // lived on a while after the engine had asked them to end
  Roles ended = 0;
  bool pipe_at_end = false;      // nobody holds it any more
  Span took{};                   // from "now" to the exit of the engine
  std::optional<int> exit_code;  // of the engine; none: it did not come to an end
  std::string receipt;           // its bytes
  std::string message;           // what the engine said, or why it did not begin

  void not_begun(const sys::Error& why);
};

Demonstration demonstrate(sys::Gate& gate, const Method& method);

}  // namespace quietus

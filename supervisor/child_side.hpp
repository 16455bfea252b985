// Everything that runs between fork and exec. Nothing here allocates, and nothing reads what the
// parent could still change: the plan is ready before the fork.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "contract/signals.hpp"
#include "kernel/calls.hpp"
#include "supervisor/options.hpp"

namespace quietus {

// Where a launch failed, in the order of the steps.
enum class Stage : std::int32_t {
  session,
  cgroup,  // not fatal: the worker runs outside it
  shield,
  limit,
  groups,
  gid,
  uid,
  directory,
  privileges,
  descriptors,
  exec,
  environment,  // not fatal: no room for our marker
};
const char* name(Stage stage);

// What the child writes on the launch pipe. Nothing and end of file: the program runs.
struct LaunchMessage {
  Stage stage = Stage::exec;
  std::int32_t code = 0;
  std::int32_t fatal = 1;
};

struct ChildPlan {
  int report = -1;                           // the launch pipe's write end
  const char* cgroup_procs = nullptr;        // join by hand: clone3 could not
  bool shield = false;
  std::span<const ResourceLimit> limits;
  bool change_user = false;
  unsigned gid = 0;
  unsigned uid = 0;
  const char* directory = nullptr;
  bool no_new_privileges = false;
  int output = -1;                           // becomes descriptors 1 and 2
  int input = -1;                            // becomes descriptor 0
  SignalSet ignored;                         // dispositions to set back to the default
  const char* const* candidates = nullptr;   // paths to try, ended by null
  const char* const* argv = nullptr;
  const char* const* environment = nullptr;
  const char* const* plain_environment = nullptr;  // the same without our marker
};

[[noreturn]] void run_child(sys::Gate& gate, const ChildPlan& plan);

}  // namespace quietus

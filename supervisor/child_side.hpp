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

struct LaunchMessage {
  Stage stage = Stage::exec;
  std::int32_t code = 0;
  bool fatal = true;
};

// Where the child says what went wrong: in memory that is shared with both halves, so that nothing
// can be lost on the way. If it was lost, the child's own exit code would be taken for the
// worker's. To be read when the launch pipe has ended, or the child has: no message, and the
// program runs.
class LaunchBoard {
 public:
  static sys::Result<LaunchBoard*> create(sys::Gate& gate);
  void add(const LaunchMessage& message);
  [[nodiscard]] std::span<const LaunchMessage> messages() const;

 private:
  std::int32_t count_ = 0;
  LaunchMessage messages_[4];  // a child that fails says it last, and some things can go without
};

struct ChildPlan {
  LaunchBoard* board = nullptr;
  const char* cgroup_procs = nullptr;  // join by hand: clone3 could not
  const char* cgroup_leaf = nullptr;   // its directory
  bool shield = false;
  std::span<const ResourceLimit> limits;
  bool change_user = false;
  unsigned gid = 0;
  unsigned uid = 0;
  const char* directory = nullptr;
  bool no_new_privileges = false;
  int output = -1;                          // becomes descriptors 1 and 2
  int input = -1;                           // becomes descriptor 0
  SignalSet ignored;                        // dispositions to set back to the default
  const char* const* candidates = nullptr;  // paths to try, ended by null
  const char* const* argv = nullptr;
  const char* const* environment = nullptr;
  const char* const* plain_environment = nullptr;  // the same without our marker
};

[[noreturn]] void run_child(sys::Gate& gate, const ChildPlan& plan);

}  // namespace quietus

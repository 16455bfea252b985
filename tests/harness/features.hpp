// What the host has. A test that needs what is missing says so and is skipped; nothing of ours is
// ever a reason to skip.
#pragma once

#include <string>
#include <string_view>

namespace harness {

bool is_root();

// Landlock with signal scoping (kernel 6.12), not denied by QUIETUS_WRAPPER.
bool has_signal_scope();

// Whether QUIETUS_WRAPPER denies the call.
bool wrapper_denies(std::string_view call);

// The mount point of a version 1 controller ("freezer", "pids"), writable; "" for none.
std::string cgroup_v1(const std::string& controller);

// The mount point of the version 2 hierarchy, writable; "" for none.
std::string cgroup_v2();

bool has_tool(const std::string& name);  // on PATH
bool has_user_namespaces();              // for an unprivileged uid

}  // namespace harness

#define NEEDS(condition, what)                                     \
  do {                                                             \
    if (!(condition)) GTEST_SKIP() << "this host has no " << what; \
  } while (false)

#define NEEDS_ROOT() \
  if (!harness::is_root()) GTEST_SKIP() << "needs root"

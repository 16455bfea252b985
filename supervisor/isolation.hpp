// --isolate: a PID namespace whose init is the supervisor. See pid_namespaces(7).
#pragma once

#include "kernel/calls.hpp"

namespace quietus {

// Forks into a new PID and mount namespace; without CAP_SYS_ADMIN also into a user namespace in
// which our own uid and gid keep their numbers.
sys::Result<sys::Forked> fork_isolated(sys::Gate& gate);

// In the child: a /proc of its own namespace, in a mount namespace that nobody else sees.
sys::Result<sys::Unit> mount_own_proc(sys::Gate& gate);

}  // namespace quietus

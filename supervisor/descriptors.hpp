// The descriptors that we start with.
#pragma once

#include "kernel/calls.hpp"

namespace quietus {

// First of all: descriptors 0-2 are there, and nothing of the caller's but them. A hole would be
// taken by the next file that is opened, and be written to or closed as if it were the caller's.
void settle_descriptors(sys::Gate& gate);

// /dev/null, or in a sandbox without one a pipe that nobody writes to.
sys::UniqueFd open_nothing(sys::Gate& gate);

}  // namespace quietus

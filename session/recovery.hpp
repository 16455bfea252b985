// What is left of a session whose two halves were killed at once. Believes no number in a file: it
// ends processes whose environment carries the session's marker, or that share a session with one
// that does, or that are in the session's cgroup leaf; each is held before it is signalled.
#pragma once

#include <string>

#include "contract/time.hpp"
#include "session/directory.hpp"

namespace quietus {

struct Recovery {
  bool proven = false;  // by the kernel: the session's cgroup was there, and nobody is left in it
  int killed = 0;
  bool all_gone = false;  // nobody that could be found is left
  std::string why;        // what could not be proven
};

// The caller holds the session's lock.
Recovery recover(sys::Gate& gate, const SessionDirectory& directory, Deadline deadline);

}  // namespace quietus

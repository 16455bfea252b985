// supervisor.id: who supervises a session. Numbers for people and for `status`; nothing is ever
// signalled or believed because of them.
#pragma once

#include <string>

#include "kernel/calls.hpp"
#include "supervisor/options.hpp"

namespace quietus {

// One JSON object and a newline: pid and start time of both halves, boot id, inode of the PID
// namespace, start and deadline on the monotonic clock. What cannot be read here is null.
std::string identity_json(sys::Gate& gate, int guardian, int supervisor, const Options& options);

}  // namespace quietus

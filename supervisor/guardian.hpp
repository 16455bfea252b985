// The guardian: the process that was started. It relays requests to the supervisor, adopts and ends
// the tree if the supervisor is killed, and returns the exit code.
#pragma once

#include "kernel/calls.hpp"
#include "supervisor/options.hpp"

namespace quietus {

// The same options, with paths that stay the same files wherever we go.
Options with_absolute_paths(sys::Gate& gate, Options options);

// Supervises one command from before its launch to the record of its end; returns the exit code.
// `parent` is the process that started us, as first seen.
int supervise(sys::Gate& gate, const Options& options, int parent);

}  // namespace quietus

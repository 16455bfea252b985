// The supervisor: the half that does the work. Child of the guardian, parent of the worker, in a
// session of its own, so that whoever kills the group of the process that was started misses it.
#pragma once

#include <optional>
#include <string>

#include "contract/outcome.hpp"
#include "contract/signals.hpp"
#include "kernel/calls.hpp"
#include "supervisor/child_side.hpp"
#include "supervisor/link.hpp"
#include "supervisor/options.hpp"
#include "supervisor/output_relay.hpp"
#include "supervisor/process_tree.hpp"

namespace quietus {

// What the guardian hands over at the fork.
struct Inheritance {
  std::string token;
  SignalSet ignored;    // dispositions that were ignored when we were started
  SignalSet heard;      // signals that either half acts on
  bool shield = false;  // the guardian is in its domain: enter the next
  int guardian = 0;
  std::optional<Cgroup> cgroup;
  std::optional<sys::UniqueFd> output;  // --output without a limit
  std::optional<OutputRelay> relay;     // --output with one
  LaunchBoard* board = nullptr;         // outlives the supervisor
  Outcome outcome;                      // fallbacks so far, start times
  Moment started{};
};

// Runs to the end, then tells the guardian the exit code. Never returns.
[[noreturn]] void run_supervisor(sys::Gate& gate, const Options& options, Inheritance& inherited,
                                 sys::UniqueFd commands, sys::UniqueFd notes);

}  // namespace quietus

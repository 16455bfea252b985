// The parent's half of starting the worker. Prepares everything before the fork, so that the child
// only has to make its calls (child_side.hpp).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "kernel/calls.hpp"
#include "supervisor/child_side.hpp"
#include "supervisor/options.hpp"
#include "supervisor/process_tree.hpp"

namespace quietus {

// The environment variable that marks every process of a run: IDs, outermost first.
inline constexpr std::string_view kMarker = "QUIETUS_SESSION";

// Whether the environment block (NAME=VALUE, each ended by a NUL) carries this ID in its marker.
bool carries_marker(std::string_view environment, std::string_view id);

// Takes our marker out of an environment: those around us, for Worker::outer_marker.
std::string take_marker(std::vector<std::string>& environment);

// The paths that execvp(3) would try for this name with this environment.
std::vector<std::string> program_candidates(std::string_view name,
                                            const std::vector<std::string>& environment);

struct Launched {
  int pid = 0;
  // Ends when the program runs, or the child is gone.
  sys::UniqueFd pipe;
};

struct LaunchWiring {
  int input = -1;     // for descriptor 0 of the worker; -1: ours
  int output = -1;    // for descriptors 1 and 2; -1: ours
  SignalSet ignored;  // dispositions that we inherited as ignored
  LaunchBoard* board = nullptr;
};

sys::Result<Launched> launch_worker(sys::Gate& gate, const Options& options, Ground& ground,
                                    std::string_view id, const LaunchWiring& wiring);

}  // namespace quietus

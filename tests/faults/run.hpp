// One run: quietus, its worker's tree and two strangers in a PID namespace of their own, with file
// systems of their own, so that whatever goes wrong there hurts nobody else.
#pragma once

#include <sys/types.h>

#include <string>

#include "faults/cases.hpp"
#include "faults/facts.hpp"
#include "faults/fault_gate.hpp"

namespace faults {

struct Place {
  Paths paths;
  std::string actor;         // the built one; copied for the run
  std::string cgroup_procs;  // of the group that the run shall live in; empty: none
  bool user_namespace = false;
};

// How long quietus may take: its patience, and what a busy machine takes.
double bound_of(const Case& made, const Fault& fault);

// Starts the run and returns the pid of its init; the facts are complete when that has ended.
// Negative: -errno.
pid_t start_run(const Place& place, const Case& made, const Fault& fault, Facts& facts, bool trace);

}  // namespace faults

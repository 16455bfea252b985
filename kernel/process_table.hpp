// What can be learned about processes from the kernel: our own children by three independent ways,
// and rows of /proc for the report. Finding is not proving: whoever wants to signal a pid from here
// proves first that it is ours.
#pragma once

#include <optional>
#include <vector>

#include "contract/outcome.hpp"
#include "contract/time.hpp"
#include "kernel/calls.hpp"
#include "kernel/procfs.hpp"

namespace quietus::sys {

// /proc is there and of our own PID namespace.
bool proc_is_ours(Gate& gate, int self);

std::optional<StatRow> read_stat(Gate& gate, int pid);

// /proc/thread-self/children; needs CONFIG_PROC_CHILDREN.
Result<std::vector<int>> list_children(Gate& gate);

// The rows of /proc, until the moment `until`: a listing that fast forkers keep alive is cut.
// `complete` is then set to false, also when somebody is there whose row cannot be read, and where
// /proc hides other users (hidepid): who is not in the rows may live all the same.
Result<std::vector<StatRow>> scan_processes(Gate& gate, Moment until, bool* complete = nullptr);

// Our children without any /proc: waitid(2) knows for each number whether it is one. Asks for
// `count` numbers from `from` on, going round at the highest, until the moment `until`.
std::vector<int> probe_children(Gate& gate, int from, int count, Moment until);

// The rows that descend from `root`, without root itself.
std::vector<StatRow> descendants_of(int root, const std::vector<StatRow>& rows);

// A row for the report: command line cut at a limit, uid where it can be read.
Process describe(Gate& gate, const StatRow& row);

}  // namespace quietus::sys

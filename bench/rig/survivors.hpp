// Finds, counts and ends what a supervisor has left behind. Everything that a run starts descends
// from the runner, which is a child subreaper, and sits in the run's cgroup where there is one.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bench {

// The processes below this cgroup directory, ourselves left out; where the name is empty, all that
// live and descend from us.
std::vector<pid_t> survivors(const std::string& cgroup);

// Collects what has ended.
void reap_all();

// Kills them until none is left, for some seconds at most.
void end_survivors(const std::string& cgroup, double seconds);

}  // namespace bench

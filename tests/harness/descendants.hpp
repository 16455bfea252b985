// The processes below this one. The test process is a child subreaper, so whatever a supervisor
// leaves behind becomes its child and is found here.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <vector>

namespace harness {

struct ProcessRow {
  pid_t pid = 0;
  pid_t ppid = 0;
  pid_t pgid = 0;
  pid_t sid = 0;
  char state = '?';
  unsigned long long start = 0;
  std::string comm;

  // A zombie whose threads live on counts as living: its state alone does not tell.
  [[nodiscard]] bool living() const;
  [[nodiscard]] std::string text() const;  // for people
};

void become_subreaper();

// One process; pid 0 where it does not exist.
ProcessRow process_row(pid_t pid);

// Everything below root (this process unless given), zombies included.
std::vector<ProcessRow> descendants(pid_t root = 0);
std::vector<ProcessRow> living_descendants(pid_t root = 0);

// Kills and collects every descendant of this process until the kernel says that there is none, at
// most for the given time. Only processes that are ours are signalled, each by its identity and not
// by a number alone.
void mop_up(double seconds = 10);

}  // namespace harness

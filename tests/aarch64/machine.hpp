// The virtual machine, seen by its first process: who lives in it, and small words about files.
// Nobody else owns a process here, so "nothing is left" is a look at the whole process table.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace guest {

using Words = std::vector<std::string>;
using Clock = std::chrono::steady_clock;

Words operator+(Words left, const Words& right);
double seconds_since(Clock::time_point start);

// Mounts what a machine has: /proc, /sys, /dev, a cgroup v2 hierarchy at /sys/fs/cgroup.
void mount_everything();
[[noreturn]] void power_off();

struct Row {
  pid_t pid = 0;
  pid_t ppid = 0;
  pid_t pgid = 0;
  pid_t sid = 0;
  char state = '?';
  std::string comm;
};

// Every living process but this one and the kernel's own.
std::vector<Row> everybody();
std::vector<Row> children_of(pid_t pid);
std::string text(const std::vector<Row>& rows);

// Collects whatever has ended. The status of each child stays until it is asked for: an exit code,
// or -N for death by signal N.
class Reaper {
 public:
  // Blocks SIGCHLD, so that its arrival can be waited for.
  Reaper();
  void reap();
  bool ended(pid_t pid, int& status);
  // Asks again after each SIGCHLD, and every few milliseconds, until the time is over.
  bool eventually(const std::function<bool()>& condition, double seconds = 20);
  // Kills everybody and waits until nobody is left.
  bool clear();

 private:
  std::map<pid_t, int> ended_;
};

bool exists(const std::string& path);
std::string read_file(const std::string& path);  // "" where there is none
void write_file(const std::string& path, const std::string& text);

}  // namespace guest

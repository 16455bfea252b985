#include "harness/descendants.hpp"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <thread>

#include "harness/tools.hpp"

namespace harness {

namespace {

int thread_count(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  int threads = 0;
  if (name_end == std::string::npos ||
      sscanf(stat.c_str() + name_end,
             ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d",
             &threads) != 1) {
    return 0;
  }
  return threads;
}

void kill_exactly(const ProcessRow& row) {
  // The descriptor pins the process; only then is it certain whom the number names.
  const int fd = int(syscall(SYS_pidfd_open, row.pid, 0));
  if (fd < 0) return;
  if (process_row(row.pid).start == row.start) {
    syscall(SYS_pidfd_send_signal, fd, SIGKILL, nullptr, 0);
    syscall(SYS_pidfd_send_signal, fd, SIGCONT, nullptr, 0);
  }
  close(fd);
}

}  // namespace

bool ProcessRow::living() const {
  if (state == 'X') return false;
  return state != 'Z' || thread_count(pid) > 1;
}

std::string ProcessRow::text() const {
  return std::to_string(pid) + " (" + comm + ", state " + state + ", parent " +
         std::to_string(ppid) + ", session " + std::to_string(sid) + ")";
}

void become_subreaper() {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0) abort();
}

ProcessRow process_row(pid_t pid) {
  const std::string stat = read_file("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_start = stat.find('(');
  const size_t name_end = stat.rfind(')');
  ProcessRow row;
  if (name_start == std::string::npos || name_end == std::string::npos) return row;
  if (sscanf(stat.c_str() + name_end,
             ") %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
             &row.state, &row.ppid, &row.pgid, &row.sid, &row.start) != 5) {
    return row;
  }
  row.pid = pid;
  row.comm = stat.substr(name_start + 1, name_end - name_start - 1);
  return row;
}

std::vector<ProcessRow> descendants(pid_t root) {
  std::multimap<pid_t, ProcessRow> by_parent;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) abort();
  while (const dirent* entry = readdir(proc)) {
    const pid_t pid = pid_t(atol(entry->d_name));
    if (pid <= 0) continue;
    const ProcessRow row = process_row(pid);
    if (row.pid != 0) by_parent.emplace(row.ppid, row);
  }
  closedir(proc);
  std::vector<ProcessRow> found;
  std::vector<pid_t> to_do = {root != 0 ? root : getpid()};
  while (!to_do.empty()) {
    const pid_t parent = to_do.back();
    to_do.pop_back();
    const auto [first, last] = by_parent.equal_range(parent);
    for (auto at = first; at != last; ++at) {
      found.push_back(at->second);
      to_do.push_back(at->second.pid);
    }
  }
  return found;
}

std::vector<ProcessRow> living_descendants(pid_t root) {
  std::vector<ProcessRow> living;
  for (const ProcessRow& row : descendants(root)) {
    if (row.living()) living.push_back(row);
  }
  return living;
}

void mop_up(double seconds) {
  const auto start = Clock::now();
  while (seconds_since(start) < seconds) {
    for (const ProcessRow& row : living_descendants()) kill_exactly(row);
    // Bounded: a storm would bring new dead ones for ever.
    for (int i = 0; i < 1000; ++i) {
      const pid_t ended = waitpid(-1, nullptr, WNOHANG);
      if (ended < 0 && errno == ECHILD) return;
      if (ended <= 0) break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace harness

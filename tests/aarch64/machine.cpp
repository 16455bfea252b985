#include "machine.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <fstream>
#include <set>
#include <stdexcept>

namespace guest {

namespace {

void mount_one(const char* type, const char* where) {
  mkdir(where, 0755);
  if (mount(type, where, type, 0, nullptr) != 0) {
    throw std::runtime_error(std::string("mount ") + where + ": " + strerror(errno));
  }
}

bool parse_row(const std::string& stat, Row& row) {
  const size_t open = stat.find('(');
  const size_t close = stat.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return false;
  row.pid = atoi(stat.c_str());
  row.comm = stat.substr(open + 1, close - open - 1);
  return sscanf(stat.c_str() + close + 1, " %c %d %d %d", &row.state, &row.ppid, &row.pgid,
                &row.sid) == 4;
}

// The kernel's threads are its process 2 and the children of that. A hundred of them, read again at
// every look, would cost more than the cases; no number is given out twice here.
constexpr pid_t kKernel = 2;
std::set<pid_t> kernel_threads = {kKernel};

std::vector<Row> table() {
  std::vector<Row> rows;
  DIR* proc = opendir("/proc");
  if (proc == nullptr) throw std::runtime_error("/proc cannot be read");
  while (const dirent* entry = readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (kernel_threads.contains(atoi(entry->d_name))) continue;
    Row row;
    if (parse_row(read_file(std::string("/proc/") + entry->d_name + "/stat"), row)) {
      if (row.ppid == kKernel) {
        kernel_threads.insert(row.pid);
      } else {
        rows.push_back(row);
      }
    }
  }
  closedir(proc);
  return rows;
}

bool is_a_living_program(const Row& row) {
  return row.pid != getpid() && row.state != 'Z' && row.state != 'X';
}

}  // namespace

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void mount_everything() {
  mount_one("devtmpfs", "/dev");
  mount_one("proc", "/proc");
  mount_one("sysfs", "/sys");
  mount_one("cgroup2", "/sys/fs/cgroup");
  chmod("/tmp", 01777);
  write_file("/proc/sys/kernel/pid_max", "4194304");
}

void power_off() {
  fflush(stdout);
  reboot(RB_POWER_OFF);
  _exit(0);  // the kernel panics, and the machine ends all the same
}

std::vector<Row> everybody() {
  std::vector<Row> rows = table();
  std::erase_if(rows, [](const Row& row) { return !is_a_living_program(row); });
  return rows;
}

std::vector<Row> children_of(pid_t pid) {
  std::vector<Row> rows = table();
  std::erase_if(rows, [&](const Row& row) { return row.ppid != pid || row.state == 'Z'; });
  return rows;
}

std::string text(const std::vector<Row>& rows) {
  std::string out;
  for (const Row& row : rows) {
    out += (out.empty() ? "" : ", ") + row.comm + " " + std::to_string(row.pid) + " of " +
           std::to_string(row.ppid) + " (" + row.state + ")";
    if (out.size() > 600) return out + ", ... " + std::to_string(rows.size());
  }
  return out;
}

Reaper::Reaper() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
}

void Reaper::reap() {
  int status = 0;
  while (true) {
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) return;
    ended_[pid] = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
}

bool Reaper::ended(pid_t pid, int& status) {
  const auto found = ended_.find(pid);
  if (found == ended_.end()) return false;
  status = found->second;
  return true;
}

bool Reaper::eventually(const std::function<bool()>& condition, double seconds) {
  const auto start = Clock::now();
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  while (true) {
    reap();
    if (condition()) return true;
    if (seconds_since(start) > seconds) return false;
    const timespec moment = {0, 4'000'000};
    sigtimedwait(&child, nullptr, &moment);
  }
}

bool Reaper::clear() {
  const bool cleared = eventually([] {
    kill(-1, SIGKILL);
    return everybody().empty();
  });
  reap();
  ended_.clear();
  return cleared;
}

bool exists(const std::string& path) {
  struct stat status;
  return lstat(path.c_str(), &status) == 0;
}

std::string read_file(const std::string& path) {
  std::string text;
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return text;
  char buffer[1 << 14];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof buffer)) > 0) text.append(buffer, static_cast<size_t>(got));
  close(fd);
  return text;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out << text;
  out.close();
  if (!out) throw std::runtime_error(path + ": " + strerror(errno));
}

}  // namespace guest

#include "survivors.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <utility>

#include "slots.hpp"

namespace bench {
namespace {

char state_of(pid_t pid) {
  char bytes[512];
  std::snprintf(bytes, sizeof bytes, "/proc/%d/stat", pid);
  const int file = open(bytes, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 'X';
  const ssize_t size = read(file, bytes, sizeof bytes - 1);
  close(file);
  bytes[size > 0 ? size : 0] = 0;
  const char* name_end = std::strrchr(bytes, ')');
  return name_end != nullptr && name_end[1] != 0 ? name_end[2] : 'X';
}

void add_numbers_of(const std::string& path, std::vector<pid_t>& to) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) return;
  int pid = 0;
  // 0 stands for a process that our PID namespace does not know.
  while (std::fscanf(file, "%d", &pid) == 1) {
    if (pid > 0 && pid != getpid()) to.push_back(pid);
  }
  std::fclose(file);
}

// A supervisor may have made cgroups of its own in there.
void add_members_of(const std::string& cgroup, std::vector<pid_t>& to) {
  add_numbers_of(cgroup + "/cgroup.procs", to);
  DIR* directory = opendir(cgroup.c_str());
  if (directory == nullptr) return;
  while (const dirent* entry = readdir(directory)) {
    if (entry->d_type == DT_DIR && entry->d_name[0] != '.') {
      add_members_of(cgroup + "/" + entry->d_name, to);
    }
  }
  closedir(directory);
}

void add_descendants_of(pid_t pid, std::vector<pid_t>& to) {
  std::vector<pid_t> queue{pid};
  while (!queue.empty()) {
    const std::string number = std::to_string(queue.back());
    queue.pop_back();
    std::vector<pid_t> children;
    add_numbers_of("/proc/" + number + "/task/" + number + "/children", children);
    for (const pid_t child : children) {
      const char state = state_of(child);
      if (state != 'Z' && state != 'X') to.push_back(child);
      queue.push_back(child);
    }
  }
}

// So many at a time: each takes a descriptor.
constexpr std::size_t kHeld = 256;

// A number may have become another's since it was read. So the processes are held first, and only
// those are killed that are still among the survivors then.
void kill_held(const std::vector<pid_t>& pids, const std::string& cgroup) {
  for (std::size_t from = 0; from < pids.size(); from += kHeld) {
    const std::size_t to = std::min(pids.size(), from + kHeld);
    std::vector<std::pair<pid_t, int>> held;
    for (std::size_t at = from; at < to; ++at) {
      const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pids[at], 0));
      if (pidfd >= 0) held.emplace_back(pids[at], pidfd);
    }
    std::vector<pid_t> still = survivors(cgroup);
    std::ranges::sort(still);
    for (const auto& [pid, pidfd] : held) {
      if (std::ranges::binary_search(still, pid)) {
        syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, nullptr, 0);
      }
      close(pidfd);
    }
  }
}

}  // namespace

std::vector<pid_t> survivors(const std::string& cgroup) {
  std::vector<pid_t> found;
  if (cgroup.empty()) {
    add_descendants_of(getpid(), found);
  } else {
    add_members_of(cgroup, found);
  }
  return found;
}

void reap_all() {
  while (waitpid(-1, nullptr, WNOHANG) > 0) {
  }
}

void end_survivors(const std::string& cgroup, double seconds) {
  const std::int64_t until = now() + static_cast<std::int64_t>(seconds * 1e9);
  for (;;) {
    const std::vector<pid_t> left = survivors(cgroup);
    if (left.empty() || now() > until) break;
    kill_held(left, cgroup);
    reap_all();
    usleep(1000);
  }
  reap_all();
}

}  // namespace bench

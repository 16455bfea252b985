#include "harness/features.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <sstream>

#include "harness/tools.hpp"

namespace harness {

namespace {

// The mount point of the first row of /proc/mounts that fits.
std::string mount_point(const std::string& type, const std::string& option) {
  std::istringstream rows(read_file("/proc/mounts"));
  std::string device, point, kind, options, rest;
  while (rows >> device >> point >> kind >> options && std::getline(rows, rest)) {
    const std::string padded = "," + options + ",";
    if (kind == type && (option.empty() || padded.find("," + option + ",") != std::string::npos) &&
        access(point.c_str(), W_OK) == 0) {
      return point;
    }
  }
  return "";
}

}  // namespace

bool is_root() { return geteuid() == 0; }

bool wrapper_denies(std::string_view call) {
  for (const std::string& word : wrapper()) {
    for (const std::string& name : split(word, ',')) {
      if (name == call) return true;
    }
  }
  return false;
}

bool has_signal_scope() {
  constexpr unsigned kAskForVersion = 1;
  return !wrapper_denies("landlock_create_ruleset") &&
         syscall(444 /* landlock_create_ruleset */, nullptr, 0, kAskForVersion) >= 6;
}

std::string cgroup_v1(const std::string& controller) { return mount_point("cgroup", controller); }
std::string cgroup_v2() { return mount_point("cgroup2", ""); }

bool has_tool(const std::string& name) {
  const char* path = std::getenv("PATH");
  for (const std::string& directory : split(path != nullptr ? path : "/usr/bin:/bin", ':')) {
    if (access((directory + "/" + name).c_str(), X_OK) == 0) return true;
  }
  return false;
}

bool has_user_namespaces() {
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 &&
        (setresgid(64000, 64000, 64000) != 0 || setresuid(64000, 64000, 64000) != 0)) {
      _exit(1);
    }
    _exit(unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0 ? 0 : 1);
  }
  int status = 1;
  waitpid(child, &status, 0);
  return status == 0;
}

}  // namespace harness

#include "pen.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "harness/features.hpp"
#include "harness/tools.hpp"

namespace storms {

using namespace harness;

namespace {

// Version 1 has a hierarchy for it; in version 2 the root must hand the controller down.
std::string parent_group() {
  if (const std::string own = cgroup_v1("pids"); !own.empty()) return own;
  const std::string root = cgroup_v2();
  if (root.empty()) return "";
  const std::string controllers = read_file(root + "/cgroup.subtree_control");
  return controllers.find("pids") != std::string::npos ? root : "";
}

}  // namespace

Pen::Pen(int most) {
  const std::string parent = parent_group();
  if (parent.empty()) return;
  const std::string group = parent + "/scene-storm-" + std::to_string(getpid());
  std::error_code error;
  if (!std::filesystem::create_directory(group, error)) return;
  write_file(group + "/pids.max", std::to_string(most));
  group_ = group;
}

Pen::~Pen() {
  if (holds()) eventually([this] { return rmdir(group_.c_str()) == 0; }, 10);
}

std::function<void()> Pen::enter() const {
  return [procs = group_ + "/cgroup.procs"] {
    const int fd = open(procs.c_str(), O_WRONLY | O_CLOEXEC);
    if (fd < 0 || write(fd, "0", 1) != 1) _exit(94);
    close(fd);
  };
}

int Pen::population() const {
  const std::string text = read_file(group_ + "/pids.current");
  return text.empty() ? 0 : std::stoi(text);
}

}  // namespace storms

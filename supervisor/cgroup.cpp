#include "supervisor/cgroup.hpp"

#include <cerrno>

#include <fcntl.h>

#include "kernel/directory.hpp"
#include "kernel/procfs.hpp"

namespace quietus {
namespace {

// Where systemd and container runtimes mount the v2 hierarchy: alone, or beside v1.
constexpr const char* kMounts[] = {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"};
constexpr std::size_t kSmallFile = 4096;
constexpr int kDeepestGroup = 8;
constexpr std::size_t kMembersLimit = 1 << 20;

// The directories that could be our own cgroup of the v2 hierarchy.
sys::Result<std::vector<std::string>> own_cgroups(sys::Gate& gate) {
  const auto ours = sys::read_file(gate, "/proc/self/cgroup", kSmallFile);
  if (!ours) return tl::unexpected(ours.error());
  const auto own_path = sys::parse_cgroup_path(*ours);
  if (!own_path) return tl::unexpected(sys::Error{ENOENT, "cgroup2"});
  std::vector<std::string> found;
  for (const char* mount : kMounts) {
    std::string directory = mount;
    if (*own_path != "/") directory += *own_path;
    // The root of a v1 or tmpfs mount would take a directory too, but is no v2 cgroup.
    const auto v2 = sys::lstat(gate, (directory + "/cgroup.subtree_control").c_str());
    if (v2) found.push_back(std::move(directory));
  }
  return found;
}

std::string leaf_path(const std::string& parent, std::string_view id) {
  return parent + "/quietus-" + std::string(id);
}

// Container tools and a nested quietus make groups inside ours: those go first. What still holds a
// process stays, and so does all above it.
sys::Result<sys::Unit> remove_groups(sys::Gate& gate, const std::string& path, int levels) {
  const auto removed = sys::remove_directory(gate, path.c_str());
  if (removed || sys::gone(removed.error()) || levels == 0) return removed;
  if (const auto directory = sys::open(gate, path.c_str(), O_RDONLY | O_DIRECTORY)) {
    (void)sys::for_each_name(gate, directory->get(), [&](const char* name) {
      (void)remove_groups(gate, path + '/' + name, levels - 1);  // its files are no directories
      return true;
    });
  }
  return sys::remove_directory(gate, path.c_str());
}

}  // namespace

sys::Result<Cgroup> Cgroup::create(sys::Gate& gate, std::string_view id) {
  const auto parents = own_cgroups(gate);
  if (!parents) return tl::unexpected(parents.error());
  sys::Error last{ENOENT, "cgroup2"};
  for (const std::string& parent : *parents) {
    Cgroup leaf(leaf_path(parent, id));
    const auto made = sys::make_directory(gate, leaf.path_.c_str(), 0755);
    if (!made) {
      last = made.error();
      continue;
    }
    // cgroup.kill came with Linux 5.14.
    const auto can_kill = sys::lstat(gate, (leaf.path_ + "/cgroup.kill").c_str());
    if (can_kill) return leaf;
    last = {can_kill.error().code, "cgroup.kill"};
    (void)leaf.remove(gate);  // empty: we made it a moment ago
  }
  return tl::unexpected(last);
}

std::optional<Cgroup> Cgroup::find(sys::Gate& gate, std::string_view id) {
  const auto parents = own_cgroups(gate);
  if (!parents) return std::nullopt;
  for (const std::string& parent : *parents) {
    Cgroup leaf(leaf_path(parent, id));
    if (sys::lstat(gate, (leaf.path_ + "/cgroup.kill").c_str())) return leaf;
  }
  return std::nullopt;
}

void Cgroup::open(sys::Gate& gate) {
  const auto keep = [](sys::UniqueFd& into, sys::Result<sys::UniqueFd> opened) {
    if (opened) into = std::move(*opened);
  };
  keep(directory_, sys::open(gate, path_.c_str(), O_RDONLY | O_DIRECTORY));
  keep(events_, sys::open(gate, (path_ + "/cgroup.events").c_str(), O_RDONLY));
  keep(kill_, sys::open(gate, (path_ + "/cgroup.kill").c_str(), O_WRONLY));
}

sys::Result<sys::Unit> Cgroup::kill(sys::Gate& gate) {
  if (kill_) return sys::write_all(gate, kill_.get(), "1");
  return sys::write_file(gate, (path_ + "/cgroup.kill").c_str(), "1");
}

sys::Result<bool> Cgroup::populated(sys::Gate& gate) {
  const auto events = sys::read_file(gate, (path_ + "/cgroup.events").c_str(), kSmallFile);
  if (!events) return tl::unexpected(events.error());
  if (events->find("populated 0") != std::string::npos) return false;
  if (events->find("populated 1") != std::string::npos) return true;
  return tl::unexpected(sys::Error{EINVAL, "cgroup.events"});
}

bool Cgroup::holds(sys::Gate& gate, int pid) {
  const auto rows = sys::read_file(gate, ("/proc/" + decimal(pid) + "/cgroup").c_str(), kSmallFile);
  const auto path = rows ? sys::parse_cgroup_path(*rows) : std::nullopt;
  return path && path->ends_with(path_.substr(path_.rfind('/')));
}

std::vector<int> Cgroup::members(sys::Gate& gate) const {
  auto listed = sys::read_file(gate, procs_path().c_str(), kMembersLimit);
  if (!listed) return {};
  for (char& c : *listed) {
    if (c == '\n') c = ' ';
  }
  return sys::parse_children(*listed);
}

sys::Result<sys::Unit> Cgroup::remove(sys::Gate& gate) {
  return remove_groups(gate, path_, kDeepestGroup);
}

}  // namespace quietus

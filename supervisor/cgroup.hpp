// A leaf cgroup (v2) for the worker's tree, where a writable directory exists: cgroup.kill ends all
// of it atomically, cgroup.events tells when nobody is left. See cgroups(7).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel/calls.hpp"

namespace quietus {

class Cgroup {
 public:
  // Makes the leaf "quietus-ID" under our own cgroup. Any error means: not here.
  static sys::Result<Cgroup> create(sys::Gate& gate, std::string_view id);

  // The leaf that an earlier run with this ID made and left.
  static std::optional<Cgroup> find(sys::Gate& gate, std::string_view id);

  // Opens what will be needed, so that it is there whatever the worker does to our limits. What
  // cannot be opened now is opened when it is used.
  void open(sys::Gate& gate);

  [[nodiscard]] int directory() const { return directory_.get(); }
  [[nodiscard]] int events() const { return events_.get(); }  // POLLPRI when it changes
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string procs_path() const { return path_ + "/cgroup.procs"; }

  sys::Result<sys::Unit> kill(sys::Gate& gate);
  sys::Result<bool> populated(sys::Gate& gate);
  // Whether this process is in it, living or not yet collected.
  bool holds(sys::Gate& gate, int pid);
  [[nodiscard]] std::vector<int> members(sys::Gate& gate) const;
  sys::Result<sys::Unit> remove(sys::Gate& gate);

 private:
  explicit Cgroup(std::string path) : path_(std::move(path)) {}

  std::string path_;
  sys::UniqueFd directory_;
  sys::UniqueFd kill_;
  sys::UniqueFd events_;
};

}  // namespace quietus

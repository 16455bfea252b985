#include "bootstrap/roots.hpp"

#include <sys/mount.h>

#include <filesystem>
#include <sstream>
#include <stdexcept>

#include "bootstrap/children.hpp"
#include "harness/tools.hpp"

namespace bootstrap_tests {

namespace fs = std::filesystem;

std::string busybox() {
  for (const char* path : {"/bin/busybox", "/usr/bin/busybox"}) {
    if (harness::exists(path)) return path;
  }
  return {};
}

std::string musl_loader() {
  const std::string path = "/lib/ld-musl-x86_64.so.1";
  return harness::exists(path) ? path : std::string();
}

void make_bare_root(const std::string& root) {
  for (const char* folder : {"/tmp", "/var/tmp", "/dev", "/proc", "/run", "/opt"}) {
    fs::create_directories(root + folder);
  }
}

void make_busybox_root(const std::string& root) {
  // Asked once: it has hundreds of names.
  static const std::string names = run_tool({busybox(), "--list"}).out;
  make_bare_root(root);
  fs::create_directories(root + "/bin");
  fs::copy_file(busybox(), root + "/bin/busybox");
  std::istringstream lines(names);
  for (std::string name; std::getline(lines, name);) {
    std::error_code ignored;
    fs::create_symlink("busybox", root + "/bin/" + name, ignored);
  }
}

void make_debian_root(const std::string& root) {
  const ToolRun made = run_tool({"bash", BOOTSTRAP_SOURCES "/debian_root.sh", root});
  if (!made.worked) throw std::runtime_error("no Debian: " + made.out);
}

void add_musl(const std::string& root) {
  fs::create_directories(root + "/lib");
  fs::copy_file(fs::canonical(musl_loader()), root + musl_loader());
}

Tmpfs::Tmpfs(std::string where, unsigned long flags) : where_(std::move(where)) {
  fs::create_directories(where_);
  mounted_ = mount("none", where_.c_str(), "tmpfs", flags, "size=512m,mode=1777") == 0;
}

Tmpfs::~Tmpfs() {
  if (mounted_) umount2(where_.c_str(), MNT_DETACH);
}

bool Tmpfs::change(unsigned long flags, const std::string& options) const {
  return mount("none", where_.c_str(), "tmpfs", MS_REMOUNT | flags, options.c_str()) == 0;
}

}  // namespace bootstrap_tests

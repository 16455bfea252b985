// Root file systems for sandboxes, made of this machine's own files.
#pragma once

#include <string>

namespace bootstrap_tests {

// With the directories that a root needs. bare: nothing at all. busybox: the static one and all its
// names. debian: the packages of a minbase. add_musl: a musl of this machine beside what is there.
void make_bare_root(const std::string& root);
void make_busybox_root(const std::string& root);
void make_debian_root(const std::string& root);
void add_musl(const std::string& root);

// A file system in memory. Where nothing may be mounted there is just the directory.
class Tmpfs {
 public:
  explicit Tmpfs(std::string where, unsigned long flags = 0);
  ~Tmpfs();
  Tmpfs(const Tmpfs&) = delete;
  Tmpfs& operator=(const Tmpfs&) = delete;
  [[nodiscard]] bool is_mounted() const { return mounted_; }
  [[nodiscard]] bool change(unsigned long flags, const std::string& options) const;

 private:
  std::string where_;
  bool mounted_;
};

// Their paths; empty: none here.
std::string busybox();
std::string musl_loader();

}  // namespace bootstrap_tests

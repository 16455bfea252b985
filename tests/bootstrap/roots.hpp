// Root file systems for sandboxes, made of this machine's own files.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace bootstrap_tests {

// With the directories that a root needs. busybox: the static one and all its names. glibc: this
// machine's dash, coreutils and C library, with all that they need. bare: nothing at all.
void make_busybox_root(const std::string& root);
void make_glibc_root(const std::string& root);
void make_bare_root(const std::string& root);
std::string busybox();  // its path; empty: none

// Runs a program of this machine to its end; its output, and whether it exited with 0.
struct ToolRun {
  bool worked = false;
  std::string out;
};
ToolRun run_tool(const std::vector<std::string>& argv);

}  // namespace bootstrap_tests

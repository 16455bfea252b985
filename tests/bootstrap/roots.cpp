#include "bootstrap/roots.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>

#include "harness/tools.hpp"

extern char** environ;

namespace bootstrap_tests {
namespace {

namespace fs = std::filesystem;

void copy_in(const std::string& root, const std::string& path) {
  const fs::path to = root + path;
  if (fs::exists(to)) return;
  fs::create_directories(to.parent_path());
  fs::copy_file(fs::canonical(path), to);
}

// "libc.so.6 => /lib/.../libc.so.6 (0x...)" and "/lib64/ld-linux-x86-64.so.2 (0x...)".
std::set<std::string> libraries_of(const std::string& program) {
  std::set<std::string> paths;
  std::istringstream lines(run_tool({"ldd", program}).out);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find('/');
    if (begin != std::string::npos) paths.insert(line.substr(begin, line.find(' ', begin) - begin));
  }
  return paths;
}

}  // namespace

ToolRun run_tool(const std::vector<std::string>& argv) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::vector<std::string> words = argv;
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  ToolRun run;
  if (error == 0) {
    char piece[4096];
    for (ssize_t got = 0; (got = read(ends[0], piece, sizeof piece)) > 0;) {
      run.out.append(piece, static_cast<std::size_t>(got));
    }
    int status = 0;
    waitpid(pid, &status, 0);
    run.worked = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  close(ends[0]);
  return run;
}

std::string busybox() {
  for (const char* path : {"/bin/busybox", "/usr/bin/busybox"}) {
    if (harness::exists(path)) return path;
  }
  return {};
}

void make_bare_root(const std::string& root) {
  for (const char* folder : {"/tmp", "/var/tmp", "/dev", "/proc", "/run", "/opt"}) {
    fs::create_directories(root + folder);
  }
}

void make_busybox_root(const std::string& root) {
  make_bare_root(root);
  fs::create_directories(root + "/bin");
  fs::copy_file(busybox(), root + "/bin/busybox");
  std::istringstream names(run_tool({busybox(), "--list"}).out);
  for (std::string name; std::getline(names, name);) {
    std::error_code ignored;
    fs::create_symlink("busybox", root + "/bin/" + name, ignored);
  }
}

void make_glibc_root(const std::string& root) {
  make_bare_root(root);
  for (const char* program : {"/bin/sh", "/bin/uname", "/usr/bin/id", "/usr/bin/getconf",
                              "/bin/mkdir", "/bin/rmdir", "/bin/rm", "/bin/chmod", "/bin/mv",
                              "/bin/cat", "/usr/bin/wc", "/bin/df", "/usr/bin/sha256sum"}) {
    copy_in(root, program);
    for (const std::string& library : libraries_of(program)) copy_in(root, library);
  }
}

}  // namespace bootstrap_tests

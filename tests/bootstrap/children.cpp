#include "bootstrap/children.hpp"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

extern char** environ;

namespace bootstrap_tests {

ToolFetch::~ToolFetch() {
  if (pid_ == 0) return;
  signal(SIGKILL);
  (void)wait();
}

void ToolFetch::start(const std::string& manifest, const std::string& cache) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, ends[1], 2);
  std::string program = FETCH_TOOL;
  std::string words[] = {manifest, cache};
  char* argv[] = {program.data(), words[0].data(), words[1].data(), nullptr};
  const int error = posix_spawn(&pid_, program.c_str(), &actions, nullptr, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  out_ = ends[0];
  if (error != 0) throw std::runtime_error("cannot start " + program);
}

void ToolFetch::signal(int number) const { kill(pid_, number); }

int ToolFetch::wait() {
  char piece[4096];
  for (ssize_t got = 0; (got = read(out_, piece, sizeof piece)) > 0;) {
    output_.append(piece, static_cast<std::size_t>(got));
  }
  close(out_);
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace bootstrap_tests

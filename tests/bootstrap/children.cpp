#include "bootstrap/children.hpp"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>

extern char** environ;

namespace bootstrap_tests {
namespace {

constexpr int kNoMore = -1;

void make_pipe(int (&ends)[2]) {
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
}

// Reads once, and closes what has ended.
void read_from(int& fd, std::string& into) {
  char piece[4096];
  const ssize_t got = read(fd, piece, sizeof piece);
  if (got > 0) {
    into.append(piece, static_cast<std::size_t>(got));
    return;
  }
  close(fd);
  fd = kNoMore;
}

}  // namespace

Child::~Child() {
  if (pid_ == 0) return;
  signal(SIGKILL);
  (void)wait();
}

void Child::start(std::vector<std::string> argv, Errors errors) {
  int out[2];
  int err[2] = {kNoMore, kNoMore};
  make_pipe(out);
  if (errors == Errors::apart) make_pipe(err);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, errors == Errors::apart ? err[1] : out[1], 2);
  std::vector<char*> pointers;
  for (std::string& word : argv) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  const int error = posix_spawnp(&pid_, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  out_ = out[0];
  if (errors == Errors::apart) {
    close(err[1]);
    err_ = err[0];
  }
  if (error == 0) return;
  pid_ = 0;
  throw std::runtime_error("cannot start " + argv.front());
}

void Child::signal(int number) const { kill(pid_, number); }

bool Child::read_some() {
  pollfd ready[] = {{.fd = out_, .events = POLLIN, .revents = 0},
                    {.fd = err_, .events = POLLIN, .revents = 0}};
  if (out_ == kNoMore && err_ == kNoMore) return false;
  if (poll(ready, 2, -1) < 0) return true;
  if (ready[0].revents != 0) read_from(out_, output_);
  if (ready[1].revents != 0) read_from(err_, errors_);
  return true;
}

std::optional<std::string> Child::line_behind(std::string_view text) {
  for (;;) {
    const std::size_t at = output_.find(text);
    const std::size_t end = at == std::string::npos ? at : output_.find('\n', at);
    if (end != std::string::npos) return output_.substr(at + text.size(), end - at - text.size());
    if (!read_some()) return std::nullopt;
  }
}

int Child::wait() {
  while (read_some()) continue;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = 0;
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

ToolRun run_tool(const std::vector<std::string>& argv, Child::Errors errors) {
  Child child;
  try {
    child.start(argv, errors);
  } catch (const std::runtime_error& error) {
    return {.out = error.what()};
  }
  ToolRun run;
  run.code = child.wait();
  run.worked = run.code == 0;
  run.out = child.output();
  run.err = child.errors();
  return run;
}

}  // namespace bootstrap_tests

#include "client/src/child.hpp"

#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/experimental/as_tuple.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <system_error>
#include <thread>
#include <vector>

#include "client/src/task.hpp"

extern char** environ;

namespace quietus {
namespace {

using namespace std::chrono_literals;

// How often we look where there is no pidfd.
constexpr auto kLook = 10ms;
// How long a destructor waits for a process that was killed; one in uninterruptible sleep stays.
constexpr int kLastLooks = 200;

class Attributes {
 public:
  Attributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigset_t all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setsigdefault(&attributes_, &all);
    posix_spawnattr_setflags(&attributes_,
                             POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes_); }
  Attributes(const Attributes&) = delete;
  Attributes& operator=(const Attributes&) = delete;
  [[nodiscard]] const posix_spawnattr_t* get() const { return &attributes_; }

 private:
  posix_spawnattr_t attributes_{};
};

class FileActions {
 public:
  FileActions(const Child::Streams& streams, const std::string& cwd) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_adddup2(&actions_, streams.in.get(), 0);
    posix_spawn_file_actions_adddup2(&actions_, streams.out.get(), 1);
    posix_spawn_file_actions_adddup2(&actions_, streams.err.get(), 2);
    // Ours are close-on-exec; those of the program that uses this library may not be.
    posix_spawn_file_actions_addclosefrom_np(&actions_, 3);
    if (!cwd.empty()) posix_spawn_file_actions_addchdir_np(&actions_, cwd.c_str());
  }
  ~FileActions() { posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  [[nodiscard]] const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> list;
  list.reserve(words.size() + 1);
  for (std::string& word : words) list.push_back(word.data());
  list.push_back(nullptr);
  return list;
}

// Ours, with what was asked for in the place of what has the same name.
std::vector<std::string> merged_environment(const std::vector<EnvironmentEntry>& added) {
  std::vector<std::string> merged;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const std::string_view name = text.substr(0, text.find('='));
    const auto same = [&](const EnvironmentEntry& one) { return one.first == name; };
    if (std::ranges::none_of(added, same)) merged.emplace_back(text);
  }
  for (const auto& [name, value] : added) merged.push_back(name + '=' + value);
  return merged;
}

Error spawn_error(const HostCommand& command, int error) {
  const std::string& program = command.argv.front();
  if (!command.cwd.empty() && access(command.cwd.c_str(), X_OK) != 0) {
    return {ErrorKind::input, system_message("start in", command.cwd, errno), {}};
  }
  Error result{ErrorKind::transport, system_message("start", program, error), {}};
  if (error == ENOENT) result.advice = "install it, or say where it is";
  if (error == EAGAIN) result.advice = "raise the limit of processes (ulimit -u)";
  if (error == E2BIG) result.advice = "pass long values in a file";
  if (error == E2BIG || error == EACCES) result.kind = ErrorKind::input;
  return result;
}

}  // namespace

tl::expected<Child, Child::SpawnError> Child::spawn(const asio::any_io_executor& executor,
                                                    const HostCommand& command, Streams streams) {
  std::vector<std::string> argv = command.argv;
  std::vector<std::string> environment = merged_environment(command.environment);
  const Attributes attributes;
  const FileActions actions(streams, command.cwd);
  pid_t pid = 0;
  // posix_spawn does not copy our memory, which may be large: fork(2) would take milliseconds.
  const int error = posix_spawnp(&pid, argv.front().c_str(), actions.get(), attributes.get(),
                                 pointers(argv).data(), pointers(environment).data());
  if (error != 0) return tl::unexpected(SpawnError{error, spawn_error(command, error)});
  // Not collected yet, so that the number cannot have been given to anybody else. The kernel makes
  // pidfds close-on-exec.
  return Child(executor, pid, UniqueFd(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))));
}

Child::Child(const asio::any_io_executor& executor, pid_t pid, UniqueFd pidfd)
    : pid_(pid), executor_(executor), pidfd_(executor) {
  if (pidfd) pidfd_.assign(pidfd.release());
}

Child::~Child() {
  const pid_t pid = pid_.release();
  if (pid == 0) return;
  ::kill(-pid, SIGKILL);
  for (int look = 0; look < kLastLooks; ++look) {
    const pid_t got = waitpid(pid, nullptr, WNOHANG);
    if (got == pid || (got < 0 && errno != EINTR)) return;
    std::this_thread::sleep_for(kLook);
  }
}

bool Child::has_ended() const {
  siginfo_t info{};
  const int result =
      waitid(P_PID, static_cast<id_t>(pid_.get()), &info, WEXITED | WNOHANG | WNOWAIT);
  // ECHILD: somebody else collects all children of this program. It is gone in any case.
  return result != 0 ? errno == ECHILD : info.si_pid != 0;
}

asio::awaitable<void> Child::ended() {
  // A wait on a pidfd can complete although nothing happened, when its number was in use a moment
  // ago by another: only waitid knows.
  while (!has_ended()) {
    if (pidfd_.is_open()) {
      (void)co_await pidfd_.async_wait(asio::posix::stream_descriptor::wait_read,
                                       asio::experimental::as_tuple(asio::use_awaitable));
    } else {
      asio::steady_timer timer(executor_, kLook);
      (void)co_await timer.async_wait(asio::experimental::as_tuple(asio::use_awaitable));
    }
    const bool cancelled = co_await is_cancelled();
    if (cancelled) co_return;
  }
}

void Child::signal_group(int signal) const {
  if (pid_.get() != 0) ::kill(-pid_.get(), signal);
}

ExitStatus Child::collect() {
  const pid_t pid = pid_.release();
  asio::error_code ignored;
  pidfd_.close(ignored);
  int status = 0;
  pid_t got = 0;
  do {
    got = waitpid(pid, &status, 0);
  } while (got < 0 && errno == EINTR);
  if (got != pid) return {.code = 255};
  if (WIFSIGNALED(status)) return {.code = 128 + WTERMSIG(status), .signaled = true};
  return {.code = WEXITSTATUS(status)};
}

}  // namespace quietus

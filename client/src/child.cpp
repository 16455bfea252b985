#include "client/src/child.hpp"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <asio/experimental/as_tuple.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <cerrno>
#include <system_error>
#include <vector>

#include "client/src/starter.hpp"
#include "client/src/task.hpp"

extern char** environ;

namespace quietus {
namespace {

using namespace std::chrono_literals;

// How often we look where there is no pidfd.
constexpr auto kLook = 10ms;

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
  if (error == ECANCELED) return {ErrorKind::cancelled, "'" + program + "' was cancelled", {}};
  Error result{ErrorKind::transport, system_message("start", program, error), {}};
  if (error == ETIMEDOUT) {
    return {ErrorKind::timeout, "'" + program + "' did not start in time",
            "give it a longer deadline"};
  }
  if (error == ENOENT) result.advice = "install it, or say where it is";
  if (error == EAGAIN) result.advice = "raise the limit of processes (ulimit -u)";
  if (error == E2BIG) result.advice = "pass long values in a file";
  if (error == E2BIG || error == EACCES) result.kind = ErrorKind::input;
  return result;
}

}  // namespace

asio::awaitable<tl::expected<Child, Child::SpawnError>> Child::spawn(HostCommand command,
                                                                     Streams streams, Until until) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  StartRequest request{.argv = command.argv,
                       .environment = merged_environment(command.environment),
                       .cwd = command.cwd,
                       .in = std::move(streams.in),
                       .out = std::move(streams.out),
                       .err = std::move(streams.err)};
  const Started started = co_await start_process(std::move(request), until);
  if (started.error != 0) {
    SpawnError error{started.error, spawn_error(command, started.error)};
    co_return tl::unexpected(std::move(error));
  }
  // Not collected yet, so that the number cannot have been given to anybody else. The kernel makes
  // pidfds close-on-exec.
  UniqueFd pidfd(static_cast<int>(syscall(SYS_pidfd_open, started.pid, 0)));
  co_return Child(executor, started.pid, std::move(pidfd));
}

Child::Child(const asio::any_io_executor& executor, pid_t pid, UniqueFd pidfd)
    : pid_(pid), executor_(executor), pidfd_(executor) {
  if (pidfd) pidfd_.assign(pidfd.release());
}

Child::~Child() { end_and_collect(pid_.release()); }

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
  if (pid_.get() != 0 && is_held(pid_.get())) ::kill(-pid_.get(), signal);
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

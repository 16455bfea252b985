#include "client/src/descriptor.hpp"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace quietus {
namespace {

constexpr int kFirstFree = 3;

// The same file under a number above the standard streams.
UniqueFd lifted(UniqueFd fd) {
  if (fd.get() >= kFirstFree || !fd) return fd;
  return UniqueFd(fcntl(fd.get(), F_DUPFD_CLOEXEC, kFirstFree));
}

Error exhausted(std::string_view what, int error) {
  return {ErrorKind::transport, system_message("make", what, error),
          error == EMFILE || error == ENFILE ? "raise the limit of open files (ulimit -n)" : ""};
}

}  // namespace

void UniqueFd::reset(int fd) {
  const int old = std::exchange(fd_, fd);
  if (old >= 0) ::close(old);
}

Expected<Pipe> make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return fail(exhausted("pipe", errno));
  Pipe pipe{lifted(UniqueFd(ends[0])), lifted(UniqueFd(ends[1]))};
  if (!pipe.in || !pipe.out) return fail(exhausted("pipe", errno));
  return pipe;
}

Expected<UniqueFd> open_file(const char* path, int flags, unsigned mode) {
  UniqueFd fd;
  do {
    fd.reset(::open(path, flags | O_CLOEXEC, mode));
  } while (!fd && errno == EINTR);
  if (fd) fd = lifted(std::move(fd));
  if (!fd) return fail(ErrorKind::input, system_message("open", path, errno));
  return fd;
}

long write_without_sigpipe(int fd, std::string_view bytes) {
  // A pipe knows no MSG_NOSIGNAL: the signal is blocked for this thread, and taken back if it came
  // by this write and was not pending before.
  sigset_t pipe_only;
  sigset_t before;
  sigset_t pending;
  sigemptyset(&pipe_only);
  sigaddset(&pipe_only, SIGPIPE);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &pipe_only, &before);
  const ssize_t wrote = ::write(fd, bytes.data(), bytes.size());
  const long result = wrote < 0 ? -errno : wrote;
  if (result == -EPIPE && sigismember(&pending, SIGPIPE) == 0) {
    const timespec now{};
    while (sigtimedwait(&pipe_only, nullptr, &now) < 0 && errno == EINTR) continue;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return result;
}

std::string system_message(std::string_view verb, std::string_view path, int error) {
  std::string text = "cannot ";
  text += verb;
  text += " '";
  text += path;
  text += "': ";
  return text + std::generic_category().message(error);
}

}  // namespace quietus

#include "cli/output_follower.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "cli/task.hpp"
#include "cli/words.hpp"
#include "contract/decimal.hpp"
#include "contract/session_files.hpp"

namespace quietus::cli {
namespace {

using namespace std::chrono_literals;

constexpr Span kLookHere = 50ms;
constexpr Span kLookInside = 500ms;
constexpr Span kTailTime = 30s;
constexpr std::size_t kChunk = std::size_t{256} << 10;
constexpr std::size_t kMostAtOnce = std::size_t{4} << 20;
constexpr int kNotExecutable = 126;

}  // namespace

asio::awaitable<void> OutputFollower::follow() {
  const std::string path = session_.directory() + '/' + kSessionFiles.output;
  const bool here = session_.sandbox().traits().shares_files;
  for (;;) {
    const bool cancelled = co_await was_cancelled();
    if (cancelled) co_return;
    if (session_.launch_started()) {
      bool possible = true;
      if (here) {
        possible = read_here(path);
      } else {
        possible = co_await read_inside(path);
      }
      // finish() shows all of it.
      if (!possible) co_return;
    }
    const bool waited = co_await pause_for(here ? kLookHere : kLookInside);
    if (!waited) co_return;
  }
}

bool OutputFollower::read_here(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return errno == ENOENT;
  std::array<char, kChunk> buffer;
  for (std::size_t taken = 0; taken < kMostAtOnce;) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(shown_));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    taken += static_cast<std::size_t>(got);
    shown_ += static_cast<std::uint64_t>(got);
    sink_({buffer.data(), static_cast<std::size_t>(got)});
  }
  close(fd);
  return true;
}

// A tail that is asked again and again: one that follows would be left inside when its client goes.
asio::awaitable<bool> OutputFollower::read_inside(const std::string& path) {
  ExecRequest request{.argv = words("tail", "-c", "+" + decimal(shown_ + 1), path),
                      .deadline = kTailTime,
                      .output_cap = kMostAtOnce};
  const ExecResult result = co_await session_.sandbox().exec(std::move(request));
  if (result.return_code >= kNotExecutable) co_return false;
  // Cut off or not: what came is a piece of the log, in order.
  shown_ += result.out.size();
  if (!result.out.empty()) sink_(result.out);
  co_return true;
}

void OutputFollower::finish(const std::string& log) {
  while (read_here(log)) {
    const std::uint64_t before = shown_;
    (void)read_here(log);
    if (shown_ == before) break;
  }
}

}  // namespace quietus::cli

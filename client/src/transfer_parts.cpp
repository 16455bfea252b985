#include "client/src/transfer_parts.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>

#include "client/src/staged.hpp"

namespace quietus {
namespace {

constexpr std::size_t kCopyChunk = std::size_t{1} << 20;
constexpr std::size_t kSmallestChunk = std::size_t{4} << 10;

}  // namespace

asio::awaitable<Expected<std::uint64_t>> copy_bytes(int from, int to, std::string shown,
                                                    std::optional<std::uint64_t> most_bytes,
                                                    Until deadline) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  // A thousand sessions fetch small files at the same time: no more than the file needs.
  struct stat there {};
  const std::size_t size = fstat(from, &there) == 0 ? static_cast<std::size_t>(there.st_size) : 0;
  std::vector<char> buffer(std::clamp<std::size_t>(size + 1, kSmallestChunk, kCopyChunk));
  std::uint64_t total = 0;
  for (;;) {
    const ssize_t got = ::read(from, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) co_return fail(ErrorKind::input, system_message("read", shown, errno));
    if (got == 0) co_return total;
    total += static_cast<std::uint64_t>(got);
    if (most_bytes && total > *most_bytes) co_return fail(too_large(shown, *most_bytes));
    std::string_view rest(buffer.data(), static_cast<std::size_t>(got));
    while (!rest.empty()) {
      const ssize_t wrote = ::write(to, rest.data(), rest.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) co_return fail(ErrorKind::input, system_message("write", shown, errno));
      rest.remove_prefix(static_cast<std::size_t>(wrote));
    }
    co_await asio::post(executor, asio::use_awaitable);
    const bool cancelled = co_await is_cancelled();
    if (cancelled) co_return fail(ErrorKind::cancelled, "the copy was cancelled");
    if (Clock::now() >= deadline) {
      co_return fail(ErrorKind::timeout, "'" + shown + "' was not copied in time");
    }
  }
}

HostCommand copy_tree(const std::string& from, const std::string& to) {
  return {.argv = {"cp", "-R", "-P", "-p", "--", from, to}};
}

asio::awaitable<ProcessEnd> read_from(std::shared_ptr<Relay> relay,
                                      asio::awaitable<ProcessEnd> reader) {
  ProcessEnd end = co_await std::move(reader);
  relay->give_up(refused("cannot unpack", end));
  co_return end;
}

Error refused(const std::string& what, const ProcessEnd& end) {
  if (end.error) return Error{end.error->kind, what, {}}.because(*end.error);
  const std::string said = without_trailing_space(end.err);
  return {ErrorKind::sandbox, what + ": " + (said.empty() ? "it gave no reason" : said), {}};
}

std::string without_trailing_space(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \r\n\t");
  return std::string(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

}  // namespace quietus

// Transfer: the ways out.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "client/src/random_token.hpp"
#include "client/src/staged.hpp"
#include "client/src/transfer_parts.hpp"
#include "client/src/words.hpp"
#include "contract/decimal.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;

constexpr int kSignalBase = 128;  // 128 + n: killed by signal n

// $1 path, $2 what to say at the end. The first line says what it is.
constexpr const char* kSend = R"sh(
if [ -d "$1" ]; then echo d && tar -C "$1" -cf - .
elif [ -f "$1" ]; then echo f && cat <"$1"
else echo n; exit 0; fi && printf %s "$2"
)sh";

// Takes a stream apart: a line that says what it is, the content, and a last word that says that it
// was all. The word is held back, so that it never reaches the destination.
class Receiver {
 public:
  Receiver(asio::any_io_executor executor, Staged staged, std::string last_word, std::string shown,
           std::optional<std::uint64_t> most_bytes, Until deadline)
      : executor_(std::move(executor)),
        staged_(std::move(staged)),
        last_word_(std::move(last_word)),
        shown_(std::move(shown)),
        most_bytes_(most_bytes),
        deadline_(deadline) {}

  asio::awaitable<Expected<void>> take(std::string_view bytes) {
    held_ += bytes;
    if (kind_ == 0) {
      if (held_.size() < 2) co_return Expected<void>{};
      kind_ = held_[1] == '\n' ? held_[0] : '?';
      held_.erase(0, 2);
      auto begun = begin();
      if (!begun) co_return begun;
    }
    if (held_.size() <= last_word_.size()) co_return Expected<void>{};
    const std::string ready = held_.substr(0, held_.size() - last_word_.size());
    held_.erase(0, ready.size());
    total_ += ready.size();
    if (most_bytes_ && total_ > *most_bytes_) co_return fail(too_large(shown_, *most_bytes_));
    if (kind_ == 'd') co_return co_await relay_->push(ready);
    co_return write(ready);
  }

  // After the client has ended. The content is at its destination, or nothing is.
  asio::awaitable<Expected<void>> finish(bool whole) {
    if (kind_ == 'n') {
      co_return fail(ErrorKind::input, "'" + shown_ + "' is no file or directory inside",
                     "see what is there");
    }
    whole = whole && (kind_ == 'f' || kind_ == 'd') && held_ == last_word_;
    if (kind_ == 'd') {
      if (whole) {
        relay_->close();
      } else {
        relay_->give_up({ErrorKind::transport, "the archive was cut", {}});
      }
      (void)co_await unpacking_->wait();
      const ProcessEnd& end = unpacking_->result();
      if (whole && (end.error || !end.status || end.status->code != 0)) {
        co_return fail(refused("cannot unpack '" + shown_ + "'", end));
      }
    }
    if (!whole) {
      co_return fail(ErrorKind::transport, "cannot copy '" + shown_ + "': the transfer was cut",
                     "repeat it; nothing stands at the destination");
    }
    if (kind_ == 'f') co_return staged_.commit_file(0644);
    // What an archive from inside holds is not to be trusted: no devices, no more than was allowed.
    const auto size = measure_tree(staged_.path(), most_bytes_);
    if (!size) co_return fail(size.error());
    co_return staged_.commit_tree();
  }

 private:
  Expected<void> begin() {
    if (kind_ == 'f') {
      auto file = staged_.make_file();
      if (!file) return fail(file.error());
      file_ = std::move(*file);
    } else if (kind_ == 'd') {
      auto directory = staged_.make_directory();
      if (!directory) return fail(directory.error());
      relay_ = std::make_shared<Relay>(executor_);
      ProcessRequest unpack{.deadline = deadline_};
      // tar refuses members that would lie outside (.., /, through a symlink of the archive).
      unpack.command.argv = words("tar", "-C", *directory, "--no-same-owner", "-xf", "-");
      unpack.output_cap = kMessageCap;
      unpack.source = [relay = relay_](std::span<char> into) { return relay->pull(into); };
      unpacking_ =
          Task<ProcessEnd>::start(executor_, read_from(relay_, run_process(std::move(unpack))));
    }
    return {};
  }

  Expected<void> write(std::string_view bytes) {
    while (!bytes.empty() && file_) {
      const ssize_t wrote = ::write(file_.get(), bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) return fail(ErrorKind::input, system_message("write", shown_, errno));
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
  }

  asio::any_io_executor executor_;
  Staged staged_;
  std::string last_word_;
  std::string shown_;
  std::optional<std::uint64_t> most_bytes_;
  Until deadline_;
  char kind_ = 0;
  std::string held_;
  std::uint64_t total_ = 0;
  UniqueFd file_;
  std::shared_ptr<Relay> relay_;
  std::shared_ptr<Task<ProcessEnd>> unpacking_;
};

}  // namespace

asio::awaitable<Expected<void>> Transfer::download_from_host(Job job, std::string root) {
  auto from = open_below(root, job.inside);
  if (!from) co_return fail(from.error());
  struct stat there {};
  if (fstat(from->get(), &there) != 0) {
    co_return fail(ErrorKind::input, system_message("read", job.inside, errno));
  }
  auto staged = Staged::below("/", fs::absolute(job.local).string(), kParentMode);
  if (!staged) co_return fail(staged.error());
  if (S_ISDIR(there.st_mode)) {
    char real[4096];
    const std::string link = "/proc/self/fd/" + decimal(from->get());
    const ssize_t length = readlink(link.c_str(), real, sizeof real);
    if (length < 0) co_return fail(ErrorKind::input, system_message("read", job.inside, errno));
    const std::string source(real, static_cast<std::size_t>(length));
    const auto size = measure_tree(source, job.options.most_bytes);
    if (!size) co_return fail(size.error());
    const ProcessEnd end = co_await run(copy_tree(source, staged->path()), job.deadline);
    if (end.error || !end.status || end.status->code != 0) {
      co_return fail(refused(job.downloading(), end));
    }
    co_return staged->commit_tree();
  }
  if (!S_ISREG(there.st_mode)) {
    co_return fail(ErrorKind::input, "'" + job.inside + "' is no file or directory");
  }
  const auto to = staged->make_file();
  if (!to) co_return fail(to.error());
  const auto copied =
      co_await copy_bytes(from->get(), to->get(), job.inside, job.options.most_bytes, job.deadline);
  if (!copied) co_return fail(copied.error());
  co_return staged->commit_file(there.st_mode & 0777);
}

asio::awaitable<Expected<void>> Transfer::download_through_shell(Job job) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto staged = Staged::below("/", fs::absolute(job.local).string(), kParentMode);
  if (!staged) co_return fail(staged.error());
  const std::string last_word = "quietus-" + random_token();
  Receiver receiver(executor, std::move(*staged), last_word, job.inside, job.options.most_bytes,
                    job.deadline);
  std::vector<std::string> argv = words("sh", "-c", kSend, "sh", job.inside, last_word);
  ProcessRequest request{.deadline = job.deadline};
  request.sink = [&receiver](std::string_view bytes) { return receiver.take(bytes); };
  const ProcessEnd end = co_await run_inside(std::move(argv), std::move(request));
  co_await leave_in_peace();
  auto finished = co_await receiver.finish(!end.error);
  if (finished) co_return finished;
  if (end.error) co_return fail(*end.error);
  // What was killed, here or there, has not refused anything: that is a cut.
  const bool killed = !end.status || end.status->code > kSignalBase;
  if (finished.error().kind == ErrorKind::transport && !killed &&
      !without_trailing_space(end.err).empty()) {
    co_return fail(refused(job.downloading(), end));
  }
  co_return finished;
}

asio::awaitable<Expected<void>> Transfer::download_by_copy(Job job) {
  auto staged = Staged::below("/", fs::absolute(job.local).string(), kParentMode);
  if (!staged) co_return fail(staged.error());
  const std::string copy = staged->path();
  const ProcessEnd end = co_await run(*transport_.copy_out(job.inside, copy), job.deadline);
  if (end.error || !end.status || end.status->code != 0) {
    co_return fail(refused(job.downloading(), end));
  }
  struct stat there {};
  if (lstat(copy.c_str(), &there) != 0) co_return job.cut(job.downloading());
  if (S_ISDIR(there.st_mode)) {
    const auto size = measure_tree(copy, job.options.most_bytes);
    if (!size) co_return fail(size.error());
    co_return staged->commit_tree();
  }
  if (!S_ISREG(there.st_mode)) {
    co_return fail(ErrorKind::input, "'" + job.inside + "' is no file or directory");
  }
  if (job.options.most_bytes &&
      static_cast<std::uint64_t>(there.st_size) > *job.options.most_bytes) {
    co_return fail(too_large(job.inside, *job.options.most_bytes));
  }
  co_return staged->commit_file(there.st_mode & 0777);
}

}  // namespace quietus

#include "client/src/transfer.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <cerrno>
#include <filesystem>

#include "client/src/base64.hpp"
#include "client/src/random_token.hpp"
#include "client/src/relay.hpp"
#include "client/src/staged.hpp"
#include "client/src/words.hpp"
#include "contract/decimal.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr unsigned kParentMode = 0777;
constexpr unsigned kPrivateMode = 0700;
constexpr std::size_t kCopyChunk = std::size_t{1} << 20;
constexpr std::size_t kSmallestChunk = std::size_t{4} << 10;
// One argument may have 128 KiB (MAX_ARG_STRLEN of execve(2)), and base64 makes four of three.
constexpr std::size_t kArgumentChunk = 90000;
constexpr auto kLookTime = 30s;
constexpr auto kTidyTime = 10s;
constexpr std::size_t kMessageCap = 4096;
constexpr int kSignalBase = 128;  // 128 + n: killed by signal n

// $1 temporary name, $2 destination, $3 its parent, $4 size, $5 mode, $6 umask for the parent or
// nothing, $7 what to say at the end. A connection that is cut looks like an end of file to cat, so
// the size decides. The word that is said decides here, since an exit code may not be the shell's.
constexpr const char* kMakeParent = R"sh(
( [ -z "$6" ] || umask "$6"; mkdir -p -- "$3" ) || exit 1
[ ! -d "$2" ] || { echo "$7 directory"; exit 1; }
)sh";
constexpr const char* kCommit = R"sh(
if [ "$(wc -c <"$1")" -eq "$4" ]; then
  chmod "$5" "$1" && mv -f -- "$1" "$2" && echo "$7 stored" && exit 0
else
  echo "$7 short"
fi
rm -f -- "$1"
exit 1
)sh";
// $1 path, $2 what to say at the end. The first line says what it is.
constexpr const char* kSend = R"sh(
if [ -d "$1" ]; then echo d && tar -C "$1" -cf - .
elif [ -f "$1" ]; then echo f && cat <"$1"
else echo n; exit 0; fi && printf %s "$2"
)sh";
// $1 temporary directory, $2 destination, $3 its parent, $4 the last file of the archive, $5 umask
// for the parent or nothing, $6 what to say.
constexpr const char* kUnpack = R"sh(
( [ -z "$5" ] || umask "$5"; mkdir -p -- "$3" ) || exit 1
[ ! -e "$2" ] || { echo "$6 exists"; exit 1; }
mkdir -- "$1" && tar -C "$1" -xf - && [ -f "$1/$4" ] && rm -f -- "$1/$4" && echo "$6 unpacked"
)sh";
constexpr const char* kCommitTree = R"sh(
[ ! -e "$2" ] || { echo "$3 exists"; exit 1; }
mv -- "$1" "$2" && echo "$3 stored"
)sh";

std::string parent_of(const std::string& path) { return fs::path(path).parent_path().string(); }

std::string beside(const std::string& path) {
  const std::string parent = parent_of(path);
  return (parent == "/" ? parent : parent + '/') + ".quietus-" + random_token();
}

HostCommand copy_tree(const std::string& from, const std::string& to) {
  return {.argv = {"cp", "-R", "-P", "-p", "--", from, to}};
}

std::string mode_text(unsigned mode) {
  std::string text;
  for (int digit = 9; digit >= 0; digit -= 3)
    text += static_cast<char>('0' + ((mode >> digit) & 7));
  return text;
}

std::string without_trailing_space(std::string_view text) {
  const std::size_t end = text.find_last_not_of(" \r\n\t");
  return std::string(text.substr(0, end == std::string_view::npos ? 0 : end + 1));
}

// A directory of our own with one empty file in it, for tar to put last.
class EndMark {
 public:
  EndMark() : name_(".quietus-end-" + random_token()) {
    std::string pattern = (fs::temp_directory_path() / "quietus-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) return;
    directory_ = pattern;
    const auto file = open_file((directory_ + '/' + name_).c_str(), O_WRONLY | O_CREAT, 0600);
    made_ = file.has_value();
  }
  ~EndMark() {
    std::error_code ignored;
    if (!directory_.empty()) fs::remove_all(directory_, ignored);
  }
  EndMark(const EndMark&) = delete;
  EndMark& operator=(const EndMark&) = delete;
  [[nodiscard]] bool made() const { return made_; }
  [[nodiscard]] const std::string& directory() const { return directory_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string directory_;
  std::string name_;
  bool made_ = false;
};

// Copies an open file, chunk by chunk, so that other sessions get their turn.
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

// Why a command of ours inside did not do its work.
Error refused(const std::string& what, const ProcessEnd& end) {
  if (end.error) return Error{end.error->kind, what, {}}.because(*end.error);
  const std::string said = without_trailing_space(end.err);
  return {ErrorKind::sandbox, what + ": " + (said.empty() ? "it gave no reason" : said), {}};
}

// Whoever still pushes must not wait for a reader that has gone.
asio::awaitable<ProcessEnd> read_from(std::shared_ptr<Relay> relay,
                                      asio::awaitable<ProcessEnd> reader) {
  ProcessEnd end = co_await std::move(reader);
  relay->give_up(refused("cannot unpack", end));
  co_return end;
}

// The answer of one of the scripts: the word behind the token, in the last line.
std::string answer(const ProcessEnd& end, const std::string& token) {
  const std::size_t at = end.out.rfind(token + ' ');
  if (at == std::string::npos) return {};
  return without_trailing_space(std::string_view(end.out).substr(at + token.size() + 1));
}

}  // namespace

struct Transfer::Job {
  std::string local;
  std::string inside;
  TransferOptions options;
  Until deadline;

  [[nodiscard]] std::string parent_umask() const { return options.private_parents ? "077" : ""; }
  [[nodiscard]] unsigned parent_mode() const {
    return options.private_parents ? kPrivateMode : kParentMode;
  }
  [[nodiscard]] std::string uploading() const {
    return "cannot copy '" + local + "' to '" + inside + "'";
  }
  [[nodiscard]] std::string downloading() const {
    return "cannot copy '" + inside + "' to '" + local + "'";
  }
  [[nodiscard]] tl::unexpected<Error> cut(std::string what) const {
    return fail(ErrorKind::transport, std::move(what) + ": the transfer was cut",
                "repeat it; nothing stands at the destination");
  }
};

asio::awaitable<ProcessEnd> Transfer::run(HostCommand command, Until deadline) {
  ProcessRequest request{.command = std::move(command), .deadline = deadline};
  request.output_cap = kMessageCap;
  co_return co_await run_process(std::move(request));
}

asio::awaitable<ProcessEnd> Transfer::run_inside(std::vector<std::string> argv,
                                                 ProcessRequest request) {
  InsideCommand command{.argv = std::move(argv)};
  command.reads_stdin = request.source || request.input.kind != Input::Kind::nothing;
  auto host = transport_.exec(command);
  if (!host) {
    ProcessEnd end;
    end.error = host.error();
    co_return end;
  }
  request.command = std::move(*host);
  request.output_cap = kMessageCap;
  ProcessEnd end = co_await run_process(std::move(request));
  if (!end.error && end.status) {
    const ClientEnd client{.code = end.status->signaled ? std::optional<int>() : end.status->code,
                           .out = end.out,
                           .err = end.err};
    end.error = transport_.failure(client);
  }
  co_return end;
}

asio::awaitable<Expected<Transfer::Tools>> Transfer::tools(Until deadline) {
  if (tools_) co_return *tools_;
  constexpr const char* kAsk =
      R"(echo quietus shell; for t in tar base64; do command -v $t >/dev/null && echo quietus $t; done)";
  ProcessRequest request{.deadline = earlier(deadline, Clock::now() + kLookTime)};
  std::vector<std::string> argv = words("sh", "-c", kAsk);
  const ProcessEnd end = co_await run_inside(std::move(argv), std::move(request));
  const auto has = [&](std::string_view tool) {
    return end.out.find("quietus " + std::string(tool)) != std::string::npos;
  };
  Tools found{.shell = has("shell"), .tar = has("tar"), .base64 = has("base64")};
  // Only the answer of a sandbox counts: that it could not be asked says nothing of a shell.
  if (!found.shell && end.error && end.error->kind != ErrorKind::sandbox) {
    co_return fail(*end.error);
  }
  tools_ = found;
  co_return found;
}

asio::awaitable<Expected<void>> Transfer::upload(std::string local, std::string inside,
                                                 TransferOptions options) {
  Job job{std::move(local), std::move(inside), options, after(options.deadline)};
  if (!job.inside.starts_with('/')) {
    co_return fail(ErrorKind::input, job.uploading() + ": a path inside must be absolute");
  }
  while (job.inside.size() > 1 && job.inside.ends_with('/')) job.inside.pop_back();
  struct stat there {};
  if (stat(job.local.c_str(), &there) != 0) {
    co_return fail(ErrorKind::input, system_message("copy", job.local, errno));
  }
  if (S_ISDIR(there.st_mode)) {
    // Looked at before anything is sent: what cannot be sent, or is too much, fails here.
    const auto size = measure_tree(job.local, options.most_bytes);
    if (!size) co_return fail(size.error());
    co_return co_await upload_tree(std::move(job));
  }
  if (!S_ISREG(there.st_mode)) {
    co_return fail(ErrorKind::input, "'" + job.local + "' is no file or directory");
  }
  if (options.most_bytes && static_cast<std::uint64_t>(there.st_size) > *options.most_bytes) {
    co_return fail(too_large(job.local, *options.most_bytes));
  }
  if (!job.options.mode) job.options.mode = there.st_mode & 07777;
  co_return co_await upload_file(std::move(job));
}

asio::awaitable<Expected<void>> Transfer::upload_file(Job job) {
  const auto root = transport_.host_root();
  if (transport_.traits().shares_files && root) {
    co_return co_await upload_to_host(std::move(job), *root);
  }
  const auto inside = co_await tools(job.deadline);
  if (!inside) co_return fail(inside.error());
  if (inside->shell) {
    struct stat there {};
    if (stat(job.local.c_str(), &there) != 0) {
      co_return fail(ErrorKind::input, system_message("copy", job.local, errno));
    }
    const auto size = static_cast<std::uint64_t>(there.st_size);
    if (transport_.traits().carries_stdin) {
      co_return co_await upload_through_shell(std::move(job), size);
    }
    if (inside->base64) co_return co_await upload_in_arguments(std::move(job), size);
  }
  if (transport_.copy_in(job.local, job.inside)) co_return co_await upload_by_copy(std::move(job));
  if (root) co_return co_await upload_to_host(std::move(job), *root);
  co_return fail(ErrorKind::sandbox,
                 job.uploading() + ": there is no shell inside, and '" + transport_.name() +
                     "' has no copy of its own",
                 "mount the file, or use an image with a shell");
}

asio::awaitable<Expected<void>> Transfer::upload_tree(Job job) {
  const auto root = transport_.host_root();
  if (transport_.traits().shares_files && root) {
    co_return co_await upload_to_host(std::move(job), *root);
  }
  const auto inside = co_await tools(job.deadline);
  if (!inside) co_return fail(inside.error());
  if (inside->tar && transport_.traits().carries_stdin) {
    co_return co_await upload_through_tar(std::move(job));
  }
  if (transport_.copy_in(job.local, job.inside)) co_return co_await upload_by_copy(std::move(job));
  if (root) co_return co_await upload_to_host(std::move(job), *root);
  co_return fail(ErrorKind::sandbox, job.uploading() + ": there is no tar inside",
                 "copy the files one by one, or use an image with tar");
}

asio::awaitable<Expected<void>> Transfer::upload_through_shell(Job job, std::uint64_t size) {
  const std::string token = "quietus-" + random_token();
  const std::string temporary = beside(job.inside);
  const std::string script = std::string(kMakeParent) + "cat >\"$1\"\n" + kCommit;
  std::vector<std::string> argv =
      words("sh", "-c", script, "sh", temporary, job.inside, parent_of(job.inside), decimal(size),
            mode_text(*job.options.mode), job.parent_umask(), token);
  ProcessRequest request{.input = Input::file(job.local), .deadline = job.deadline};
  const ProcessEnd end = co_await run_inside(std::move(argv), std::move(request));
  const std::string said = answer(end, token);
  co_return co_await stored_or_why(std::move(job), temporary, said, end);
}

asio::awaitable<Expected<void>> Transfer::stored_or_why(Job job, std::string temporary,
                                                        std::string said, ProcessEnd end) {
  if (said == "stored") co_return Expected<void>{};
  co_await remove_inside(std::move(temporary));
  if (said == "directory") {
    co_return fail(ErrorKind::input, job.uploading() + ": that is a directory",
                   "name the file in it");
  }
  if (end.error) co_return fail(refused(job.uploading(), end));
  if (said == "short") co_return job.cut(job.uploading());
  co_return fail(refused(job.uploading(), end));
}

asio::awaitable<Expected<void>> Transfer::upload_in_arguments(Job job, std::uint64_t size) {
  const auto file = open_file(job.local.c_str(), O_RDONLY);
  if (!file) co_return fail(file.error());
  const std::string token = "quietus-" + random_token();
  const std::string temporary = beside(job.inside);
  const std::string append =
      std::string(kMakeParent) + "printf %s \"$8\" | base64 -d >>\"$1\" && echo \"$7 stored\"\n";
  const std::string commit = std::string(kMakeParent) + kCommit;
  std::vector<char> buffer(kArgumentChunk);
  std::string said;
  ProcessEnd end;
  bool first = true;
  for (bool more = true; more;) {
    const ssize_t got = ::read(file->get(), buffer.data(), buffer.size());
    if (got < 0) co_return fail(ErrorKind::input, system_message("read", job.local, errno));
    // An empty file needs one piece as well, to be there.
    more = got > 0 || first;
    first = false;
    std::vector<std::string> argv = words("sh", "-c", more ? append : commit, "sh", temporary,
                                          job.inside, parent_of(job.inside), decimal(size),
                                          mode_text(*job.options.mode), job.parent_umask(), token);
    argv.push_back(base64({buffer.data(), static_cast<std::size_t>(got)}));
    ProcessRequest request{.deadline = job.deadline};
    end = co_await run_inside(std::move(argv), std::move(request));
    said = answer(end, token);
    if (said != "stored") break;
  }
  co_return co_await stored_or_why(std::move(job), temporary, said, std::move(end));
}

asio::awaitable<Expected<void>> Transfer::upload_through_tar(Job job) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  const EndMark mark;
  if (!mark.made()) {
    co_return fail(ErrorKind::input, job.uploading() + ": no temporary directory can be made here",
                   "set TMPDIR to a directory that can be written");
  }
  const std::string token = "quietus-" + random_token();
  const std::string temporary = beside(job.inside);
  const auto relay = std::make_shared<Relay>(executor);

  ProcessRequest pack{.deadline = job.deadline};
  pack.command.argv =
      words("tar", "-C", job.local, "-cf", "-", ".", "-C", mark.directory(), mark.name());
  pack.output_cap = kMessageCap;
  pack.sink = [relay](std::string_view bytes) { return relay->push(bytes); };
  const auto packing = Task<ProcessEnd>::start(executor, run_process(std::move(pack)));

  ProcessRequest unpack{.deadline = job.deadline};
  unpack.source = [relay](std::span<char> into) { return relay->pull(into); };
  std::vector<std::string> argv =
      words("sh", "-c", kUnpack, "sh", temporary, job.inside, parent_of(job.inside), mark.name(),
            job.parent_umask(), token);
  const auto unpacking = Task<ProcessEnd>::start(
      executor, read_from(relay, run_inside(std::move(argv), std::move(unpack))));

  (void)co_await packing->wait();
  const bool cancelled = co_await is_cancelled();
  if (cancelled) {
    co_await leave_in_peace();
    packing->cancel();
    (void)co_await packing->wait();
  }
  const ProcessEnd& packed = packing->result();
  const bool whole = !packed.error && packed.status && packed.status->code == 0;
  if (whole) {
    relay->close();
  } else {
    relay->give_up(refused(job.uploading(), packed));
  }
  (void)co_await unpacking->wait();
  if (!unpacking->done()) {
    co_await leave_in_peace();
    unpacking->cancel();
    (void)co_await unpacking->wait();
  }
  ProcessEnd end = std::move(unpacking->result());
  std::string said = answer(end, token);
  if (whole && said == "unpacked" && !end.error) {
    // Apart from the unpacking, so that nothing of half an archive can be taken for the whole.
    std::vector<std::string> commit =
        words("sh", "-c", kCommitTree, "sh", temporary, job.inside, token);
    ProcessRequest request{.deadline = job.deadline};
    end = co_await run_inside(std::move(commit), std::move(request));
    said = answer(end, token);
    if (said == "stored") co_return Expected<void>{};
  }
  co_await remove_inside(temporary);
  if (said == "exists") {
    co_return fail(ErrorKind::input, job.uploading() + ": that exists already",
                   "a tree replaces nothing: remove it, or use another name");
  }
  if (end.error || !without_trailing_space(end.err).empty())
    co_return fail(refused(job.uploading(), end));
  if (!whole) co_return fail(refused(job.uploading(), packed));
  co_return job.cut(job.uploading());
}

asio::awaitable<Expected<void>> Transfer::upload_by_copy(Job job) {
  // The tool copies modes as they are: so what is copied has the mode that is asked for. A parent
  // that is missing is copied together with the file.
  std::string pattern = (fs::temp_directory_path() / "quietus-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    co_return fail(ErrorKind::input, job.uploading() + ": no temporary directory can be made here");
  }
  struct Remover {
    std::string path;
    ~Remover() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  };
  const Remover remover{pattern};
  const std::string parent = pattern + "/parent";
  const std::string copy = parent + '/' + fs::path(job.inside).filename().string();
  if (mkdir(parent.c_str(), job.parent_mode()) != 0) {
    co_return fail(ErrorKind::input, system_message("make", parent, errno));
  }
  const bool tree = fs::is_directory(job.local);
  if (tree) {
    const ProcessEnd end = co_await run(copy_tree(job.local, copy), job.deadline);
    if (end.error || !end.status || end.status->code != 0) {
      co_return fail(refused(job.uploading(), end));
    }
  } else {
    const auto from = open_file(job.local.c_str(), O_RDONLY);
    if (!from) co_return fail(from.error());
    const auto to = open_file(copy.c_str(), O_WRONLY | O_CREAT | O_EXCL, 0600);
    if (!to) co_return fail(to.error());
    const auto copied = co_await copy_bytes(from->get(), to->get(), job.local,
                                            job.options.most_bytes, job.deadline);
    if (!copied) co_return fail(copied.error());
    if (fchmod(to->get(), *job.options.mode) != 0) {
      co_return fail(ErrorKind::input, system_message("copy", job.local, errno));
    }
  }
  const auto succeeded = [](const ProcessEnd& end) {
    return !end.error && end.status && end.status->code == 0;
  };
  ProcessEnd end = co_await run(*transport_.copy_in(copy, job.inside), job.deadline);
  if (succeeded(end)) co_return Expected<void>{};
  if (end.error && end.error->kind == ErrorKind::cancelled) co_return fail(*end.error);
  const ProcessEnd first = std::move(end);
  end = co_await run(*transport_.copy_in(parent, parent_of(job.inside)), job.deadline);
  if (succeeded(end)) co_return Expected<void>{};
  co_return fail(refused(job.uploading(), first));
}

asio::awaitable<Expected<void>> Transfer::upload_to_host(Job job, std::string root) {
  auto staged = Staged::below(root, job.inside, job.parent_mode());
  if (!staged) co_return fail(staged.error());
  if (fs::is_directory(job.local)) {
    const ProcessEnd end = co_await run(copy_tree(job.local, staged->path()), job.deadline);
    if (end.error || !end.status || end.status->code != 0) {
      co_return fail(refused(job.uploading(), end));
    }
    co_return staged->commit_tree();
  }
  const auto from = open_file(job.local.c_str(), O_RDONLY);
  if (!from) co_return fail(from.error());
  const auto to = staged->make_file();
  if (!to) co_return fail(to.error());
  const auto copied =
      co_await copy_bytes(from->get(), to->get(), job.local, job.options.most_bytes, job.deadline);
  if (!copied) co_return fail(copied.error());
  co_return staged->commit_file(*job.options.mode);
}

asio::awaitable<Expected<void>> Transfer::download(std::string inside, std::string local,
                                                   TransferOptions options) {
  Job job{std::move(local), std::move(inside), options, after(options.deadline)};
  if (!job.inside.starts_with('/')) {
    co_return fail(ErrorKind::input, job.downloading() + ": a path inside must be absolute");
  }
  while (job.inside.size() > 1 && job.inside.ends_with('/')) job.inside.pop_back();
  const auto root = transport_.host_root();
  if (transport_.traits().shares_files && root) {
    co_return co_await download_from_host(std::move(job), *root);
  }
  const auto found = co_await tools(job.deadline);
  if (!found) co_return fail(found.error());
  // A file needs no tar; whether it is one, only the inside knows.
  if (found->shell) co_return co_await download_through_shell(std::move(job));
  if (transport_.copy_out(job.inside, job.local)) {
    co_return co_await download_by_copy(std::move(job));
  }
  if (root) co_return co_await download_from_host(std::move(job), *root);
  co_return fail(ErrorKind::sandbox,
                 job.downloading() + ": there is no shell inside, and '" + transport_.name() +
                     "' has no copy of its own",
                 "use an image with a shell");
}

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

namespace {

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

asio::awaitable<void> Transfer::remove_inside(std::string path) {
  co_await leave_in_peace();
  ProcessRequest request{.deadline = Clock::now() + kTidyTime};
  std::vector<std::string> argv = words("rm", "-rf", "--", std::move(path));
  (void)co_await run_inside(std::move(argv), std::move(request));
}

}  // namespace quietus

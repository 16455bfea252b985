// Transfer: the ways in.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "client/src/base64.hpp"
#include "client/src/random_token.hpp"
#include "client/src/staged.hpp"
#include "client/src/transfer_parts.hpp"
#include "client/src/words.hpp"
#include "contract/decimal.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

// One argument may have 128 KiB (MAX_ARG_STRLEN of execve(2)), and base64 makes four of three.
constexpr std::size_t kArgumentChunk = 90000;
constexpr auto kTidyTime = 10s;

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

std::string mode_text(unsigned mode) {
  std::string text;
  for (int digit = 9; digit >= 0; digit -= 3)
    text += static_cast<char>('0' + ((mode >> digit) & 7));
  return text;
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

// The answer of one of the scripts: the word behind the token, in the last line.
std::string answer(const ProcessEnd& end, const std::string& token) {
  const std::size_t at = end.out.rfind(token + ' ');
  if (at == std::string::npos) return {};
  return without_trailing_space(std::string_view(end.out).substr(at + token.size() + 1));
}

}  // namespace

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

asio::awaitable<void> Transfer::remove_inside(std::string path) {
  co_await leave_in_peace();
  ProcessRequest request{.deadline = Clock::now() + kTidyTime};
  std::vector<std::string> argv = words("rm", "-rf", "--", std::move(path));
  (void)co_await run_inside(std::move(argv), std::move(request));
}

}  // namespace quietus

#include "cli/collect.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "cli/artifact_pattern.hpp"
#include "cli/task.hpp"
#include "cli/values.hpp"
#include "cli/words.hpp"
#include "contract/decimal.hpp"

namespace quietus::cli {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr Span kListTime = 60s;
constexpr std::size_t kMostListed = std::size_t{32} << 20;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;
// A tool by its own name, or as a busybox without links has it.
constexpr const char* kMultiTools[] = {"", "busybox"};
constexpr const char* kWaysToAskForTheWorkdir[] = {"pwd -P", "busybox pwd -P",
                                                   "readlink /proc/self/cwd"};

// An empty folder is where one is already.
std::string in_folder(const std::string& folder, const std::string& rest) {
  return folder.empty() || folder.ends_with('/') ? folder + rest : folder + '/' + rest;
}

std::uint64_t size_of(const fs::path& path) {
  std::error_code error;
  std::uint64_t total = 0;
  if (!fs::is_directory(fs::symlink_status(path, error))) {
    const auto size = fs::file_size(path, error);
    return error ? 0 : size;
  }
  for (fs::recursive_directory_iterator each(path, error), end; !error && each != end;
       each.increment(error)) {
    std::error_code ignored;
    if (each->is_regular_file(ignored) && !each->is_symlink(ignored)) {
      total += each->file_size(ignored);
    }
  }
  return total;
}

// Regular files below a folder of this machine; symlinks are not followed.
std::vector<std::string> list_here(const std::string& folder, std::optional<std::size_t> depth) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator
           each(folder, fs::directory_options::skip_permission_denied, error),
       end;
       !error && each != end; each.increment(error)) {
    std::error_code ignored;
    const auto level = static_cast<std::size_t>(each.depth()) + 1;
    if (depth && level >= *depth) each.disable_recursion_pending();
    if (fs::is_regular_file(each->symlink_status(ignored))) found.push_back(each->path());
  }
  std::ranges::sort(found);
  return found;
}

Error cannot_make(const std::string& path, std::error_code error) {
  return {ErrorKind::input, "cannot make '" + path + "': " + error.message(), {}};
}

// The directories of a path below `into`, made where they are missing. Nothing of what came before
// may lead elsewhere, so a symlink on the way is refused.
Expected<void> make_parents(const std::string& into, const std::string& below) {
  std::error_code error;
  fs::create_directories(into, error);
  if (error) {
    return fail(cannot_make(into, error));
  }
  std::string path = into;
  for (std::size_t at = 0, slash; (slash = below.find('/', at)) != below.npos; at = slash + 1) {
    path += '/' + below.substr(at, slash - at);
    struct stat there {};
    if (mkdir(path.c_str(), 0777) == 0) continue;
    if (errno != EEXIST) {
      return fail(ErrorKind::input, "cannot make '" + path + "': " + std::strerror(errno));
    }
    if (lstat(path.c_str(), &there) != 0 || !S_ISDIR(there.st_mode)) {
      return fail(ErrorKind::input, "'" + path + "' is no directory", "collect into another one");
    }
  }
  return {};
}

class Collector {
 public:
  Collector(Sandbox& sandbox, CollectRequest request)
      : sandbox_(sandbox), request_(std::move(request)), left_(request_.most_bytes) {}

  asio::awaitable<Collection> run() {
    std::error_code error;
    fs::create_directories(request_.arriving, error);
    if (error) {
      problem(cannot_make(request_.arriving, error));
      co_return std::move(result_);
    }
    for (const std::string& glob : request_.globs) {
      const bool cancelled = co_await was_cancelled();
      if (cancelled) break;
      co_await collect(glob);
    }
    fs::remove_all(request_.arriving, error);
    co_return std::move(result_);
  }

 private:
  void problem(Error error) { result_.problems.push_back(std::move(error)); }

  asio::awaitable<void> collect(std::string glob) {
    if (!glob.starts_with('/') && !workdir_is_known()) {
      const auto workdir = co_await ask_workdir();
      if (!workdir) {
        problem(workdir.error());
        co_return;
      }
      request_.workdir = *workdir;
    }
    const auto pattern = parse_pattern(glob, request_.workdir);
    if (!pattern) {
      problem({ErrorKind::input, "the pattern '" + glob + "' " + pattern.error(), {}});
    } else if (pattern->glob.literal()) {
      co_await fetch_one(glob, *pattern);
    } else {
      co_await fetch_matches(glob, *pattern);
    }
  }

  // Only the inside knows where .. leads.
  bool workdir_is_known() const {
    const std::string& workdir = request_.workdir;
    return !workdir.empty() && (workdir + '/').find("/../") == workdir.npos;
  }

  asio::awaitable<Expected<std::string>> ask_workdir() {
    if (sandbox_.traits().shares_files) {
      std::error_code error;
      const fs::path path = fs::canonical(fs::path(".") / request_.workdir, error);
      if (!error) co_return path.string();
      co_return fail(ErrorKind::input, "'" + request_.workdir + "': " + error.message());
    }
    for (const char* ask : kWaysToAskForTheWorkdir) {
      ExecRequest request{.argv = split_words(ask), .cwd = request_.workdir, .deadline = kListTime};
      const ExecResult result = co_await sandbox_.exec(std::move(request));
      const std::string path = result.out.substr(0, result.out.find('\n'));
      if (result.succeeded() && path.starts_with('/')) co_return path;
    }
    co_return fail(ErrorKind::sandbox, "the sandbox does not say where relative patterns begin",
                   "use --workdir, or absolute patterns");
  }

  // A path without wildcards: a file, or a whole tree.
  asio::awaitable<void> fetch_one(std::string glob, Pattern pattern) {
    const std::string path = pattern.glob.base();
    const std::string name = fs::path(path).filename();
    const auto failure = co_await fetch(path, pattern.under.empty() ? name : pattern.under);
    if (!failure) co_return;
    const bool may_be_missing =
        failure->kind == ErrorKind::input || failure->kind == ErrorKind::sandbox;
    bool missing = false;
    if (may_be_missing) missing = co_await is_missing(path);
    if (missing) {
      result_.missing.push_back(glob);
    } else {
      problem(*failure);
    }
  }

  asio::awaitable<bool> is_missing(std::string path) {
    if (sandbox_.traits().shares_files) {
      struct stat there {};
      co_return lstat(path.c_str(), &there) != 0 && (errno == ENOENT || errno == ENOTDIR);
    }
    for (const char* tool : kMultiTools) {
      std::vector<std::string> argv = words("ls", "-d", "--", path);
      if (*tool != '\0') argv.insert(argv.begin(), tool);
      ExecRequest request{.argv = std::move(argv), .deadline = kListTime};
      const ExecResult result = co_await sandbox_.exec(std::move(request));
      if (unavailable(result)) continue;
      co_return result.return_code != 0;
    }
    co_return false;
  }

  static bool unavailable(const ExecResult& result) {
    return result.error || result.return_code == kNotExecutable || result.return_code == kNotFound;
  }

  asio::awaitable<void> fetch_matches(std::string glob, Pattern pattern) {
    auto listed = co_await list(pattern);
    if (!listed) {
      problem(listed.error());
      co_return;
    }
    if (!*listed) {
      co_await fetch_folder(glob, pattern);
      co_return;
    }
    std::size_t matched = 0;
    for (const std::string& path : **listed) {
      const auto rest = pattern.glob.match(path);
      if (!rest) continue;
      ++matched;
      const auto failure = co_await fetch(path, in_folder(pattern.under, *rest));
      if (failure) problem(*failure);
      const bool cancelled = co_await was_cancelled();
      if (cancelled) break;
    }
    if (matched == 0) result_.missing.push_back(glob);
  }

  // Files below the pattern's base; none: the inside has nothing that could tell.
  asio::awaitable<Expected<std::optional<std::vector<std::string>>>> list(Pattern pattern) {
    using Listed = std::optional<std::vector<std::string>>;
    if (sandbox_.traits().shares_files) {
      co_return Listed(list_here(pattern.glob.base(), pattern.glob.depth()));
    }
    for (const char* tool : kMultiTools) {
      // With a slash at the end a symlink there is the folder that it means.
      std::vector<std::string> argv = words("find", in_folder(pattern.glob.base(), ""));
      if (*tool != '\0') argv.insert(argv.begin(), tool);
      if (const auto depth = pattern.glob.depth()) {
        argv.emplace_back("-maxdepth");
        argv.push_back(decimal(*depth));
      }
      argv.emplace_back("-type");
      argv.emplace_back("f");
      argv.emplace_back("-print0");
      ExecRequest request{
          .argv = std::move(argv), .deadline = kListTime, .output_cap = kMostListed};
      const ExecResult result = co_await sandbox_.exec(std::move(request));
      if (result.error && result.error->kind != ErrorKind::sandbox) co_return fail(*result.error);
      if (unavailable(result)) continue;
      if (result.out_cut) {
        co_return fail(ErrorKind::input, "'" + pattern.glob.base() + "' has too many files",
                       "use a narrower pattern");
      }
      co_return Listed(parse_listing(result.out));
    }
    co_return Listed();
  }

  // Without a find inside, the folder is fetched and looked through here.
  asio::awaitable<void> fetch_folder(std::string glob, Pattern pattern) {
    const std::string copy = next_arriving();
    TransferOptions limits{.most_bytes = left_};
    const std::string& base = pattern.glob.base();
    const auto got = co_await sandbox_.download(base, copy, limits);
    if (!got) {
      problem(got.error());
      co_return;
    }
    std::size_t matched = 0;
    for (const std::string& path : list_here(copy, std::nullopt)) {
      const std::string inside = in_folder(base, path.substr(copy.size() + 1));
      const auto rest = pattern.glob.match(inside);
      if (!rest) continue;
      ++matched;
      place(inside, path, in_folder(pattern.under, *rest));
    }
    if (matched == 0) result_.missing.push_back(glob);
  }

  // Why not; none: it is in its place, or came with another pattern before.
  asio::awaitable<std::optional<Error>> fetch(std::string inside, std::string below) {
    if (fetched_.contains(inside)) co_return std::nullopt;
    const std::string arriving = next_arriving();
    TransferOptions limits{.most_bytes = left_};
    const auto got = co_await sandbox_.download(inside, arriving, limits);
    if (!got) co_return got.error();
    place(inside, arriving, below);
    co_return std::nullopt;
  }

  std::string next_arriving() { return in_folder(request_.arriving, decimal(++arrived_)); }

  void place(const std::string& inside, const std::string& arriving, const std::string& below) {
    fetched_.insert(inside);
    const std::string local = in_folder(request_.into, below);
    if (!places_.insert(below).second) {
      return problem({ErrorKind::input,
                      "two artifacts would be '" + local + "'; the second is '" + inside + "'",
                      "use patterns that begin elsewhere"});
    }
    const std::uint64_t bytes = size_of(arriving);
    if (const auto made = make_parents(request_.into, below); !made) return problem(made.error());
    struct stat there {};
    std::error_code error;
    const bool is_tree = fs::is_directory(fs::symlink_status(arriving, error));
    if (is_tree && lstat(local.c_str(), &there) == 0) {
      return problem({ErrorKind::input,
                      "'" + local +
                          "' is there already, and a tree replaces "
                          "nothing",
                      "collect into another directory"});
    }
    if (rename(arriving.c_str(), local.c_str()) != 0) {
      return problem(
          {ErrorKind::input, "cannot place '" + local + "': " + std::strerror(errno), {}});
    }
    left_ -= std::min(left_, bytes);
    result_.artifacts.push_back({inside, local, bytes});
  }

  Sandbox& sandbox_;
  CollectRequest request_;
  std::uint64_t left_;
  int arrived_ = 0;
  std::set<std::string> fetched_;
  std::set<std::string> places_;
  Collection result_;
};

}  // namespace

asio::awaitable<Collection> collect_artifacts(Sandbox& sandbox, CollectRequest request) {
  Collector collector(sandbox, std::move(request));
  co_return co_await collector.run();
}

}  // namespace quietus::cli

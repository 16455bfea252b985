// Finds what a harness has left, and fetches it within its limits, never outside its destination.
#include <algorithm>
#include <filesystem>

#include "client/adapters/lines.hpp"
#include "client/src/words.hpp"
#include "contract/decimal.hpp"
#include "quietus/adapter.hpp"
#include "quietus/glob.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr std::size_t kMostListing = std::size_t{16} << 20;
constexpr Span kListTime = 5min;
constexpr int kNotExecutable = 126;
constexpr int kNotFound = 127;

struct Found {
  std::vector<std::string> paths = {};
  std::vector<Error> problems = {};
};

asio::awaitable<ExecResult> find(Sandbox& sandbox, std::string base,
                                 std::vector<std::string> tests) {
  ExecRequest request{.deadline = kListTime, .output_cap = kMostListing};
  request.argv.emplace_back("find");
  request.argv.push_back(std::move(base));
  request.argv.insert(request.argv.end(), tests.begin(), tests.end());
  co_return co_await sandbox.exec(std::move(request));
}

std::vector<std::string> tests_for(const Glob& glob) {
  if (glob.literal()) {
    return {"-maxdepth", "0", "(", "-type", "f", "-o", "-type", "d", ")", "-print0"};
  }
  if (const auto depth = glob.depth()) {
    return {"-maxdepth", decimal(*depth), "-type", "f", "-print0"};
  }
  return {"-type", "f", "-print0"};
}

Error cannot_look(const Glob& glob, const ExecResult& listed) {
  const std::string what = "cannot look for artifacts below '" + glob.base() + "'";
  if (listed.error) return Error{listed.error->kind, what, {}}.because(*listed.error);
  return {ErrorKind::sandbox, what + ": the sandbox has no find",
          "name the artifact without wildcards"};
}

// Symbolic links are neither listed nor followed: what they point to is not the harness's.
asio::awaitable<Found> look(Sandbox& sandbox, const Glob& glob) {
  Found found;
  const ExecResult listed = co_await find(sandbox, glob.base(), tests_for(glob));
  const bool no_find = listed.return_code == kNotFound || listed.return_code == kNotExecutable;
  if (no_find && glob.literal()) {
    found.paths.push_back(glob.base());  // the download will tell
    co_return found;
  }
  if (listed.error || no_find) found.problems.push_back(cannot_look(glob, listed));
  for (std::string& path : parse_listing(listed.out)) {
    if (glob.match(path)) found.paths.push_back(std::move(path));
  }
  if (listed.out_cut) {
    found.problems.push_back({ErrorKind::input,
                              "there are too many files below '" + glob.base() + "' to list",
                              "narrow the artifact's pattern"});
  }
  if (!found.problems.empty() || listed.return_code == 0) co_return found;
  // Nothing there at all is no trouble; a folder that could not be read is.
  std::vector<std::string> itself = words("-maxdepth", "0");
  const ExecResult there = co_await find(sandbox, glob.base(), std::move(itself));
  if (there.return_code == 0) {
    found.problems.push_back({ErrorKind::sandbox,
                              "not all files below '" + glob.base() +
                                  "' could be listed: " + adapters::last_line(listed.err),
                              {}});
  }
  co_return found;
}

// Where it goes on this machine. A link that an earlier artifact has brought must not lead out.
Expected<std::string> destination(const std::string& into, const std::string& relative) {
  fs::path path = into;
  for (const fs::path& name : fs::path(relative)) {
    path /= name;
    std::error_code ignored;
    if (fs::is_symlink(fs::symlink_status(path, ignored))) {
      return fail(ErrorKind::input, "'" + path.string() + "' is a symbolic link",
                  "collect into an empty directory");
    }
  }
  return path.string();
}

std::uint64_t size_on_disk(const std::string& path) {
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(path, error))) {
    const auto size = fs::file_size(path, error);
    return error ? 0 : size;
  }
  std::uint64_t total = 0;
  for (auto at = fs::recursive_directory_iterator(path, error);
       !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
    std::error_code gone;
    if (fs::is_regular_file(at->symlink_status(gone))) total += at->file_size(gone);
  }
  return total;
}

// One pattern at a time, into what there is so far.
class Fetching {
 public:
  Fetching(Sandbox& sandbox, const std::string& into, const Progress& progress)
      : sandbox_(sandbox), into_(into), progress_(progress) {}

  asio::awaitable<void> fetch(const Artifact& artifact) {
    const auto glob = Glob::parse(artifact.glob);
    if (!glob) {
      problem(ErrorKind::input, "the artifact '" + artifact.glob + "' " + glob.error(), {});
      co_return;
    }
    Found found = co_await look(sandbox_, *glob);
    for (Error& one : found.problems) collected_.problems.push_back(std::move(one));
    std::uint64_t bytes_left = artifact.most_bytes;
    std::uint64_t files_left = artifact.most_files;
    for (const std::string& inside : found.paths) {
      if (has(&CollectedFile::inside, inside)) continue;
      if (files_left-- == 0) {
        problem(
            ErrorKind::input,
            "'" + artifact.glob + "' names more than " + decimal(artifact.most_files) + " files",
            "raise its most_files");
        break;
      }
      const auto local = place(artifact, *glob, inside);
      if (!local) {
        collected_.problems.push_back(local.error());
        continue;
      }
      // What is too large once would be read in vain for every file that follows.
      const bool came = co_await fetch_one(inside, *local, bytes_left);
      if (!came) break;
      bytes_left -= std::min(bytes_left, collected_.files.back().bytes);
    }
    if (artifact.required && found.paths.empty()) {
      problem(ErrorKind::sandbox, "the harness left no '" + artifact.glob + "'", {});
    }
  }

  [[nodiscard]] Collected take() { return std::move(collected_); }

 private:
  void problem(ErrorKind kind, std::string message, std::string advice) {
    collected_.problems.push_back({kind, std::move(message), std::move(advice)});
  }
  [[nodiscard]] bool has(std::string CollectedFile::*member, const std::string& value) const {
    return std::ranges::find(collected_.files, value, member) != collected_.files.end();
  }

  Expected<std::string> place(const Artifact& artifact, const Glob& glob,
                              const std::string& inside) const {
    const fs::path name =
        glob.literal() ? fs::path(inside).filename() : fs::path(*glob.match(inside));
    auto local = destination(into_, (fs::path(artifact.into) / name).lexically_normal().string());
    if (local && has(&CollectedFile::local, *local)) {
      return fail(ErrorKind::input,
                  "two artifacts would be '" + *local + "', the second from '" + inside + "'",
                  "give one of them an into of its own");
    }
    return local;
  }

  asio::awaitable<bool> fetch_one(const std::string& inside, const std::string& local,
                                  std::uint64_t most_bytes) {
    if (progress_) progress_("fetching " + inside);
    TransferOptions options{.most_bytes = most_bytes};
    const auto got = co_await sandbox_.download(inside, local, std::move(options));
    if (got) {
      collected_.files.push_back({inside, local, size_on_disk(local)});
    } else {
      collected_.problems.push_back(got.error());
    }
    co_return got.has_value();
  }

  Sandbox& sandbox_;
  const std::string& into_;
  const Progress& progress_;
  Collected collected_;
};

}  // namespace

asio::awaitable<Collected> fetch_artifacts(Sandbox& sandbox, std::vector<Artifact> artifacts,
                                           std::string into, Progress progress) {
  Fetching fetching(sandbox, into, progress);
  for (const Artifact& artifact : artifacts) co_await fetching.fetch(artifact);
  co_return fetching.take();
}

}  // namespace quietus

// Tools on this machine, by digest:
//
//     tools/KEY/NAME, tools/KEY/entry.json   appear together, by one rename
//     partial/KEY/                           of the one that holds the lock
//     locks/KEY.lock                         flock: who does the work
//
// Whoever is killed leaves an unlocked partial, which the next one goes on with or removes. What
// stands in tools/ is digested again at each use: nothing is believed because it is there.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "client/bootstrap/cache_path.hpp"
#include "client/bootstrap/digest.hpp"
#include "client/bootstrap/download.hpp"
#include "client/bootstrap/unpack.hpp"
#include "client/bootstrap/words.hpp"
#include "client/src/descriptor.hpp"
#include "client/src/task.hpp"
#include "quietus/bootstrap.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;
using nlohmann::json;

constexpr unsigned kProgramMode = 0755;
constexpr unsigned kFileMode = 0600;
constexpr unsigned kDirectoryMode = 0700;
constexpr auto kLookAgain = 20ms;
constexpr std::size_t kMostEntry = 16384;
constexpr int kEntryVersion = 1;
constexpr std::size_t kDigestInName = 16;
constexpr std::size_t kElfBytes = std::size_t{64} << 20;
constexpr const char* kElsewhere = "set XDG_CACHE_HOME to a directory that can be written";

struct Places {
  explicit Places(const std::string& cache, const std::string& key)
      : entry(fs::path(cache) / "tools" / key),
        partial(fs::path(cache) / "partial" / key),
        lock(fs::path(cache) / "locks" / (key + ".lock")) {}
  fs::path entry;
  fs::path partial;
  fs::path lock;
};

std::string key_of(const ToolManifest& manifest, const ToolTarget& target) {
  const std::string what = manifest.name + '\n' + target.member;
  if (!target.sha256.empty()) {
    return target.sha256 + '-' + sha256_of(what).substr(0, kDigestInName);
  }
  return "unverified-" + sha256_of(what + '\n' + target.url).substr(0, 2 * kDigestInName);
}

Expected<void> make_directory(const fs::path& path) {
  std::error_code error;
  for (const fs::path& parent : {path.parent_path(), path}) {
    if (fs::is_directory(parent, error)) continue;
    fs::create_directories(parent.parent_path(), error);
    if (mkdir(parent.c_str(), kDirectoryMode) != 0 && errno != EEXIST) {
      return fail(ErrorKind::input, system_message("make", parent.string(), errno), kElsewhere);
    }
  }
  return {};
}

// open_file() of what we are to write, with what to do when that fails.
Expected<UniqueFd> open_ours(const fs::path& path, int flags) {
  auto fd = open_file(path.c_str(), flags | O_CREAT | O_NOFOLLOW, kFileMode);
  if (!fd) return fail(fd.error().kind, fd.error().message, kElsewhere);
  return fd;
}

// --- the lock -----------------------------------------------------------------------------------

class Lock {
 public:
  // None: somebody else holds it.
  static Expected<std::optional<Lock>> attempt(const fs::path& path) {
    for (;;) {
      auto fd = open_ours(path, O_RDWR);
      if (!fd) return fail(fd.error());
      if (flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
        if (errno == EINTR) continue;
        if (errno == EWOULDBLOCK) return std::optional<Lock>();
        return fail(ErrorKind::input, system_message("lock", path.string(), errno),
                    "set XDG_CACHE_HOME to a file system with locks");
      }
      // prune removes the file while it holds the lock: then this is the lock of nothing.
      struct stat held {};
      struct stat there {};
      if (fstat(fd->get(), &held) == 0 && stat(path.c_str(), &there) == 0 &&
          held.st_ino == there.st_ino && held.st_dev == there.st_dev) {
        return std::optional<Lock>(Lock(std::move(*fd)));
      }
    }
  }

 private:
  explicit Lock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

// --- entries ------------------------------------------------------------------------------------

json entry_json(const CacheEntry& entry) {
  return {{"schema", "quietus-cache-entry"},
          {"schema_version", kEntryVersion},
          {"tool", entry.tool},
          {"version", entry.version},
          {"machine", entry.machine},
          {"url", entry.url},
          {"archive_sha256", entry.archive},
          {"verified", entry.verified},
          {"member", entry.member},
          {"program_sha256", entry.program_sha256},
          {"size", entry.size}};
}

std::optional<CacheEntry> parse_entry(std::string_view text, const fs::path& directory) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object() || object.value("schema", json()) != "quietus-cache-entry" ||
      object.value("schema_version", json()) != kEntryVersion) {
    return {};
  }
  CacheEntry entry{.key = directory.filename().string()};
  const std::pair<const char*, std::string*> texts[] = {{"tool", &entry.tool},
                                                        {"version", &entry.version},
                                                        {"machine", &entry.machine},
                                                        {"url", &entry.url},
                                                        {"member", &entry.member},
                                                        {"archive_sha256", &entry.archive},
                                                        {"program_sha256", &entry.program_sha256}};
  for (const auto& [key, into] : texts) {
    const auto at = object.find(key);
    if (at == object.end() || !at->is_string()) return {};
    *into = at->get<std::string>();
  }
  const json verified = object.value("verified", json());
  const json size = object.value("size", json());
  const bool is_name =
      !entry.tool.empty() && entry.tool.find('/') == std::string::npos && entry.tool.front() != '.';
  if (!verified.is_boolean() || !size.is_number_unsigned() || !is_name) return {};
  entry.verified = verified.get<bool>();
  entry.size = size.get<std::uint64_t>();
  entry.program = (directory / entry.tool).string();
  return entry;
}

std::optional<CacheEntry> read_entry(const fs::path& directory) {
  std::ifstream file(directory / "entry.json", std::ios::binary);
  std::string text(kMostEntry, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return parse_entry(text, directory);
}

// Empty: the program is what was put there.
std::string what_is_wrong(const CacheEntry& entry) {
  const auto file = open_file(entry.program.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  if (!file) return file.error().message;
  struct stat there {};
  if (fstat(file->get(), &there) != 0 || !S_ISREG(there.st_mode)) return "it is no file";
  if (static_cast<std::uint64_t>(there.st_size) != entry.size) {
    return "it has " + std::to_string(there.st_size) + " bytes instead of " +
           std::to_string(entry.size);
  }
  const auto digest = sha256_of_open(file->get(), entry.program);
  if (!digest) return digest.error().message;
  if (*digest != entry.program_sha256) return "its digest is " + *digest;
  if ((there.st_mode & 0111) == 0) return "it is not executable";
  return {};
}

std::vector<fs::path> children(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (fs::directory_iterator at(directory, error), end; !error && at != end; at.increment(error)) {
    found.push_back(at->path());
  }
  std::ranges::sort(found);
  return found;
}

std::uint64_t bytes_below(const fs::path& path) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator at(path, error), end; !error && at != end;
       at.increment(error)) {
    std::error_code ignored;
    if (at->is_regular_file(ignored) && !at->is_symlink(ignored)) sum += at->file_size(ignored);
  }
  return sum;
}

// --- fetching -----------------------------------------------------------------------------------

class Fetch {
 public:
  Fetch(const ToolManifest& manifest, const ToolTarget& target, const FetchOptions& options)
      : manifest_(manifest),
        target_(target),
        options_(options),
        key_(key_of(manifest, target)),
        places_(options.cache, key_),
        url_(mirrored(target.url, options.mirror)) {}

  Expected<Fetched> run() {
    if (options_.cache.empty()) {
      return fail(ErrorKind::input, "there is no place for a cache", "set XDG_CACHE_HOME or HOME");
    }
    const auto mirror = check_mirror(options_.mirror);
    if (!mirror) return fail(mirror.error());
    if (target_.sha256.empty() && !options_.allow_unverified) {
      return fail(ErrorKind::input,
                  "no digest of " + what() + " for " + target_.machine + " is known",
                  "add its sha256 to the manifest, or say --allow-unverified");
    }
    if (auto there = look()) {
      tidy();
      return Fetched{std::move(*there)};
    }
    for (const fs::path& folder :
         {places_.entry.parent_path(), places_.partial.parent_path(), places_.lock.parent_path()}) {
      const auto made = make_directory(folder);
      if (!made) return fail(made.error());
    }
    const auto until = std::chrono::steady_clock::now() + options_.patience;
    for (;;) {
      auto lock = Lock::attempt(places_.lock);
      if (!lock) return fail(lock.error());
      if (*lock) return run_locked();
      if (options_.cancelled && options_.cancelled()) {
        return fail(ErrorKind::cancelled,
                    "waiting for another download of " + what() + " was cancelled");
      }
      if (std::chrono::steady_clock::now() >= until) {
        return fail(ErrorKind::timeout, "another download of " + what() + " does not end",
                    "look who holds " + places_.lock.string());
      }
      std::this_thread::sleep_for(kLookAgain);
    }
  }

 private:
  [[nodiscard]] std::string what() const { return manifest_.name + " " + manifest_.version; }

  std::optional<CacheEntry> look() {
    auto entry = read_entry(places_.entry);
    if (!entry || entry->tool != manifest_.name || entry->member != target_.member) return {};
    if (!target_.sha256.empty() && (!entry->verified || entry->archive != target_.sha256))
      return {};
    if (!what_is_wrong(*entry).empty()) return {};
    return entry;
  }

  // Of one who was killed behind the rename that made it visible.
  void tidy() const {
    std::error_code ignored;
    if (!fs::exists(places_.partial, ignored)) return;
    const auto lock = Lock::attempt(places_.lock);
    if (lock && *lock) fs::remove_all(places_.partial, ignored);
  }

  Expected<Fetched> run_locked() {
    // Somebody may have done it while we waited.
    std::error_code ignored;
    if (auto there = look()) {
      fs::remove_all(places_.partial, ignored);
      return Fetched{std::move(*there)};
    }
    auto fetched = get();
    const bool is_begun = fs::file_size(places_.partial / "archive", ignored) > 0 && !ignored;
    const bool may_go_on = !fetched && is_begun && !target_.sha256.empty() &&
                           (fetched.error().kind == ErrorKind::transport ||
                            fetched.error().kind == ErrorKind::cancelled);
    if (!may_go_on) fs::remove_all(places_.partial, ignored);
    return fetched;
  }

  Expected<Fetched> get() {
    const auto made = make_directory(places_.partial);
    if (!made) return fail(made.error());
    const fs::path archive = places_.partial / "archive";
    const fs::path staged = places_.partial / "entry";
    std::error_code ignored;
    fs::remove_all(staged, ignored);
    // Without a digest nobody could tell whether the halves belong together.
    const int fresh = target_.sha256.empty() ? O_TRUNC : 0;
    const auto file = open_ours(archive, O_RDWR | fresh);
    if (!file) return fail(file.error());
    const auto received = get_archive(file->get(), archive);
    if (!received) return fail(received.error());

    if (mkdir(staged.c_str(), kDirectoryMode) != 0) {
      return fail(ErrorKind::input, system_message("make", staged.string(), errno), kElsewhere);
    }
    const fs::path program = staged / manifest_.name;
    const auto extracted = extract(archive, program);
    if (!extracted) return fail(extracted.error());
    CacheEntry entry{.key = key_,
                     .tool = manifest_.name,
                     .version = manifest_.version,
                     .machine = target_.machine,
                     .url = shown_url(url_),
                     .archive = archive_digest_,
                     .verified = !target_.sha256.empty(),
                     .member = target_.member};
    const auto finished = finish(entry, program);
    if (!finished) return fail(finished.error());
    const auto shown = publish(entry, staged);
    if (!shown) return fail(shown.error());
    entry.program = (places_.entry / manifest_.name).string();
    return Fetched{std::move(entry), *received};
  }

  // Until the digest is right. What was left by another is no reason to fail: once from anew.
  Expected<std::uint64_t> get_archive(int fd, const fs::path& archive) {
    std::uint64_t sum = 0;
    for (bool again = false;; again = true) {
      struct stat before {};
      (void)fstat(fd, &before);
      const bool goes_on = before.st_size > 0;
      if (goes_on && is_right(archive)) return sum;
      const auto received = download(url_, fd, options_);
      if (!received) return fail(received.error());
      sum += *received;
      if (is_right(archive)) return sum;
      if (!goes_on || again) break;
      if (ftruncate(fd, 0) != 0) break;
    }
    return fail(ErrorKind::input,
                "the digest of " + shown_url(url_) + " is " + archive_digest_ + " instead of " +
                    target_.sha256,
                "do not use it: it is not what the manifest describes; look at the mirror, if one "
                "is set");
  }

  bool is_right(const fs::path& archive) {
    auto digest = sha256_of_file(archive.string());
    archive_digest_ = digest ? *digest : digest.error().message;
    return digest && (target_.sha256.empty() || *digest == target_.sha256);
  }

  Expected<void> extract(const fs::path& archive, const fs::path& program) const {
    if (target_.member.empty()) {
      if (rename(archive.c_str(), program.c_str()) == 0) return {};
      return fail(ErrorKind::input, system_message("rename", archive.string(), errno));
    }
    const auto file = open_ours(program, O_WRONLY | O_EXCL);
    if (!file) return fail(file.error());
    const auto unpacked = unpack_member(archive.string(), target_.member, file->get(),
                                        options_.most_unpacked, options_.cancelled);
    if (unpacked) return {};
    Error error{unpacked.error().kind,
                "cannot use " + shown_url(url_) + ": " + unpacked.error().message,
                unpacked.error().advice};
    return fail(std::move(error));
  }

  Expected<void> finish(CacheEntry& entry, const fs::path& program) const {
    const auto file = open_file(program.c_str(), O_RDONLY | O_NOFOLLOW);
    if (!file) return fail(file.error());
    struct stat there {};
    if (fstat(file->get(), &there) != 0 || fchmod(file->get(), kProgramMode) != 0) {
      return fail(ErrorKind::input, system_message("keep", program.string(), errno));
    }
    entry.size = static_cast<std::uint64_t>(there.st_size);
    auto digest = sha256_of_open(file->get(), program.string());
    if (!digest) return fail(digest.error());
    entry.program_sha256 = *digest;
    // A program for another machine would be found out in the sandbox only.
    std::string head(std::min<std::size_t>(entry.size, kElfBytes), '\0');
    if (pread(file->get(), head.data(), head.size(), 0) != static_cast<ssize_t>(head.size())) {
      return {};
    }
    const auto elf = read_elf(head, program.string());
    if (!elf || elf->machine == target_.machine) return {};
    return fail(ErrorKind::input, "what " + shown_url(url_) + " holds is for " + elf->machine +
                                      ", the manifest says " + target_.machine);
  }

  Expected<void> publish(const CacheEntry& entry, const fs::path& staged) const {
    {
      std::ofstream file(staged / "entry.json", std::ios::binary);
      file << entry_json(entry).dump(2, ' ', false, json::error_handler_t::replace) << '\n';
      file.close();
      if (!file) {
        return fail(ErrorKind::input, "cannot write '" + staged.string() + "/entry.json'",
                    "make room, or " + std::string(kElsewhere));
      }
    }
    // Only what is damaged, or of an older form, can stand there.
    const fs::path old = places_.partial / "old";
    (void)rename(places_.entry.c_str(), old.c_str());
    if (rename(staged.c_str(), places_.entry.c_str()) == 0) return {};
    return fail(ErrorKind::input, system_message("rename", staged.string(), errno));
  }

  const ToolManifest& manifest_;
  const ToolTarget& target_;
  const FetchOptions& options_;
  std::string key_;
  Places places_;
  std::string url_;
  std::string archive_digest_;
};

// A thread that is asked to end, and waited for, when whoever started it goes away.
class Worker {
 public:
  template <class Work>
  Worker(std::shared_ptr<std::atomic<bool>> cancelled, Work work)
      : cancelled_(std::move(cancelled)), thread_(std::move(work)) {}
  ~Worker() {
    *cancelled_ = true;
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

 private:
  std::shared_ptr<std::atomic<bool>> cancelled_;
  std::thread thread_;
};

asio::awaitable<Expected<Fetched>> fetch_in_thread(ToolManifest manifest, ToolTarget target,
                                                   FetchOptions options) {
  const asio::any_io_executor executor = co_await asio::this_coro::executor;
  Event over(executor);
  const auto cancelled = std::make_shared<std::atomic<bool>>(false);
  options.cancelled = [cancelled, given = options.cancelled] {
    return *cancelled || (given && given());
  };
  Expected<Fetched> fetched = fail(ErrorKind::unknown, "the download has not ended");
  const Worker worker(cancelled, [&] {
    fetched = fetch_tool(manifest, target, options);
    asio::post(executor, [over]() mutable { over.set(); });
  });
  const bool ended = co_await over.wait();
  if (!ended) {
    *cancelled = true;
    co_await leave_in_peace();
    (void)co_await over.wait();
  }
  co_return fetched;
}

}  // namespace

std::string cache_directory(std::string_view xdg_cache_home, std::string_view home) {
  // The XDG specification: a relative path is to be ignored.
  if (xdg_cache_home.starts_with('/')) return std::string(xdg_cache_home) + "/quietus";
  if (home.starts_with('/')) return std::string(home) + "/.cache/quietus";
  return {};
}

std::string path_in_cache(const ToolManifest& manifest, const ToolTarget& target,
                          const std::string& cache) {
  return (Places(cache, key_of(manifest, target)).entry / manifest.name).string();
}

Expected<Fetched> fetch_tool(const ToolManifest& manifest, const ToolTarget& target,
                             const FetchOptions& options) {
  return Fetch(manifest, target, options).run();
}

asio::awaitable<Expected<Fetched>> fetch_tool_async(ToolManifest manifest, ToolTarget target,
                                                    FetchOptions options) {
  co_return co_await guarded(
      fetch_in_thread(std::move(manifest), std::move(target), std::move(options)));
}

std::vector<CacheEntry> list_cache(const std::string& cache) {
  std::vector<CacheEntry> entries;
  for (const fs::path& directory : children(fs::path(cache) / "tools")) {
    if (auto entry = read_entry(directory)) entries.push_back(std::move(*entry));
  }
  std::ranges::stable_sort(entries, [](const CacheEntry& a, const CacheEntry& b) {
    return std::tie(a.tool, a.version, a.machine) < std::tie(b.tool, b.version, b.machine);
  });
  return entries;
}

std::vector<CacheTrouble> verify_cache(const std::string& cache) {
  std::vector<CacheTrouble> troubles;
  const fs::path tools = fs::path(cache) / "tools";
  std::error_code error;
  const fs::directory_iterator readable(tools, error);
  if (error && error != std::errc::no_such_file_or_directory) {
    troubles.push_back({tools.string(), "it cannot be read: " + error.message()});
  }
  for (const fs::path& directory : children(tools)) {
    const auto entry = read_entry(directory);
    const std::string why = entry ? what_is_wrong(*entry) : "it has no record that can be read";
    if (!why.empty()) troubles.push_back({directory.string(), why});
  }
  return troubles;
}

Expected<Pruned> prune_cache(const std::string& cache, bool all, bool dry_run) {
  Pruned pruned;
  std::set<std::string> keys;
  for (const char* folder : {"tools", "partial"}) {
    for (const fs::path& path : children(fs::path(cache) / folder)) {
      keys.insert(path.filename().string());
    }
  }
  for (const fs::path& path : children(fs::path(cache) / "locks")) {
    keys.insert(path.stem().string());
  }
  for (const std::string& key : keys) {
    const Places places(cache, key);
    const auto made = make_directory(places.lock.parent_path());
    if (!made) return fail(made.error());
    const auto lock = Lock::attempt(places.lock);
    if (!lock) return fail(lock.error());
    if (!*lock) continue;  // a download is at it
    const auto entry = read_entry(places.entry);
    const bool keep = !all && entry && entry->verified && what_is_wrong(*entry).empty();
    std::error_code error;
    for (const fs::path& path : {places.entry, places.partial}) {
      if ((keep && path == places.entry) || !fs::exists(fs::symlink_status(path, error))) continue;
      pruned.removed.push_back(path.string());
      pruned.bytes += bytes_below(path);
      if (dry_run) continue;
      fs::remove_all(path, error);
      if (error) {
        return fail(ErrorKind::input, "cannot remove " + path.string() + ": " + error.message());
      }
    }
    if (!dry_run || !fs::exists(places.entry, error)) fs::remove(places.lock, error);
  }
  return pruned;
}

}  // namespace quietus

// Downloads a tool, checks it, and puts it into the cache, once for all who ask at the same time.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <asio/post.hpp>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "client/bootstrap/cache_files.hpp"
#include "client/bootstrap/digest.hpp"
#include "client/bootstrap/download.hpp"
#include "client/bootstrap/unpack.hpp"
#include "client/src/task.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr unsigned kProgramMode = 0755;
constexpr auto kLookAgain = 20ms;
constexpr std::size_t kElfBytes = std::size_t{64} << 20;

class Fetch {
 public:
  Fetch(const ToolManifest& manifest, const ToolTarget& target, const FetchOptions& options)
      : manifest_(manifest),
        target_(target),
        options_(options),
        key_(cache_key(manifest, target)),
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
      const auto made = make_cache_directory(folder);
      if (!made) return fail(made.error());
    }
    const auto until = std::chrono::steady_clock::now() + options_.patience;
    for (;;) {
      auto lock = CacheLock::attempt(places_.lock);
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
    auto entry = read_cache_entry(places_.entry);
    if (!entry || entry->tool != manifest_.name || entry->member != target_.member) return {};
    if (!target_.sha256.empty() && (!entry->verified || entry->archive != target_.sha256))
      return {};
    if (!wrong_with(*entry).empty()) return {};
    return entry;
  }

  // Of one who was killed behind the rename that made it visible.
  void tidy() const {
    std::error_code ignored;
    if (!fs::exists(places_.partial, ignored)) return;
    const auto lock = CacheLock::attempt(places_.lock);
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
    const auto made = make_cache_directory(places_.partial);
    if (!made) return fail(made.error());
    const fs::path archive = places_.partial / "archive";
    const fs::path staged = places_.partial / "entry";
    std::error_code ignored;
    fs::remove_all(staged, ignored);
    // Without a digest nobody could tell whether the halves belong together.
    const int fresh = target_.sha256.empty() ? O_TRUNC : 0;
    const auto file = open_in_cache(archive, O_RDWR | fresh);
    if (!file) return fail(file.error());
    const auto received = get_archive(file->get(), archive);
    if (!received) return fail(received.error());

    if (mkdir(staged.c_str(), kCacheDirectoryMode) != 0) {
      return fail(ErrorKind::input, system_message("make", staged.string(), errno), kOtherCache);
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
    const auto file = open_in_cache(program, O_WRONLY | O_EXCL);
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
      file << cache_entry_text(entry);
      file.close();
      if (!file) {
        return fail(ErrorKind::input, "cannot write '" + staged.string() + "/entry.json'",
                    "make room, or " + std::string(kOtherCache));
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
  CachePlaces places_;
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

Expected<Fetched> fetch_tool(const ToolManifest& manifest, const ToolTarget& target,
                             const FetchOptions& options) {
  return Fetch(manifest, target, options).run();
}

asio::awaitable<Expected<Fetched>> fetch_tool_async(ToolManifest manifest, ToolTarget target,
                                                    FetchOptions options) {
  co_return co_await guarded(
      fetch_in_thread(std::move(manifest), std::move(target), std::move(options)));
}

}  // namespace quietus

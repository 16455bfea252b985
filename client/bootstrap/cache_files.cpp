#include "client/bootstrap/cache_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <nlohmann/json.hpp>

#include "client/bootstrap/digest.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr unsigned kFileMode = 0600;
constexpr std::size_t kMostEntry = 16384;
constexpr int kEntryVersion = 1;
constexpr std::size_t kDigestInName = 16;

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

}  // namespace

CachePlaces::CachePlaces(const std::string& cache, const std::string& key)
    : entry(fs::path(cache) / "tools" / key),
      partial(fs::path(cache) / "partial" / key),
      lock(fs::path(cache) / "locks" / (key + ".lock")) {}

std::string cache_key(const ToolManifest& manifest, const ToolTarget& target) {
  const std::string what = manifest.name + '\n' + target.member;
  if (!target.sha256.empty()) {
    return target.sha256 + '-' + sha256_of(what).substr(0, kDigestInName);
  }
  return "unverified-" + sha256_of(what + '\n' + target.url).substr(0, 2 * kDigestInName);
}

std::string path_in_cache(const ToolManifest& manifest, const ToolTarget& target,
                          const std::string& cache) {
  return (CachePlaces(cache, cache_key(manifest, target)).entry / manifest.name).string();
}

Expected<void> make_cache_directory(const fs::path& path) {
  std::error_code error;
  for (const fs::path& parent : {path.parent_path(), path}) {
    if (fs::is_directory(parent, error)) continue;
    fs::create_directories(parent.parent_path(), error);
    if (mkdir(parent.c_str(), kCacheDirectoryMode) != 0 && errno != EEXIST) {
      return fail(ErrorKind::input, system_message("make", parent.string(), errno), kOtherCache);
    }
  }
  return {};
}

Expected<UniqueFd> open_in_cache(const fs::path& path, int flags) {
  auto fd = open_file(path.c_str(), flags | O_CREAT | O_NOFOLLOW, kFileMode);
  if (!fd) return fail(fd.error().kind, fd.error().message, kOtherCache);
  return fd;
}

Expected<std::optional<CacheLock>> CacheLock::attempt(const fs::path& path) {
  for (;;) {
    auto fd = open_in_cache(path, O_RDWR);
    if (!fd) return fail(fd.error());
    if (flock(fd->get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno == EWOULDBLOCK) return std::optional<CacheLock>();
      return fail(ErrorKind::input, system_message("lock", path.string(), errno),
                  "set XDG_CACHE_HOME to a file system with locks");
    }
    // prune removes the file while it holds the lock: then this is the lock of nothing.
    struct stat held {};
    struct stat there {};
    if (fstat(fd->get(), &held) == 0 && stat(path.c_str(), &there) == 0 &&
        held.st_ino == there.st_ino && held.st_dev == there.st_dev) {
      return std::optional<CacheLock>(CacheLock(std::move(*fd)));
    }
  }
}

std::string cache_entry_text(const CacheEntry& entry) {
  const json object = {{"schema", "quietus-cache-entry"},
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
  return object.dump(2, ' ', false, json::error_handler_t::replace) + '\n';
}

std::optional<CacheEntry> read_cache_entry(const fs::path& directory) {
  std::ifstream file(directory / "entry.json", std::ios::binary);
  std::string text(kMostEntry, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(std::max<std::streamsize>(0, file.gcount())));
  return parse_entry(text, directory);
}

std::string wrong_with(const CacheEntry& entry) {
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

}  // namespace quietus

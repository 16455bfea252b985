// What the cache consists of, by digest:
//
//     tools/KEY/NAME, tools/KEY/entry.json   appear together, by one rename
//     partial/KEY/                           of the one that holds the lock
//     locks/KEY.lock                         flock: who does the work
//
// Whoever is killed leaves an unlocked partial, which the next one goes on with or removes. What
// stands in tools/ is digested again at each use: nothing is believed because it is there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "client/src/descriptor.hpp"
#include "quietus/bootstrap.hpp"

namespace quietus {

// What to do when nothing can be written.
inline constexpr const char* kOtherCache = "set XDG_CACHE_HOME to a directory that can be written";
inline constexpr unsigned kCacheDirectoryMode = 0700;

struct CachePlaces {
  CachePlaces(const std::string& cache, const std::string& key);
  std::filesystem::path entry;
  std::filesystem::path partial;
  std::filesystem::path lock;
};

std::string cache_key(const ToolManifest& manifest, const ToolTarget& target);
// Of the program, once it is there. Pure.
std::string path_in_cache(const ToolManifest& manifest, const ToolTarget& target,
                          const std::string& cache);

// With its parents; errors are of kind input.
Expected<void> make_cache_directory(const std::filesystem::path& path);
// open_file() of what we are to write, with what to do when that fails.
Expected<UniqueFd> open_in_cache(const std::filesystem::path& path, int flags);

class CacheLock {
 public:
  // None: somebody else holds it.
  static Expected<std::optional<CacheLock>> attempt(const std::filesystem::path& path);

 private:
  explicit CacheLock(UniqueFd fd) : fd_(std::move(fd)) {}
  UniqueFd fd_;
};

std::string cache_entry_text(const CacheEntry& entry);
// None: there is none, or its record cannot be read.
std::optional<CacheEntry> read_cache_entry(const std::filesystem::path& directory);
// Empty: the program is what was put there.
std::string wrong_with(const CacheEntry& entry);

}  // namespace quietus

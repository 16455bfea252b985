// The cache as a whole: where it is, what is in it, what is wrong with it.
#include <algorithm>
#include <set>

#include "client/bootstrap/cache_files.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;

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

}  // namespace

std::string cache_directory(std::string_view xdg_cache_home, std::string_view home) {
  // The XDG specification: a relative path is to be ignored.
  if (xdg_cache_home.starts_with('/')) return std::string(xdg_cache_home) + "/quietus";
  if (home.starts_with('/')) return std::string(home) + "/.cache/quietus";
  return {};
}

std::vector<CacheEntry> list_cache(const std::string& cache) {
  std::vector<CacheEntry> entries;
  for (const fs::path& directory : children(fs::path(cache) / "tools")) {
    if (auto entry = read_cache_entry(directory)) entries.push_back(std::move(*entry));
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
    const auto entry = read_cache_entry(directory);
    const std::string why = entry ? wrong_with(*entry) : "it has no record that can be read";
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
    const CachePlaces places(cache, key);
    const auto made = make_cache_directory(places.lock.parent_path());
    if (!made) return fail(made.error());
    const auto lock = CacheLock::attempt(places.lock);
    if (!lock) return fail(lock.error());
    if (!*lock) continue;  // a download is at it
    const auto entry = read_cache_entry(places.entry);
    const bool keep = !all && entry && entry->verified && wrong_with(*entry).empty();
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

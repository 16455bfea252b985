#include "supervisor/watched_files.hpp"

#include <algorithm>
#include <cerrno>

#include "kernel/directory.hpp"

namespace quietus {
void WatchedFiles::add(Watched what, std::string path) {
  if (!path.empty()) files_.push_back({what, std::move(path)});
}

// Also called on each regular look, for directories that were not there or were replaced: adding a
// watch twice is no error and costs nothing.
void WatchedFiles::arm(sys::Gate& gate) {
  if (files_.empty()) return;
  if (!inotify_) {
    auto made = sys::inotify(gate);
    if (!made) return;  // too many instances of this user: the regular look remains
    inotify_ = std::move(*made);
  }
  for (const File& file : files_) {
    const std::string directory =
        directory_path_.empty() ? sys::directory_of(file.path) : directory_path_;
    const auto watch = sys::watch_directory(gate, inotify_.get(), directory.c_str());
    if (watch && std::ranges::find(watches_, *watch) == watches_.end()) watches_.push_back(*watch);
  }
}

void WatchedFiles::disarm(sys::Gate& gate) {
  for (const int watch : watches_) (void)sys::unwatch(gate, inotify_.get(), watch);
  watches_.clear();
}

void WatchedFiles::drain(sys::Gate& gate) {
  // Bounded: a directory in which somebody creates files without end must not hold us here.
  constexpr int kReadsPerTurn = 16;
  alignas(8) char events[4096];
  for (int reads = 0; reads < kReadsPerTurn; ++reads) {
    if (!sys::read(gate, inotify_.get(), events)) return;
  }
}

sys::Result<bool> WatchedFiles::present(sys::Gate& gate, Watched what) const {
  for (const File& file : files_) {
    if (file.what != what) continue;
    const auto status = sys::lstat_at(gate, directory_, file.path.c_str());
    if (status) return true;
    const int code = status.error().code;
    if (code != ENOENT && code != ENOTDIR) return tl::unexpected(status.error());
  }
  return false;
}

}  // namespace quietus

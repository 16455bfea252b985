// Files whose appearance is a request: the stop file, the expire file. An lstat now and then is the
// truth; inotify only makes it fast, since it misses mounts, replaced directories and what is put
// under an overlay (inotify(7), "Limitations and caveats").
#pragma once

#include <string>
#include <vector>

#include "contract/time.hpp"
#include "kernel/calls.hpp"

namespace quietus {

enum class Watched { stop_file, expire_file, kill_file };

class WatchedFiles {
 public:
  // How often to look, whatever inotify says.
  static constexpr Span kInterval = std::chrono::milliseconds(250);

  // Relative paths start from `directory`, whose path serves inotify alone.
  WatchedFiles(int directory, std::string directory_path)
      : directory_(directory), directory_path_(std::move(directory_path)) {}

  void add(Watched what, std::string path);
  [[nodiscard]] bool empty() const { return files_.empty(); }

  // Starts inotify where it can be had. The caller looks after this, never before: what came in
  // between is then seen.
  void arm(sys::Gate& gate);
  [[nodiscard]] int fd() const { return inotify_.get(); }
  // Ends inotify's part; present() still answers. The kernel frees watches in the background, and a
  // close(2), or the exit, waits for it: 12 ms where nothing has been given back before.
  void disarm(sys::Gate& gate);
  // Takes what inotify has to say; afterwards it is time to look.
  void drain(sys::Gate& gate);

  // Whether it is there: of any type, also a dangling symlink. The error is that of the lstat, when
  // it could not be known.
  sys::Result<bool> present(sys::Gate& gate, Watched what) const;

 private:
  struct File {
    Watched what;
    std::string path;
  };
  int directory_;
  std::string directory_path_;
  std::vector<File> files_;
  std::vector<int> watches_;
  sys::UniqueFd inotify_;
};

}  // namespace quietus

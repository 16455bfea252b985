// A session directory, held open: every look and every change is relative to the descriptor, and
// no last component is ever followed through a symlink.
#pragma once

#include <optional>
#include <string>

#include "contract/session_files.hpp"
#include "kernel/calls.hpp"

namespace quietus {

enum class Claim { none, launch, stop, foreign };  // foreign: something that no party of ours made

class SessionDirectory {
 public:
  // ENOENT: there is none. ELOOP or ENOTDIR: the name is a link, or no directory.
  static sys::Result<SessionDirectory> open(sys::Gate& gate, const std::string& path,
                                            const SessionFiles& files);

  [[nodiscard]] int fd() const { return directory_.get(); }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const SessionFiles& files() const { return files_; }
  // "DEV.INO": what the marker in the environment of the session's processes says.
  [[nodiscard]] const std::string& id() const { return id_; }

  // Whether the path still names this directory: it may have been retired since we opened it.
  [[nodiscard]] bool in_place(sys::Gate& gate) const;

  [[nodiscard]] bool has(sys::Gate& gate, const char* name) const;
  [[nodiscard]] Claim claim(sys::Gate& gate) const;
  // By its claim, or by what only a launch writes: a claim can be replaced.
  [[nodiscard]] bool was_launched(sys::Gate& gate) const;
  // What the cgroup leaf of this launch is called: by the claim, since a directory's number is used
  // again at once by the next one, and a leaf that an earlier session left proves nothing of a
  // later.
  [[nodiscard]] std::string leaf(sys::Gate& gate) const;
  // The receipt's text, if there is one that is a regular file of sensible size.
  [[nodiscard]] std::optional<std::string> receipt(sys::Gate& gate) const;

  // Makes an empty file; one that is there already, of whatever type, serves as well.
  sys::Result<sys::Unit> request(sys::Gate& gate, const char* name) const;

  // Takes the lock within the time given. The lock is the truth about who lives: both halves of a
  // supervisor hold it shared for as long as they live, the worker never does. Error EAGAIN: not
  // in time.
  sys::Result<sys::Unit> lock(sys::Gate& gate, sys::Lock kind, Span within) const;

  // Keeps the descriptor open in whoever inherits it from here on.
  int release() { return directory_.release(); }

 private:
  SessionDirectory(sys::UniqueFd directory, std::string path, std::string id,
                   const SessionFiles& files)
      : directory_(std::move(directory)),
        path_(std::move(path)),
        id_(std::move(id)),
        files_(files) {}

  sys::UniqueFd directory_;
  std::string path_;
  std::string id_;
  SessionFiles files_;
};

}  // namespace quietus

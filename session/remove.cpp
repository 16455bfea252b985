// remove: retire by rename, then delete; never through a symlink.
#include <cerrno>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "contract/exit_code.hpp"
#include "kernel/directory.hpp"
#include "session/directory.hpp"
#include "session/speak.hpp"
#include "session/verbs.hpp"

namespace quietus {
namespace {

constexpr int kOpenDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
// Each pass deletes all files of a level and lifts its directories to the top. Nobody builds a tree
// that is deeper: more passes mean that somebody keeps adding.
constexpr int kPasses = 1 << 20;
constexpr unsigned kOwnerAll = 0700;
// wait and status hold the lock for an instant; a supervisor holds it for long.
constexpr Span kLookersTime = std::chrono::milliseconds(200);

struct Name {
  std::string parent;
  std::string base;
};

Name split(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return {sys::directory_of(path), path.substr(path.rfind('/') + 1)};
}

// Opens a directory so that it can be emptied: its owner may have made it unreadable, or read-only.
sys::Result<sys::UniqueFd> open_to_empty(sys::Gate& gate, int parent, const char* name) {
  auto directory = sys::open_at(gate, parent, name, kOpenDirectory);
  if (directory) {
    const auto status = sys::fstat(gate, directory->get());
    if (status && (status->st_mode & kOwnerAll) != kOwnerAll) {
      (void)sys::change_mode(gate, directory->get(), kOwnerAll);  // what follows tells of a failure
    }
    return directory;
  }
  if (!sys::denied(directory.error())) return directory;
  const auto held = sys::open_at(gate, parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW);
  if (!held) return directory;
  const std::string by_fd = "/proc/self/fd/" + decimal(held->get());
  if (!sys::change_mode_of(gate, by_fd.c_str(), kOwnerAll)) return directory;
  return sys::open_at(gate, parent, name, kOpenDirectory);
}

// Deletes a tree of any depth with three descriptors and no recursion: what is in a directory below
// the top is either deleted or lifted to the top.
class Emptying {
 public:
  Emptying(sys::Gate& gate, int top) : gate_(gate), top_(top) {}

  sys::Result<sys::Unit> run() {
    const auto status = sys::fstat(gate_, top_);
    if (!status) return tl::unexpected(status.error());
    device_ = status->st_dev;
    for (int pass = 0; pass < kPasses; ++pass) {
      auto directory = sys::open_at(gate_, top_, ".", kOpenDirectory);
      if (!directory) return tl::unexpected(directory.error());
      bool empty = true;
      sys::Result<sys::Unit> worked;
      const auto listed = sys::for_each_name(gate_, directory->get(), [&](const char* name) {
        empty = false;
        worked = take_away(name);
        return worked.has_value();
      });
      if (!listed) return listed;
      if (!worked) return worked;
      if (empty) return sys::Unit{};
    }
    return tl::unexpected(sys::Error{EBUSY, "unlink"});
  }

 private:
  bool deleted(int parent, const char* name, sys::Result<sys::Unit>& unlinked) {
    unlinked = sys::unlink_at(gate_, parent, name);
    return unlinked || sys::gone(unlinked.error()) || sys::remove_directory_at(gate_, parent, name);
  }

  sys::Result<sys::Unit> take_away(const char* name) {
    sys::Result<sys::Unit> unlinked;
    if (deleted(top_, name, unlinked)) return sys::Unit{};
    const auto directory = open_to_empty(gate_, top_, name);
    // No directory: then the first error is the one to tell.
    if (!directory) return sys::gone(directory.error()) ? sys::Result<sys::Unit>{} : unlinked;
    // What is mounted here is somebody else's.
    const auto status = sys::fstat(gate_, directory->get());
    if (status && status->st_dev != device_) return tl::unexpected(sys::Error{EXDEV, "unlink"});
    sys::Result<sys::Unit> worked;
    const auto listed = sys::for_each_name(gate_, directory->get(), [&](const char* inner) {
      sys::Result<sys::Unit> inner_unlinked;
      if (!deleted(directory->get(), inner, inner_unlinked)) worked = lift(directory->get(), inner);
      return worked.has_value();
    });
    if (!listed || !worked) return listed ? worked : listed;
    (void)sys::remove_directory_at(gate_, top_, name);  // not empty: the next pass sees it
    return sys::Unit{};
  }

  // Names at the top may be taken: by the worker, or by a removal that was cut off.
  sys::Result<sys::Unit> lift(int parent, const char* name) {
    // To move a directory is to change its "..", which takes the right to write in it.
    (void)open_to_empty(gate_, parent, name);
    for (;;) {
      const std::string lifted = ".quietus-" + decimal(++lifted_);
      if (sys::lstat_at(gate_, top_, lifted.c_str())) continue;
      const auto renamed = sys::rename_between(gate_, parent, name, top_, lifted.c_str());
      if (renamed || sys::gone(renamed.error())) return sys::Unit{};
      if (renamed.error().code != ENOTEMPTY && renamed.error().code != EEXIST) return renamed;
    }
  }

  sys::Gate& gate_;
  int top_;
  dev_t device_ = 0;
  std::uint64_t lifted_ = 0;
};

class Removal {
 public:
  Removal(sys::Gate& gate, const SessionRequest& request)
      : gate_(gate),
        request_(request),
        name_(split(request.directory)),
        retired_(name_.base + kRetiredSuffix) {}

  int run() {
    auto parent = sys::open(gate_, name_.parent.c_str(), O_RDONLY | O_DIRECTORY);
    if (!parent) {
      return parent.error().code == ENOENT ? static_cast<int>(kExitSuccess)
                                           : failed(parent.error(), name_.parent);
    }
    parent_ = std::move(*parent);
    // What an earlier removal left goes first: two retired directories must not nest.
    if (const int code = delete_retired(Held::no); code != kExitSuccess) return code;
    auto directory = SessionDirectory::open(gate_, request_.directory, request_.files);
    if (!directory) {
      if (directory.error().code == ENOENT) return kExitSuccess;
      return failed(directory.error(), request_.directory);
    }
    if (const int code = retire(*directory); code != kExitSuccess) return code;
    return delete_retired(Held::yes);
  }

 private:
  int failed(const sys::Error& error, std::string_view about) {
    return complain(gate_, kExitTrouble, "cannot remove the session", error, about);
  }

  int refused(std::string_view why) {
    return complain(gate_, kExitTrouble,
                    "'" + request_.directory + "' is not removed: " + std::string(why));
  }

  int retire(const SessionDirectory& directory) {
    const auto locked = directory.lock(gate_, sys::Lock::exclusive, kLookersTime);
    if (!locked && sys::would_block(locked.error())) return refused("its supervisor lives");
    // Whoever holds the lock of the directory that the path names is alone in renaming it.
    if (!directory.in_place(gate_)) {
      if (!sys::lstat(gate_, request_.directory.c_str())) return kExitSuccess;  // removed meanwhile
      return refused("another directory was put in its place");
    }
    if (directory.was_launched(gate_) && !directory.receipt(gate_)) {
      return refused("it has no receipt, and processes of it may live; stop it first");
    }
    const auto renamed = sys::rename_at(gate_, parent_.get(), name_.base.c_str(), retired_.c_str());
    if (!renamed) {
      return sys::gone(renamed.error()) ? static_cast<int>(kExitSuccess)
                                        : failed(renamed.error(), retired_);
    }
    // The name was ours a moment ago; whoever put another directory there gets it back.
    const auto moved = sys::lstat_at(gate_, parent_.get(), retired_.c_str());
    const auto held = sys::fstat(gate_, directory.fd());
    if (moved && held && moved->st_ino == held->st_ino && moved->st_dev == held->st_dev) {
      return kExitSuccess;
    }
    (void)sys::rename_at(gate_, parent_.get(), retired_.c_str(), name_.base.c_str());
    return refused("another directory was put in its place");
  }

  enum class Held { no, yes };

  int delete_retired(Held held) {
    const auto directory = open_to_empty(gate_, parent_.get(), retired_.c_str());
    if (!directory) {
      return directory.error().code == ENOENT ? static_cast<int>(kExitSuccess)
                                              : failed(directory.error(), retired_);
    }
    // Only what nobody holds: a directory that somebody renamed by hand may be a living session.
    if (held == Held::no) {
      const auto locked = sys::try_lock(gate_, directory->get(), sys::Lock::exclusive);
      if (!locked && sys::would_block(locked.error())) {
        return refused("its retired directory is held by a supervisor");
      }
    }
    if (const auto emptied = Emptying(gate_, directory->get()).run(); !emptied) {
      return failed(emptied.error(), retired_);
    }
    const auto removed = sys::remove_directory_at(gate_, parent_.get(), retired_.c_str());
    if (removed || sys::gone(removed.error())) return kExitSuccess;
    return failed(removed.error(), retired_);
  }

  sys::Gate& gate_;
  const SessionRequest& request_;
  Name name_;
  std::string retired_;
  sys::UniqueFd parent_;
};

}  // namespace

int remove_session(sys::Gate& gate, const SessionRequest& request) {
  return Removal(gate, request).run();
}

}  // namespace quietus

#include "client/src/staged.hpp"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdio>
#include <filesystem>

#include "client/src/random_token.hpp"
#include "contract/decimal.hpp"

namespace quietus {
namespace {

namespace fs = std::filesystem;

// Below a foreign root every symlink is read as if that were /, which openat2 alone can promise.
int open_below(int root, const char* path, int flags) {
  if (root == AT_FDCWD) return ::open(path, flags | O_CLOEXEC);
  open_how how{};
  how.flags = static_cast<__u64>(flags | O_CLOEXEC);
  how.resolve = RESOLVE_IN_ROOT;
  return static_cast<int>(syscall(SYS_openat2, root, path, &how, sizeof how));
}

Expected<UniqueFd> open_root(const std::string& root) {
  if (root == "/") return UniqueFd();
  return open_file(root.c_str(), O_PATH | O_DIRECTORY);
}

int number_of(const UniqueFd& root) { return root ? root.get() : AT_FDCWD; }

// Each component in its turn: the symlinks among them belong to the root.
Expected<UniqueFd> make_parents(const UniqueFd& root, const std::string& path, unsigned mode) {
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    UniqueFd there(open_below(number_of(root), part.c_str(), O_PATH | O_DIRECTORY));
    if (!there && errno == ENOENT) {
      const fs::path whole(part);
      const std::string above = whole.parent_path().string();
      const UniqueFd parent(
          open_below(number_of(root), above.empty() ? "." : above.c_str(), O_PATH | O_DIRECTORY));
      if (!parent) return fail(ErrorKind::input, system_message("open", above, errno));
      // Another may have been faster; then the next look finds it.
      if (mkdirat(parent.get(), whole.filename().c_str(), mode) != 0 && errno != EEXIST) {
        return fail(ErrorKind::input, system_message("make", part, errno));
      }
      there.reset(open_below(number_of(root), part.c_str(), O_PATH | O_DIRECTORY));
    }
    if (!there) return fail(ErrorKind::input, system_message("open", part, errno));
    if (end == std::string::npos) return there;
  }
}

}  // namespace

Expected<UniqueFd> open_below(const std::string& root, const std::string& path) {
  const auto top = open_root(root);
  if (!top) return fail(top.error());
  // Not to hang on a fifo; the caller looks at what it is.
  UniqueFd fd(open_below(number_of(*top), path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY));
  if (!fd) return fail(ErrorKind::input, system_message("open", path, errno));
  return fd;
}

Expected<Staged> Staged::below(const std::string& root, const std::string& path,
                               unsigned parent_mode) {
  const fs::path whole(path);
  const std::string name = whole.filename().string();
  if (name.empty() || name == "." || name == "..") {
    return fail(ErrorKind::input, "'" + path + "' is no name for a file or directory",
                "end the path with the name that it shall have");
  }
  const auto top = open_root(root);
  if (!top) return fail(top.error());
  std::string above = whole.parent_path().string();
  if (above.empty()) above = ".";
  auto parent = make_parents(*top, above, parent_mode);
  if (!parent) return fail(parent.error());
  return Staged(std::move(*parent), name, path);
}

Staged::Staged(UniqueFd parent, std::string name, std::string shown)
    : parent_(std::move(parent)),
      name_(std::move(name)),
      temporary_(".quietus-" + random_token()),
      shown_(std::move(shown)) {}

Staged::Staged(Staged&& other) noexcept
    : parent_(std::move(other.parent_)),
      name_(std::move(other.name_)),
      temporary_(std::move(other.temporary_)),
      shown_(std::move(other.shown_)),
      committed_(std::exchange(other.committed_, true)) {}

Staged::~Staged() {
  if (committed_ || !parent_) return;
  if (unlinkat(parent_.get(), temporary_.c_str(), 0) == 0 || errno == ENOENT) return;
  std::error_code ignored;
  fs::remove_all(path(), ignored);
}

std::string Staged::path() const {
  char parent[PATH_MAX];
  const std::string link = "/proc/self/fd/" + decimal(parent_.get());
  const ssize_t length = readlink(link.c_str(), parent, sizeof parent);
  return std::string(parent, length < 0 ? 0 : static_cast<std::size_t>(length)) + '/' + temporary_;
}

Expected<UniqueFd> Staged::make_file() {
  UniqueFd fd(openat(parent_.get(), temporary_.c_str(),
                     O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!fd) return fail(ErrorKind::input, system_message("make", shown_, errno));
  return fd;
}

Expected<std::string> Staged::make_directory() {
  if (mkdirat(parent_.get(), temporary_.c_str(), 0755) != 0) {
    return fail(ErrorKind::input, system_message("make", shown_, errno));
  }
  return path();
}

Expected<void> Staged::commit_file(unsigned mode) {
  struct stat there {};
  // rename(2) refuses this as well, with a worse message.
  if (fstatat(parent_.get(), name_.c_str(), &there, 0) == 0 && S_ISDIR(there.st_mode)) {
    return fail(ErrorKind::input, "'" + shown_ + "' is a directory", "name the file in it");
  }
  if (fchmodat(parent_.get(), temporary_.c_str(), mode & 07777, 0) != 0 ||
      renameat(parent_.get(), temporary_.c_str(), parent_.get(), name_.c_str()) != 0) {
    return fail(ErrorKind::input, system_message("make", shown_, errno));
  }
  committed_ = true;
  return {};
}

Expected<void> Staged::commit_tree() {
  int done =
      renameat2(parent_.get(), temporary_.c_str(), parent_.get(), name_.c_str(), RENAME_NOREPLACE);
  if (done != 0 && (errno == EINVAL || errno == ENOSYS)) {
    // A file system without that: a rename onto a directory succeeds only if it is empty.
    struct stat there {};
    done = fstatat(parent_.get(), name_.c_str(), &there, AT_SYMLINK_NOFOLLOW);
    if (done == 0) {
      errno = EEXIST;
      done = -1;
    } else {
      done = renameat(parent_.get(), temporary_.c_str(), parent_.get(), name_.c_str());
    }
  }
  if (done != 0) {
    return fail(ErrorKind::input, system_message("make", shown_, errno),
                errno == EEXIST ? "a tree replaces nothing: remove it, or use another name" : "");
  }
  committed_ = true;
  return {};
}

Expected<TreeSize> measure_tree(const std::string& path, std::optional<std::uint64_t> most_bytes) {
  TreeSize size;
  std::error_code error;
  auto entry = fs::recursive_directory_iterator(path, error);
  for (; !error && entry != fs::end(entry); entry.increment(error)) {
    const fs::file_status status = entry->symlink_status(error);
    if (error) break;
    if (fs::is_directory(status) || fs::is_symlink(status)) continue;
    if (!fs::is_regular_file(status)) {
      return fail(ErrorKind::input,
                  "'" + entry->path().string() + "' is no file, directory or symlink",
                  "leave devices, sockets and fifos out");
    }
    size.bytes += entry->file_size(error);
    size.files += 1;
    if (most_bytes && size.bytes > *most_bytes) return fail(too_large(path, *most_bytes));
  }
  if (error) return fail(ErrorKind::input, system_message("read", path, error.value()));
  return size;
}

Error too_large(std::string_view path, std::uint64_t most_bytes) {
  return {
      ErrorKind::input,
      "'" + std::string(path) + "' is larger than the limit of " + decimal(most_bytes) + " bytes",
      "raise the limit, or name less"};
}

}  // namespace quietus

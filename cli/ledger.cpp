#include "cli/ledger.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "cli/write_all.hpp"
#include "contract/decimal.hpp"

namespace quietus::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kUnfinished = ".new";
constexpr std::size_t kMostBytes = std::size_t{64} << 10;
constexpr const char* kBootId = "/proc/sys/kernel/random/boot_id";

class Fd {
 public:
  explicit Fd(int number = -1) : number_(number) {}
  Fd(Fd&& other) noexcept : number_(other.release()) {}
  Fd& operator=(Fd&&) = delete;
  ~Fd() {
    if (number_ >= 0) close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  int release() { return std::exchange(number_, -1); }
  explicit operator bool() const { return number_ >= 0; }

 private:
  int number_;
};

tl::unexpected<Error> failed(const std::string& what, const std::string& path, int code) {
  return fail(ErrorKind::input, "cannot " + what + " '" + path + "': " + std::strerror(code),
              "see to the ledger's directory, or set XDG_STATE_HOME to another");
}

std::string file_of(const std::string& directory, std::string_view id, std::string_view suffix) {
  return directory + '/' + std::string(id) + std::string(suffix);
}

// Whether the name still means the file that we hold.
bool in_place(int fd, const std::string& path) {
  struct stat held {};
  struct stat named {};
  return fstat(fd, &held) == 0 && lstat(path.c_str(), &named) == 0 && held.st_dev == named.st_dev &&
         held.st_ino == named.st_ino;
}

std::optional<std::string> read_all(int fd) {
  std::string text(kMostBytes + 1, '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got =
        pread(fd, text.data() + filled, text.size() - filled, static_cast<off_t>(filled));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  if (filled > kMostBytes) return std::nullopt;
  text.resize(filled);
  return text;
}

// On this machine everything ends with it; elsewhere a session outlives its crash, and must not be
// forgotten then.
bool needs_sync(const LedgerEntry& entry) { return entry.sandbox != "local"; }

// The file stands under its name whole and locked, or not at all.
Expected<Fd> write_file(const std::string& directory, const LedgerEntry& entry) {
  const std::string unfinished = file_of(directory, entry.id, kUnfinished);
  const std::string path = file_of(directory, entry.id, kSuffix);
  const std::string text = ledger_json(entry);
  // A garbage collection may take our file for one that was left, in the instant before the lock.
  for (int attempt = 0;; ++attempt) {
    (void)unlink(unfinished.c_str());
    Fd file(open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!file) return failed("write", unfinished, errno);
    while (flock(file.get(), LOCK_EX) != 0) {
      if (errno != EINTR) return failed("lock", unfinished, errno);
    }
    const bool written =
        write_all(file.get(), text) && (!needs_sync(entry) || fsync(file.get()) == 0);
    if (!written) {
      const int code = errno;
      (void)unlink(unfinished.c_str());
      return failed("write", unfinished, code);
    }
    if (in_place(file.get(), unfinished) && rename(unfinished.c_str(), path.c_str()) == 0) {
      if (needs_sync(entry)) {
        const Fd folder(open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (folder) (void)fsync(folder.get());
      }
      return file;
    }
    if (attempt == 3) return failed("write", path, errno);
  }
}

std::uint64_t start_ticks_of(const std::string& process) {
  std::ifstream file("/proc/" + process + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {});
  // The name in parentheses may hold anything; field 22 is the twentieth behind it.
  const std::size_t end = text.rfind(')');
  if (end == text.npos) return 0;
  std::istringstream fields(text.substr(end + 1));
  std::string field;
  for (int number = 3; number < 22; ++number) fields >> field;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

std::string first_line_of(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

void remove_tree(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

std::string ledger_directory(const Lookup& environment) {
  const auto state = environment("XDG_STATE_HOME");
  if (state && state->starts_with('/')) return *state + "/quietus/sessions";
  const auto home = environment("HOME");
  if (home && !home->empty()) return *home + "/.local/state/quietus/sessions";
  return {};
}

void sign(LedgerEntry& entry) {
  entry.pid = getpid();
  entry.start_ticks = start_ticks_of("self");
  entry.boot_id = first_line_of(kBootId);
  entry.created = std::time(nullptr);
}

bool writer_is_gone(const LedgerEntry& entry) {
  return entry.boot_id == first_line_of(kBootId) &&
         start_ticks_of(decimal(entry.pid)) != entry.start_ticks;
}

std::string arriving_directory(const LedgerEntry& entry) {
  return entry.into + "/.quietus-" + entry.id;
}

// --- one file ---------------------------------------------------------------------------------

LedgerFile::LedgerFile(std::string directory, LedgerEntry entry, int fd)
    : directory_(std::move(directory)), entry_(std::move(entry)), fd_(fd) {}

LedgerFile::LedgerFile(LedgerFile&& other) noexcept
    : directory_(std::move(other.directory_)),
      entry_(std::move(other.entry_)),
      fd_(std::exchange(other.fd_, -1)) {}

LedgerFile::~LedgerFile() {
  if (fd_ >= 0) close(fd_);
}

Expected<void> LedgerFile::update(LedgerEntry entry) {
  auto file = write_file(directory_, entry);
  if (!file) return fail(file.error());
  // Both are locked now: there was no moment at which the name meant a file without a lock.
  close(fd_);
  fd_ = file->release();
  entry_ = std::move(entry);
  return {};
}

Expected<std::string> LedgerFile::scratch() {
  const std::string path = file_of(directory_, entry_.id, ".files");
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) return failed("make", path, errno);
  return path;
}

Expected<void> LedgerFile::remove() {
  remove_tree(file_of(directory_, entry_.id, ".files"));
  if (!entry_.into.empty()) remove_tree(arriving_directory(entry_));
  (void)unlink(file_of(directory_, entry_.id, kUnfinished).c_str());
  const std::string path = file_of(directory_, entry_.id, kSuffix);
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return failed("remove", path, errno);
  return {};
}

// --- all of them ------------------------------------------------------------------------------

Expected<LedgerFile> Ledger::add(LedgerEntry entry) const {
  if (directory_.empty()) {
    return fail(ErrorKind::input, "there is no place for the ledger", "set XDG_STATE_HOME or HOME");
  }
  std::error_code error;
  const fs::path parent = fs::path(directory_).parent_path();
  fs::create_directories(parent, error);
  if (error) return failed("make", parent, error.value());
  if (mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST) {
    return failed("make", directory_, errno);
  }
  auto file = write_file(directory_, entry);
  if (!file) return fail(file.error());
  return LedgerFile(directory_, std::move(entry), file->release());
}

Expected<std::vector<LedgerItem>> Ledger::list() const {
  std::vector<LedgerItem> items;
  std::error_code error;
  fs::directory_iterator files(directory_, error);
  if (error == std::errc::no_such_file_or_directory || directory_.empty()) return items;
  if (error) return failed("read", directory_, error.value());
  for (; files != fs::directory_iterator(); files.increment(error)) {
    const std::string name = files->path().filename();
    if (!name.ends_with(kSuffix)) continue;
    const Fd file(open(files->path().c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file && errno == ENOENT) continue;
    LedgerItem item{.file = name, .entry = fail(ErrorKind::input, std::strerror(errno))};
    if (file) {
      // Shared: two that look do not hide the file from each other.
      const bool locked = flock(file.get(), LOCK_SH | LOCK_NB) == 0;
      item.held = !locked && errno == EWOULDBLOCK;
      const auto text = read_all(file.get());
      item.entry = text ? parse_ledger_entry(*text)
                        : fail(ErrorKind::input, "it is no file of at most 64 KiB");
      if (!in_place(file.get(), files->path())) continue;
    }
    if (item.entry && item.entry->id + std::string(kSuffix) != name) {
      item.entry = fail(ErrorKind::input, "id must be the file's name");
    }
    items.push_back(std::move(item));
  }
  std::ranges::sort(items, {}, [](const LedgerItem& item) {
    return std::pair(item.entry ? item.entry->created : 0, item.file);
  });
  return items;
}

std::optional<LedgerFile> Ledger::take(const std::string& id) const {
  const std::string path = file_of(directory_, id, kSuffix);
  // For writing, as some network file systems want it of an exclusive lock.
  Fd file(open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file || flock(file.get(), LOCK_EX | LOCK_NB) != 0 || !in_place(file.get(), path)) {
    return std::nullopt;
  }
  const auto text = read_all(file.get());
  if (!text) return std::nullopt;
  auto entry = parse_ledger_entry(*text);
  if (!entry || entry->id != id) return std::nullopt;
  return LedgerFile(directory_, std::move(*entry), file.release());
}

void Ledger::remove_unfinished() const {
  std::error_code error;
  for (fs::directory_iterator files(directory_, error); files != fs::directory_iterator();
       files.increment(error)) {
    const std::string name = files->path().filename();
    if (!name.ends_with(kUnfinished) ||
        !is_session_id(name.substr(0, name.size() - kUnfinished.size()))) {
      continue;
    }
    const Fd file(open(files->path().c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    if (!file || flock(file.get(), LOCK_EX | LOCK_NB) != 0) continue;
    if (in_place(file.get(), files->path())) (void)unlink(files->path().c_str());
  }
}

}  // namespace quietus::cli

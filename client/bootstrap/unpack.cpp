#include "client/bootstrap/unpack.hpp"

#include <archive.h>
#include <archive_entry.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string_view>

#include "client/bootstrap/words.hpp"
#include "client/src/descriptor.hpp"

namespace quietus {
namespace {

constexpr std::size_t kBlock = std::size_t{64} << 10;
constexpr std::size_t kMostMembers = 100'000;
constexpr std::size_t kMostFound = 8;

struct ReaderDeleter {
  void operator()(archive* reader) const { (void)archive_read_free(reader); }
};

// "./x//y" and "x/y" are one.
std::string plain_path(std::string_view path) {
  std::string plain;
  while (!path.empty()) {
    const std::string_view part = take(path, '/');
    if (part.empty() || part == ".") continue;
    if (!plain.empty()) plain += '/';
    plain += part;
  }
  return plain;
}

bool leads_out(std::string_view path) {
  if (path.starts_with('/')) return true;
  while (!path.empty()) {
    if (take(path, '/') == "..") return true;
  }
  return false;
}

class Unpacking {
 public:
  Unpacking(const std::string& path, const std::string& member, int fd, std::uint64_t most_bytes,
            const std::function<bool()>& cancelled)
      : path_(path), member_(member), fd_(fd), most_bytes_(most_bytes), cancelled_(cancelled) {}

  Expected<void> run() {
    archive* const reader = archive_read_new();
    if (reader == nullptr) return wrong("cannot be read: no memory");
    reader_.reset(reader);
    // Those that releases come in; none that libarchive would start a program for.
    archive_read_support_filter_gzip(reader);
    archive_read_support_filter_xz(reader);
    archive_read_support_filter_zstd(reader);
    archive_read_support_filter_bzip2(reader);
    archive_read_support_format_tar(reader);
    archive_read_support_format_zip(reader);
    if (archive_read_open_filename(reader, path_.c_str(), kBlock) != ARCHIVE_OK) {
      return unreadable();
    }
    for (std::size_t count = 0;; ++count) {
      archive_entry* entry = nullptr;
      const int got = archive_read_next_header(reader, &entry);
      if (got == ARCHIVE_EOF) break;
      if (got != ARCHIVE_OK) return unreadable();
      if (count >= kMostMembers) return wrong("has too many members");
      const auto done = look_at(entry);
      if (!done) return done;
    }
    if (found_) return {};
    return wrong("has no file '" + member_ + "'" +
                 (seen_.empty() ? ": it is empty" : "; it has " + joined(seen_, ", ")));
  }

 private:
  Expected<void> look_at(archive_entry* entry) {
    const char* const name = archive_entry_pathname(entry);
    if (name == nullptr) return wrong("has a member without a name");
    const std::string shown = "'" + shown_text(name) + "'";
    if (leads_out(name)) return wrong("has a member that leads out of it: " + shown);
    const char* const hard = archive_entry_hardlink(entry);
    const auto type = archive_entry_filetype(entry);
    const bool is_file = type == AE_IFREG && hard == nullptr;
    if (type != AE_IFREG && type != AE_IFDIR && type != AE_IFLNK && hard == nullptr) {
      return wrong("has a member that is no file: " + shown);
    }
    const bool is_wanted = plain_path(name) == member_;
    if (is_wanted && type == AE_IFDIR) return wrong("has a directory for " + shown);
    if (is_wanted && !is_file) return wrong("has a link for " + shown + ", not the program");
    if (is_wanted && found_) return wrong("has " + shown + " twice");
    if (seen_.size() < kMostFound && is_file) seen_.push_back(shown);
    // Told in advance, so that nothing has to be unpacked to know it.
    if (archive_entry_size_is_set(entry) != 0 && is_file) {
      const auto size = static_cast<std::uint64_t>(archive_entry_size(entry));
      if (archive_entry_size(entry) < 0 || size > most_bytes_ - total_) return too_large();
    }
    found_ = found_ || is_wanted;
    return read_data(is_wanted);
  }

  Expected<void> read_data(bool is_wanted) {
    std::int64_t written = 0;
    for (;;) {
      const void* data = nullptr;
      std::size_t size = 0;
      la_int64_t offset = 0;
      const int got = archive_read_data_block(reader_.get(), &data, &size, &offset);
      if (got == ARCHIVE_EOF) break;
      if (got != ARCHIVE_OK) return unreadable();
      if (cancelled_ && cancelled_()) return fail(ErrorKind::cancelled, "unpacking was cancelled");
      if (size > most_bytes_ - total_) return too_large();
      total_ += size;
      if (!is_wanted) continue;
      // A sparse member: a hole here could be of any size, and no program has one.
      if (offset != written) return wrong("holds '" + member_ + "' with holes in it");
      const auto done = write_out({static_cast<const char*>(data), size});
      if (!done) return done;
      written += static_cast<std::int64_t>(size);
    }
    if (is_wanted && written == 0) return wrong("holds '" + member_ + "', which is empty");
    return {};
  }

  Expected<void> write_out(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t wrote = ::write(fd_, bytes.data(), bytes.size());
      if (wrote < 0 && errno == EINTR) continue;
      if (wrote < 0) {
        return fail(ErrorKind::input, system_message("unpack", member_, errno),
                    "make room, or set XDG_CACHE_HOME to another place");
      }
      bytes.remove_prefix(static_cast<std::size_t>(wrote));
    }
    return {};
  }

  tl::unexpected<Error> wrong(const std::string& why) const {
    return fail(ErrorKind::input, "the archive " + why);
  }
  tl::unexpected<Error> too_large() const {
    return wrong("holds more than " + std::to_string(most_bytes_) + " bytes");
  }
  tl::unexpected<Error> unreadable() const {
    const char* const why = archive_error_string(reader_.get());
    return wrong("cannot be read: " + shown_text(why == nullptr ? "no reason given" : why));
  }

  const std::string& path_;
  const std::string member_;
  int fd_;
  std::uint64_t most_bytes_;
  const std::function<bool()>& cancelled_;
  std::unique_ptr<archive, ReaderDeleter> reader_;
  std::uint64_t total_ = 0;
  bool found_ = false;
  std::vector<std::string> seen_;
};

}  // namespace

Expected<void> unpack_member(const std::string& archive, const std::string& member, int fd,
                             std::uint64_t most_bytes, const std::function<bool()>& cancelled) {
  return Unpacking(archive, plain_path(member), fd, most_bytes, cancelled).run();
}

}  // namespace quietus

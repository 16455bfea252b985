#include "bootstrap/archive.hpp"

#include <archive.h>
#include <archive_entry.h>

#include <algorithm>
#include <random>
#include <stdexcept>

namespace bootstrap_tests {
namespace {

la_ssize_t collect(archive*, void* into, const void* bytes, std::size_t size) {
  static_cast<std::string*>(into)->append(static_cast<const char*>(bytes), size);
  return static_cast<la_ssize_t>(size);
}

void must(int code, archive* writer) {
  if (code < ARCHIVE_WARN) throw std::runtime_error(archive_error_string(writer));
}

void add(archive* writer, const Member& member) {
  archive_entry* const entry = archive_entry_new();
  archive_entry_set_pathname(entry, member.path.c_str());
  archive_entry_set_perm(entry, 0755);
  archive_entry_set_mtime(entry, 1'700'000'000, 0);
  const std::uint64_t size = member.zeros > 0 ? member.zeros : member.content.size();
  const bool is_file = member.kind == Member::Kind::file;
  archive_entry_set_size(entry, is_file ? static_cast<la_int64_t>(size) : 0);
  switch (member.kind) {
    case Member::Kind::file: archive_entry_set_filetype(entry, AE_IFREG); break;
    case Member::Kind::directory: archive_entry_set_filetype(entry, AE_IFDIR); break;
    case Member::Kind::device: archive_entry_set_filetype(entry, AE_IFCHR); break;
    case Member::Kind::symlink:
      archive_entry_set_filetype(entry, AE_IFLNK);
      archive_entry_set_symlink(entry, member.content.c_str());
      break;
    case Member::Kind::hardlink:
      archive_entry_set_filetype(entry, AE_IFREG);
      archive_entry_set_hardlink(entry, member.content.c_str());
      break;
  }
  must(archive_write_header(writer, entry), writer);
  if (is_file && member.zeros == 0) {
    archive_write_data(writer, member.content.data(), member.content.size());
  }
  const std::string zeros(std::size_t{1} << 20, '\0');
  for (std::uint64_t left = member.zeros; left > 0;) {
    const std::size_t piece = std::min<std::uint64_t>(left, zeros.size());
    archive_write_data(writer, zeros.data(), piece);
    left -= piece;
  }
  archive_entry_free(entry);
}

}  // namespace

std::string make_archive(const std::vector<Member>& members, Form form) {
  std::string bytes;
  archive* const writer = archive_write_new();
  if (form == Form::zip) {
    archive_write_set_format_zip(writer);
  } else {
    form == Form::tar_gz ? archive_write_add_filter_gzip(writer)
                         : archive_write_add_filter_xz(writer);
    archive_write_set_format_pax_restricted(writer);
    // Most of a test's own work would be a better one.
    (void)archive_write_set_filter_option(writer, nullptr, "compression-level", "1");
  }
  must(archive_write_open(writer, &bytes, nullptr, &collect, nullptr), writer);
  for (const Member& member : members) add(writer, member);
  must(archive_write_close(writer), writer);
  archive_write_free(writer);
  return bytes;
}

std::string noise(std::size_t size) {
  std::mt19937 random(5);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random());
  return bytes;
}

}  // namespace bootstrap_tests

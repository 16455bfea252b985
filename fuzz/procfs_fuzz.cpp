// Rows of /proc and /etc/passwd: the first byte says which. What is read prints back as the same.
//
// Module: kernel/procfs.cpp program/c_library.cpp
#include <algorithm>
#include <string>

#include "contract/decimal.hpp"
#include "kernel/procfs.hpp"
#include "paper_kernel.hpp"
#include "program/c_library.hpp"
#include "property.hpp"
#include "supervisor/launch.hpp"

using fuzz::require;
using namespace quietus::sys;
using quietus::decimal;

namespace {

#if defined(__x86_64__)
constexpr const char* kGlibcLoader = "/lib64/ld-linux-x86-64.so.2";
constexpr const char* kMuslLoader = "/lib/ld-musl-x86_64.so.1";
#else
constexpr const char* kGlibcLoader = "/lib/ld-linux-aarch64.so.1";
constexpr const char* kMuslLoader = "/lib/ld-musl-aarch64.so.1";
#endif

std::string printed(const StatRow& row) {
  return decimal(row.pid) + " (" + row.comm + ") " + row.state + ' ' + decimal(row.ppid) + ' ' +
         decimal(row.pgid) + ' ' + decimal(row.sid) + " 0 -1 0 0 0 0 0 " + decimal(row.cpu_ticks) +
         " 0 0 0 20 0 1 0 " + decimal(row.start_ticks) + " 0\n";
}

void check_stat(std::string_view bytes) {
  const auto row = parse_stat(bytes);
  if (!row) return;
  require(row->pid > 0, "a process has a number");
  require(bytes.find(row->comm) != bytes.npos, "the name stands in the row");
  const auto again = parse_stat(printed(*row));
  require(again.has_value(), "a row that is printed is a row");
  require(again->pid == row->pid && again->comm == row->comm && again->state == row->state &&
              again->ppid == row->ppid && again->pgid == row->pgid && again->sid == row->sid &&
              again->cpu_ticks == row->cpu_ticks && again->start_ticks == row->start_ticks,
          "and the same one");
}

void check_children(std::string_view bytes) {
  const auto pids = parse_children(bytes);
  std::string list;
  for (const int pid : pids) {
    require(pid > 0, "a child has a number");
    list += decimal(pid) + ' ';
  }
  require(parse_children(list) == pids, "the list reads back as the same");
}

void check_cgroup(std::string_view bytes) {
  const auto path = parse_cgroup_path(bytes);
  if (!path) return;
  require(path->starts_with('/') && path->find('\n') == path->npos, "a path, on its line");
}

void check_status(std::string_view bytes) {
  const auto size = parse_status_size(bytes, "VmRSS");
  require(!size || *size >= 0, "a size is not negative");
  if (const auto uid = parse_effective_uid(bytes)) {
    const std::string row = "Uid:\t7\t" + decimal(*uid) + "\t7\t7\n";
    require(parse_effective_uid(row) == uid, "an effective uid is the second of its row");
  }
}

void check_command_line(std::string_view bytes) {
  const std::size_t limit = bytes.size() / 2;
  const std::string text = printable_command_line(bytes, limit);
  require(text.size() <= limit + 3, "cut at its limit");
  require(text.find('\0') == text.npos, "no argument ends it early");
}

void check_passwd(std::string_view bytes) {
  const auto group = parse_primary_group(bytes, 1000);
  if (!group) return;
  const std::string row = "somebody:x:1000:" + decimal(*group) + ":::\n";
  require(parse_primary_group(row + std::string(bytes), 1000) == group, "the group of its row");
}

void check_marker(std::string_view bytes) {
  if (!quietus::carries_marker(bytes, "1.2")) return;
  require(bytes.find("QUIETUS_SESSION=") != bytes.npos, "a marker has its name");
  require(bytes.find("1.2") != bytes.npos, "and the number that was asked for");
}

void check_version(std::string_view version, std::string_view bytes) {
  require(version.empty() || bytes.find(version) != bytes.npos, "a version stands in the file");
  const auto text = [](char c) { return c >= ' ' && c <= '~'; };
  require(version.find('.') != version.npos || version.empty(), "and has two parts");
  require(version.empty() || text(version.front()), "that can be printed");
}

// Two loaders, a library and a shell, parted by 0x1f.
void check_libraries(fuzz::Input input) {
  fuzz::PaperKernel kernel;
  const std::string_view glibc = input.word('\x1f');
  const std::string_view musl = input.word('\x1f');
  if (!glibc.empty()) kernel.files[kGlibcLoader] = glibc;
  if (!musl.empty()) kernel.files[kMuslLoader] = musl;
  kernel.files["/lib64/libc.so.6"] = input.word('\x1f');
  kernel.files["/bin/sh"] = input.rest();
  quietus::CLibraries found;
  quietus::find_c_libraries(kernel, found);
  require(kernel.changes.empty(), "it only reads");
  for (const quietus::CLibrary& one : found) {
    if (one.name == nullptr) continue;
    require(kernel.files.contains(one.loader), "a library has its loader");
    require(one.name != std::string_view("unknown") || one.version[0] == 0,
            "what is not known has no version");
  }
  require(found[0].name != nullptr || (glibc.empty() && musl.empty()), "a loader is told");
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(fuzz::text_of(data, size));
  const char which = static_cast<char>(input.byte());
  const std::string_view bytes = input.rest();
  switch (which) {
    case 's': check_stat(bytes); break;
    case 'c': check_children(bytes); break;
    case 'g': check_cgroup(bytes); break;
    case 'u': check_status(bytes); break;
    case 'l': check_command_line(bytes); break;
    case 'p': check_passwd(bytes); break;
    case 'm': check_marker(bytes); break;
    case 'L': check_libraries(fuzz::Input(bytes)); break;
    case 'v':
      check_version(quietus::glibc_version(bytes), bytes);
      check_version(quietus::musl_version(bytes), bytes);
      break;
    default: break;
  }
  return 0;
}

// Rows of /proc, as bytes to values. Pure: the walk that reads them is in process_table.hpp.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace quietus::sys {

// proc_pid_stat(5), the fields that matter here.
struct StatRow {
  int pid = 0;
  std::string comm;
  char state = '?';
  int ppid = 0;
  int pgid = 0;
  int sid = 0;
  std::uint64_t cpu_ticks = 0;  // user and system
  std::uint64_t start_ticks = 0;
};

// The name is whatever the process wants it to be, parentheses and newlines included: the last ')'
// ends it.
std::optional<StatRow> parse_stat(std::string_view bytes);

// proc_pid_task(5) "children": pids separated by blanks. Numbers that do not parse end the list.
std::vector<int> parse_children(std::string_view bytes);

// proc_pid_cgroup(5): the path of the v2 hierarchy, "/user.slice/x", where there is one.
std::optional<std::string_view> parse_cgroup_path(std::string_view bytes);

// The effective uid from proc_pid_status(5).
std::optional<std::int64_t> parse_effective_uid(std::string_view bytes);

// A size in KiB from proc_pid_status(5): "VmRSS".
std::optional<std::int64_t> parse_status_size(std::string_view bytes, std::string_view name);

// proc_pid_cmdline(5) for people: arguments joined by blanks, cut at the limit.
std::string printable_command_line(std::string_view bytes, std::size_t limit);

// passwd(5): the primary group of a uid.
std::optional<unsigned> parse_primary_group(std::string_view passwd, unsigned uid);

}  // namespace quietus::sys

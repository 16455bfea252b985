#include "kernel/process_table.hpp"

#include <algorithm>

#include <fcntl.h>

#include "contract/decimal.hpp"
#include "kernel/directory.hpp"

namespace quietus::sys {
namespace {

constexpr std::size_t kStatLimit = 4096;
constexpr std::size_t kChildrenLimit = std::size_t{4} << 20;  // half a million pids
constexpr std::size_t kCommandLineLimit = 256;
constexpr int kHighestPid = 4194304;  // PID_MAX_LIMIT of 64-bit kernels
constexpr int kLooksPerClock = 256;   // how many cheap calls go between two looks at the clock

std::string proc_path(int pid, std::string_view file) {
  std::string path = "/proc/";
  append_decimal(path, pid);
  path += '/';
  path += file;
  return path;
}

bool exists(Gate& gate, int pid) {
  const auto asked = kill(gate, pid, 0);
  return asked || !gone(asked.error());
}

}  // namespace

bool proc_is_ours(Gate& gate, int self) {
  const auto target = read_link(gate, "/proc/self");
  return target && *target == decimal(self);
}

std::optional<StatRow> read_stat(Gate& gate, int pid) {
  const auto bytes = read_file(gate, proc_path(pid, "stat").c_str(), kStatLimit);
  return bytes ? parse_stat(*bytes) : std::nullopt;
}

Result<std::vector<int>> list_children(Gate& gate) {
  return read_file(gate, "/proc/thread-self/children", kChildrenLimit)
      .map([](const std::string& bytes) { return parse_children(bytes); });
}

Result<std::vector<StatRow>> scan_processes(Gate& gate, Moment until, bool* complete) {
  auto proc = open(gate, "/proc", O_RDONLY | O_DIRECTORY);
  if (!proc) return tl::unexpected(proc.error());
  std::vector<StatRow> rows;
  bool all = true;
  bool saw_init = false;
  const auto listed = for_each_number(gate, proc->get(), [&](int pid) {
    auto row = read_stat(gate, pid);
    if (row) {
      saw_init |= pid == 1;
      rows.push_back(std::move(*row));
    } else if (complete != nullptr && exists(gate, pid)) {
      all = false;
    }
    if (rows.size() % 64 != 0 || now(gate, until) < until) return true;
    return all = false;
  });
  if (!listed) return tl::unexpected(listed.error());
  if (complete != nullptr) *complete = all && saw_init;
  return rows;
}

std::vector<int> probe_children(Gate& gate, int from, int count, Moment until) {
  std::vector<int> found;
  for (int step = 0; step < std::min(count, kHighestPid); ++step) {
    const int pid = (from + step - 1) % kHighestPid + 1;
    if (wait_for_exit(gate, pid, Peek::yes)) found.push_back(pid);
    if (step % kLooksPerClock == 0 && now(gate, until) >= until) break;
  }
  return found;
}

std::vector<StatRow> descendants_of(int root, const std::vector<StatRow>& rows) {
  // (ppid, row) as one number, sorted by heap: the smallest code that is fast enough.
  std::vector<std::uint64_t> by_parent;
  by_parent.reserve(rows.size());
  for (std::size_t at = 0; at < rows.size(); ++at) {
    by_parent.push_back(static_cast<std::uint64_t>(rows[at].ppid) << 32 | at);
  }
  std::make_heap(by_parent.begin(), by_parent.end());
  std::sort_heap(by_parent.begin(), by_parent.end());

  std::vector<int> family{root};
  std::vector<StatRow> found;
  // The rows were read one after the other: numbers used again in between could form a ring, so no
  // more members than rows.
  for (std::size_t at = 0; at < family.size() && family.size() <= rows.size(); ++at) {
    const auto parent = static_cast<std::uint64_t>(family[at]);
    auto key = std::lower_bound(by_parent.begin(), by_parent.end(), parent << 32);
    for (; key != by_parent.end() && *key >> 32 == parent; ++key) {
      const StatRow& row = rows[*key & 0xFFFFFFFF];
      if (row.pid == root) continue;
      family.push_back(row.pid);
      found.push_back(row);
    }
  }
  return found;
}

Process describe(Gate& gate, const StatRow& row) {
  Process process;
  process.pid = row.pid;
  process.ppid = row.ppid;
  process.pgid = row.pgid;
  process.sid = row.sid;
  process.state = row.state;
  process.start_ticks = row.start_ticks;
  process.comm = row.comm;
  process.cpu = std::chrono::milliseconds(10) * row.cpu_ticks;  // USER_HZ is 100
  if (const auto status = read_file(gate, proc_path(row.pid, "status").c_str(), kStatLimit)) {
    process.uid = parse_effective_uid(*status).value_or(-1);
    process.rss_kib = parse_status_size(*status, "VmRSS").value_or(0);
  }
  const auto line = read_file(gate, proc_path(row.pid, "cmdline").c_str(), kCommandLineLimit + 1);
  if (line) process.command_line = printable_command_line(*line, kCommandLineLimit);
  return process;
}

}  // namespace quietus::sys

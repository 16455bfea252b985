// What `quietus status --json` and a harness say of running processes. Pure. All of it is for
// people: no pid here is ever signalled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "contract/receipt.hpp"
#include "quietus/error.hpp"

namespace quietus {

enum class SessionPhase { fresh, fenced, running, stopping, done, lost };
// "new", "fenced", ...: the words of quietus status.
std::string_view name(SessionPhase phase);

struct SessionProcess {
  int pid = 0;
  int ppid = 0;
  std::string state;  // a letter of proc_pid_stat(5)
  std::string comm;
  std::string command_line;
  double cpu_seconds = 0;
  std::int64_t rss_kib = 0;
};

struct SessionStatus {
  SessionPhase phase = SessionPhase::fresh;
  std::optional<double> age_seconds;       // since the claim
  std::optional<double> deadline_seconds;  // until the deadline
  std::optional<bool> cleanup_confirmed;   // where a receipt stands
  std::vector<SessionProcess> processes;   // ours and the command's, parents first
};

// Unknown keys are skipped; a missing or wrong one is an error (sandbox).
Expected<SessionStatus> parse_session_status(std::string_view json);

// What a harness may say of itself: {"hostname": ..., "pid": ..., "python": ...}.
struct ProcessInfo {
  std::string hostname;
  std::int64_t pid = 0;
  std::optional<std::string> python;
};
// Strict: exactly these keys (python may be missing or null), with exactly these types; else none.
std::optional<ProcessInfo> parse_process_info(std::string_view json);

}  // namespace quietus

// What the ledger knows of one session: enough to end and release it without its controller.
// Pure. An entry is read back without trust, because what it names is stopped and removed.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "quietus/error.hpp"

namespace quietus::cli {

struct LedgerEntry {
  std::string id;            // 32 hexadecimal digits, also in the directory's name
  std::string sandbox;       // as on the command line
  std::string reach = {};    // the sandbox that was made, by its own name; empty: none, or not yet
  bool owned = false;        // the sandbox was made for it, and ends with it
  std::string directory;     // of the session, inside
  std::string command = {};  // the program alone: its arguments may hold secrets
  std::string into = {};     // where artifacts go; empty: nowhere
  std::map<std::string, std::vector<std::string>, std::less<>> programs = {};
  // Who wrote it; for people, since the lock tells whether he lives.
  int pid = 0;
  std::uint64_t start_ticks = 0;
  std::string boot_id = {};
  std::int64_t created = 0;  // seconds since 1970
};

// 32 hexadecimal digits.
bool is_session_id(std::string_view text);

// The last part of a session directory's name; empty: this is none of ours.
std::string_view id_of_directory(std::string_view directory);
// As much of an id as people are shown.
inline constexpr std::size_t kShownId = 8;

std::string ledger_json(const LedgerEntry& entry);
// The error (input) says what is wrong with it.
Expected<LedgerEntry> parse_ledger_entry(std::string_view json);

}  // namespace quietus::cli

// The one table of options, and that of verbs: the parser, the help texts, the lists of the manual
// and the completions come from them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace quietus {

enum class OptionId {
  timeout,
  cleanup_timeout,
  receipt,
  report,
  stop_file,
  expire_file,
  preserve,
  signal,
  signal_group,
  descendants,
  shield,
  isolate,
  no_new_privs,
  die_with_parent,
  output,
  output_limit,
  chdir,
  setenv,
  unset,
  clear_env,
  rlimit,
  user,
  sync,
  quiet,
  verbose,
  session,
  legacy_names,
  detach,
  lease,
  command_fd,
  now,
  json,
  help,
};

enum class Takes { nothing, value, optional_value };

// Which verbs an option goes with.
enum VerbSet : unsigned {
  kBare = 1,
  kRun = 2,
  kLaunch = 4,
  kStop = 8,
  kWait = 16,
  kStatus = 32,
  kOtherSession = 64,  // create, expire, renew, remove
  kProbe = 128,
  kDoctor = 256,
  kCommands = kBare | kRun | kLaunch,
  kRecords = kBare | kRun,  // what a session puts into its directory
  kSessions = kLaunch | kStop | kWait | kStatus | kOtherSession,
  kAll = 511,
};

struct OptionSpec {
  OptionId id;
  std::string_view name;  // without the dashes
  char letter;            // 0: none
  Takes takes;
  std::string_view value;  // how help calls it
  std::string_view help;   // lines separated by '\n'
  unsigned verbs = kCommands;
  std::string_view alias = {};
};

std::span<const OptionSpec> option_table();

struct VerbSpec {
  std::string_view word;
  unsigned bit;
  const char* usage;
  const char* about;
  const char* codes;  // the text on exit codes; may be empty
};

std::span<const VerbSpec> verb_table();

}  // namespace quietus

// The one table of options and the one of verbs: the parser and the help texts come from them.
#pragma once

#include <span>
#include <string_view>

namespace quietus::cli {

enum class Verb {
  run,
  batch,
  exec,
  put,
  get,
  stop,
  status,
  list,
  gc,
  receipt,
  doctor,
  bootstrap,
  cache,
  config,
  version,
  help,
};

// Which verbs an option goes with.
constexpr unsigned bit(Verb verb) { return 1u << static_cast<unsigned>(verb); }

enum class OptionId {
  sandbox,
  adapter,
  parameter,
  input,
  timeout,
  close_timeout,
  collect,
  into,
  max_artifact,
  output_limit,
  workdir,
  setenv,
  user,
  shield,
  session_parent,
  payload,
  program,
  create_option,
  parallel,
  follow,
  now,
  dry_run,
  print_path,
  directory,
  allow_unverified,
  all,
  forget,
  origin,
  json,
  quiet,
  verbose,
  help,
};

enum class Takes { nothing, value };

struct OptionSpec {
  OptionId id;
  std::string_view name;  // without the dashes
  char letter;            // 0: none
  Takes takes;
  std::string_view value;  // how help calls it
  std::string_view help;   // lines separated by '\n'
  unsigned verbs;
};
std::span<const OptionSpec> option_table();

// How many words may stand behind the options; a command takes all that follows.
inline constexpr int kCommand = -1;

struct VerbSpec {
  Verb verb;
  std::string_view word;
  int fewest;
  int most;
  std::string_view usage;  // behind the word
  std::string_view about;
  std::string_view codes;  // the text on exit codes; may be empty
};
std::span<const VerbSpec> verb_table();
const VerbSpec& spec_of(Verb verb);

}  // namespace quietus::cli

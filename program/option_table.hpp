// The one table of options: the parser, the help texts and (later) manual and completions come from
// it.
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
  help,
};

enum class Takes { nothing, value, optional_value };

struct OptionSpec {
  OptionId id;
  std::string_view name;   // without the dashes
  char letter;             // 0: none
  Takes takes;
  std::string_view value;  // how help calls it
  std::string_view help;   // lines separated by '\n'
  std::string_view alias = {};
};

std::span<const OptionSpec> option_table();

}  // namespace quietus

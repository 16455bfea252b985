// argv to what shall be done. Pure. What can be set once for all comes out as a layer of settings.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/option_table.hpp"
#include "cli/settings.hpp"
#include "cli/values.hpp"

namespace quietus::cli {

enum class Verbosity { quiet, normal, verbose };

struct CommandLine {
  Verb verb = Verb::help;
  Layer settings;
  std::vector<std::string> words;  // the command, or the verb's own words
  std::string help_for;            // help: the verb; empty: the program

  std::string adapter;
  std::vector<std::pair<std::string, std::string>> parameters;
  std::string input;
  std::vector<std::string> globs;
  std::string into;
  std::string workdir;
  std::vector<std::pair<std::string, std::string>> environment;
  std::string user;
  std::string forget;
  bool follow = false;
  bool now = false;
  std::vector<std::string> directories;
  bool dry_run = false;
  bool print_path = false;
  bool allow_unverified = false;
  bool all = false;
  bool origin = false;
  bool json = false;
  Verbosity verbosity = Verbosity::normal;
};

tl::expected<CommandLine, UsageError> parse_command_line(std::span<const std::string_view> words,
                                                         const Lookup& environment);

}  // namespace quietus::cli

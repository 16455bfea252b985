// argv and environment to a command. Pure: no I/O, no exit.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "supervisor/options.hpp"

namespace quietus {

struct CommandLine {
  enum class Verb { supervise, help, run_help, version, version_json };
  Verb verb = Verb::supervise;
  Options options;  // of supervise
};

// One line for stderr, without the program's name: option, value and rule.
struct UsageError {
  std::string text;
};

// `arguments` without argv[0]; `environment` as NAME=VALUE.
tl::expected<CommandLine, UsageError> parse_command_line(
    std::span<const std::string_view> arguments, std::span<const std::string_view> environment);

}  // namespace quietus

// argv and environment to a command. Pure: no I/O, no exit.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tl/expected.hpp>

#include "session/requests.hpp"
#include "supervisor/options.hpp"

namespace quietus {

struct CommandLine {
  enum class Verb {
    supervise,  // bare form and run
    launch,
    stop,
    wait,
    status,
    create,
    expire,
    renew,
    remove,
    probe,
    doctor,
    help,
    version,
    version_json,
  };
  Verb verb = Verb::supervise;
  Options options;         // of supervise and launch
  SessionRequest session;  // of the session's verbs
  bool detach = false;     // launch
  std::optional<int> command_fd;
  std::string_view help_for;  // help: the verb's word; empty: the program
};

// One line for stderr, without the program's name: option, value and rule.
struct UsageError {
  std::string text;
};

// `arguments` without argv[0]; `environment` as NAME=VALUE.
tl::expected<CommandLine, UsageError> parse_command_line(
    std::span<const std::string_view> arguments, std::span<const std::string_view> environment);

}  // namespace quietus

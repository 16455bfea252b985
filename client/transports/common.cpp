#include "client/transports/common.hpp"

#include <algorithm>

namespace quietus::transports {

Words program(const TransportOptions& options, std::string_view tool) {
  const auto found = options.programs.find(tool);
  return found == options.programs.end() ? Words{std::string(tool)} : found->second;
}

Words operator+(Words left, const Words& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

std::string assignment(const EnvironmentEntry& entry) { return entry.first + '=' + entry.second; }

Words with_environment(const InsideCommand& command) {
  Words words;
  // The path travels as an argument, so that no character of it means anything to the shell.
  if (!command.cwd.empty()) {
    words = {"sh", "-c", R"(cd -- "$1" && shift && exec "$@")", "sh", command.cwd};
  }
  if (!command.environment.empty()) {
    words.emplace_back("env");
    for (const EnvironmentEntry& entry : command.environment) words.push_back(assignment(entry));
  }
  return words + command.argv;
}

tl::unexpected<Error> cannot_change_user(std::string_view transport, std::string_view instead) {
  return fail(ErrorKind::input,
              "the " + std::string(transport) + " transport cannot change the user of a command",
              std::string(instead));
}

std::string first_line(std::string_view text) {
  const std::size_t begin = text.find_first_not_of("\r\n");
  if (begin == std::string_view::npos) return {};
  text.remove_prefix(begin);
  return std::string(text.substr(0, text.find_first_of("\r\n")));
}

std::string error_line(std::string_view text) {
  std::string found;
  bool is_error = false;
  while (!text.empty()) {
    const std::string line = first_line(text);
    const bool says_error = line.starts_with("Error") || line.starts_with("error");
    if (!line.empty() && (says_error || !is_error)) found = line;
    is_error = is_error || says_error;
    text.remove_prefix(std::min(text.find_first_of("\r\n"), text.size()));
    text.remove_prefix(std::min(text.find_first_not_of("\r\n"), text.size()));
  }
  return found;
}

}  // namespace quietus::transports

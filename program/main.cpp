// quietus: argv -> options -> verb -> exit code.
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "contract/exit_code.hpp"
#include "kernel/calls.hpp"
#include "program/command_line.hpp"
#include "program/help.hpp"
#include "supervisor/guardian.hpp"

namespace {

using namespace quietus;

std::vector<std::string_view> words(char** list) {
  std::vector<std::string_view> out;
  for (; *list != nullptr; ++list) out.emplace_back(*list);
  return out;
}

// A worker that looks for processes by their command line must not find us by its own words. What
// is needed was copied; the kernel shows what stands where argv stood.
void hide_arguments(int argc, char** argv) {
  constexpr std::string_view kShown = "quietus";
  char* const begin = argv[0];
  char* const last = argv[argc - 1];
  const std::size_t room = static_cast<std::size_t>(last + std::strlen(last) - begin);
  std::memset(begin, 0, room);
  std::memcpy(begin, kShown.data(), std::min(room, kShown.size()));
}

int print(sys::Gate& gate, int fd, std::string_view text, int exit_code) {
  return sys::write_all(gate, fd, text) ? exit_code : kExitTrouble;
}

}  // namespace

int main(int argc, char** argv, char** envp) {
  sys::Gate gate;
  const int parent = sys::parent_pid(gate).value_or(0);
  if (argc < 1) return kExitUsage;
  const auto line = parse_command_line(words(argv + 1), words(envp));
  if (!line) return print(gate, 2, "quietus: " + line.error().text + '\n', kExitUsage);
  switch (line->verb) {
    case CommandLine::Verb::help: return print(gate, 1, help_text(), kExitSuccess);
    case CommandLine::Verb::run_help: return print(gate, 1, run_help_text(), kExitSuccess);
    case CommandLine::Verb::version: return print(gate, 1, version_text(), kExitSuccess);
    case CommandLine::Verb::version_json: return print(gate, 1, version_json(), kExitSuccess);
    case CommandLine::Verb::supervise: break;
  }
  hide_arguments(argc, argv);
  settle_descriptors(gate);
  return supervise(gate, with_absolute_paths(gate, line->options), parent);
}

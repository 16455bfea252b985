// quietus: argv -> options -> verb -> exit code.
#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "contract/exit_code.hpp"
#include "kernel/calls.hpp"
#include "program/command_line.hpp"
#include "program/doctor.hpp"
#include "program/help.hpp"
#include "program/probe.hpp"
#include "session/command_record.hpp"
#include "session/verbs.hpp"
#include "supervisor/descriptors.hpp"
#include "supervisor/guardian.hpp"
#include "supervisor/launch.hpp"

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
  return sys::write_all(gate, fd, text) ? exit_code : static_cast<int>(kExitTrouble);
}

int launch(sys::Gate& gate, CommandLine& line, int parent) {
  if (line.command_fd) {
    auto record = read_command_record(gate, *line.command_fd);
    if (!record) {
      const std::string text = "quietus: argument --command-fd: " + record.error() + '\n';
      return print(gate, 2, text, kExitUsage);
    }
    line.options.worker.argv = std::move(record->argv);
    const std::string outer = take_marker(record->environment);
    if (!outer.empty()) line.options.worker.outer_marker = outer;
    line.options.worker.environment = std::move(record->environment);
  }
  settle_descriptors(gate);
  return launch_session(gate, {line.session, line.options, line.detach}, parent);
}

int perform(sys::Gate& gate, CommandLine& line, int parent) {
  using Verb = CommandLine::Verb;
  switch (line.verb) {
    case Verb::supervise:
      settle_descriptors(gate);
      return supervise(gate, with_absolute_paths(gate, line.options), parent);
    case Verb::launch: return launch(gate, line, parent);
    case Verb::stop: return stop_session(gate, line.session);
    case Verb::wait: return wait_for_session(gate, line.session);
    case Verb::status: return show_session(gate, line.session);
    case Verb::create: return create_session(gate, line.session);
    case Verb::expire: return expire_session(gate, line.session);
    case Verb::renew: return renew_session(gate, line.session);
    case Verb::remove: return remove_session(gate, line.session);
    case Verb::probe: return probe(gate, line.session.json);
    case Verb::doctor: return doctor(gate);
    case Verb::help: return print(gate, 1, help_text(line.help_for), kExitSuccess);
    case Verb::version: return print(gate, 1, version_text(), kExitSuccess);
    case Verb::version_json: return print(gate, 1, version_json(), kExitSuccess);
  }
  return kExitUsage;
}

}  // namespace

int main(int argc, char** argv, char** envp) {
  if (argc < 1) return kExitUsage;
  sys::Gate gate;
  const int parent = sys::parent_pid(gate).value_or(0);
  auto line = parse_command_line(words(argv + 1), words(envp));
  if (!line) return print(gate, 2, "quietus: " + line.error().text + '\n', kExitUsage);
  hide_arguments(argc, argv);
  return perform(gate, *line, parent);
}

// quietusctl: argv -> options -> verb -> exit code.
#include <sys/utsname.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/command_line.hpp"
#include "cli/help.hpp"
#include "cli/read_file.hpp"
#include "cli/verbs.hpp"
#include "contract/exit_code.hpp"

namespace {

using namespace quietus;
using namespace quietus::cli;

constexpr std::size_t kMostConfig = std::size_t{1} << 20;

std::optional<std::string> variable(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

tl::expected<Layer, UsageError> read_config() {
  const std::string path = config_path(variable);
  std::error_code error;
  if (path.empty() || !std::filesystem::exists(path, error)) return Layer{};
  const auto text = read_file(path, kMostConfig);
  if (!text) return tl::unexpected(UsageError{text.error().text()});
  return parse_config(*text, path);
}

bool has(unsigned verbs, Verb verb) { return (verbs & bit(verb)) != 0; }

constexpr unsigned kNeedsSandbox = bit(Verb::run) | bit(Verb::exec) | bit(Verb::put) |
                                   bit(Verb::get) | bit(Verb::doctor) | bit(Verb::bootstrap);
constexpr unsigned kNeedsPayload =
    kNeedsSandbox | bit(Verb::batch) | bit(Verb::stop) | bit(Verb::status) | bit(Verb::gc);

BootstrapOptions bootstrap_options() {
  BootstrapOptions options;
  options.fetch.cache =
      cache_directory(variable("XDG_CACHE_HOME").value_or(""), variable("HOME").value_or(""));
  options.fetch.mirror = variable("QUIETUS_MIRROR").value_or("");
  options.fetch.netrc = variable("NETRC").value_or("");
  // As curl(1) has them.
  for (const char* const name : {"CURL_CA_BUNDLE", "SSL_CERT_FILE"}) {
    if (options.fetch.ca_bundle.empty()) options.fetch.ca_bundle = variable(name).value_or("");
  }
  return options;
}

// Its path, if there is one; else what was said already.
Expected<std::string> build_for_this_machine(const std::vector<LocalProgram>& builds,
                                             Expected<std::string> otherwise) {
  utsname host{};
  if (uname(&host) != 0) return otherwise;
  for (const LocalProgram& build : builds) {
    if (build.machine == host.machine) return build.path;
  }
  return otherwise;
}

int usage(Screen& screen, const std::string& text) {
  screen.error(text);
  return kExitUsage;
}

int dispatch(const CommandLine& line, const Services& services, Screen& screen) {
  switch (line.verb) {
    case Verb::run: return run_verb(line, services, screen);
    case Verb::batch: return batch_verb(line, services, screen);
    case Verb::exec: return exec_verb(line, services, screen);
    case Verb::put: return put_verb(line, services, screen);
    case Verb::get: return get_verb(line, services, screen);
    case Verb::doctor: return doctor_verb(line, services, screen);
    case Verb::bootstrap: return bootstrap_verb(line, services, screen);
    case Verb::cache: return cache_verb(line, services, screen);
    case Verb::stop: return stop_verb(line, services, screen);
    case Verb::status: return status_verb(line, services, screen);
    case Verb::list: return list_verb(line, services, screen);
    case Verb::gc: return gc_verb(line, services, screen);
    default: return kExitUsage;
  }
}

int perform(const CommandLine& line, Screen& screen) {
  if (line.verb == Verb::help) {
    screen.out(help_text(line.help_for));
    return kExitSuccess;
  }
  if (line.verb == Verb::version) return version_verb(screen);
  if (line.verb == Verb::receipt) return receipt_verb(line, screen);
  const auto file = read_config();
  if (!file) return usage(screen, file.error().text);
  const Layer layer = resolve(line.settings, variable, *file);
  auto settings = checked(layer);
  if (!settings) return usage(screen, settings.error().text);
  if (line.verb == Verb::config) return config_verb(line, layer, screen);

  if (has(kNeedsSandbox, line.verb)) {
    if (settings->sandboxes.empty()) {
      return usage(screen,
                   "argument --sandbox: is needed (or QUIETUS_SANDBOX, or sandbox in "
                   "config.toml; see quietusctl help sandboxes)");
    }
    for (const std::string& name : settings->sandboxes) {
      const auto transport = transport_from_name(name, {.programs = settings->programs});
      if (transport) continue;
      return usage(screen, layer.find("sandbox")->second.origin + ": " + transport.error().message +
                               " (see quietusctl help sandboxes)");
    }
  }
  Services services{.settings = std::move(*settings),
                    .ledger = Ledger(ledger_directory(variable)),
                    .payload = {},
                    .source = {},
                    .bootstrap = bootstrap_options(),
                    .manifest_folders = {}};
  const std::string config = config_path(variable);
  if (!config.empty()) {
    services.manifest_folders.push_back(config.substr(0, config.rfind('/')) + "/tools");
  }
  // Installed beside us, and where we were built to be installed.
  std::error_code no_path;
  const auto folder = std::filesystem::canonical("/proc/self/exe", no_path).parent_path();
  const std::string beside = (folder / "../share/quietus/tools").lexically_normal().string();
  const std::string built = QUIETUS_DATA_DIR "/tools";
  if (!no_path && beside != built) services.manifest_folders.push_back(beside);
  services.manifest_folders.push_back(built);
  if (has(kNeedsPayload, line.verb)) {
    const bool named = !services.settings.payload.empty();
    const PayloadSearch search{.explicit_path = services.settings.payload,
                               .executable = "/proc/self/exe"};
    auto payload = find_payload(search);
    auto builds = find_supervisors(search);
    // An installation may have nothing but the builds that it lists.
    if (!payload && builds) payload = build_for_this_machine(*builds, std::move(payload));
    const bool is_bootstrap = line.verb == Verb::bootstrap;
    if (!payload || (is_bootstrap && !builds)) {
      // A build that is there and is not what it should be says more than one that is missing.
      const bool by_builds = !builds && (payload || !named);
      const Error& error = by_builds ? builds.error() : payload.error();
      screen.error((named ? layer.find("payload")->second.origin + ": " : std::string()) +
                   error.text());
      return named ? kExitUsage : kExitFailed;
    }
    services.payload = *payload;
    // Of those for other machines there may be none: then the usual one has to do.
    if (builds) services.bootstrap.supervisors = std::move(*builds);
    services.source =
        named ? payload_file(*payload) : bootstrap_payload(*payload, services.bootstrap);
  }
  return dispatch(line, services, screen);
}

}  // namespace

int main(int argc, char** argv) {
  // A reader that goes away is an error of writing: whoever is at work ends in order.
  std::signal(SIGPIPE, SIG_IGN);
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  const auto line = parse_command_line(words, variable);
  if (!line) {
    Screen screen({});
    return usage(screen, line.error().text);
  }
  const auto no_color = variable("NO_COLOR");
  Screen screen({.verbosity = line->verbosity,
                 .json = line->json,
                 .no_color = no_color && !no_color->empty()});
  const int code = perform(*line, screen);
  // Where nobody reads any more, a stop was ours.
  const bool is_ours = code == kExitSuccess || code == kExitStopped;
  return is_ours && screen.broken() ? kExitFailed : code;
}

// An adapter file, read. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/adapters/placeholders.hpp"
#include "client/adapters/results.hpp"
#include "contract/time.hpp"
#include "quietus/adapter.hpp"

namespace quietus::adapters {

using TextEntry = std::pair<std::string, Text>;

struct CommandSpec {
  std::vector<Text> argv = {};
  std::optional<Text> shell = {};  // instead of argv
};

struct InstallSpec {
  CommandSpec check;
  CommandSpec run;
  std::optional<Text> cwd = {};
  std::vector<TextEntry> environment = {};
  Span timeout = std::chrono::minutes(10);
};

struct FileSpec {
  std::optional<Text> from = {};  // one of the two
  std::optional<Text> text = {};
  Text to;
  std::optional<unsigned> mode = {};
};

struct ArtifactSpec {
  Text glob;
  Artifact limits = {};  // all but its glob
};

enum class ResultFormat { exit_code, text, json, json_lines };

struct ResultSpec {
  ResultFormat format = ResultFormat::exit_code;
  std::optional<Text> file = {};  // none: output.log
  Pointer value = {};
  std::vector<Condition> conditions = {};
  std::uint64_t most_bytes = std::uint64_t{16} << 20;
};

struct ArgvWord {
  Text text;
  bool is_arguments = false;  // {arguments}
};

struct AdapterSpec {
  std::string folder;  // relative paths of this machine start here
  std::string name;
  std::string description = {};
  std::vector<AdapterParameter> parameters = {};
  // What the default values say, beside each parameter.
  std::vector<std::optional<Text>> defaults = {};
  std::vector<InstallSpec> install = {};
  std::vector<FileSpec> files = {};
  std::vector<ArgvWord> argv = {};
  std::vector<TextEntry> environment = {};
  std::vector<ArtifactSpec> artifacts = {};
  ResultSpec result = {};

  // Whether any text of stage(), or of collect(), has the placeholder.
  [[nodiscard]] bool stage_uses(Source source) const;
  [[nodiscard]] bool collect_uses(Source source) const;
};

// The error (input) is "FILE:LINE: KEY = VALUE: RULE", of the first that is wrong.
Expected<AdapterSpec> parse_spec(std::string_view toml, std::string_view file);

// What to launch. Refuses arguments that no {arguments} takes.
Expected<SessionCommand> build_command(const AdapterSpec& spec, const AdapterRun& run,
                                       const Values& values);

// A relative path inside, and nothing that it could start from.
Error no_workdir(std::string_view path);

// Where paths inside go: a relative one starts from {workdir}. The error (input) is the rule.
Expected<std::string> inside_path(const Text& text, const Values& values);

// Fills in the parameters of a run: set, from this machine's environment, or by default. The error
// (input) names the one that nobody declared, or the one that is missing.
Expected<void> resolve_parameters(const AdapterSpec& spec, const AdapterRun& run, Values& values);
// Whether a default value with the placeholder would be used.
bool defaults_use(const AdapterSpec& spec, const AdapterRun& run, Source source);

}  // namespace quietus::adapters

// What can be set once for all, and where each value came from: an option, else a variable, else
// the configuration file, else our default. Pure: main hands in the environment and the file.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/option_table.hpp"
#include "cli/values.hpp"
#include "contract/time.hpp"
#include "quietus/session.hpp"

namespace quietus::cli {

struct SettingSpec {
  OptionId option;
  std::string_view key;       // in the file
  std::string_view variable;  // in the environment
  std::string_view fallback;  // empty: none
  bool list;                  // more than one word: an array in the file, blanks in the variable
};
std::span<const SettingSpec> setting_table();

// The tools that `program` can replace, as the transports know them.
std::span<const std::string_view> tool_table();

struct Setting {
  std::vector<std::string> words;
  std::string origin;  // "argument --timeout", "QUIETUS_TIMEOUT", "FILE:3: timeout", "default"
};

// By key; a program's key is "program.TOOL".
using Layer = std::map<std::string, Setting, std::less<>>;
using Lookup = std::function<std::optional<std::string>(std::string_view)>;

// A configuration file's text. `file` is its name in errors and origins.
tl::expected<Layer, UsageError> parse_config(std::string_view toml, std::string_view file);

// XDG_CONFIG_HOME/quietus/config.toml, else HOME/.config/...; empty without either.
std::string config_path(const Lookup& environment);

// Everything that was set, the strongest first.
Layer resolve(const Layer& options, const Lookup& environment, const Layer& file);

// The same with its types.
struct Settings {
  std::vector<std::string> sandboxes;
  Span timeout = kForever;
  Span close_timeout{};
  std::uint64_t max_artifact = 0;
  std::uint64_t output_limit = 0;
  Shield shield = Shield::by_ownership;
  std::string session_parent;
  std::string payload;  // empty: looked for
  std::map<std::string, std::vector<std::string>, std::less<>> programs;
  std::vector<std::string> create_options;
  int parallel = 1;
};
tl::expected<Settings, UsageError> checked(const Layer& layer);

}  // namespace quietus::cli

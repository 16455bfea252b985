#include "cli/settings.hpp"

#include <algorithm>

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

#include "contract/decimal.hpp"
#include "contract/duration.hpp"
#include "quietus/toml_fault.hpp"

namespace quietus::cli {
namespace {

constexpr SettingSpec kSettings[] = {
    {OptionId::sandbox, "sandbox", "QUIETUS_SANDBOX", {}, false},
    {OptionId::timeout, "timeout", "QUIETUS_TIMEOUT", {}, false},
    {OptionId::close_timeout, "close_timeout", "QUIETUS_CLOSE_TIMEOUT", "30s", false},
    {OptionId::max_artifact, "max_artifact", "QUIETUS_MAX_ARTIFACT", "1GiB", false},
    {OptionId::output_limit, "output_limit", "QUIETUS_OUTPUT_LIMIT", "64MiB", false},
    {OptionId::shield, "shield", "QUIETUS_SHIELD", "auto", false},
    {OptionId::session_parent, "session_parent", "QUIETUS_SESSION_PARENT", "/tmp", false},
    {OptionId::payload, "payload", "QUIETUS_PAYLOAD", {}, false},
    {OptionId::create_option, "create_options", "QUIETUS_CREATE_OPTIONS", {}, true},
    {OptionId::parallel, "parallel", "QUIETUS_PARALLEL", "8", false},
};

constexpr std::string_view kTools[] = {"docker", "podman",  "ssh",    "bwrap",   "srun",
                                       "salloc", "scancel", "squeue", "kubectl", "apptainer"};

constexpr std::string_view kProgramKey = "program.";

std::string program_variable(std::string_view tool) {
  std::string name = "QUIETUS_PROGRAM_";
  for (const char c : tool) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

bool is_tool(std::string_view name) { return std::ranges::find(kTools, name) != std::end(kTools); }

const SettingSpec* spec_of_key(std::string_view key) {
  const auto* found =
      std::ranges::find_if(kSettings, [&](const SettingSpec& spec) { return spec.key == key; });
  return found == std::end(kSettings) ? nullptr : found;
}

class FileReader {
 public:
  explicit FileReader(std::string_view file) : file_(file) {}

  tl::expected<Layer, UsageError> read(const toml::table& table) {
    for (const auto& [key, node] : table) {
      const std::string name(key.str());
      if (name == "program") {
        read_programs(node);
      } else if (const SettingSpec* spec = spec_of_key(name)) {
        take(name, name, node, spec->list);
      } else {
        refuse(node, "there is no setting " + shown_value(name));
      }
    }
    if (error_) return tl::unexpected(*error_);
    return std::move(layer_);
  }

 private:
  std::string place(const toml::node& node) const {
    return file_ + ':' + decimal(node.source().begin.line);
  }

  void refuse(const toml::node& node, std::string what) {
    if (!error_) error_ = UsageError{place(node) + ": " + std::move(what)};
  }

  void read_programs(const toml::node& node) {
    const toml::table* table = node.as_table();
    if (table == nullptr) return refuse(node, "program must be a table");
    for (const auto& [key, value] : *table) {
      const std::string tool(key.str());
      if (!is_tool(tool)) {
        refuse(value, "program: there is no tool " + shown_value(tool));
      } else {
        take(std::string(kProgramKey) + tool, tool, value, true);
      }
    }
  }

  void take(const std::string& key, const std::string& shown, const toml::node& node, bool list) {
    Setting setting{.words = {}, .origin = place(node) + ": " + shown};
    if (const toml::array* array = node.as_array(); array != nullptr && list) {
      for (const toml::node& element : *array) {
        const auto word = element.value_exact<std::string>();
        if (!word) return refuse(element, shown + " must hold texts only");
        setting.words.push_back(*word);
      }
    } else if (const auto text = node.value_exact<std::string>()) {
      setting.words = list ? split_words(*text) : std::vector{*text};
    } else if (const auto number = node.value_exact<std::int64_t>(); number && !list) {
      setting.words = {decimal(*number)};
    } else {
      return refuse(node, shown + (list ? " must be a text or an array of texts"
                                        : " must be a text or a whole number"));
    }
    layer_[key] = std::move(setting);
  }

  std::string file_;
  Layer layer_;
  std::optional<UsageError> error_;
};

// A value and where it came from, for typed reading.
class Checker {
 public:
  explicit Checker(const Layer& layer) : layer_(layer) {}

  template <class T, class Parse>
  void read(std::string_view key, T& into, Parse parse) {
    const auto found = layer_.find(key);
    if (found == layer_.end() || error_) return;
    for (const std::string& word : found->second.words) {
      const auto value = parse(word);
      if (!value) {
        error_ = broken(found->second.origin, word, value.error());
        return;
      }
      if constexpr (requires { into.push_back(*value); } && !std::is_same_v<T, std::string>) {
        into.push_back(*value);
      } else {
        into = *value;
      }
    }
  }

  const std::optional<UsageError>& error() const { return error_; }
  void fail(UsageError error) {
    if (!error_) error_ = std::move(error);
  }

 private:
  const Layer& layer_;
  std::optional<UsageError> error_;
};

using Text = Parsed<std::string>;

Text non_empty(std::string_view text, std::string_view rule) {
  if (text.empty()) return tl::unexpected(rule);
  return std::string(text);
}

Text sandbox_name(const std::string& text) { return non_empty(text, "the name of a sandbox"); }
Text path(const std::string& text) { return non_empty(text, "a path"); }
Text word(const std::string& text) { return non_empty(text, "a word"); }

Text absolute_path(const std::string& text) {
  if (!text.starts_with('/')) return tl::unexpected(std::string_view("an absolute path"));
  return text;
}

Parsed<Span> duration(const std::string& text) { return parse_duration(text, Units::suffixes); }

Parsed<Shield> shield_word(const std::string& text) {
  if (text == "auto") return Shield::by_ownership;
  if (text == "off") return Shield::off;
  if (text == "try") return Shield::attempt;
  if (text == "require") return Shield::required;
  return tl::unexpected(std::string_view("auto, off, try or require"));
}

}  // namespace

std::span<const SettingSpec> setting_table() { return kSettings; }
std::span<const std::string_view> tool_table() { return kTools; }

tl::expected<Layer, UsageError> parse_config(std::string_view toml, std::string_view file) {
  if (const auto fault = find_toml_fault(toml)) {
    return tl::unexpected(
        UsageError{std::string(file) + ':' + decimal(fault->line) + ": " + fault->rule});
  }
  const toml::parse_result result = toml::parse(toml, std::string(file));
  return FileReader(file).read(result.table());
}

std::string config_path(const Lookup& environment) {
  const auto config = environment("XDG_CONFIG_HOME");
  // The XDG rule: a relative path there is to be ignored.
  if (config && config->starts_with('/')) return *config + "/quietus/config.toml";
  const auto home = environment("HOME");
  if (home && !home->empty()) return *home + "/.config/quietus/config.toml";
  return {};
}

Layer resolve(const Layer& options, const Lookup& environment, const Layer& file) {
  Layer layer;
  for (const SettingSpec& spec : kSettings) {
    if (!spec.fallback.empty()) {
      layer[std::string(spec.key)] = {{std::string(spec.fallback)}, "default"};
    }
  }
  for (const auto& [key, setting] : file) layer[key] = setting;
  const auto from_environment = [&](std::string key, const std::string& variable, bool list) {
    const auto value = environment(variable);
    if (!value || value->empty()) return;
    layer[std::move(key)] = {list ? split_words(*value) : std::vector{*value}, variable};
  };
  for (const SettingSpec& spec : kSettings) {
    from_environment(std::string(spec.key), std::string(spec.variable), spec.list);
  }
  for (const std::string_view tool : kTools) {
    from_environment(std::string(kProgramKey) + std::string(tool), program_variable(tool), true);
  }
  for (const auto& [key, setting] : options) layer[key] = setting;
  return layer;
}

tl::expected<Settings, UsageError> checked(const Layer& layer) {
  Settings to;
  Checker from(layer);
  from.read("sandbox", to.sandboxes, sandbox_name);
  from.read("timeout", to.timeout, duration);
  from.read("close_timeout", to.close_timeout, duration);
  from.read("max_artifact", to.max_artifact, parse_size);
  from.read("output_limit", to.output_limit, parse_size);
  from.read("shield", to.shield, shield_word);
  from.read("session_parent", to.session_parent, absolute_path);
  from.read("payload", to.payload, path);
  from.read("create_options", to.create_options, word);
  from.read("parallel", to.parallel, parse_parallel);
  for (const std::string_view tool : kTools) {
    std::vector<std::string> words;
    const std::string key = std::string(kProgramKey) + std::string(tool);
    from.read(key, words, word);
    if (!words.empty()) {
      to.programs[std::string(tool)] = std::move(words);
    } else if (const auto found = layer.find(key); found != layer.end()) {
      from.fail(broken(found->second.origin, "", "a program and its options"));
    }
  }
  // What the supervisor accepts, said before anything is made.
  constexpr std::uint64_t kLargestOutput = std::uint64_t{1} << 30;
  if (to.output_limit > kLargestOutput) {
    const Setting& setting = layer.find("output_limit")->second;
    from.fail(broken(setting.origin, setting.words.front(), "1GiB at most"));
  }
  if (from.error()) return tl::unexpected(*from.error());
  return to;
}

}  // namespace quietus::cli

#include <algorithm>
#include <filesystem>
#include <limits>

#include "client/adapters/spec.hpp"
#include "client/adapters/toml_reader.hpp"
#include "contract/decimal.hpp"
#include "contract/duration.hpp"
#include "contract/json.hpp"
#include "quietus/toml_fault.hpp"

namespace quietus::adapters {
namespace {

using Names = std::vector<std::string>;

constexpr std::int64_t kMostMode = 07777;

bool is_name(std::string_view text, std::string_view also) {
  return !text.empty() && std::ranges::all_of(text, [&](char one) {
    return (one >= 'a' && one <= 'z') || (one >= 'A' && one <= 'Z') || (one >= '0' && one <= '9') ||
           also.find(one) != std::string_view::npos;
  });
}
bool is_variable(std::string_view text) {
  return is_name(text, "_") && !(text.front() >= '0' && text.front() <= '9');
}

bool is_below(std::string_view path) {
  if (path.empty() || path.starts_with('/') || path.find('\0') != std::string_view::npos) {
    return false;
  }
  const std::filesystem::path parts(path);
  return std::ranges::none_of(parts, [](const auto& part) { return part == ".."; });
}

std::optional<std::uint64_t> parse_size(std::string_view text) {
  struct Unit {
    std::string_view name;
    std::uint64_t bytes;
  };
  constexpr Unit kUnits[] = {{"KiB", std::uint64_t{1} << 10},
                             {"MiB", std::uint64_t{1} << 20},
                             {"GiB", std::uint64_t{1} << 30},
                             {"TiB", std::uint64_t{1} << 40}};
  std::uint64_t unit = 1;
  for (const Unit& one : kUnits) {
    if (!text.ends_with(one.name)) continue;
    unit = one.bytes;
    text.remove_suffix(one.name.size());
    break;
  }
  const auto count = parse_decimal<std::uint64_t>(text);
  if (!count || *count == 0 || *count > std::numeric_limits<std::int64_t>::max() / unit) {
    return std::nullopt;
  }
  return *count * unit;
}

std::optional<Text> placeholders(TableReader& reader, std::string_view key, std::string_view value,
                                 Place place, const Names& parameters) {
  auto parsed = Text::parse(value, place, parameters);
  if (parsed) return *std::move(parsed);
  reader.wrong(key, value, parsed.error());
  return std::nullopt;
}

std::optional<Text> placeholders(TableReader& reader, std::string_view key, Place place,
                                 const Names& parameters) {
  const auto value = reader.text(key);
  if (!value) return std::nullopt;
  return placeholders(reader, key, *value, place, parameters);
}

// A path that something is done to: empty would be the working directory itself.
std::optional<Text> path(TableReader& reader, std::string_view key, Place place,
                         const Names& parameters) {
  auto text = placeholders(reader, key, place, parameters);
  if (text && text->empty()) reader.wrong(key, "must not be empty");
  return text;
}

Text required_path(TableReader& reader, std::string_view key, const Names& parameters,
                   std::string_view rule) {
  auto text = path(reader, key, Place::inside, parameters);
  if (!text) reader.missing(key, rule);
  return std::move(text).value_or(Text{});
}

constexpr std::string_view kWordsRule = "must be a list of words in quotes";

// The elements of a list of words; complains of what is none.
std::vector<const toml::node*> words(TableReader& reader, std::string_view key,
                                     std::string_view rule) {
  std::vector<const toml::node*> nodes;
  const toml::node* const node = reader.node(key);
  if (node == nullptr) return nodes;
  const toml::array* const list = node->as_array();
  if (list == nullptr || list->empty()) {
    reader.wrong(key, rule);
    return nodes;
  }
  for (const toml::node& element : *list) {
    if (!element.is_string()) reader.wrong(key, element, rule);
    nodes.push_back(&element);
  }
  if (reader.failed()) nodes.clear();
  return nodes;
}

std::optional<Text> word(TableReader& reader, std::string_view key, const toml::node& node,
                         const Names& parameters) {
  const std::string& value = node.as_string()->get();
  auto text = Text::parse(value, Place::inside, parameters);
  if (!text) {
    reader.wrong(key, node, text.error());
  } else if (value.find('\0') != std::string::npos) {
    reader.wrong(key, node, "must not hold a NUL byte");
  }
  if (!text) return std::nullopt;
  return *std::move(text);
}

std::vector<TextEntry> environment(TableReader& parent, const Names& parameters) {
  std::vector<TextEntry> entries;
  auto reader = parent.table("environment");
  if (!reader) return entries;
  for (const auto& [key, node] : reader->raw()) {
    if (!is_variable(key.str())) {
      reader->wrong(key.str(), "must be named with letters, digits and _, and no digit first");
    } else if (!node.is_string()) {
      reader->wrong(key.str(), "must be a text in quotes");
    } else if (auto text = word(*reader, key.str(), node, parameters)) {
      entries.emplace_back(key.str(), *std::move(text));
    }
  }
  return entries;
}

void read_parameters(TableReader& top, AdapterSpec& spec) {
  auto reader = top.table("params");
  if (!reader) return;
  for (const auto& [key, node] : reader->raw()) {
    AdapterParameter parameter{.name = std::string(key.str())};
    if (!is_name(parameter.name, "_-")) {
      reader->wrong(key.str(), "must be named with letters, digits, _ and -");
    }
    auto one = reader->table(key.str());
    if (!one) continue;
    one->allow({"description", "default", "env"});
    parameter.description = one->text("description").value_or("");
    parameter.default_value = one->text("default");
    spec.defaults.push_back(placeholders(*one, "default", Place::inside, {}));
    parameter.variable = one->text("env").value_or("");
    if (one->has("env") && !is_variable(parameter.variable)) {
      one->wrong("env", "must name a variable: letters, digits and _, and no digit first");
    }
    spec.parameters.push_back(std::move(parameter));
  }
}

CommandSpec read_command(TableReader& reader, std::string_view key, const Names& parameters) {
  constexpr std::string_view kRule = "must be a list of words in quotes, or one text for sh";
  CommandSpec command;
  if (!reader.has(key)) {
    reader.missing(key, kRule);
  } else if (reader.node(key)->is_string()) {
    command.shell = path(reader, key, Place::inside, parameters);
    if (reader.node(key)->as_string()->get().find('\0') != std::string::npos) {
      reader.wrong(key, "must not hold a NUL byte");
    }
  } else {
    for (const toml::node* node : words(reader, key, kRule)) {
      if (auto text = word(reader, key, *node, parameters))
        command.argv.push_back(*std::move(text));
    }
  }
  return command;
}

void read_install(TableReader& top, const Names& parameters, AdapterSpec& spec) {
  for (TableReader& reader : top.tables("install")) {
    reader.allow({"check", "run", "cwd", "environment", "timeout"});
    InstallSpec install{.check = read_command(reader, "check", parameters),
                        .run = read_command(reader, "run", parameters),
                        .cwd = path(reader, "cwd", Place::inside, parameters),
                        .environment = environment(reader, parameters)};
    if (const auto text = reader.text("timeout")) {
      const auto timeout = parse_duration(*text, Units::suffixes);
      if (!timeout) reader.wrong("timeout", "must be " + std::string(timeout.error()));
      install.timeout = timeout.value_or(install.timeout);
    }
    spec.install.push_back(std::move(install));
  }
}

void read_files(TableReader& top, const Names& parameters, AdapterSpec& spec) {
  for (TableReader& reader : top.tables("files")) {
    reader.allow({"from", "text", "to", "mode"});
    FileSpec file{.from = path(reader, "from", Place::here, parameters),
                  .text = placeholders(reader, "text", Place::inside, parameters)};
    if (reader.has("from") == reader.has("text")) {
      if (reader.has("from")) reader.wrong("text", "must not stand beside from: one of the two");
      reader.missing("from", "must be a path on this machine, unless text has the content");
    }
    file.to = required_path(reader, "to", parameters, "must be the path inside");
    if (const auto mode = reader.number("mode")) {
      if (*mode < 0 || *mode > kMostMode) reader.wrong("mode", "must be from 0 to 0o7777");
      file.mode = static_cast<unsigned>(*mode);
    }
    spec.files.push_back(std::move(file));
  }
}

void read_launch(TableReader& top, const Names& parameters, AdapterSpec& spec) {
  auto reader = top.table("command");
  if (!reader) {
    top.missing("command", "must be a table with argv");
    return;
  }
  reader->allow({"argv", "environment"});
  if (!reader->has("argv")) reader->missing("argv", kWordsRule);
  for (const toml::node* node : words(*reader, "argv", kWordsRule)) {
    if (node->as_string()->get() == "{arguments}") {
      spec.argv.push_back({.is_arguments = true});
    } else if (auto text = word(*reader, "argv", *node, parameters)) {
      spec.argv.push_back({.text = *std::move(text)});
    }
  }
  spec.environment = environment(*reader, parameters);
}

void read_size(TableReader& reader, std::uint64_t& into) {
  constexpr std::string_view kKey = "most_bytes";
  constexpr std::string_view kRule = "must be a number of bytes from 1, such as 65536 or \"10MiB\"";
  const toml::node* const node = reader.node(kKey);
  if (node == nullptr) return;
  std::optional<std::uint64_t> size;
  if (const auto* text = node->as_string()) size = parse_size(text->get());
  if (const auto* number = node->as_integer(); number != nullptr && number->get() > 0) {
    size = static_cast<std::uint64_t>(number->get());
  }
  if (!size) reader.wrong(kKey, kRule);
  into = size.value_or(into);
}

void read_artifacts(TableReader& top, const Names& parameters, AdapterSpec& spec) {
  for (TableReader& reader : top.tables("artifacts")) {
    reader.allow({"glob", "into", "most_bytes", "most_files", "required"});
    ArtifactSpec artifact;
    artifact.glob = required_path(reader, "glob", parameters, "must be a pattern for paths inside");
    if (const auto into = reader.text("into")) {
      if (!is_below(*into)) reader.wrong("into", "must be a relative path without ..");
      artifact.limits.into = *into;
    }
    read_size(reader, artifact.limits.most_bytes);
    if (const auto most = reader.number("most_files")) {
      if (*most < 1) reader.wrong("most_files", "must be at least 1");
      artifact.limits.most_files = static_cast<std::uint64_t>(*most);
    }
    artifact.limits.required = reader.flag("required").value_or(false);
    spec.artifacts.push_back(std::move(artifact));
  }
}

Pointer pointer(TableReader& reader, std::string_view key, std::string_view text) {
  auto parsed = Pointer::parse(text);
  if (!parsed) reader.wrong(key, text, parsed.error());
  return std::move(parsed).value_or(Pointer{});
}

std::vector<Condition> read_conditions(TableReader& result) {
  std::vector<Condition> conditions;
  auto reader = result.table("where");
  if (!reader) return conditions;
  for (const auto& [key, node] : reader->raw()) {
    std::string value;
    if (const auto* text = node.as_string()) {
      value = JsonWriter().text(text->get()).take();
    } else if (const auto* number = node.as_integer()) {
      value = decimal(number->get());
    } else if (const auto* flag = node.as_boolean()) {
      value = flag->get() ? "true" : "false";
    } else {
      reader->wrong(key.str(), "must be a text, a whole number, true or false");
    }
    auto place = Pointer::parse(key.str());
    if (!place) {
      reader->wrong(key.str(), "is no JSON pointer: it " + place.error());
      continue;
    }
    conditions.emplace_back(*std::move(place), std::move(value));
  }
  return conditions;
}

void read_result(TableReader& top, const Names& parameters, AdapterSpec& spec) {
  auto reader = top.table("result");
  if (!reader) return;
  reader->allow({"read", "file", "value", "where", "most_bytes"});
  constexpr std::string_view kRule = "must be exit-code, text, json or jsonl";
  constexpr std::pair<std::string_view, ResultFormat> kFormats[] = {
      {"exit-code", ResultFormat::exit_code},
      {"text", ResultFormat::text},
      {"json", ResultFormat::json},
      {"jsonl", ResultFormat::json_lines}};
  const auto read = reader->text("read");
  if (!read) reader->missing("read", kRule);
  const auto* const format = std::ranges::find(kFormats, read.value_or(""),
                                               &std::pair<std::string_view, ResultFormat>::first);
  if (format == std::end(kFormats)) {
    reader->wrong("read", kRule);
    return;
  }
  spec.result.format = format->second;
  const auto only_for = [&](std::string_view key, bool allowed, std::string_view rule) {
    if (!allowed) reader->wrong(key, rule);
  };
  const bool from_file = format->second != ResultFormat::exit_code;
  const bool is_lines = format->second == ResultFormat::json_lines;
  only_for("file", from_file, "must not stand beside read = \"exit-code\"");
  only_for("most_bytes", from_file, "must not stand beside read = \"exit-code\"");
  only_for("value", is_lines || format->second == ResultFormat::json,
           "must only stand beside read = \"json\" or \"jsonl\"");
  only_for("where", is_lines, "must only stand beside read = \"jsonl\"");
  spec.result.file = path(*reader, "file", Place::inside, parameters);
  if (const auto text = reader->text("value")) spec.result.value = pointer(*reader, "value", *text);
  spec.result.conditions = read_conditions(*reader);
  read_size(*reader, spec.result.most_bytes);
}

}  // namespace

Expected<AdapterSpec> parse_spec(std::string_view toml, std::string_view file) {
  Complaint complaint(file);
  if (const auto fault = find_toml_fault(toml)) {
    complaint.about(fault->line, "not TOML:", fault->rule);
    return fail(ErrorKind::input, complaint.line());
  }
  const toml::parse_result parsed = toml::parse(toml);
  AdapterSpec spec{.folder = std::filesystem::path(file).parent_path().string()};
  TableReader top(parsed.table(), "", complaint);
  top.allow(
      {"name", "description", "params", "install", "files", "command", "artifacts", "result"});
  constexpr std::string_view kNameRule = "must be letters, digits, ., _ and -";
  spec.name = top.text("name").value_or("");
  if (!top.has("name")) top.missing("name", kNameRule);
  if (!is_name(spec.name, "._-")) top.wrong("name", kNameRule);
  spec.description = top.text("description").value_or("");

  read_parameters(top, spec);
  Names parameters;
  for (const AdapterParameter& one : spec.parameters) parameters.push_back(one.name);
  read_install(top, parameters, spec);
  read_files(top, parameters, spec);
  read_launch(top, parameters, spec);
  read_artifacts(top, parameters, spec);
  read_result(top, parameters, spec);
  if (complaint.made()) return fail(ErrorKind::input, complaint.line());
  return spec;
}

}  // namespace quietus::adapters

#include <algorithm>
#include <filesystem>

#include "client/adapters/spec.hpp"

namespace quietus::adapters {
namespace {

bool uses(const CommandSpec& command, Source source) {
  return (command.shell && command.shell->uses(source)) ||
         std::ranges::any_of(command.argv, [&](const Text& word) { return word.uses(source); });
}
bool uses(const std::vector<TextEntry>& entries, Source source) {
  return std::ranges::any_of(entries,
                             [&](const TextEntry& entry) { return entry.second.uses(source); });
}
bool uses(const std::optional<Text>& text, Source source) { return text && text->uses(source); }

bool holds_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// Of execve(2): MAX_ARG_STRLEN, with its NUL.
constexpr std::size_t kMostWord = (std::size_t{128} << 10) - 1;

// execve ends a word at its first NUL: the harness would see half of it.
Expected<std::string> expand_word(const Text& text, const Values& values, std::string_view what) {
  auto word = expand(text, values);
  if (word && holds_nul(*word)) {
    return fail(ErrorKind::input, std::string(what) + " would hold a NUL byte",
                "pass the input as a file, with {input}");
  }
  if (word && word->size() > kMostWord) {
    return fail(ErrorKind::input, std::string(what) + " would be longer than Linux takes (128 KiB)",
                "pass the input as a file, with {input}");
  }
  return word;
}

std::optional<std::string> given_value(const AdapterParameter& parameter, const AdapterRun& run) {
  const auto given = run.parameters.find(parameter.name);
  if (given != run.parameters.end()) return given->second;
  if (parameter.variable.empty() || !run.environment) return std::nullopt;
  return run.environment(parameter.variable);
}

std::string names_of(const std::vector<AdapterParameter>& parameters) {
  std::string names;
  for (const AdapterParameter& one : parameters) names += (names.empty() ? "" : ", ") + one.name;
  return names.empty() ? "none" : names;
}

Error not_set(const AdapterSpec& spec, const AdapterParameter& parameter) {
  const std::string meaning =
      parameter.description.empty() ? "" : " (" + parameter.description + ")";
  const std::string variable =
      parameter.variable.empty() ? "" : ", or the variable " + parameter.variable;
  return {ErrorKind::input,
          "the adapter '" + spec.name + "' needs its parameter '" + parameter.name + "'" + meaning,
          "set it: --param " + parameter.name + "=VALUE" + variable};
}

}  // namespace

bool AdapterSpec::stage_uses(Source source) const {
  return std::ranges::any_of(install,
                             [&](const InstallSpec& step) {
                               return uses(step.check, source) || uses(step.run, source) ||
                                      uses(step.cwd, source) || uses(step.environment, source);
                             }) ||
         std::ranges::any_of(
             files,
             [&](const FileSpec& one) { return uses(one.text, source) || one.to.uses(source); }) ||
         std::ranges::any_of(argv, [&](const ArgvWord& word) { return word.text.uses(source); }) ||
         uses(environment, source);
}

bool AdapterSpec::collect_uses(Source source) const {
  return std::ranges::any_of(artifacts,
                             [&](const ArtifactSpec& one) { return one.glob.uses(source); }) ||
         uses(result.file, source);
}

Expected<SessionCommand> build_command(const AdapterSpec& spec, const AdapterRun& run,
                                       const Values& values) {
  SessionCommand command;
  bool took_arguments = false;
  for (const ArgvWord& word : spec.argv) {
    if (word.is_arguments) {
      took_arguments = true;
      command.argv.insert(command.argv.end(), run.arguments.begin(), run.arguments.end());
      continue;
    }
    auto expanded = expand_word(word.text, values, "a word of the command");
    if (!expanded) return fail(std::move(expanded).error());
    command.argv.push_back(*std::move(expanded));
  }
  if (!took_arguments && !run.arguments.empty()) {
    return fail(ErrorKind::input,
                "the adapter '" + spec.name + "' takes no words behind --, such as '" +
                    run.arguments.front() + "'",
                "leave them out, or put {arguments} into its command.argv");
  }
  if (command.argv.empty() || command.argv.front().empty()) {
    return fail(ErrorKind::input, "the adapter '" + spec.name + "' has no program to run",
                "write the command behind --");
  }
  for (const auto& [name, text] : spec.environment) {
    auto value = expand_word(text, values, "the variable " + name);
    if (!value) return fail(std::move(value).error());
    command.environment.emplace_back(name, *std::move(value));
  }
  return command;
}

Error no_workdir(std::string_view path) {
  return {ErrorKind::input,
          "'" + std::string(path) + "' is relative, and where the command runs is not known",
          "say where the command runs (--workdir)"};
}

Expected<std::string> inside_path(const Text& text, const Values& values) {
  auto path = expand_word(text, values, "a path");
  if (!path || path->starts_with('/')) return path;
  if (!values.workdir) return fail(no_workdir(*path));
  return *values.workdir + '/' + *path;
}

bool defaults_use(const AdapterSpec& spec, const AdapterRun& run, Source source) {
  for (std::size_t place = 0; place < spec.parameters.size(); ++place) {
    if (uses(spec.defaults[place], source) && !given_value(spec.parameters[place], run))
      return true;
  }
  return false;
}

Expected<void> resolve_parameters(const AdapterSpec& spec, const AdapterRun& run, Values& values) {
  for (const auto& [name, value] : run.parameters) {
    if (std::ranges::find(spec.parameters, name, &AdapterParameter::name) ==
        spec.parameters.end()) {
      return fail(ErrorKind::input,
                  "the adapter '" + spec.name + "' has no parameter '" + name + "'",
                  "its parameters: " + names_of(spec.parameters));
    }
  }
  for (std::size_t place = 0; place < spec.parameters.size(); ++place) {
    const AdapterParameter& one = spec.parameters[place];
    std::optional<std::string> value = given_value(one, run);
    if (!value && !spec.defaults[place]) return fail(not_set(spec, one));
    if (!value) {
      auto by_default = expand(*spec.defaults[place], values);
      if (!by_default) return fail(std::move(by_default).error());
      value = *std::move(by_default);
    }
    values.parameters.insert_or_assign(one.name, *std::move(value));
  }
  return {};
}

}  // namespace quietus::adapters

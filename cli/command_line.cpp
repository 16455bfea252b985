#include "cli/command_line.hpp"

#include <algorithm>

#include "cli/artifact_pattern.hpp"

namespace quietus::cli {
namespace {

using Outcome = tl::expected<void, UsageError>;

tl::unexpected<UsageError> wrong(std::string text) {
  return tl::unexpected(UsageError{std::move(text)});
}

std::string argument(const OptionSpec& spec) { return "argument --" + std::string(spec.name); }

class Parser {
 public:
  Parser(const VerbSpec& verb, std::span<const std::string_view> words, const Lookup& environment)
      : verb_(verb), words_(words), environment_(environment) {
    line_.verb = verb.verb;
  }

  tl::expected<CommandLine, UsageError> parse() {
    while (!words_.empty()) {
      const std::string_view word = words_.front();
      words_ = words_.subspan(1);
      if (word == "--") {
        take_rest();
        break;
      }
      if (!word.starts_with('-') || word == "-") {
        line_.words.emplace_back(word);
        // The first word of a command is the end of our options.
        if (verb_.most != kCommand) continue;
        take_rest();
        break;
      }
      const Outcome taken = word.starts_with("--") ? take_long(word.substr(2)) : take_letters(word);
      if (!taken) return tl::unexpected(taken.error());
      if (help_) {
        CommandLine help;
        help.help_for = verb_.word;
        return help;
      }
    }
    if (const Outcome complete = finish(); !complete) return tl::unexpected(complete.error());
    return std::move(line_);
  }

 private:
  void take_rest() {
    line_.words.insert(line_.words.end(), words_.begin(), words_.end());
    words_ = {};
  }

  Outcome take_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    for (const OptionSpec& spec : option_table()) {
      if (spec.name != name) continue;
      if (!goes_with(spec)) return misplaced(spec);
      if (spec.takes == Takes::nothing) {
        if (equals != std::string_view::npos) return wrong(argument(spec) + ": takes no value");
        return apply(spec, {});
      }
      return equals == std::string_view::npos ? take_next(spec)
                                              : apply(spec, word.substr(equals + 1));
    }
    return unknown("--" + std::string(name));
  }

  Outcome take_letters(std::string_view word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      const auto options = option_table();
      const auto spec = std::ranges::find_if(
          options, [&](const OptionSpec& known) { return known.letter == word[at]; });
      if (spec == options.end()) return unknown(word);
      if (!goes_with(*spec)) return misplaced(*spec);
      if (spec->takes == Takes::value) {
        return at + 1 < word.size() ? apply(*spec, word.substr(at + 1)) : take_next(*spec);
      }
      if (const Outcome taken = apply(*spec, {}); !taken) return taken;
    }
    return {};
  }

  bool goes_with(const OptionSpec& spec) const { return (spec.verbs & bit(verb_.verb)) != 0; }

  tl::unexpected<UsageError> unknown(std::string_view word) const {
    return wrong("unknown option " + shown_value(word) + " (see quietusctl " +
                 std::string(verb_.word) + " --help)");
  }
  tl::unexpected<UsageError> misplaced(const OptionSpec& spec) const {
    return wrong(argument(spec) + ": does not go with " + std::string(verb_.word));
  }

  Outcome take_next(const OptionSpec& spec) {
    if (words_.empty()) return wrong(argument(spec) + ": expected one value");
    const std::string_view value = words_.front();
    words_ = words_.subspan(1);
    return apply(spec, value);
  }

  // --- values ---------------------------------------------------------------------------------
  Outcome apply(const OptionSpec& spec, std::string_view value) {
    switch (spec.id) {
      case OptionId::adapter: return store(spec, value, "a file or a name", line_.adapter);
      case OptionId::input: return store(spec, value, "a path", line_.input);
      case OptionId::into: return store(spec, value, "a path", line_.into);
      case OptionId::user: return store(spec, value, "a user", line_.user);
      case OptionId::forget: return store(spec, value, "a session", line_.forget);
      case OptionId::workdir:
        if (!value.starts_with('/')) return refuse(spec, value, "an absolute path");
        line_.workdir = value;
        while (line_.workdir.size() > 1 && line_.workdir.ends_with('/')) line_.workdir.pop_back();
        return {};
      case OptionId::collect: return add_glob(spec, value);
      case OptionId::setenv: return add_variable(spec, value);
      case OptionId::parameter: return add_parameter(spec, value);
      case OptionId::program: return set_program(spec, value);
      case OptionId::follow: line_.follow = true; return {};
      case OptionId::now: line_.now = true; return {};
      case OptionId::dry_run: line_.dry_run = true; return {};
      case OptionId::print_path: line_.print_path = true; return {};
      case OptionId::allow_unverified: line_.allow_unverified = true; return {};
      case OptionId::all: line_.all = true; return {};
      case OptionId::directory:
        if (!value.starts_with('/')) return refuse(spec, value, "an absolute path");
        line_.directories.emplace_back(value);
        return {};
      case OptionId::origin: line_.origin = true; return {};
      case OptionId::json: line_.json = true; return {};
      case OptionId::quiet: line_.verbosity = Verbosity::quiet; return {};
      case OptionId::verbose: line_.verbosity = Verbosity::verbose; return {};
      case OptionId::help: help_ = true; return {};
      default: return set(spec, value);
    }
  }

  tl::unexpected<UsageError> refuse(const OptionSpec& spec, std::string_view value,
                                    std::string_view rule) const {
    return tl::unexpected(broken(argument(spec), value, rule));
  }

  Outcome store(const OptionSpec& spec, std::string_view value, std::string_view rule,
                std::string& into) {
    if (value.empty()) return refuse(spec, value, rule);
    into = value;
    return {};
  }

  // One of the settings; its type is looked at where all of them are.
  Outcome set(const OptionSpec& spec, std::string_view value) {
    for (const SettingSpec& known : setting_table()) {
      if (known.option != spec.id) continue;
      Setting& setting = line_.settings[std::string(known.key)];
      const bool repeats = known.list || (spec.id == OptionId::sandbox && verb_.verb == Verb::run);
      if (!repeats) setting.words.clear();
      setting.words.emplace_back(value);
      setting.origin = argument(spec);
    }
    return {};
  }

  Outcome set_program(const OptionSpec& spec, std::string_view value) {
    constexpr std::string_view kRule = "TOOL=WORDS with one of the tools that quietusctl starts";
    const std::size_t equals = value.find('=');
    if (equals == std::string_view::npos) return refuse(spec, value, kRule);
    const std::string_view tool = value.substr(0, equals);
    const auto tools = tool_table();
    if (std::ranges::find(tools, tool) == tools.end()) return refuse(spec, value, kRule);
    line_.settings["program." + std::string(tool)] = {split_words(value.substr(equals + 1)),
                                                      argument(spec)};
    return {};
  }

  Outcome add_glob(const OptionSpec& spec, std::string_view value) {
    if (const auto pattern = parse_pattern(value); !pattern) {
      return wrong(argument(spec) + ": " + shown_value(value) + ' ' + pattern.error());
    }
    line_.globs.emplace_back(value);
    return {};
  }

  Outcome add_variable(const OptionSpec& spec, std::string_view value) {
    const std::size_t equals = value.find('=');
    const std::string_view name = value.substr(0, equals);
    if (name.empty()) return refuse(spec, value, "NAME or NAME=VALUE");
    if (equals != std::string_view::npos) {
      line_.environment.emplace_back(name, value.substr(equals + 1));
    } else if (const auto ours = environment_(name)) {
      line_.environment.emplace_back(name, *ours);
    }
    return {};
  }

  Outcome add_parameter(const OptionSpec& spec, std::string_view value) {
    const std::size_t equals = value.find('=');
    if (equals == 0 || equals == std::string_view::npos) return refuse(spec, value, "NAME=VALUE");
    line_.parameters.emplace_back(value.substr(0, equals), value.substr(equals + 1));
    return {};
  }

  // --- the whole ------------------------------------------------------------------------------
  Outcome finish() {
    const auto count = static_cast<int>(line_.words.size());
    if (verb_.verb == Verb::run && line_.adapter.empty() && count == 0) {
      return wrong("run: expected a command (see quietusctl run --help)");
    }
    if (count < verb_.fewest || (verb_.most != kCommand && count > verb_.most)) {
      return wrong(std::string(verb_.word) + ": expected " + std::string(verb_.usage) +
                   " (see quietusctl " + std::string(verb_.word) + " --help)");
    }
    if (verb_.most == kCommand && count > 0 && line_.words.front().empty()) {
      return wrong(std::string(verb_.word) + ": the command's first word is empty");
    }
    if (!line_.globs.empty() && line_.into.empty()) {
      return wrong("argument --collect: needs --into DIR");
    }
    if (!line_.into.empty() && line_.globs.empty() && line_.adapter.empty()) {
      return wrong("argument --into: needs --collect or --adapter");
    }
    if (line_.adapter.empty() && (!line_.parameters.empty() || !line_.input.empty())) {
      return wrong(std::string("argument --") + (line_.input.empty() ? "param" : "input") +
                   ": needs --adapter");
    }
    const bool is_put = verb_.verb == Verb::put;
    if (is_put || verb_.verb == Verb::get) {
      const std::string& inside = line_.words[is_put ? 1 : 0];
      if (!inside.starts_with('/')) {
        return wrong(std::string(verb_.word) + ": the path inside must be absolute, not " +
                     shown_value(inside));
      }
    }
    if (verb_.verb == Verb::cache && line_.words[0] != "list" && line_.words[0] != "verify" &&
        line_.words[0] != "prune") {
      return wrong("cache: expected list, verify or prune, not " + shown_value(line_.words[0]));
    }
    if (verb_.verb == Verb::cache && line_.words[0] != "prune" && (line_.all || line_.dry_run)) {
      return wrong(std::string("argument --") + (line_.all ? "all" : "dry-run") +
                   ": goes with cache prune only");
    }
    if (line_.print_path && line_.json) {
      return wrong("argument --print-path: does not go with --json");
    }
    if (line_.follow && line_.json) return wrong("argument --follow: does not go with --json");
    const auto sandboxes = line_.settings.find("sandbox");
    if (line_.follow && sandboxes != line_.settings.end() && sandboxes->second.words.size() > 1) {
      return wrong("argument --follow: does not go with more than one --sandbox");
    }
    if (verb_.verb == Verb::help && count == 1) {
      line_.help_for = line_.words.front();
      const auto verbs = verb_table();
      const bool known =
          line_.help_for == "sandboxes" || std::ranges::any_of(verbs, [&](const VerbSpec& spec) {
            return spec.word == line_.help_for;
          });
      if (!known) return wrong("help: there is no verb " + shown_value(line_.help_for));
    }
    return {};
  }

  const VerbSpec& verb_;
  std::span<const std::string_view> words_;
  const Lookup& environment_;
  CommandLine line_;
  bool help_ = false;
};

}  // namespace

tl::expected<CommandLine, UsageError> parse_command_line(std::span<const std::string_view> words,
                                                         const Lookup& environment) {
  if (words.empty()) return wrong("expected a verb (see quietusctl --help)");
  std::string_view first = words.front();
  if (first == "--help" || first == "-h") first = "help";
  if (first == "--version") first = "version";
  for (const VerbSpec& spec : verb_table()) {
    if (spec.word == first) return Parser(spec, words.subspan(1), environment).parse();
  }
  return wrong((first.starts_with('-') ? "unknown option " : "unknown verb ") + shown_value(first) +
               " (see quietusctl --help)");
}

}  // namespace quietus::cli

#include "program/command_line.hpp"

#include <algorithm>
#include <optional>

#include "contract/decimal.hpp"
#include "contract/duration.hpp"
#include "program/option_table.hpp"
#include "program/values.hpp"
#include "supervisor/launch.hpp"

namespace quietus {
namespace {

using Verb = CommandLine::Verb;
using Taken = tl::expected<void, UsageError>;

tl::unexpected<UsageError> wrong(std::string text) {
  return tl::unexpected(UsageError{std::move(text)});
}

std::string dashed(const OptionSpec& spec) { return "--" + std::string(spec.name); }

// The value may be a command line with a secret in it, or a megabyte: it is told cut and quoted.
std::string quoted(std::string_view value) {
  constexpr std::size_t kShown = 80;
  std::string text = "'";
  for (const char c : value.substr(0, kShown)) text += c >= ' ' && c != '\x7F' ? c : '?';
  if (value.size() > kShown) text += "...";
  return text += '\'';
}

tl::unexpected<UsageError> broken(const OptionSpec& spec, std::string_view value,
                                  std::string_view rule) {
  return wrong("argument " + dashed(spec) + ": must be " + std::string(rule) + ", not " +
               quoted(value));
}

std::string_view variable_name(std::string_view entry) { return entry.substr(0, entry.find('=')); }

struct VerbWord {
  std::string_view word;
  Verb verb;
  unsigned bit;
};

constexpr VerbWord kVerbWords[] = {
    {"run", Verb::supervise, kRun},
    {"launch", Verb::launch, kLaunch},
    {"stop", Verb::stop, kStop},
    {"wait", Verb::wait, kWait},
    {"status", Verb::status, kStatus},
    {"create", Verb::create, kOtherSession},
    {"expire", Verb::expire, kOtherSession},
    {"renew", Verb::renew, kOtherSession},
    {"remove", Verb::remove, kOtherSession},
    {"probe", Verb::probe, kProbe},
    {"doctor", Verb::doctor, kDoctor},
};
constexpr VerbWord kBareForm{"", Verb::supervise, kBare};

class Parser {
 public:
  Parser(const VerbWord& verb, std::span<const std::string_view> arguments,
         std::span<const std::string_view> environment)
      : verb_(verb), arguments_(arguments), environment_(environment) {
    line_.verb = verb.verb;
    line_.options.form = verb.bit == kBare  ? Form::bare
                         : verb.bit == kRun ? Form::run
                                            : Form::launch;
  }

  tl::expected<CommandLine, UsageError> parse() {
    while (!arguments_.empty()) {
      const std::string_view argument = arguments_.front();
      if (argument == "--") {
        arguments_ = arguments_.subspan(1);
        break;
      }
      if (!argument.starts_with('-') || argument == "-") break;
      arguments_ = arguments_.subspan(1);
      const Taken taken =
          argument.starts_with("--") ? take_long(argument.substr(2)) : take_letters(argument);
      if (!taken) return tl::unexpected(taken.error());
      if (help_) {
        CommandLine help;
        help.verb = Verb::help;
        help.help_for = verb_.word;
        return help;
      }
    }
    if (const Taken complete = finish(); !complete) return tl::unexpected(complete.error());
    return std::move(line_);
  }

 private:
  // --- words ----------------------------------------------------------------------------------
  Taken take_long(std::string_view word) {
    const std::size_t equals = word.find('=');
    const std::string_view name = word.substr(0, equals);
    for (const OptionSpec& spec : option_table()) {
      if (spec.name != name && (spec.alias.empty() || spec.alias != name)) continue;
      if (!goes_with(spec)) return misplaced(spec);
      if (equals != std::string_view::npos) {
        if (spec.takes == Takes::nothing) return wrong(dashed(spec) + " takes no value");
        return apply(spec, word.substr(equals + 1));
      }
      return spec.takes == Takes::value ? take_next(spec) : apply(spec, {});
    }
    return wrong("unknown option " + quoted("--" + std::string(name)) + " (see quietus --help)");
  }

  Taken take_letters(std::string_view word) {
    for (std::size_t at = 1; at < word.size(); ++at) {
      const OptionSpec* spec = nullptr;
      for (const OptionSpec& known : option_table()) {
        if (known.letter == word[at]) spec = &known;
      }
      if (spec == nullptr) {
        return wrong("unknown option " + quoted(word) + " (see quietus --help)");
      }
      if (!goes_with(*spec)) return misplaced(*spec);
      if (spec->takes == Takes::value) {
        return at + 1 < word.size() ? apply(*spec, word.substr(at + 1)) : take_next(*spec);
      }
      if (const Taken taken = apply(*spec, {}); !taken) return taken;
    }
    return {};
  }

  bool goes_with(const OptionSpec& spec) const { return (spec.verbs & verb_.bit) != 0; }

  tl::unexpected<UsageError> misplaced(const OptionSpec& spec) const {
    const std::string verb =
        verb_.word.empty() ? "the form without a verb" : std::string(verb_.word);
    return wrong("argument " + dashed(spec) + ": does not go with " + verb);
  }

  Taken take_next(const OptionSpec& spec) {
    if (arguments_.empty()) return wrong("argument " + dashed(spec) + ": expected one value");
    const std::string_view value = arguments_.front();
    arguments_ = arguments_.subspan(1);
    return apply(spec, value);
  }

  // --- values ---------------------------------------------------------------------------------
  template <class T, class Into>
  Taken store(const OptionSpec& spec, std::string_view value, const Parsed<T>& parsed, Into& into) {
    if (!parsed) return broken(spec, value, parsed.error());
    into = *parsed;
    return {};
  }

  Taken store_path(const OptionSpec& spec, std::string_view value, std::string& into) {
    if (value.empty()) return broken(spec, value, "a path");
    into = value;
    return {};
  }

  // What stands at the path is replaced: as root that would take a device from everybody.
  Taken store_record(const OptionSpec& spec, std::string_view value, std::string& into) {
    if (value.starts_with("/dev/") && value.rfind('/') == 4) {
      return broken(spec, value, "no device");
    }
    return store_path(spec, value, into);
  }

  Taken apply(const OptionSpec& spec, std::string_view value) {
    const Units units = verb_.bit == kBare ? Units::seconds : Units::suffixes;
    Options& to = line_.options;
    switch (spec.id) {
      case OptionId::timeout:
        return store(spec, value, parse_duration(value, units),
                     (verb_.bit & kCommands) != 0 ? to.timeout : line_.session.timeout);
      case OptionId::cleanup_timeout:
        return store(spec, value, parse_duration(value, units), to.cleanup_timeout);
      case OptionId::receipt: return store_record(spec, value, to.receipt);
      case OptionId::report: return store_record(spec, value, to.report);
      case OptionId::stop_file: return store_path(spec, value, to.stop_file);
      case OptionId::expire_file: return store_path(spec, value, to.expire_file);
      case OptionId::output: return store_path(spec, value, to.output);
      case OptionId::chdir: return store_path(spec, value, to.worker.directory);
      case OptionId::signal: return store(spec, value, parse_signal(value), to.signal);
      case OptionId::preserve: return choose(spec, Descendants::keep_on_success);
      case OptionId::descendants: {
        const auto policy = parse_descendants(value);
        return policy ? choose(spec, *policy) : broken(spec, value, policy.error());
      }
      case OptionId::output_limit: return store(spec, value, parse_size(value), to.output_limit);
      case OptionId::user: return store(spec, value, parse_user(value), to.worker.user);
      case OptionId::rlimit: return add_limit(spec, value);
      case OptionId::setenv:
      case OptionId::unset: return take_variable(spec, value);
      case OptionId::shield:
        if (!value.empty() && value != "try") return broken(spec, value, "try, or absent");
        to.shield = value.empty() ? Shield::required : Shield::attempt;
        return {};
      case OptionId::signal_group: to.signal_group = true; return {};
      case OptionId::isolate: to.isolate = true; return {};
      case OptionId::no_new_privs: to.worker.no_new_privileges = true; return {};
      case OptionId::die_with_parent: to.die_with_parent = true; return {};
      case OptionId::clear_env: clear_environment_ = true; return {};
      case OptionId::sync: to.sync = true; return {};
      case OptionId::quiet: to.verbosity = -1; return {};
      case OptionId::verbose: to.verbosity = 1; return {};
      case OptionId::session: return store_path(spec, value, line_.session.directory);
      case OptionId::legacy_names: line_.session.files = kLegacySessionFiles; return {};
      case OptionId::detach: line_.detach = true; return {};
      case OptionId::lease: return take_lease(spec, value);
      case OptionId::command_fd: return take_command_fd(spec, value);
      case OptionId::now: line_.session.now = true; return {};
      case OptionId::json: line_.session.json = true; return {};
      case OptionId::help: help_ = true; return {};
    }
    return {};
  }

  Taken take_lease(const OptionSpec& spec, std::string_view value) {
    Control& control = line_.options.control;
    if (value == "stdin") {
      control.lease_stdin = true;
      return {};
    }
    return store(spec, value, parse_duration(value, Units::suffixes), control.lease);
  }

  Taken take_command_fd(const OptionSpec& spec, std::string_view value) {
    const auto fd = parse_decimal<int>(value);
    if (!fd || *fd < 0 || *fd == 1 || *fd == 2) {
      return broken(spec, value, "a descriptor: 0, or 3 and up");
    }
    line_.command_fd = *fd;
    return {};
  }

  Taken choose(const OptionSpec& spec, Descendants policy) {
    if (policy_ && *policy_ != policy) {
      return wrong("argument " + dashed(spec) + ": contradicts --descendants " +
                   std::string(name(*policy_)));
    }
    policy_ = line_.options.descendants = policy;
    return {};
  }

  Taken add_limit(const OptionSpec& spec, std::string_view value) {
    const auto limit = parse_limit(value);
    if (!limit) return broken(spec, value, limit.error());
    line_.options.worker.limits.push_back(*limit);
    return {};
  }

  Taken take_variable(const OptionSpec& spec, std::string_view value) {
    const bool set = spec.id == OptionId::setenv;
    const bool has_equals = value.find('=') != std::string_view::npos;
    if (variable_name(value).empty() || (!set && has_equals)) {
      return broken(spec, value,
                    set ? "NAME=VALUE or NAME, with a name" : "the name of a variable");
    }
    (set ? set_ : unset_).push_back(value);
    return {};
  }

  // --- the whole ------------------------------------------------------------------------------
  Taken finish() {
    if ((verb_.bit & kSessions) != 0 && line_.session.directory.empty()) {
      return wrong("the following arguments are required: --session");
    }
    if ((verb_.bit & kCommands) == 0) {
      if (arguments_.empty()) return {};
      return wrong("unexpected argument " + quoted(arguments_.front()));
    }
    if (verb_.bit == kBare && line_.options.receipt.empty()) {
      return wrong("the following arguments are required: --receipt");
    }
    if (const Taken fits = finish_command(); !fits) return fits;
    return finish_options();
  }

  Taken finish_command() {
    Control& control = line_.options.control;
    control.empty_stdin = line_.detach || control.lease_stdin || line_.command_fd == 0;
    if (line_.detach && control.lease_stdin) {
      return wrong("argument --lease: 'stdin' must not go with --detach");
    }
    if (line_.detach && line_.options.die_with_parent) {
      return wrong("argument --die-with-parent: must not go with --detach");
    }
    if (control.lease && control.lease_stdin) {
      return wrong("argument --lease: must be a duration or 'stdin', not both");
    }
    if (!line_.command_fd) {
      if (arguments_.empty()) return wrong("a command is required after --");
      line_.options.worker.argv.assign(arguments_.begin(), arguments_.end());
      fill_environment();
      return {};
    }
    if (!arguments_.empty()) {
      return wrong("argument --command-fd: brings the command, so none may follow, not " +
                   quoted(arguments_.front()));
    }
    if (!set_.empty() || !unset_.empty() || clear_environment_) {
      return wrong(
          "argument --command-fd: brings the environment, so -E, --unset and --clear-env "
          "must not be given");
    }
    fill_environment();  // for the marker of those around us
    return {};
  }

  Taken finish_options() const {
    const Options& o = line_.options;
    if (o.output_limit && o.output.empty() && verb_.bit != kLaunch) {
      return wrong("argument --output-limit: needs --output");
    }
    if (o.output_limit && o.descendants != Descendants::tree) {
      return wrong("argument --output-limit: must go with --descendants tree, not " +
                   quoted(name(o.descendants)) + ", whose survivors would lose their pipe");
    }
    if (o.isolate && o.descendants != Descendants::tree) {
      return wrong("argument --isolate: must go with --descendants tree, not " +
                   quoted(name(o.descendants)) + ": nobody outlives a PID namespace");
    }
    // Each would replace what another one has made.
    if (!o.receipt.empty() && o.receipt == o.report) {
      return wrong("argument --report: must be another file than --receipt, not " +
                   quoted(o.report));
    }
    if (!o.output.empty() && (o.output == o.receipt || o.output == o.report)) {
      return wrong("argument --output: must be another file than the records, not " +
                   quoted(o.output));
    }
    return {};
  }

  // Cleared first, then removed, then set: as env(1) does it.
  void fill_environment() {
    std::vector<std::string>& to = line_.options.worker.environment;
    const auto named = [](const std::vector<std::string_view>& entries, std::string_view entry) {
      for (const std::string_view other : entries) {
        if (variable_name(other) == variable_name(entry)) return true;
      }
      return false;
    };
    for (const std::string_view entry : environment_) {
      if (variable_name(entry) == kMarker) {
        // The chain of those around us is passed on by the launch, with our own link.
        line_.options.worker.outer_marker =
            entry.substr(std::min(kMarker.size() + 1, entry.size()));
        continue;
      }
      const bool passed_on = named(set_, entry) && is_bare_name(entry);
      const bool dropped = clear_environment_ || named(unset_, entry) || named(set_, entry);
      if (passed_on || !dropped) to.emplace_back(entry);
    }
    for (std::size_t at = 0; at < set_.size(); ++at) {
      const std::string_view entry = set_[at];
      const bool later = named({set_.begin() + static_cast<long>(at) + 1, set_.end()}, entry);
      if (!later && entry.find('=') != std::string_view::npos) to.emplace_back(entry);
    }
  }

  // Whether the last -E for this variable is a bare name: ours is passed on.
  bool is_bare_name(std::string_view entry) const {
    bool bare = false;
    for (const std::string_view set : set_) {
      if (variable_name(set) == variable_name(entry)) bare = set.find('=') == set.npos;
    }
    return bare;
  }

  const VerbWord& verb_;
  std::span<const std::string_view> arguments_;
  std::span<const std::string_view> environment_;
  CommandLine line_;
  std::optional<Descendants> policy_;
  std::vector<std::string_view> set_;
  std::vector<std::string_view> unset_;
  bool clear_environment_ = false;
  bool help_ = false;
};

// An upstream client starts "INTERPRETER -I SCRIPT ...": we may stand where its interpreter stood.
std::span<const std::string_view> without_interpreter_words(
    std::span<const std::string_view> arguments) {
  const bool interpreter =
      arguments.size() >= 2 && arguments[0] == "-I" && !arguments[1].starts_with('-');
  return interpreter ? arguments.subspan(2) : arguments;
}

}  // namespace

tl::expected<CommandLine, UsageError> parse_command_line(
    std::span<const std::string_view> arguments, std::span<const std::string_view> environment) {
  arguments = without_interpreter_words(arguments);
  if (arguments.empty()) {
    return wrong("a command is required: quietus run [options] -- CMD... (see quietus --help)");
  }
  if (arguments[0] == "--version") {
    const bool json = arguments.size() == 2 && arguments[1] == "--json";
    if (arguments.size() > 1 && !json) {
      return wrong("argument --version: may be followed by --json, not " + quoted(arguments[1]));
    }
    CommandLine line;
    line.verb = json ? Verb::version_json : Verb::version;
    return line;
  }
  for (const VerbWord& verb : kVerbWords) {
    if (verb.word == arguments[0]) {
      return Parser(verb, arguments.subspan(1), environment).parse();
    }
  }
  return Parser(kBareForm, arguments, environment).parse();
}

}  // namespace quietus

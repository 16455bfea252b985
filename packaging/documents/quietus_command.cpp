#include "command.hpp"
#include "program/option_table.hpp"
#include "value_table.hpp"

namespace quietus::documents {
namespace {

const std::vector<std::string> kSignals = {"TERM", "INT", "HUP", "QUIT", "KILL", "USR1", "USR2"};
const std::vector<std::string> kPolicies = {"tree", "group", "keep-on-success"};
const std::vector<std::string> kLimits = {
    "as=",   "core=",   "cpu=",   "data=", "fsize=",  "locks=",  "memlock=",    "msgqueue=",
    "nice=", "nofile=", "nproc=", "rss=",  "rtprio=", "rttime=", "sigpending=", "stack="};

const std::vector<Value> kValues = {
    {.name = "DURATION"},
    {.name = "BYTES"},
    {.name = "N"},
    {.name = "UID[:GID]"},
    {.name = "FILE", .filler = Filler::file},
    {.name = "DIR", .filler = Filler::directory},
    {.name = "SIGNAL", .filler = Filler::words, .words = kSignals},
    {.name = "POLICY", .filler = Filler::words, .words = kPolicies},
    {.name = "DURATION|stdin", .filler = Filler::words, .words = {"stdin"}},
    {.name = "try", .filler = Filler::words, .words = {"try"}, .attached = true},
    {.name = "NAME", .filler = Filler::variable, .repeatable = true},
    {.name = "NAME[=VALUE]", .filler = Filler::variable, .repeatable = true},
    {.name = "NAME=SOFT[:HARD]",
     .filler = Filler::words,
     .words = kLimits,
     .goes_on = true,
     .repeatable = true},
};

}  // namespace

Command quietus_command() {
  Command command{.name = "quietus"};
  std::vector<unsigned> bits = {kBare};
  command.verbs.push_back({.usage = "--receipt FILE [OPTIONS] [--] CMD...",
                           .about = "The same under the command line of process_supervisor.",
                           .takes_command = true});
  for (const VerbSpec& spec : verb_table()) {
    command.verbs.push_back({.word = std::string(spec.word),
                             .usage = spec.usage,
                             .about = one_line(spec.about),
                             .takes_command = (spec.bit & kCommands) != 0});
    bits.push_back(spec.bit);
  }
  for (const OptionSpec& spec : option_table()) {
    Option option{.names = {std::string(spec.name)},
                  .letter = spec.letter,
                  .has_value = spec.takes != Takes::nothing,
                  .help = one_line(spec.help)};
    if (!spec.alias.empty()) option.names.emplace_back(spec.alias);
    if (option.has_value) option.value = value_named(spec.value, kValues);
    for (std::size_t at = 0; at < bits.size(); ++at) {
      if ((spec.verbs & bits[at]) != 0) option.verbs.push_back(command.verbs[at].word);
    }
    command.options.push_back(option);
  }
  // The one word that stands in front of every verb and is no option of the table.
  command.options.push_back(
      {.names = {"version"}, .help = "the version; with --json as JSON", .verbs = {""}});
  return command;
}

}  // namespace quietus::documents

#include "cli/option_table.hpp"
#include "command.hpp"
#include "value_table.hpp"

namespace quietus::documents {
namespace {

const std::vector<std::string> kSandboxes = {
    "local",  "docker:", "podman:",   "docker-image:", "podman-image:", "ssh:",
    "bwrap:", "slurm:",  "slurm-new", "kube:",         "apptainer:",    "template:"};

const std::vector<Value> kValues = {
    {.name = "S", .filler = Filler::words, .words = kSandboxes, .goes_on = true},
    {.name = "F", .filler = Filler::file},
    {.name = "FILE", .filler = Filler::file},
    {.name = "LOCAL", .filler = Filler::file},
    {.name = "DIR", .filler = Filler::directory},
    {.name = "WHEN", .filler = Filler::words, .words = {"auto", "off", "try", "require"}},
    {.name = "NAME[=VALUE]", .filler = Filler::variable, .repeatable = true},
    {.name = "NAME=VALUE", .repeatable = true},
    {.name = "TOOL=WORDS", .repeatable = true},
    {.name = "GLOB", .repeatable = true},
    {.name = "WORD", .repeatable = true},
    {.name = "INSIDE"},
    {.name = "SESSION"},
    {.name = "DURATION"},
    {.name = "SIZE"},
    {.name = "USER"},
    {.name = "N"},
    {.name = "WHAT", .filler = Filler::words, .words = {"supervisor", "uv"}},
};

// The words of a usage that stand for operands: "[SESSION] [OPTIONS]", "--sandbox S LOCAL INSIDE",
// "list|verify|prune".
std::vector<Value> operands_of(const cli::VerbSpec& spec) {
  if (spec.most == cli::kCommand) return {};
  if (spec.verb == cli::Verb::help) {
    Value verbs{.name = "VERB", .filler = Filler::words};
    for (const cli::VerbSpec& other : cli::verb_table()) verbs.words.emplace_back(other.word);
    verbs.words.emplace_back("sandboxes");
    return {verbs};
  }
  std::vector<Value> operands;
  const std::vector<std::string> words = split(spec.usage, " []");
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (words[at].starts_with("--")) {
      if (words[at] == "--sandbox") ++at;
    } else if (words[at].find('|') != words[at].npos) {
      operands.push_back({.name = "WORD", .filler = Filler::words, .words = split(words[at], "|")});
    } else if (words[at] != "OPTIONS") {
      operands.push_back(value_named(words[at], kValues));
    }
  }
  return operands;
}

}  // namespace

Command quietusctl_command() {
  Command command{.name = "quietusctl"};
  for (const cli::VerbSpec& spec : cli::verb_table()) {
    command.verbs.push_back({.word = std::string(spec.word),
                             .usage = std::string(spec.word) + ' ' + std::string(spec.usage),
                             .about = one_line(spec.about),
                             .takes_command = spec.most == cli::kCommand,
                             .operands = operands_of(spec)});
  }
  for (const cli::OptionSpec& spec : cli::option_table()) {
    Option option{.names = {std::string(spec.name)},
                  .letter = spec.letter,
                  .has_value = spec.takes != cli::Takes::nothing,
                  .help = one_line(spec.help)};
    if (option.has_value) option.value = value_named(spec.value, kValues);
    for (const cli::VerbSpec& verb : cli::verb_table()) {
      if ((spec.verbs & cli::bit(verb.verb)) != 0) option.verbs.emplace_back(verb.word);
    }
    command.options.push_back(option);
  }
  return command;
}

}  // namespace quietus::documents

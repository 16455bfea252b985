#include "cli/help.hpp"

#include <algorithm>

#include "cli/option_table.hpp"
#include "quietus/transport.hpp"
#include "quietus_version.hpp"

namespace quietus::cli {
namespace {

constexpr std::size_t kHelpColumn = 30;

std::string usage_of(const OptionSpec& spec) {
  std::string text = spec.letter != 0 ? std::string("  -") + spec.letter + ", " : "      ";
  text += "--";
  text += spec.name;
  if (spec.takes == Takes::value) text += ' ';
  return text += spec.value;
}

std::string options_text(Verb verb) {
  std::string text = "Options:\n";
  const std::string margin(kHelpColumn, ' ');
  for (const OptionSpec& spec : option_table()) {
    if ((spec.verbs & bit(verb)) == 0) continue;
    std::string line = usage_of(spec);
    if (line.size() + 2 > kHelpColumn) {
      text += line + '\n';
      line = margin;
    } else {
      line.resize(kHelpColumn, ' ');
    }
    for (const char c : spec.help) {
      line += c;
      if (c == '\n') line += margin;
    }
    text += line + '\n';
  }
  return text;
}

// The verb, and what it is about, wrapped beside it.
std::string verb_line(const VerbSpec& spec) {
  constexpr std::size_t kColumn = 12;
  constexpr std::size_t kWidth = 79;
  std::string text;
  std::string line = "  " + std::string(spec.word);
  line.resize(kColumn, ' ');
  std::string_view rest = spec.about;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find_first_of(" \n"), rest.size());
    if (line.size() + 1 + end > kWidth) {
      text += line + '\n';
      line.assign(kColumn, ' ');
    }
    if (line.size() > kColumn) line += ' ';
    line += rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  return text + line + '\n';
}

std::string program_text() {
  std::string text =
      "Usage: quietusctl VERB [OPTIONS]\n"
      "\n"
      "Run commands in any sandbox, end them on time and for certain, fetch what they\n"
      "made, and leave nothing behind.\n"
      "\n"
      "Verbs:\n";
  for (const VerbSpec& spec : verb_table()) text += verb_line(spec);
  return text +
         "\n"
         "Each verb has its own help: quietusctl VERB --help. Options can be set once for\n"
         "all, as QUIETUS_... or in config.toml; quietusctl config --origin shows them.\n"
         "DURATION is a number of seconds, or one with the suffix s, m, h or d; SIZE a\n"
         "number of bytes, or one with KiB, MiB, GiB or TiB.\n";
}

}  // namespace

std::string help_text(std::string_view topic) {
  if (topic == "sandboxes") {
    return "What --sandbox takes:\n\n" + std::string(transport_forms());
  }
  for (const VerbSpec& spec : verb_table()) {
    if (spec.word != topic) continue;
    std::string text = "Usage: quietusctl ";
    (text += spec.word) += ' ';
    ((text += spec.usage) += "\n\n") += spec.about;
    return ((text += "\n\n") += options_text(spec.verb)) += spec.codes;
  }
  return program_text();
}

std::string version_text() { return "quietusctl " + std::string(kVersion) + '\n'; }

}  // namespace quietus::cli

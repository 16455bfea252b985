#include "command.hpp"

namespace quietus::documents {
namespace {

// Inside '...', and inside _arguments' own notation.
std::string escaped(std::string_view text, std::string_view special) {
  std::string out;
  for (const char c : text) {
    if (c == '\'') {
      out += "'\\''";
      continue;
    }
    if (special.find(c) != special.npos) out += '\\';
    out += c;
  }
  return out;
}

std::string action(const Value& value) {
  switch (value.filler) {
    case Filler::nothing: return " ";
    case Filler::file: return "_files";
    case Filler::directory: return "_files -/";
    case Filler::variable: return "_parameters -g \"*export*\"";
    case Filler::words: break;
  }
  if (value.goes_on) return "compadd -S \"\" -- " + escaped(joined(value.words, " "), ":");
  return '(' + joined(value.words, " ") + ')';
}

std::string specification(const std::string& spelling, const Option& option) {
  std::string text = option.value.repeatable ? "'*" : "'";
  const bool is_long = spelling.starts_with("--");
  text += spelling;
  if (option.has_value) text += option.value.attached ? "=-" : is_long ? "=" : "+";
  text += '[' + escaped(brief(option), "[]\\") + ']';
  if (option.has_value) {
    text += option.value.attached ? "::" : ":";
    text += escaped(option.value.name, ":\\") + ':' + action(option.value);
  }
  return text + '\'';
}

}  // namespace

std::string zsh_completion(const Command& command) {
  const std::string name = '_' + command.name;
  std::string verbs;
  std::string words;
  std::string options;
  for (const Verb& verb : command.verbs) {
    if (!verb.word.empty()) {
      verbs += "    '" + verb.word + ':' + escaped(verb.about, ":\\") + "'\n";
      if (!words.empty()) words += '|';
      words += verb.word;
    }
    options += "    (" + (verb.word.empty() ? "''" : verb.word) + ") specifications=(\n";
    for (const Option& option : command.options) {
      if (!goes_with(option, verb)) continue;
      if (option.letter != 0) {
        options += "      " + specification(std::string("-") + option.letter, option) + '\n';
      }
      for (const std::string& long_name : option.names) {
        options += "      " + specification("--" + long_name, option) + '\n';
      }
    }
    if (verb.word.empty()) {
      options += "      \"1: :$first\"\n      '*:: :_normal'\n";
    } else if (verb.takes_command) {
      options += "      '(-)1: :_command_names -e'\n      '*:: :_normal'\n";
    }
    for (std::size_t at = 0; at < verb.operands.size(); ++at) {
      const Value& operand = verb.operands[at];
      options += "      '" + std::to_string(at + 1) + "::" + escaped(operand.name, ":\\") + ':' +
                 action(operand) + "'\n";
    }
    options += "    ) ;;\n";
  }
  std::string text = "#compdef " + command.name + "\n# Completes " + command.name +
                     " in zsh. Made from its table of options when it is built.\n\n";
  text += name + "_verbs() {\n  local -a verbs=(\n" + verbs +
          "  )\n  _describe -t verbs verb verbs\n}\n\n";
  text += name +
          "() {\n"
          "  local verb= first='_command_names -e'\n"
          "  local -a specifications\n"
          "  if ((CURRENT == 2)); then\n"
          "    first=" +
          name +
          "_verbs\n"
          "    specifications=(\"1: :$first\")\n"
          "  fi\n"
          "  case $words[2] in\n    (" +
          words +
          ")\n"
          "      if ((CURRENT > 2)); then\n"
          "        verb=$words[2]\n"
          "        shift words\n"
          "        ((CURRENT--))\n"
          "      fi ;;\n"
          "  esac\n"
          "  case $verb in\n" +
          options +
          "  esac\n"
          "  _arguments -s -S : $specifications\n"
          "}\n\n" +
          name + " \"$@\"\n";
  return text;
}

}  // namespace quietus::documents

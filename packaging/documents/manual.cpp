#include <cctype>

#include "command.hpp"

namespace quietus::documents {
namespace {

// scdoc reads _ between letters as a letter, but * _ \ and # where a line or a word begins as
// marks.
std::string plain(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '*' || c == '_' || c == '\\' || c == '#') out += '\\';
    out += c;
  }
  return out;
}

std::string verbs_of(const Option& option, const Command& command) {
  std::vector<std::string> words;
  bool bare = false;
  for (const std::string& verb : option.verbs) {
    if (verb.empty()) {
      bare = true;
    } else {
      words.push_back('*' + verb + '*');
    }
  }
  if (option.verbs.size() == command.verbs.size()) {
    return bare ? "Goes with every verb, and without one." : "Goes with every verb.";
  }
  if (words.empty()) return "Goes without a verb.";
  return "Goes with " + joined(words, ", ") + (bare ? ", and without a verb." : ".");
}

std::string options(const Command& command) {
  std::string text;
  for (const Option& option : command.options) {
    if (option.letter != 0) text += std::string("*-") + option.letter + "*, ";
    for (std::size_t at = 0; at < option.names.size(); ++at) {
      if (at != 0) text += ", ";
      text += "*--" + option.names[at] + '*';
      if (!option.has_value) continue;
      const std::string value = plain(option.value.name);
      text += option.value.attached ? "[=" + value + "]" : " _" + value + '_';
    }
    std::string help = plain(option.help);
    const bool is_value = help.substr(0, help.find(' ')).ends_with(':');
    if (!is_value) help[0] = static_cast<char>(std::toupper(help[0]));

    text += "\n\t" + help + ". " + verbs_of(option, command) + "\n\n";
  }
  return text;
}

std::string verbs(const Command& command, std::string_view with) {
  std::string text;
  for (const Verb& verb : command.verbs) {
    if (verb.usage.find(with) == verb.usage.npos) continue;
    text += '*' + command.name + ' ' + plain(verb.usage) + "*\n\t" + plain(verb.about) + "\n\n";
  }
  return text;
}

}  // namespace

std::string manual(const Command& command, std::string_view source) {
  std::string text;
  while (!source.empty()) {
    const std::size_t end = source.find('\n');
    const std::string_view line = source.substr(0, end);
    source.remove_prefix(end == source.npos ? source.size() : end + 1);
    if (line == "@OPTIONS@") {
      text += options(command);
    } else if (line == "@VERBS@") {
      text += verbs(command, "");
    } else if (line == "@SESSION_VERBS@") {
      text += verbs(command, "--session DIR");
    } else {
      text += std::string(line) + '\n';
    }
  }
  return text;
}

}  // namespace quietus::documents

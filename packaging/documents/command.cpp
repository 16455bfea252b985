#include "command.hpp"

#include <algorithm>

namespace quietus::documents {

bool goes_with(const Option& option, const Verb& verb) {
  return std::find(option.verbs.begin(), option.verbs.end(), verb.word) != option.verbs.end();
}

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += between;
    text += word;
  }
  return text;
}

std::string brief(const Option& option) { return option.help.substr(0, option.help.find(';')); }

std::string list(const Command& command) {
  std::string text;
  for (const Verb& verb : command.verbs) {
    const std::string word = verb.word.empty() ? "-" : verb.word;
    text += word + '\n';
    for (const Option& option : command.options) {
      if (!goes_with(option, verb)) continue;
      for (const std::string& name : option.names) text += word + " --" + name + '\n';
    }
  }
  return text;
}

}  // namespace quietus::documents

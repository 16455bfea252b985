// A command as its manual and its completions see it: its verbs, its options, and what can stand
// for an option's value. Made from the command's own table, so that nothing is said twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace quietus::documents {

// What a shell can offer for a value.
enum class Filler { nothing, words, file, directory, variable };

struct Value {
  std::string name;  // how help calls it
  Filler filler = Filler::nothing;
  std::vector<std::string> words;
  bool attached = false;    // --name=VALUE only, and it may be absent
  bool goes_on = false;     // a word is, or can be, only the beginning of the value
  bool repeatable = false;  // each one adds something
};

struct Option {
  std::vector<std::string> names;  // without the dashes; the first is the one that help shows
  char letter = 0;
  bool has_value = false;
  Value value;
  std::string help;  // one line
  std::vector<std::string> verbs;
};

struct Verb {
  std::string word;             // empty: the form without one
  std::string usage;            // behind the command's name
  std::string about;            // one line
  bool takes_command = false;   // a command line follows the options
  std::vector<Value> operands;  // or these words, in turn, before, between or behind them
};

struct Command {
  std::string name;
  std::vector<Verb> verbs;
  std::vector<Option> options;
};

Command quietus_command();
Command quietusctl_command();

bool goes_with(const Option& option, const Verb& verb);
std::string joined(const std::vector<std::string>& words, std::string_view between);
std::string brief(const Option& option);  // the first clause of its help

std::string bash_completion(const Command& command);
std::string zsh_completion(const Command& command);
std::string fish_completion(const Command& command);

// The source of a manual page with its lines @OPTIONS@, @VERBS@ and @SESSION_VERBS@ replaced by the
// lists of the command.
std::string manual(const Command& command, std::string_view source);

// "VERB --option" for each that go together, "VERB" for each verb: what the tests compare with.
std::string list(const Command& command);

}  // namespace quietus::documents

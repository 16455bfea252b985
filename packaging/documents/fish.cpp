#include "command.hpp"

namespace quietus::documents {
namespace {

constexpr std::string_view kWalk = R"FISH(
# Prints where the cursor is: VERB or bare among the options, else "command" and its number.
function __@_place
    set -l words (commandline -opc)
    set -l verb bare
    set -l at 2
    if set -q words[2]; and contains -- $words[2] @VERBS
        set verb $words[2]
        set at 3
    end
    while set -q words[$at]
        switch $words[$at]
            case --
                echo command (math $at + 1)
                return
            case '--*=*'
            case @VALUED
                set at (math $at + 1)
            case '-*'
            case '*'
                if not contains -- $verb @QUIET
                    echo command $at
                    return
                end
        end
        set at (math $at + 1)
    end
    echo $verb $at
end

function __@_with
    set -l place (string split ' ' (__@_place))
    contains -- $place[1] $argv
end

# The command that is to be run, completed as if it stood alone.
function __@_command
    set -l place (string split ' ' (__@_place))
    set -l words (commandline -opc)
    set -l line (string escape -- $words[$place[2]..]) (commandline -ct)
    complete --do-complete=(string join ' ' -- $line)
end

function __@_runs
    set -l place (string split ' ' (__@_place))
    test "$place[1]" = command; and return 0
    contains -- $place[1] @RUNNING; and test "$place[1]-$place[2]" != bare-2
    and not string match -q -- '-*' (commandline -ct)
end

function __@_dashed
    __@_with $argv; and string match -q -- '-*' (commandline -ct)
end

function __@_first
    test (__@_place) = 'bare 2'
end
)FISH";

void replace_all(std::string& text, std::string_view what, std::string_view by) {
  for (std::size_t at = text.find(what); at != text.npos; at = text.find(what, at + by.size())) {
    text.replace(at, what.size(), by);
  }
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') out += '\\';
    out += c;
  }
  return out += '\'';
}

std::string fill(const Value& value) {
  switch (value.filler) {
    case Filler::nothing: return " -x";
    case Filler::file: return " -r -F";
    case Filler::directory: return " -x -a '(__fish_complete_directories (commandline -ct))'";
    case Filler::variable: return " -x -a '(set -nx)'";
    case Filler::words: break;
  }
  return " -x -a " + quoted(joined(value.words, " "));
}

// An operand is no option's value: fish is only told what may stand there.
std::string operand_fill(const Value& value) {
  if (value.filler == Filler::words) return " -a " + quoted(joined(value.words, " "));
  return value.filler == Filler::file ? " -F"
                                      : " -a '(__fish_complete_directories (commandline -ct))'";
}

}  // namespace

std::string fish_completion(const Command& command) {
  std::vector<std::string> verbs;
  std::vector<std::string> running;
  std::vector<std::string> quiet;
  for (const Verb& verb : command.verbs) {
    if (!verb.word.empty()) verbs.push_back(verb.word);
    if (verb.takes_command) {
      running.push_back(verb.word.empty() ? "bare" : verb.word);
    } else {
      quiet.push_back(verb.word);
    }
  }
  std::vector<std::string> valued;
  std::string options;
  for (const Option& option : command.options) {
    std::vector<std::string> places;
    for (const std::string& verb : option.verbs) places.push_back(verb.empty() ? "bare" : verb);
    const std::string complete = "complete -c " + command.name + " -n '__" + command.name;
    const std::string condition = complete + "_with " + joined(places, " ") + '\'';
    const std::string about = " -d " + quoted(brief(option));
    const bool value_follows = option.has_value && !option.value.attached;
    for (std::size_t at = 0; at < option.names.size(); ++at) {
      options += condition + " -l " + option.names[at];
      if (at == 0 && option.letter != 0) options += std::string(" -s ") + option.letter;
      if (value_follows) {
        options += fill(option.value);
        valued.push_back("--" + option.names[at]);
      }
      options += about + '\n';
      // fish knows no value that may be absent: each is offered as a word of its own.
      if (option.has_value && option.value.attached) {
        for (const std::string& word : option.value.words) {
          options += complete + "_dashed " + joined(places, " ") + "' -a '--" + option.names[at] +
                     '=' + word + '\'' + about + '\n';
        }
      }
    }
    if (value_follows && option.letter != 0) valued.push_back(std::string("-") + option.letter);
  }
  std::string walk(kWalk);
  replace_all(walk, "@VERBS", joined(verbs, " "));
  replace_all(walk, "@VALUED", joined(valued, " "));
  replace_all(walk, "@RUNNING", joined(running, " "));
  replace_all(walk, "@QUIET", joined(quiet, " "));
  replace_all(walk, "@", command.name);
  std::string text = "# Completes " + command.name +
                     " in fish. Made from its table of options when it is built.\n" + walk +
                     "\ncomplete -c " + command.name + " -f\n";
  for (const Verb& verb : command.verbs) {
    if (verb.word.empty()) continue;
    text += "complete -c " + command.name + " -n __" + command.name + "_first -a " + verb.word +
            " -d " + quoted(verb.about) + '\n';
  }
  for (const Verb& verb : command.verbs) {
    for (const Value& operand : verb.operands) {
      if (operand.filler == Filler::nothing) continue;
      text += "complete -c " + command.name + " -n '__" + command.name + "_with " + verb.word +
              "'" + operand_fill(operand) + '\n';
    }
  }
  text += options;
  text += "complete -c " + command.name + " -n __" + command.name + "_runs -a '(__" + command.name +
          "_command)'\n";
  return text;
}

}  // namespace quietus::documents

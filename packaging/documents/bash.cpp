#include "command.hpp"

namespace quietus::documents {
namespace {

// Readline splits words at = and : too; here they are put together again, each with the number of
// its first piece. Then the words before the cursor are walked as the command itself would.
constexpr std::string_view kWalk = R"SH(
_@() {
  local rest=${COMP_LINE:0:COMP_POINT} piece trimmed verb='' option='' value='' word
  local -a words=() first=()
  local -i at=1 operand=1
  COMPREPLY=()
  for ((piece = 0; piece <= COMP_CWORD; piece++)); do
    trimmed=${rest#"${rest%%[![:space:]]*}"}
    word=${COMP_WORDS[piece]}
    ((piece < COMP_CWORD)) || word=$trimmed
    if [[ ${#words[@]} -gt 0 && $trimmed == "$rest" ]]; then
      words[-1]+=$word
    else
      words+=("$word") first+=("$piece")
    fi
    rest=${trimmed#"$word"}
  done
  local -i last=$((${#words[@]} - 1))

  if ((last > 1)) && _@_is_verb "${words[1]}"; then
    verb=${words[1]}
    at=2
  fi
  while ((at < last)); do
    word=${words[at]}
    case $word in
      --) at+=1; break ;;
      --*=*) at+=1 ;;
      --* | -?) if _@_takes_value "$word"; then option=$word; at+=2; else at+=1; fi ;;
      -*) at+=1 ;;
      *)
        _@_takes_command "$verb" && break
        at+=1 operand+=1
        ;;
    esac
  done
  word=${words[last]}
  if ((at > last)); then
    _@_value "$option" "$word"
  elif ((at < last)); then
    _@_command "$verb" "${first[at]}"
  elif [[ $word == --*=* ]]; then
    option=${word%%=*} value=${word#*=}
    _@_value "$option" "$value"
    # Where = splits no words, the whole word is replaced.
    [[ $COMP_WORDBREAKS == *=* ]] || COMPREPLY=("${COMPREPLY[@]/#/$option=}")
  elif [[ $word == -* && ${words[at - 1]} != -- ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_@_options "$verb")" -- "$word")
  elif ((last == 1)); then
    mapfile -t COMPREPLY < <(compgen -W "$(_@_verbs)" -- "$word")
  elif _@_takes_command "$verb"; then
    _@_command "$verb" "${first[at]}"
  else
    _@_operand "$verb $operand" "$word"
  fi
}

# The command that is to be run: its own completion, where there is one.
_@_command() {  # VERB PIECE
  _@_takes_command "$1" || return
  if declare -F _command_offset >/dev/null; then
    _command_offset "$2"
  elif (($2 == COMP_CWORD)); then
    mapfile -t COMPREPLY < <(compgen -c -- "${COMP_WORDS[COMP_CWORD]}")
  else
    _@_files -f "${COMP_WORDS[COMP_CWORD]}"
  fi
}

_@_files() {  # KIND WORD
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}
)SH";

std::string with_name(std::string_view text, const std::string& name) {
  std::string out;
  for (const char c : text) {
    if (c == '@') {
      out += name;
    } else {
      out += c;
    }
  }
  // "words[@]" is bash's own.
  const std::string wrong = '[' + name + ']';
  for (std::size_t at = out.find(wrong); at != out.npos; at = out.find(wrong, at)) {
    out.replace(at, wrong.size(), "[@]");
  }
  return out;
}

std::vector<std::string> spellings(const Option& option) {
  std::vector<std::string> words;
  for (const std::string& name : option.names) words.push_back("--" + name);
  if (option.letter != 0) words.push_back(std::string("-") + option.letter);
  return words;
}

std::string fill(const Value& value, const std::string& name) {
  switch (value.filler) {
    case Filler::nothing: return ":";
    case Filler::file: return name + "_files -f \"$2\"";
    case Filler::directory: return name + "_files -d \"$2\"";
    case Filler::variable: return "mapfile -t COMPREPLY < <(compgen -e -- \"$2\")";
    case Filler::words: break;
  }
  return std::string(value.goes_on ? "compopt -o nospace 2>/dev/null; " : "") +
         "mapfile -t COMPREPLY < <(compgen -W '" + joined(value.words, " ") + "' -- \"$2\")";
}

}  // namespace

std::string bash_completion(const Command& command) {
  const std::string name = '_' + command.name;
  std::vector<std::string> verbs;
  std::vector<std::string> running;
  std::string options;
  std::string operands;
  for (const Verb& verb : command.verbs) {
    if (!verb.word.empty()) verbs.push_back(verb.word);
    if (verb.takes_command) running.push_back(verb.word.empty() ? "''" : verb.word);
    for (std::size_t at = 0; at < verb.operands.size(); ++at) {
      operands += "    '" + verb.word + ' ' + std::to_string(at + 1) + "') " +
                  fill(verb.operands[at], name) + " ;;\n";
    }
    std::vector<std::string> words;
    for (const Option& option : command.options) {
      if (!goes_with(option, verb)) continue;
      for (const std::string& long_name : option.names) words.push_back("--" + long_name);
    }
    options += "    " + (verb.word.empty() ? "''" : verb.word) + ") echo '" + joined(words, " ") +
               "' ;;\n";
  }
  std::vector<std::string> valued;
  std::string values;
  for (const Option& option : command.options) {
    if (!option.has_value) continue;
    const auto words = spellings(option);
    if (!option.value.attached) valued.insert(valued.end(), words.begin(), words.end());
    values += "    " + joined(words, " | ") + ") " + fill(option.value, name) + " ;;\n";
  }
  std::string text = "# Completes " + command.name +
                     " in bash. Made from its table of options when it is built.\n";
  text += with_name(kWalk, command.name);
  text += "\n" + name + "_verbs() { echo '" + joined(verbs, " ") + "'; }\n";
  text += name + "_is_verb() { [[ \" $(" + name + "_verbs) \" == *\" $1 \"* ]]; }\n";
  text += name + "_takes_command() { case $1 in " + joined(running, " | ") +
          ") ;; *) return 1 ;; esac; }\n";
  text += name + "_takes_value() {\n  case $1 in\n    " + joined(valued, " | ") +
          ") ;;\n    *) return 1 ;;\n  esac\n}\n";
  text += "\n" + name + "_options() {  # VERB\n  case $1 in\n" + options + "  esac\n}\n";
  text += "\n" + name + "_value() {  # OPTION WORD\n  case $1 in\n" + values + "  esac\n}\n";
  text += "\n" + name + "_operand() {  # VERB_AND_NUMBER WORD\n  case $1 in\n" + operands +
          "    *) ;;\n  esac\n}\n";
  text += "\ncomplete -F " + name + ' ' + command.name + '\n';
  return text;
}

}  // namespace quietus::documents

#!/usr/bin/env bash
# Prints what bash offers for a line, one candidate a line: asks the completion function as readline
# would, with the words split at COMP_WORDBREAKS.
#
#   candidates.bash FOLDER LINE    FOLDER holds the completion, named as the line's first word
set -u
command=${2%% *}
# shellcheck source=/dev/null
source "$1/$command"
COMP_LINE=$2
COMP_POINT=${#COMP_LINE}
COMP_WORDS=()
rest=$COMP_LINE
while [ -n "$rest" ]; do
  rest=${rest#"${rest%%[![:space:]]*}"}
  if [[ $rest =~ ^[=:]+ ]] || [[ $rest =~ ^[^[:space:]=:]+ ]]; then
    COMP_WORDS+=("${BASH_REMATCH[0]}")
    rest=${rest:${#BASH_REMATCH[0]}}
  fi
done
[[ $COMP_LINE != *[[:space:]] ]] || COMP_WORDS+=('')
COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
function_name=$(complete -p "$command" | sed -E 's/.*-F ([^ ]+).*/\1/')
"$function_name" "$command" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
[ ${#COMPREPLY[@]} = 0 ] || printf '%s\n' "${COMPREPLY[@]}" | sort -u

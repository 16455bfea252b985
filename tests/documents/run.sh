#!/usr/bin/env bash
# Help, manual and the completions of each shell name the same verbs and options, and complete what
# can be completed. Needs the preset musl built, quietusctl of the preset release, and what tools/setup.sh
# test installs. Ends with the count.
# shellcheck disable=SC2016  # what stands in quotes is for the shell inside
set -u
# Manual pages draw their tables with other characters where the locale has them.
export LC_ALL=C.UTF-8
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
quietus=$root/build/musl/quietus
declare -A program=([quietus]=$quietus [quietusctl]=$root/build/release/quietusctl)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/lib/tally.sh
source "$here/../lib/tally.sh"
if ! cmake --build "$root/build/musl" --target documents >"$scratch/output" 2>&1; then
  bad "the documents are built"
  echo "$passed passed, $failed failed"
  exit 1
fi
cp -r "$root/build/musl/packaging/documents" "$scratch/documents"

# --- who names what ---------------------------------------------------------------------------------

# All of these print "VERB" and "VERB --option" for a command; the form without a verb is "-".
verbs_of() { grep -vF -e ' ' -e - "$scratch/documents/lists/$1"; }
has_bare_form() { grep -qx -e - "$scratch/documents/lists/$1"; }

options_in_help() {  # PROGRAM VERB [WORDS]
  "$1" "${@:3}" --help | sed '1,/^Options:$/d; /^$/,$d' |
    grep -oE '^ +(-[a-zA-Z], )?--[a-z-]+|also --[a-z-]+' | sed -E "s/.* --/$2 --/"
}
named_in_help() {  # COMMAND
  local verb text=$scratch/help.txt
  "${program[$1]}" --help >"$text"
  if [ "$1" = quietus ]; then
    echo -
    sed -nE 's/^(Usage:|      ) quietus ([a-z]+) .*/\2/p' "$text"
    sed -nE 's/.*[|] ([a-z]+) [|].*/\1/p' "$text"
    sed -nE 's/^Verbs of a session: (.*)\.$/\1/p' "$text" | tr -d ' ' | tr ',' '\n'
    grep -oE '[|] --version' "$text" | sed 's/^|/-/'
    options_in_help "${program[$1]}" -
  else
    sed '1,/^Verbs:$/d; /^$/,$d' "$text" | grep -oE '^  [a-z]+' | tr -d ' '
  fi
  for verb in $(verbs_of "$1"); do options_in_help "${program[$1]}" "$verb" "$verb"; done
}

page() { MANWIDTH=900 man -l --no-hyphenation "$1/man/$2.1" 2>/dev/null; }
section() { sed -n "/^$1\$/,/^[A-Z]/p" | sed '1d;$d'; }

named_in_manual() {  # COMMAND DOCUMENTS
  page "$2" "$1" | section VERBS | sed -nE -e "s/^ {7}$1 ([a-z]+).*/\1/p" -e "s/^ {7}$1 --.*/-/p"
  # An option's line has its names; the next line ends with the verbs that it goes with.
  page "$2" "$1" | section OPTIONS | awk -v verbs="$(verbs_of "$1" | tr '\n' ' ')" '
    /^       -/ { count = 0; while (match($0, /--[a-z-]+/)) { name[++count] = substr($0, RSTART, RLENGTH); $0 = substr($0, RSTART + RLENGTH) }; next }
    count && match($0, /Goes with.*/) {
      with = substr($0, RSTART); sub(/\.$/, "", with)
      bare = sub(/Goes without a verb|,? and without (a verb|one)/, "", with)
      if (!sub(/^Goes with every verb/, verbs, with)) sub(/^Goes with/, "", with)
      if (bare) with = with " -"
      gsub(/,/, " ", with)
      parts = split(with, verb, " ")
      for (v = 1; v <= parts; v++) for (n = 1; n <= count; n++) print verb[v], name[n]
      count = 0
    }'
}

candidates() {  # SHELL DOCUMENTS LINE
  case $1 in
    bash) bash "$here/candidates.bash" "$2/bash" "$3" ;;
    zsh) zsh "$here/candidates.zsh" "$2/zsh" "$3" ;;
    fish) fish --no-config "$here/candidates.fish" "$2/fish" "$3" ;;
  esac
}

named_in_shell() {  # SHELL COMMAND DOCUMENTS
  local verb
  candidates "$1" "$3" "$2 "
  if has_bare_form "$2"; then
    echo -
    candidates "$1" "$3" "$2 --" | grep -v '=' | sed 's/^/- /'
  fi
  for verb in $(verbs_of "$2"); do
    candidates "$1" "$3" "$2 $verb --" | grep -v '=' | sed "s/^/$verb /"
  done
}

agrees() {  # WHERE COMMAND DOCUMENTS
  case $1 in
    help) named_in_help "$2" ;;
    manual) named_in_manual "$2" "$3" ;;
    *) named_in_shell "$@" ;;
  esac | sort -u >"$scratch/$1"
  diff <(sort -u "$3/lists/$2") "$scratch/$1"
}

for command in quietus quietusctl; do
  for where in help manual bash zsh fish; do
    holds "$command: $where names each verb and each option, and no other" agrees $where $command "$scratch/documents"
  done
done

# --- the comparison itself --------------------------------------------------------------------------

planted() {  # FILE SED_SCRIPT: a copy of the documents with one file changed
  rm -rf "$scratch/planted"
  cp -r "$scratch/documents" "$scratch/planted"
  sed -i -E "$2" "$scratch/planted/$1"
  ! cmp -s "$scratch/documents/$1" "$scratch/planted/$1" || echo "nothing planted in $1"
}
planted man/quietus.1 's/^\\fB--sync\\fR/\\fB--sink\\fR/'
notices 'an option that the manual spells wrongly' '> run --sink' agrees manual quietus "$scratch/planted"
planted man/quietus.1 '/^\\fBquietus renew/d'
notices 'a verb that the manual lacks' '< renew' agrees manual quietus "$scratch/planted"
planted bash/quietus "/_verbs\\(\\)/s/ probe//"
notices 'a verb that bash lacks' '< probe' agrees bash quietus "$scratch/planted"
planted zsh/_quietus "/^    \\(stop\\)/,/\\) ;;/{/--now/d}"
notices 'an option that zsh lacks' '< stop --now' agrees zsh quietus "$scratch/planted"
planted fish/quietus.fish '1i complete -c quietus -n "__quietus_with renew" -l planted'
notices 'an option that only fish has' '> renew --planted' agrees fish quietus "$scratch/planted"
planted fish/quietusctl.fish '/-l forget/d'
notices 'an option that fish lacks' '< gc --forget' agrees fish quietusctl "$scratch/planted"
planted lists/quietus '1i run --planted'
notices 'an option that help lacks' '< run --planted' agrees help quietus "$scratch/planted"

# --- what is offered --------------------------------------------------------------------------------

mkdir "$scratch/here" "$scratch/here/folder"
touch "$scratch/here/file.json"
cd "$scratch/here" || exit 1

offers() {  # SHELL LINE WORDS...: exactly these
  local shell=$1 line=$2
  shift 2
  diff <(printf '%s\n' "$@" | grep -v '^$' | sort -u) <(candidates "$shell" "$scratch/documents" "$line" | sed 's|/$||')
}
for shell in bash zsh fish; do
  holds "$shell: a verb" offers $shell 'quietus la' launch
  holds "$shell: an option" offers $shell 'quietus run --cl' --cleanup-timeout --clear-env
  holds "$shell: an option behind others" offers $shell 'quietus run -t 5s -q --output=x --is' --isolate
  holds "$shell: a word as a value" offers $shell 'quietus run --descendants ' tree group keep-on-success
  holds "$shell: a value of a letter" offers $shell 'quietus run -s US' USR1 USR2
  holds "$shell: the beginning of a value" offers $shell 'quietus run --rlimit nof' nofile=
  holds "$shell: a file" offers $shell 'quietus run --receipt fi' file.json
  holds "$shell: a directory, and no file" offers $shell 'quietus stop --session ' folder
  holds "$shell: the command to run" offers $shell 'quietus run -t 5 setar' setarch
  holds "$shell: the command after --" offers $shell 'quietus launch --session x -- setar' setarch
  holds "$shell: what the command takes" offers $shell 'quietus run -v cat file' file.json
  holds "$shell: nothing of ours for the command" offers $shell 'quietus run cat --rece' ''
  holds "$shell: nothing where nothing follows" offers $shell 'quietus stop --session x ru' ''
  prefix=--descendants=
  [ $shell = fish ] || prefix=
  holds "$shell: a word that goes on" offers $shell 'quietusctl run --sandbox pod' podman: podman-image:
  holds "$shell: an operand that is a file" offers $shell 'quietusctl batch fi' file.json
  holds "$shell: an operand that is a word" offers $shell 'quietusctl cache pr' prune
  holds "$shell: an option behind an operand" offers $shell 'quietusctl stop abc --ti' --timeout
  holds "$shell: the command to run in a sandbox" offers $shell 'quietusctl run -s local -- setar' setarch
  holds "$shell: a value behind =" offers $shell 'quietus run --descendants=ke' ${prefix}keep-on-success
done

# A word that is offered must be one that the program takes.
takes() {
  local word
  while read -r word; do "$quietus" "${@/WORD/$word}" || { echo "$word: $*"; return 1; }; done
}
for option in descendants signal; do
  candidates bash "$scratch/documents" "quietus run --$option " >"$scratch/words"
  holds "each word of --$option is taken" takes run --$option WORD -- true <"$scratch/words"
done
candidates bash "$scratch/documents" 'quietus run --rlimit ' | sed 's/$/unlimited/' >"$scratch/words"
limits_are_taken() {
  local word
  while read -r word; do
    # Some limits cannot be raised here; what counts is that the name is known.
    "$quietus" run --rlimit "$word" -- true 2>&1 | grep -F 'argument --rlimit' && return 1
  done
  true
}
holds 'each name of --rlimit is taken' limits_are_taken <"$scratch/words"
echo 'planted=unlimited' >"$scratch/words"
notices 'a limit that the program does not know' 'argument --rlimit' limits_are_taken <"$scratch/words"
sandboxes_agree() {
  diff <("${program[quietusctl]}" help sandboxes | grep -oE '(^|, )[a-z-]+([:[]|  )' | tr -d ' ,:[' | sort -u) \
    <(candidates bash "$scratch/documents" 'quietusctl run --sandbox ' | tr -d : | sort -u)
}
holds 'each kind of sandbox is offered' sandboxes_agree
"$quietus" create --session s
holds "the word of --lease is taken" "$quietus" launch --session s --lease stdin -- true </dev/zero

# --- exit codes -------------------------------------------------------------------------------------

codes_in_table() { page "$1" "$2" | section 'EXIT STATUS' | grep -oE '│ *[0-9]+ *│' | tr -d '│ ' | sort -u; }
codes_in_source() {
  sed -nE 's/^ *kExit[A-Za-z]+ = ([0-9]+),.*/\1/p' "$root/contract/exit_code.hpp" | grep -vx 128 | sort -u
}
# All that the verbs' help names, but for the 128 of 128+N.
codes_in_help() {
  local verb
  for verb in $(verbs_of quietusctl); do "${program[quietusctl]}" "$verb" --help | sed '1,/^Exit codes:/{/^Exit/!d}'; done |
    grep -oE '\b[0-9]+\b' | grep -vx 128 | sort -u
}
table_agrees() {  # COMMAND DOCUMENTS
  diff <(if [ "$1" = quietus ]; then codes_in_source; else codes_in_help; fi) <(codes_in_table "$2" "$1")
}
for command in quietus quietusctl; do
  holds "$command: the table of exit codes is right" table_agrees $command "$scratch/documents"
  cp -r "$scratch/documents/man" "$scratch/planted/"
  sed -i 's/^124$/129/' "$scratch/planted/man/$command.1"
  notices 'a wrong code in the table' '> 129' table_agrees $command "$scratch/planted"
done

ends_with() {  # CODE ARGUMENTS...
  local wanted=$1 code=0
  shift
  "$quietus" "$@" || code=$?
  echo "exit code $code"
  [ $code = "$wanted" ]
}
holds 'exit code 0: confirmed' ends_with 0 run -- true
holds 'exit code 1: the form without a verb, and an error' ends_with 1 --receipt r -- ./missing
holds 'exit code 2: wrong usage' ends_with 2 run --timeout never -- true
holds "exit code 7: the command's own" ends_with 7 run -- sh -c 'exit 7'
"$quietus" create --session fenced && "$quietus" stop --session fenced >/dev/null
holds 'exit code 121: nothing was started' ends_with 121 launch --session fenced -- true
holds 'exit code 122: stopped' ends_with 122 run --stop-file file.json -- true
holds 'exit code 124: the deadline' ends_with 124 run --timeout 0.1 -- sleep 60
holds 'exit code 125: a record was not written' ends_with 125 run --receipt missing/r -- true
holds 'exit code 126: not executable' ends_with 126 run -- ./file.json
holds 'exit code 127: not found' ends_with 127 run -- ./missing
holds 'exit code 143: died of a signal' ends_with 143 run -- sh -c 'kill -TERM $$'

# --- the pages --------------------------------------------------------------------------------------

is_clean() { [ -z "$(man --warnings -l "$1" 2>&1 >/dev/null)" ]; }
for page in "$scratch"/documents/man/*.[157]; do
  name=$(basename "${page%.*}")
  holds "$name: a page without warnings" is_clean "$page"
  holds "$name: a page that whatis finds" grep -q "\"$name - " <(lexgrog "$page")
done
cp "$page" "$scratch/page.1"
echo '.UNKNOWN' >>"$scratch/page.1"
if is_clean "$scratch/page.1"; then bad 'a warning is noticed'; else ok 'a warning is noticed'; fi

echo "$passed passed, $failed failed"
[ $failed = 0 ]

#!/usr/bin/env bash
# The pages: every block of commands runs, every block says what it is, every link leads somewhere,
# and the index knows every page. Needs the presets dev and musl built. Ends with the count.
#
#   run.sh [PAGE...]    only the blocks of these pages
#
# A block is fenced and says "sh". With a name behind it ("sh job.sbatch") it is a file of a recipe,
# and tests/recipes runs it. In a manual's source the blocks of EXAMPLES are commands.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
# shellcheck source=tests/lib/tally.sh
source "$here/../lib/tally.sh"

mapfile -t pages < <(find README.md CONTRIBUTING.md SECURITY.md CHANGELOG.md docs \
  \( -name '*.md' -o -name '*.scd' \) -type f | sort)

# Each block into a file of its own, NAME.LINE.sh, and what is wrong with a page to standard output.
unpack() {  # PAGE FOLDER
  awk -v page="$1" -v folder="$2" -v manual="$([[ $1 != *.scd ]] || echo yes)" '
    function name() { gsub(/\//, "-", page_name); return folder "/" page_name "." FNR ".sh" }
    function command(text) { return text ~ /^ *(\$ |quietus|bash |sh |sudo |apt|cmake |ctest |cpack |podman |build\/|tools\/|\.\/|[A-Z_]+=[^ ]+ [a-z])/ }
    BEGIN { page_name = page }
    /^# / && manual { section = $2 }
    /^```/ {
      if (inside) { inside = 0; close(file); file = ""; next }
      inside = 1; loose = 0
      if (manual) { if (section == "EXAMPLES") file = name() }
      else if ($0 == "```sh") file = name()
      else if ($0 == "```") loose = 1
      if (file) printf "" >file
      next
    }
    inside && file { print >>file; next }
    inside && loose && command($0) { print page ":" FNR ": commands in a block that does not say sh"; wrong = 1 }
    !inside && !manual && /^    / && last == "" { indented = 1 }
    !/^    / { indented = 0 }
    indented && command($0) { print page ":" FNR ": commands in an indented block; fence them and say sh"; wrong = 1 }
    { last = $0 }
    END { if (inside) { print page ": a block does not end"; wrong = 1 } exit wrong }
  ' "$1"
}

declare -A excused
while IFS='|' read -r line reason; do
  [[ $line == '#'* ]] || excused[${line% }]=$reason
done <"$here/not-run.txt"

# What the examples take for granted: a harness, a script that starts services, tests for make.
furnish() {
  printf '#!/bin/sh\nexit 0\n' >harness
  cp harness start-services
  chmod 755 harness start-services
  printf 'check:\n\ttrue\n' >Makefile
}

# Everything that a block leaves ends with its PID namespace.
contain=(unshare --mount --pid --fork --kill-child --mount-proc)
[ "$(id -u)" = 0 ] || contain+=(--map-current-user)

declare -A met
run_block() {  # FILE: as a reader would, but for a limit, and with all that it leaves ended
  local line bare folder=$scratch/place
  while IFS= read -r line; do
    bare=$(sed -E 's/ +#.*//; s/ +$//' <<<"$line")
    if [ -n "${excused[$bare]-}" ]; then met[$bare]=yes; else printf '%s\n' "$line"; fi
  done <"$1" >"$1.run"
  rm -rf "$folder"
  mkdir "$folder"
  # What names files of the repository is meant to be run there.
  if grep -qE '(tools|build|tests)/|--preset' "$1.run"; then folder=$root; else (cd "$folder" && furnish); fi
  cat "$1.run"
  (cd "$folder" && PATH=$root/build/musl:$root/build/dev:$PATH timeout --kill-after=5 120 \
    "${contain[@]}" sh -eu "$1.run" </dev/null)
}

mkdir "$scratch/blocks"
for page in "${@:-${pages[@]}}"; do
  unpack "$page" "$scratch/blocks" >"$scratch/output" || bad "$page: each block says what it is"
done
for block in "$scratch"/blocks/*.sh; do
  name=$(basename "$block" .sh)
  holds "$name" run_block "$block"
done
if [ $# -gt 0 ]; then
  echo "$passed passed, $failed failed"
  [ $failed = 0 ]
  exit
fi

# --- the list of exceptions, the index, the links ------------------------------------------------------

for line in "${!excused[@]}"; do
  holds "still on a page, and not run: $line" test -n "${met[$line]-}"
done

# A named block is a file that a recipe's test unpacks.
for page in docs/recipes/*.md; do
  while read -r file; do
    holds "$page: $file is run by its test" grep -q "^unpack $(basename "$page" .md) $file" tests/recipes/*.sh
  done < <(sed -nE 's/^```[a-z]+ (.+)$/\1/p' "$page")
done

# LINK for each link of a page, as seen from the repository's top; those into the web are left out.
links_of() {
  grep -oE '\]\([^)# ]+' "$1" | sed 's/^](//' | grep -v '^https\?:' | while read -r link; do
    realpath -ms --relative-to=. "$(dirname "$1")/$link"
  done
}
links_lead_somewhere() {
  local link wrong=0
  while read -r link; do [ -e "$link" ] || { echo "$1: $link does not exist"; wrong=1; }; done < <(links_of "$1")
  return $wrong
}
for page in "${pages[@]}"; do
  [[ $page == *.scd ]] || holds "$page: its links lead somewhere" links_lead_somewhere "$page"
done
every_page_is_linked() {
  diff <(printf '%s\n' "${pages[@]}" | grep -v '^docs/index.md$') \
    <(links_of "$1" | grep -E '\.(md|scd)$' | sort -u)
}
holds 'the index knows every page' every_page_is_linked docs/index.md
holds 'llms.txt is the index' cmp docs/index.md docs/llms.txt

# --- the checks themselves -----------------------------------------------------------------------------

notices_in() {  # WHAT WORDS TEXT
  printf '%s\n' "$3" >"$scratch/planted.md"
  rm -rf "$scratch/planted"
  mkdir "$scratch/planted"
  if unpack "$scratch/planted.md" "$scratch/planted" >"$scratch/output"; then
    for block in "$scratch"/planted/*.sh; do run_block "$block"; done >>"$scratch/output" 2>&1 && echo held >>"$scratch/output"
  fi
  if grep -qF -- "$2" "$scratch/output" && ! grep -qx held "$scratch/output"; then ok "notices $1"; else bad "notices $1"; fi
}
notices_in 'an indented command' 'fence them' $'Text:\n\n    quietus run -- true\n'
notices_in 'a block that does not say sh' 'does not say sh' $'```\nquietus run -- true\n```'
notices_in 'a command that fails' 'argument --timeout' $'```sh\nquietus run --timeout never -- true\n```'
printf '[a](nowhere.md)\n' >"$scratch/planted.md"
refuses() { ! "$@"; }
holds 'notices a page that the index lacks' refuses every_page_is_linked "$scratch/planted.md"
holds 'notices a link that leads nowhere' refuses links_lead_somewhere "$scratch/planted.md"

echo "$passed passed, $failed failed"
[ $failed = 0 ]

#!/usr/bin/env bash
# Checks the model of the claim protocol, docs/model. Needs spin and a C compiler.
#
#   run.sh                          every configuration exhaustively, then every mutation
#   run.sh trace [NAME=VALUE]...    a short way to a violation, step by step, for example
#                                   run.sh trace MUTATION=STOP_FOLLOWS_INODE KILLS=2
#
# A mutation is a fault that is built into the model. It has to break the very property that guards
# against it: one that passes is a failed test. Ends with the figures, in lines that begin with "# "
# for whoever reads the log of all suites, and the count.
set -u
here=$(cd "$(dirname "$0")" && pwd)
models=$(cd "$here/../../docs/model" && pwd)
model=$models/claim.pml
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0 failed=0 total=0

# name | sizes
configurations='
races       | LAUNCHES=2 STOPS=2 REMOVES=1 KILLS=1 CGROUPS=0
losses      | LAUNCHES=1 STOPS=2 REMOVES=1 KILLS=2
duplicates  | LAUNCHES=3 STOPS=1 REMOVES=0 KILLS=1 CGROUPS=0
removals    | LAUNCHES=1 STOPS=1 REMOVES=2 KILLS=2 CGROUPS=0
path again  | LAUNCHES=2 STOPS=0 REMOVES=1 KILLS=2 CREATES=1 CGROUPS=0
late remove | LAUNCHES=1 STOPS=1 REMOVES=2 KILLS=0 CREATES=1 CGROUPS=0
upstream    | LAUNCHES=2 STOPS=0 REMOVES=1 KILLS=1 UPSTREAM_STOPS=1 CGROUPS=0
'

# mutation | the property that it breaks | the sizes that suffice to show it
mutations='
CLAIM_AFTER_PID        | pid_of_winner | LAUNCHES=2 STOPS=0 REMOVES=0 KILLS=0
CLAIM_NOT_CHECKED      | runs_once     | LAUNCHES=2 STOPS=0 REMOVES=0 KILLS=0
LAUNCH_FOLLOWS_INODE   | named         | LAUNCHES=1 STOPS=0 REMOVES=1 KILLS=0
STOP_FOLLOWS_INODE     | true_receipt  | LAUNCHES=1 STOPS=1 REMOVES=1 KILLS=2
REMOVE_FOLLOWS_INODE   | undeleted     | LAUNCHES=1 STOPS=0 REMOVES=2 KILLS=0 CREATES=1
REMOVE_PUTS_BACK       | named         | LAUNCHES=1 STOPS=0 REMOVES=2 KILLS=0 CREATES=1
STOP_UNLOCKED          | fenced        | LAUNCHES=1 STOPS=1 REMOVES=0 KILLS=0
REMOVE_UNLOCKED        | undeleted     | LAUNCHES=1 STOPS=0 REMOVES=1 KILLS=0
GUARDIAN_UNLOCKED      | final_receipt | LAUNCHES=1 STOPS=1 REMOVES=0 KILLS=1
SUPERVISOR_UNLOCKED    | fenced        | LAUNCHES=1 STOPS=1 REMOVES=0 KILLS=1
WORKER_LOCKED          | reaches_end   | LAUNCHES=1 STOPS=0 REMOVES=0 KILLS=2
CHILD_UNLOCKED_EARLY   | fenced        | LAUNCHES=1 STOPS=1 REMOVES=0 KILLS=2
RECEIPT_BEFORE_END     | true_receipt  | LAUNCHES=1 STOPS=0 REMOVES=0 KILLS=0
GUARDIAN_FORGETS       | final_receipt | LAUNCHES=1 STOPS=0 REMOVES=0 KILLS=1
RECOVERY_WITHOUT_PROOF | true_receipt  | LAUNCHES=1 STOPS=1 REMOVES=0 KILLS=2
LEAF_OUTLIVED          | true_receipt  | LAUNCHES=1 STOPS=1 REMOVES=0 KILLS=2
LEAF_INHERITED         | true_receipt  | LAUNCHES=2 STOPS=0 REMOVES=1 KILLS=2 CREATES=1
STOP_UNWATCHED         | reaches_end   | LAUNCHES=1 STOPS=0 REMOVES=0 KILLS=0
NO_LAST_LOOK           | heeded        | LAUNCHES=1 STOPS=1 REMOVES=0 KILLS=0
REMOVE_LOST            | unforgotten   | LAUNCHES=1 STOPS=0 REMOVES=1 KILLS=2
'

ok() { echo "ok      $1"; passed=$((passed + 1)); }
bad() { echo "FAILED  $1"; failed=$((failed + 1)); }

# "a=1 b=2" to the options of spin, in the array `defines`.
define() { read -ra defines <<<"$*"; defines=("${defines[@]/#/-D}"); }

# Makes the checker for `defines` in a directory, and lets it search. Compiling it without
# optimisation is quicker than what the search would gain.
search() {  # DIRECTORY PAN_OPTION...
  local directory=$1
  shift
  mkdir -p "$directory"
  (
    cd "$directory" || exit 1
    { spin "${defines[@]}" -a "$model" && "${CC:-cc}" -DSAFETY -DCOLLAPSE -w -o pan pan.c; } \
      >build.log 2>&1 || { cat build.log; exit 1; }
    ./pan -m10000 -w22 "$@" >out 2>&1
  )
}

states() { sed -nE 's/^ *([0-9]+) states, stored$/\1/p' "$1/out"; }

# A search that ran out of depth or memory proves nothing.
is_complete() {
  grep -q 'errors: [0-9]' "$1/out" &&
    ! grep -Eq 'depth too small|out of memory|Search not completed' "$1/out"
}

# Which property the search found broken; nothing if none.
broken() {  # DIRECTORY, with `defines` as for the search
  if grep -q '^pan:1: invalid end state' "$1/out"; then
    echo reaches_end
  elif [ -f "$1/claim.pml.trail" ]; then
    spin "${defines[@]}" -k "$1/claim.pml.trail" -t "$model" |
      sed -nE 's/^ *broken: ([a-z_]+).*/\1/p'
  fi
}

# The steps of a violation: who, where in the model, and what it changed.
tell() {  # DIRECTORY
  spin "${defines[@]}" -k "$1/claim.pml.trail" -t -p "$model" | awk '
    /\tproc +[0-9]+ \(.*\.pml:[0-9]+ \(state [0-9]+\)\t\[.*\]$/ {
      who = $0; sub(/^[^(]*\(/, "", who); sub(/:[0-9]+\).*/, "", who)
      number = $0; sub(/^.*proc +/, "", number); sub(/ .*/, "", number)
      place = $0; sub(/ \(state .*/, "", place); sub(/^.*\//, "", place)
      what = $0; sub(/^.*\t\[/, "", what); sub(/\]$/, "", what)
      if (what ~ /^\(*run /) gsub(/^\(|\)$/, "", what)
      else if (what == "kills = (kills-1)") what = "killed"
      else if (what == "(timeout)") what = "nothing else moves"
      else if (what ~ /^\(|^\.|^else$|^assert|^printf|^break$|^goto :/) next
      if (who ~ /init/ && what !~ /^nothing|^run Stop/) next
      printf "        %-10s %2s  %-14s  %s\n", who, number, place, what
    }'
}

properties=$(sed -n '/^mtype/,/^}/p' "$models/properties.pml" |
  sed -nE 's/^  ([a-z_]+),? .*/\1/p')
known=$(sed -nE 's/^#define ([A-Z_]+) [1-9][0-9]* .*/\1/p' "$models/mutations.pml")

if [ "${1-}" = trace ]; then
  shift
  define "$@"
  # Breadth would find the shortest trace; shortening the first one that depth finds is cheaper.
  search "$scratch/trace" -i || exit 1
  if [ ! -f "$scratch/trace/claim.pml.trail" ]; then
    echo "no violation in $(states "$scratch/trace") states"
    exit 0
  fi
  tell "$scratch/trace"
  echo "broken: $(broken "$scratch/trace")"
  exit 1
fi

check_configuration() {  # NAME SIZES
  local at="$scratch/${1// /-}" found
  define "$2"
  if ! search "$at"; then
    bad "$1: cannot be searched"
  elif found=$(broken "$at") && [ -n "$found" ]; then
    violated+=" $found"
    bad "$1 ($2): $found is broken"
    tell "$at"
  elif ! is_complete "$at"; then
    bad "$1 ($2): the search is not complete"
    tail -n 5 "$at/out"
  else
    searched+=("$at")
    total=$((total + $(states "$at")))
    figures+=("$1 ($2): $(states "$at") states")
    ok "${figures[-1]}"
  fi
}

# What no configuration reaches would be checked in vain. What only a mutation does is left out.
check_reach() {
  awk -v count=${#searched[@]} '
    FILENAME ~ /\.pml$/ { name = FILENAME; sub(/^.*\//, "", name); text[name ":" FNR] = $0; next }
    /^unreached in / { process = $NF; next }
    match($0, /[a-z]+\.pml:[0-9]+, state [0-9]+, /) {
      place = substr($0, RSTART, RLENGTH); sub(/,.*/, "", place)
      rest = substr($0, RSTART + RLENGTH)
      if (rest ~ /broken: |assert\(0\)|-end-/ || text[place] ~ /HAS\(|STALE_LEAF/) next
      key = process ", " place ": " rest
      if (!((FILENAME, key) in seen)) { seen[FILENAME, key]; times[key]++ }
    }
    END {
      for (key in times) if (times[key] == count) { print "        " key; dead = 1 }
      exit dead
    }
  ' "$models"/*.pml "${searched[@]/%//out}"
}

check_mutation() {  # NAME PROPERTY SIZES
  local at="$scratch/$1" found options=(-E)  # -E: do not look at the ends
  [ "$2" != reaches_end ] || options=()
  define "MUTATION=$1 ONLY=$2 $3"
  if ! search "$at" "${options[@]}"; then
    bad "$1: cannot be searched"
  elif found=$(broken "$at") && [ "$found" = "$2" ]; then
    ok "$1 breaks $2 (after $(states "$at") states)"
    noticed=$((noticed + 1))
  else
    bad "$1 does not break $2 (${found:-nothing is broken}; $3; $(states "$at") states)"
  fi
}

searched=() violated='' figures=()
echo "configurations:"
while IFS='|' read -r name sizes; do
  name=$(xargs <<<"$name") sizes=$(xargs <<<"$sizes")
  [ -z "$name" ] || check_configuration "$name" "$sizes"
done <<<"$configurations"
figures+=("$total states in all")
echo "        ${figures[-1]}"

echo "properties:"
hold=''
for property in $properties; do
  if [[ " $violated " == *" $property "* ]]; then
    bad "$property"
  elif [ $failed -gt 0 ]; then
    bad "$property is not decided"
  else
    ok "$property holds in every state"
    hold+=" $property"
  fi
done
figures+=("hold in every state:${hold:- nothing}")
if [ ${#searched[@]} -gt 0 ] && check_reach; then
  ok "every step of the model is reached"
else
  bad "steps that no configuration reaches"
fi

echo "mutations:"
tried='' guarded='' noticed=0
while IFS='|' read -r name property sizes; do
  name=${name// /} property=${property// /} sizes=$(xargs <<<"$sizes")
  [ -n "$name" ] || continue
  check_mutation "$name" "$property" "$sizes"
  tried+=" $name" guarded+=" $property"
done <<<"$mutations"
for name in $known; do
  [[ " $tried " == *" $name "* ]] || bad "mutation $name is in the model but not tried"
done
for property in $properties; do
  [[ " $guarded " == *" $property "* ]] || bad "no mutation breaks $property"
done
figures+=("$noticed of $(wc -w <<<"$tried") mutations break the property that guards against them")

printf '# %s\n' "${figures[@]}"
echo "$passed passed, $failed failed"
[ $passed -gt 0 ] && [ $failed = 0 ]

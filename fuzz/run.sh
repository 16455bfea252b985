#!/usr/bin/env bash
# Runs every fuzz target over its seeds and then for a few seconds beyond. Needs the fuzz preset
# built. Ends with the count of targets.
#
#   run.sh                     all, three seconds each (QUIETUS_FUZZ_SECONDS says how many)
#   run.sh TARGET [OPTION]...  one, with options of libFuzzer; without -runs or -max_total_time it
#                              does not end by itself
#
# What a target complains of is kept in build/fuzz/found/, to be given to it again as an argument.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

seconds=${QUIETUS_FUZZ_SECONDS:-3}
found=build/fuzz/found
mkdir -p "$found"

# What is newly learnt goes to a directory of its own: the first that libFuzzer is given.
fuzz() {  # TARGET OPTION...
  local target=$1 learnt=build/fuzz/learnt/$1
  shift
  mkdir -p "$learnt"
  "build/fuzz/fuzz/${target}_fuzz" -artifact_prefix="$found/$target-" -timeout=10 -print_final_stats=1 \
    "$@" "$learnt" "fuzz/corpus/$target"
}

if [ $# -gt 0 ]; then
  fuzz "$@"
  exit
fi

one() {  # TARGET
  local log=$found/$1.log
  if [ ! -d "fuzz/corpus/$1" ]; then
    echo "FAILED  $1: no seeds"
  elif fuzz "$1" -max_total_time="$seconds" -seed=1 >"$log" 2>&1; then
    echo "ok      $1: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") runs"
  else
    echo "FAILED  $1"
    grep -E '^not so: |runtime error: |ERROR: |SUMMARY: |Test unit written|^Base64: ' "$log"
  fi
}
export -f fuzz one
export found seconds
# shellcheck disable=SC2016  # $0 is for the inner shell
basename -s _fuzz.cpp -a fuzz/*_fuzz.cpp | xargs -P "$(nproc)" -n 1 bash -c 'one "$0"' |
  tee "$found/summary"
passed=$(grep -c '^ok ' "$found/summary")
failed=$(grep -c '^FAILED ' "$found/summary")
echo "# $passed targets, $(awk '/^ok / {runs += $3} END {print runs + 0}' "$found/summary") runs"
echo "$passed passed, $failed failed"
[ "$passed" -gt 0 ] && [ "$failed" = 0 ]

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

passed=0 failed=0 total=0
for source in fuzz/*_fuzz.cpp; do
  target=$(basename "$source" _fuzz.cpp)
  log=$found/$target.log
  if [ ! -d "fuzz/corpus/$target" ]; then
    echo "FAILED  $target: no seeds"
    failed=$((failed + 1))
  elif fuzz "$target" -max_total_time="$seconds" -seed=1 >"$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    echo "ok      $target: $runs runs"
    passed=$((passed + 1)) total=$((total + runs))
  else
    echo "FAILED  $target"
    grep -E '^not so: |runtime error: |ERROR: |SUMMARY: |Test unit written|^Base64: ' "$log"
    failed=$((failed + 1))
  fi
done
echo "# $passed targets, $total runs"
echo "$passed passed, $failed failed"
[ $passed -gt 0 ] && [ $failed = 0 ]

#!/usr/bin/env bash
# Fuzzes every target, as many at a time as there are cores, and says how much of its module the
# corpus of each reaches.
#
#   fuzz.sh SECONDS     that long in all; what was learnt goes, minimised, to fuzz/corpus/TARGET
#   fuzz.sh --coverage  only says what the corpus reaches
#
# Fails when a target found something, and names the input; and when less than 90 % of the lines of
# a file are reached that a target is for. Those files stand at the top of the target's source.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

bound=90
counted=build/fuzz-coverage  # the targets, without sanitizers and with counters
mapfile -t targets < <(basename -s _fuzz.cpp -a fuzz/*_fuzz.cpp)

build() {  # PRESET FOLDER [OPTION...]
  mkdir -p "$2"
  { cmake --preset "$1" -B "$2" "${@:3}" && cmake --build "$2"; } >"$2/build.log" 2>&1 && return
  tail -n 40 "$2/build.log"
  exit 1
}

# Few inputs that reach all of the new code: that it ran more often is not worth a file.
keep() {  # TARGET
  local before after
  before=$(find "fuzz/corpus/$1" -type f | wc -l)
  "build/fuzz/fuzz/${1}_fuzz" -set_cover_merge=1 -use_counters=0 "fuzz/corpus/$1" "build/fuzz/learnt/$1" \
    >"build/fuzz/found/$1.merge.log" 2>&1 || return
  after=$(find "fuzz/corpus/$1" -type f | wc -l)
  echo "kept    $1: $((after - before)) new inputs, $after in all"
}

reach() {  # TARGET
  local at=$counted/$1 groups
  groups=$(sed -n 's/^\/\/ Module: //p' "fuzz/${1}_fuzz.cpp" | tr ' ' '\n' | sed "s/\$/ $bound/")
  LLVM_PROFILE_FILE=$at.profraw "$counted/fuzz/${1}_fuzz" "fuzz/corpus/$1"/* >"$at.log" 2>&1 &&
    llvm-profdata-19 merge -o "$at.profdata" "$at.profraw" &&
    llvm-cov-19 export -format=lcov -instr-profile "$at.profdata" "$counted/fuzz/${1}_fuzz" |
    awk -v root="$PWD/" -v groups="${groups//$'\n'/ }" -f tools/coverage.awk >"$at.txt"
  local code=$?
  sed "/^\$/,\$d; s/^/$(printf %-15s "$1") /" "$at.txt"
  return $code
}

if ! [[ ${1-} =~ ^(--coverage|[1-9][0-9]*)$ ]]; then
  echo "usage: fuzz.sh SECONDS | --coverage" >&2
  exit 2
fi
code=0
bash tools/setup.sh coverage || exit 1
if [ "$1" != --coverage ]; then
  build fuzz build/fuzz
  rounds=$(((${#targets[@]} + $(nproc) - 1) / $(nproc)))
  QUIETUS_FUZZ_SECONDS=$((($1 + rounds - 1) / rounds)) bash fuzz/run.sh || code=1
  for target in "${targets[@]}"; do keep "$target" || code=1; done
fi
build fuzz $counted -DCMAKE_CXX_COMPILER=clang++-19 \
  -DCMAKE_CXX_FLAGS='-fcoverage-mapping -fprofile-instr-generate'
for target in "${targets[@]}"; do reach "$target" || code=1; done
exit $code

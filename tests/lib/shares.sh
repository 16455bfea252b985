#!/usr/bin/env bash
# Runs the tests of a GoogleTest program in shares beside each other, since most of a test is
# waiting:
#
#   shares.sh SHARES PROGRAM [OPTION...]
#
# With $XML (as GoogleTest's --gtest_output wants it) a record of each share is left there.
set -uo pipefail

shares=$1 program=$2
shift 2
# shellcheck source=tests/lib/beside.sh
source "$(dirname "$0")/beside.sh"
running=()

for ((share = 0; share < shares; share++)); do
  options=("$@")
  [ -z "${XML-}" ] || options+=("--gtest_output=${XML}share-$share.xml")
  GTEST_TOTAL_SHARDS=$shares GTEST_SHARD_INDEX=$share \
    "$program" "${options[@]}" >"$scratch/$share" 2>&1 </dev/null &
  running+=($!)
done

code=0
for pid in "${running[@]}"; do wait "$pid" || code=1; done
running=()
for ((share = 0; share < shares; share++)); do
  echo "== share $share of $shares"
  cat "$scratch/$share"
done
exit $code

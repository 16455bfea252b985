#!/usr/bin/env bash
# Holds the shipped binaries to their budgets. Going over is a reason to think, not to raise a number.
#
#   size.sh [ROOT]
set -u
root=${1:-$(dirname "$0")/../..}

# preset: bytes; with the session verbs
budgets='
musl          163840
musl-aarch64  229376
release      1048576
'

wrong=0
while read -r preset budget; do
  [ -n "$preset" ] || continue
  size=$(stat -c %s "$root/build/$preset/quietus") || { wrong=1; continue; }
  echo "$preset: $size of $budget bytes"
  [ "$size" -le "$budget" ] || { echo "$preset: over its budget"; wrong=1; }
done <<<"$budgets"
exit $wrong

#!/usr/bin/env bash
# Nothing is awaited inside a condition: g++ 12 may put the awaited value at the front of the
# coroutine's frame, where the resume pointer belongs. Prints file:line of each that is.
#
#   awaits.sh [ROOT]
set -u
root=${1:-$(dirname "$0")/../..}
cd "$root" || exit 1

# From the opening parenthesis to the one that closes it, also over several lines.
# shellcheck disable=SC2016  # the dollars are for awk
find client cli tests examples -name '*.[ch]pp' -print0 2>/dev/null | xargs -0 awk '
  FNR == 1 { depth = 0 }
  {
    line = $0
    sub(/\/\/.*/, "", line)
    while (line != "") {
      if (depth == 0) {
        if (!match(line, /(^|[^a-zA-Z_])(if|while|switch|for) (constexpr )?\(/)) break
        line = substr(line, RSTART + RLENGTH)
        depth = 1
      }
      if (!match(line, /[()]|co_await/)) break
      word = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      if (word == "(") depth++
      else if (word == ")") depth--
      else { print FILENAME ":" FNR ": co_await inside a condition"; wrong = 1 }
    }
  }
  END { exit wrong }
'

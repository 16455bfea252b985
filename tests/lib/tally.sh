# shellcheck shell=bash disable=SC2154  # $scratch is theirs
# Sourced by suites in shell. Counts in $passed and $failed; what a failed command has said goes below
# its line. Needs a folder $scratch.
passed=0 failed=0

ok() { echo "ok      $1"; passed=$((passed + 1)); }
bad() { echo "FAILED  $1"; sed 's/^/    /' "$scratch/output" | tail -n 40; failed=$((failed + 1)); }
holds() {  # NAME COMMAND...
  local name=$1
  shift
  if "$@" >"$scratch/output" 2>&1; then ok "$name"; else bad "$name"; fi
}
notices() {  # NAME WORDS COMMAND...: the command must fail, and say these words
  local name="notices $1" words=$2
  shift 2
  if ! "$@" >"$scratch/output" 2>&1 && grep -qF -- "$words" "$scratch/output"; then
    ok "$name"
  else
    bad "$name"
  fi
}
result() {  # CODE NAME
  if [ "$1" = 0 ]; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
  echo "$([ "$1" = 0 ] && echo ok || echo FAILED): $2"
}

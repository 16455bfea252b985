# shellcheck shell=bash
# What the cases of the recipes share. A case runs in an empty folder, in a PID namespace of its own,
# with quietus, or what stands in for it, first in PATH.
set -euo pipefail
pages=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../docs/recipes" && pwd)

# The last words of a case that fails: the expectation that did not hold.
fail() { echo "not so: $*"; exit 1; }
expect() {  # WHAT COMMAND...
  local what=$1
  shift
  "$@" || fail "$what"
  echo "so it is: $what"
}

# A block of a page into a file, whose name follows the language behind the block's opening fence.
unpack() {  # PAGE FILE
  awk -v name="$2" '/^```/ {on = !on && $2 == name; next} on' "$pages/$1.md" >"$2"
  [ -s "$2" ] || fail "$1.md has a block $2"
}

# A program that starts a daemon, deaf and in a session of its own, and leaves its pid in ./detached;
# then it does what standard input says.
daemoniser() {  # FILE
  {
    cat <<'PROGRAM'
#!/bin/sh
( setsid sh -c 'trap "" TERM HUP INT; echo $$ >detached.part; mv detached.part detached
  while :; do sleep 1; done' </dev/null >/dev/null 2>&1 & )
until [ -s detached ]; do sleep 0.02; done
PROGRAM
    cat
  } >"$1"
  chmod 755 "$1"
}

wait_for() {  # SECONDS COMMAND...
  local -i until=$((SECONDS + $1))
  shift
  until "$@"; do
    [ $SECONDS -lt $until ] || return 1
    sleep 0.02
  done
}

lived() { [ -s detached ]; }
# A harness that saves its work on TERM says when it could.
ready() { lived && [ -e ready ]; }
is_gone() { lived && [ ! -e "/proc/$(cat detached)" ]; }
daemon_is_gone() {
  expect 'the daemon lived' lived
  expect 'the daemon is gone' is_gone
}
is_confirmed() { case $(cat "$1" 2>/dev/null) in '{"cleanup_confirmed": true, '*) ;; *) return 1 ;; esac; }
ends_with() {  # CODE COMMAND...
  local wanted=$1 code=0
  shift
  "$@" || code=$?
  [ $code = "$wanted" ] || { echo "exit code $code"; return 1; }
}

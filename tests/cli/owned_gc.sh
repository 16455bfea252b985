#!/usr/bin/env bash
# kill -9 of quietusctl at moments of a session that owns its container, then gc: no container, no
# process of one, nothing in the ledger; what an earlier session had collected stays.
#
#   owned_gc.sh QUIETUSCTL PAYLOAD
#
# QUIETUS_MOMENTS says how many (default: 6). Ends with the count. Needs root or sudo.
set -uo pipefail
[ "$(id -u)" = 0 ] || exec sudo -n -E bash "$0" "$@"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
if [ -z "${SANDBOXES-}" ]; then
  ctl=$(realpath "$1") payload=$(realpath "$2")
  exec bash "$lib/enclose.sh" bash "$lib/with_podman.sh" "$payload" bash "$0" "$ctl" "$payload"
fi
ctl=$1 payload=$2 moments=${QUIETUS_MOMENTS:-6}
export XDG_STATE_HOME=$TMPDIR/state
# The harness is in the container, and nothing else there sleeps so long.
session=("$ctl" run --quiet --payload "$payload" --sandbox podman-image:q:busybox
  --create-option "--cgroup-parent=/$CGROUPS" --collect /tmp/made --into "$TMPDIR/got" --
  sh -c 'setsid sleep 54321 & echo whole >/tmp/made; sleep 0.5')
# shellcheck source=tests/lib/tally.sh
source "$lib/tally.sh"

milliseconds() { date +%s%3N; }
containers() { podman ps --all --quiet --filter name=quietus- | wc -l; }
harnesses() { pgrep -fc 'sleep 54321'; }
entries() { find "$XDG_STATE_HOME" -type f | wc -l; }

began=$(milliseconds)
"${session[@]}" >/dev/null && [ "$(cat "$TMPDIR/got/made")" = whole ]
result $? 'a whole session'
whole=$(($(milliseconds) - began))
[ "$(containers) $(harnesses) $(entries)" = '0 0 0' ]
result $? 'leaves nothing'

alive=0
for ((moment = 1; moment <= moments; ++moment)); do
  "${session[@]}" >/dev/null 2>&1 &
  controller=$!
  sleep "$(awk "BEGIN { print $whole * $moment / ($moments + 1) / 1000 }")"
  kill -KILL $controller
  wait $controller 2>/dev/null
  [ "$(containers)" = 0 ] || alive=$((alive + 1))
  "$ctl" gc >"$TMPDIR/gc" 2>&1
  code=$?
  # A podman that was on its way when its controller died has had its time.
  sleep 1
  left="$(containers) $(harnesses) $(entries) $(cat "$TMPDIR/got/made")"
  [ $code = 0 ] && [ "$left" = '0 0 0 whole' ]
  result $? "moment $moment of $moments: gc $code, left: $left"
  [ $code = 0 ] || cat "$TMPDIR/gc"
done
[ $alive -ge $((moments / 3)) ]
result $? "of $moments, $alive left a container to gc"
echo "$passed passed, $failed failed"
[ $failed = 0 ]

#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
daemoniser harness <<<'trap "echo saved >work; exit 0" TERM; : >ready; while :; do sleep 0.1; done'
unpack systemd harness.service
sed -i "s|/usr/bin/quietus|$(command -v quietus)|; s|/run/harness|$PWD|g; s|/usr/local/bin/harness|$PWD/harness|" \
  harness.service
expect 'systemd accepts the unit' systemd-analyze verify --man=no ./harness.service

# What systemd does with it: start the words of ExecStart, and for a stop TERM to them alone.
read -ra words < <(sed -n 's/^ExecStart=//p' harness.service)
"${words[@]}" &
service=$!
expect 'the harness starts its daemon' wait_for 10 ready
kill -TERM $service
code=0
wait $service || code=$?
daemon_is_gone
expect 'the harness saved its work' grep -q saved work
expect 'the exit code counts as success' grep -qx "SuccessExitStatus=$code" harness.service
expect 'the receipt confirms' is_confirmed receipt.json
limit=$(sed -n 's/^TimeoutStopSec=//p' harness.service)
phase=$(grep -oE 'cleanup-timeout [0-9]+' harness.service | cut -d' ' -f2)
expect 'three phases fit into the time that systemd gives' [ $((3 * phase)) -lt "$limit" ]

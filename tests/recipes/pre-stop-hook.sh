#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
mkdir session
daemoniser harness <<<'trap "echo saved >work; exit 0" TERM; : >ready; while :; do sleep 0.1; done'
unpack pre-stop-hook pod.yml
sed -i "s|\"/session\"|\"$PWD/session\"|g; s|/srv/harness|$PWD/harness|" pod.yml
# The two command lines of the page, a word in each element.
words_of() { awk -v which="$1" '/command: \[/ && ++n == which' pod.yml | grep -oE '"[^"]+"' | tr -d '"'; }
mapfile -t container < <(words_of 1)
mapfile -t hook < <(words_of 2)

"${container[@]}" &
main=$!
expect 'the harness starts its daemon' wait_for 10 ready
"${hook[@]}" >printed || fail 'the hook succeeds'
daemon_is_gone
expect 'the harness saved its work' grep -q saved work
expect 'the hook prints the receipt' is_confirmed printed
expect 'the container was stopped on request' ends_with 122 wait $main
expect 'a later launch starts nothing' ends_with 121 "${container[@]}"

grace=$(sed -nE 's/.*terminationGracePeriodSeconds: ([0-9]+)/\1/p' pod.yml)
timeout=${hook[-1]}
phase=$(printf '%s\n' "${container[@]}" | sed -n '/--cleanup-timeout/{n;p}')
expect 'the grace is longer than the hook' [ "$grace" -gt "$timeout" ]
expect 'the hook is longer than three phases' [ "$timeout" -gt $((3 * phase)) ]

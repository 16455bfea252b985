#!/usr/bin/env bash
# Installs what is missing, builds the small static binary, and shows what it is for: a command
# whose tools have detached from it in every usual way meets its deadline.
set -euo pipefail
cd "$(dirname "$0")/.."

bash tools/setup.sh demo
mkdir -p build
echo "building, with its log in build/demo-build.log"
if ! { cmake --preset musl && cmake --build --preset musl; } >build/demo-build.log 2>&1; then
  tail -n 40 build/demo-build.log
  exit 1
fi
quietus=build/musl/quietus
echo "built $quietus, $(stat -c %s $quietus) bytes, static"

scene=$(mktemp -d)
trap 'rm -rf "$scene"' EXIT

# Each tool is in a session of its own (setsid), has no parent left (double fork), is deaf to TERM,
# HUP and INT, and holds the harness's stdout. Killing the harness or its process group would reach
# none of them.
cat >"$scene/harness.sh" <<'HARNESS'
cd "$1"
trap '' TERM HUP INT
for tool in compiler server watcher; do
  ( ( setsid sh -c 'echo "$1 $$" >>tools; exec sleep 1000' sh "$tool" & ) & )
done
while :; do sleep 1; done
HARNESS

# The start time tells a process from a later one with the same number.
identity() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }

: >"$scene/tools"
command=("$quietus" run --timeout 3s --cleanup-timeout 1s
  --receipt "$scene/receipt.json" --report "$scene/report.json" -- sh "$scene/harness.sh" "$scene")
echo
echo "\$ ${command[*]}"
"${command[@]}" &
running=$!

# The tools write their pids when they have detached; 100 looks are 5 seconds.
for ((look = 0; look < 100; look++)); do
  [ "$(wc -l <"$scene/tools")" = 3 ] && break
  sleep 0.05
done
declare -A seen
while read -r tool pid; do
  seen[$pid]=$(identity "$pid") || true
  read -r ppid _ session _ < <(sed 's/.*) . //' "/proc/$pid/stat")
  echo "  alive: $tool, pid $pid, parent $ppid, session $session"
done <"$scene/tools"

code=0
wait $running || code=$?
echo "exit code $code (124: the deadline ended it)"
left=0
while read -r tool pid; do
  if [ -n "${seen[$pid]}" ] && [ "$(identity "$pid")" = "${seen[$pid]}" ]; then
    echo "  STILL ALIVE: $tool, pid $pid"
    left=1
  else
    echo "  gone:  $tool, pid $pid"
  fi
done <"$scene/tools"

echo
echo "receipt:"
cat "$scene/receipt.json"
echo
echo "report:"
cat "$scene/report.json"
echo
[ $left = 0 ] && [ $code = 124 ] && [ ${#seen[@]} = 3 ]

#!/usr/bin/env bash
# Runs each recipe of docs/recipes: with quietus, when it has to keep its promise; and with a stand-in
# that only starts the command, when its case has to fail. Needs root or sudo, the preset musl built, and
# what tools/setup.sh test installs. Ends with the count.
#
#   run.sh [RECIPE...]
set -u
[ "$(id -u)" = 0 ] || exec sudo -n -E bash "$0" "$@"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf --one-file-system "$scratch"' EXIT
passed=0 failed=0

mkdir "$scratch/quietus" "$scratch/stand-in"
cp "$root/build/musl/quietus" "$scratch/quietus/"
# exec "$@", without the words that are meant for quietus.
cat >"$scratch/stand-in/quietus" <<'E2'
#!/bin/sh
while [ $# -gt 0 ]; do
  word=$1
  shift
  [ "$word" != -- ] || exec "$@"
done
E2
chmod 755 "$scratch/stand-in/quietus" "$scratch"

# In a PID namespace, with which everything that is left ends.
try() {  # RECIPE WITH
  mkdir -p "$scratch/$1-$2"
  cd "$scratch/$1-$2" || return
  PATH=$scratch/$2:$PATH timeout --kill-after=5 300 \
    unshare --mount --pid --fork --kill-child --mount-proc bash "$here/$1.sh" >"$scratch/$1-$2.log" 2>&1 </dev/null
}
tell() { echo "FAILED  $1: $3"; tail -n 20 "$scratch/$1-$2.log" | sed 's/^/    /'; failed=$((failed + 1)); }

recipes=("$@")
if [ $# = 0 ]; then
  for page in "$root"/docs/recipes/*.md; do
    name=$(basename "$page" .md)
    [ "$name" = README ] || recipes+=("$name")
  done
fi
for recipe in "${recipes[@]}"; do
  began=$SECONDS
  try "$recipe" stand-in &
  without=$!
  if (try "$recipe" quietus); then
    echo "ok      $recipe"
    passed=$((passed + 1))
  else
    tell "$recipe" quietus 'does not keep its promise'
  fi
  code=0
  wait $without || code=$?
  # It has to be an expectation that fails, not the case.
  reason=$(tail -n 1 "$scratch/$recipe-stand-in.log")
  if [ $code != 0 ] && [[ $reason == 'not so: '* ]]; then
    echo "ok      $recipe without quietus, $reason ($((SECONDS - began)) s)"
    passed=$((passed + 1))
  else
    tell "$recipe" stand-in 'no expectation fails without quietus'
  fi
done

echo "$passed passed, $failed failed"
[ $failed = 0 ]

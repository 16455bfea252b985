#!/usr/bin/env bash
# The benchmarks: the tests of their pure parts, what they must notice, and the short form with its
# gate. Needs the presets musl, bench and dev. Ends with the count.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
cd "$root" || exit 1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/lib/tally.sh
source "$here/../lib/tally.sh"

# The folder of a run, and by it all that it starts, is told from those of others.
mkdir "$scratch/tmp"
cgroups() { find /sys/fs/cgroup -name 'quietus-bench-*' 2>/dev/null | sort; }
cgroups >"$scratch/cgroups"

bench() {
  TMPDIR=$scratch/tmp timeout --kill-after=10 300 bash tools/bench.sh \
    --quietus "${quietus-build/musl/quietus}" --quietusctl build/dev/quietusctl \
    --output "$scratch/results" "$@"
}

# A suite of its own for each test there.
mapfile -t tests < <(PYTHONPATH=bench python3 -B -c '
import sys, unittest
def names(suite):
    for test in suite:
        yield from names(test) if isinstance(test, unittest.TestSuite) else [test.id()]
for name in names(unittest.TestLoader().discover(sys.argv[1], "*_test.py")): print(name)
' "$here")
if [ ${#tests[@]} = 0 ]; then echo "FAILED  there are tests of the pure parts"; failed=1; fi
PYTHONPATH=bench:$here python3 -B -m unittest -v "${tests[@]}" >"$scratch/unit" 2>&1
cp "$scratch/unit" "$scratch/output"
for name in "${tests[@]}"; do
  # Each test's line is "METHOD (CLASS) ... ok", with the name of the class behind it in full.
  if grep -qE "^${name##*.} \(.*\) \.\.\. ok$" "$scratch/unit"; then ok "$name"; else bad "$name"; fi
done

# --- the command line ----------------------------------------------------------------------------------

refuses() {  # WORDS OPTION...: usage, exit code 2, nothing done
  local words=$1 code=0
  shift
  bash tools/bench.sh --output "$scratch/refused" "$@" >"$scratch/said" 2>&1 || code=$?
  cat "$scratch/said"
  [ $code = 2 ] && grep -qF -- "$words" "$scratch/said" && [ ! -e "$scratch/refused" ]
}
holds 'help' bash tools/bench.sh --help
holds 'refuses an unknown option' refuses 'unrecognized arguments: --fast' --fast
holds 'refuses the beginning of an option' refuses 'unrecognized arguments: --sho' --sho
holds 'refuses an unknown metric' refuses "no metric 'speed'" --metric startup,speed
holds 'refuses a peer without a command' refuses '{cmd} must be a word' --peer 'x=x {receipt}'
holds 'refuses an unknown field' refuses 'no such field: {receit}' --peer 'x=x {receit} {cmd}'
holds 'refuses a name that is taken' refuses "the name 'tini' is taken" --peer 'tini=x {cmd}'
holds 'refuses a program that is not there' refuses "there is no file" --quietus "$scratch/none"
holds 'refuses to document a part' refuses 'not with --short' --document --short

# --- what it must notice -------------------------------------------------------------------------------

# A bound that is broken: the binary is larger, and runs all the same.
broken_bound() {
  cp build/musl/quietus "$scratch/large"
  truncate -s 200K "$scratch/large"
  quietus=$scratch/large bench --short --metric size --gate >"$scratch/said" 2>&1
  local code=$? line
  cat "$scratch/said"
  line='FAILED  gate: size (files), to carry in, bytes: quietus has 204,800; at most 163,840'
  [ $code = 1 ] && [ "$(grep '^FAILED' "$scratch/said")" = "$line" ]
}
holds 'notices a broken bound, in one line' broken_bound

# A false receipt is told, and is not our failure.
false_receipt() {
  bench --short --metric drain --peer "liar=sh $here/liar.sh {receipt} {cmd}" || return 1
  grep -E '^\| liar +\| 0 .*FALSE RECEIPT: confirmed, and something lives' "$scratch/results/results.md"
}
holds 'notices a false receipt' false_receipt

# One of ours that lies: whoever breaks quietus may not get away with fast figures.
own_failure() {
  cat >"$scratch/exec" <<SCRIPT
#!/bin/sh
[ "\$1" = run ] || exec $PWD/build/musl/quietus "\$@"
while [ "\$1" != -- ]; do shift; done
shift
exec "\$@"
SCRIPT
  chmod 755 "$scratch/exec"
  quietus=$scratch/exec bench --short --metric exit_to_receipt >"$scratch/said" 2>&1
  local code=$?
  cat "$scratch/said"
  [ $code = 1 ] && grep -q '^FAILED  exit_to_receipt .*: quietus failed .*no receipt' "$scratch/said"
}
holds 'notices that quietus does not do its work' own_failure

# --- the short form ------------------------------------------------------------------------------------

holds 'the short form, with its gate' bench --short --gate
grep -E '^\| (start|exit to|TERM passed|drain of 1000|memory|.true. a second)' "$scratch/output" | sed 's/^/# /'
for file in results.json results.md drain.svg stop-latency.svg; do
  holds "it leaves $file" test -s "$scratch/results/$file"
done
draws_the_same() {
  local file
  bash tools/bench.sh --from "$scratch/results/results.json" --output "$scratch/again" || return 1
  for file in results.json results.md drain.svg stop-latency.svg; do
    cmp "$scratch/results/$file" "$scratch/again/$file" || return 1
  done
}
holds 'and draws the same from results.json again' draws_the_same
nothing_left() {
  # Whatever was started has our TMPDIR in its environment; its value is no pattern.
  ! grep -lzsFx "TMPDIR=$scratch/tmp" /proc/[0-9]*/environ && [ -z "$(ls "$scratch/tmp")" ] &&
    ! comm -23 <(cgroups | sort) <(sort "$scratch/cgroups") | grep .
}
holds 'it leaves no process, folder or cgroup behind' nothing_left

# --- the claims of the pages ---------------------------------------------------------------------------

# "of some N KB" on each page that says it, against the size that was measured.
size_is_right() {
  local kb measured
  measured=$(stat -c %s build/musl/quietus)
  mapfile -t kb < <(grep -ohE 'some [0-9]+ KB' README.md docs/index.md | grep -oE '[0-9]+')
  echo "said: ${kb[*]} KB; measured: $measured bytes"
  [ ${#kb[@]} -ge 2 ] || return 1
  for claim in "${kb[@]}"; do
    [ $((claim * 950)) -le "$measured" ] && [ "$measured" -le $((claim * 1050)) ] || return 1
  done
}
holds 'the size that README and index give is the size' size_is_right
holds 'docs/performance.md has figures' grep -q '^| drain of 20000, ms' docs/performance.md

echo "$passed passed, $failed failed"
[ $failed = 0 ]

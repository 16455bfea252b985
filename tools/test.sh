#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test, one suite after the other.
#
#   test.sh            all suites
#   test.sh SUITE...   only these
#
# The output of a suite goes to build/test-logs/SUITE.log. The last line printed is the count,
# "N passed, N failed"; the exit code is 0 only if tests ran and none failed.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

# In a plain chroot, / is no mount point, and then no test can have mounts of its own: the kernel
# refuses to make / private. So the run gets a namespace in which / is one. It is bound below /proc,
# the one place that surely is a mount, whose propagation we may change and nobody outside sees; then
# it becomes the namespace's root.
if [ "$(id -u)" = 0 ] && ! awk '$5 == "/" {found = 1} END {exit !found}' /proc/self/mountinfo; then
  bash tools/setup.sh test || exit 1
  # shellcheck disable=SC2016  # $PWD and $@ are for the inner shell
  exec unshare --mount --propagation unchanged bash -c '
    mount --make-rprivate /proc && mount --rbind / /proc/fs && mount --make-rprivate /proc/fs &&
      exec chroot /proc/fs sh -c "cd \"\$0\" && exec python3 tests/lib/own_root.py \"\$@\"" \
        "$PWD" bash tools/test.sh "$@"' test.sh "$@"
fi

# One line a suite: name | presets that it needs (PRESET:TARGET: only this of it) | command.
# A suite says how many tests it ran in a last line "N passed, N failed", in the summary of ctest, or
# in GoogleTest's record at $XML; one that says nothing is a single test, judged by its exit code.
# Lines of a suite that begin with "# " are told below its count: figures that a reader must see.
# A suite that mostly waits, or keeps one core busy, has a & behind its name: it runs beside those
# that follow, at most two at a time, and may build what nobody else needs.
# shellcheck disable=SC2016  # variables are for the shell that runs the command
suites='
format           |                                       | bash tools/format.sh --check
shell            |                                       | find . -name "*.sh" -not -path "./build/*" -exec shellcheck .ci/run tests/lib/standins/* {} +
model &          |                                       | bash tests/model/run.sh
documents        | musl release:quietusctl               | bash tests/documents/run.sh
packages &       | musl musl-aarch64 release:quietus release:quietusctl | bash tests/packages/run.sh
fences           | dev release:quietus musl musl-aarch64 | bash tests/fences/run.sh
recipes &        | musl                                  | bash tests/recipes/run.sh
container        |                                       | bash tools/container.sh
docs             | dev musl release:quietusctl           | bash tests/docs/run.sh
unit             | dev                                   | build/dev/unit_tests --gtest_output=$XML
adapters &       | dev                                   | build/dev/adapter_tests --gtest_output=$XML
tidy             | release:quietus                       | bash tools/tidy.sh
sandboxes &      | musl                                  | bash tests/lib/run.sh
asan &           |                                       | build asan && build/asan/unit_tests --gtest_output=${XML}unit.xml && bash tests/lib/shares.sh 4 build/asan/client_tests
scenarios        | dev                                   | $blackbox ^blackbox$
scenarios-musl   | dev musl                              | QUIETUS_BINARY=$PWD/build/musl/quietus $blackbox ^blackbox$
bootstrap &      | dev musl musl-aarch64                 | bash tests/lib/shares.sh 4 build/dev/bootstrap_tests
fuzz &           |                                       | build fuzz && bash fuzz/run.sh
scenarios-enosys | dev                                   | QUIETUS_WRAPPER="$deny ENOSYS $optional --" $blackbox ^blackbox$
scenarios-eperm  | dev                                   | QUIETUS_WRAPPER="$deny EPERM $optional --" $blackbox ^blackbox$
session          | dev                                   | $blackbox ^session$
session-musl     | dev musl                              | QUIETUS_BINARY=$PWD/build/musl/quietus $blackbox ^session$
aarch64 &        | musl-aarch64                          | bash tests/aarch64/run.sh
tsan &           |                                       | build tsan && bash tests/lib/shares.sh 4 build/tsan/client_tests
faults           | dev                                   | build/dev/faults
client           | dev                                   | bash tests/lib/shares.sh 4 build/dev/client_tests
client-installed | dev:libquietus_bootstrap              | bash tests/client/installed.sh
cli              | dev                                   | $blackbox ^cli$
matrix           | dev musl                              | QUIETUS_BINARY=$PWD/build/musl/quietus bash tests/matrix/run.sh build/dev/matrix_tests
owned-gc &       | musl release:quietusctl               | bash tests/cli/owned_gc.sh build/release/quietusctl build/musl/quietus
storms           | dev                                   | ctest --preset dev -L ^storm$
bench            | musl bench dev:quietusctl             | bash tests/bench/run.sh
'
# Most of a black-box test is waiting for a bounded time, so that many run beside each other.
export blackbox='ctest --test-dir build/dev --output-on-failure --no-tests=error -j 8 -L'
# Old kernels lack these calls and strict sandboxes forbid them; all that is shown must hold without.
export deny="$PWD/build/dev/tests/deny/deny --errno"
export optional=pidfd_open,pidfd_send_signal,pidfd_getfd,clone3,close_range,openat2,memfd_create
optional+=,inotify_init1,landlock_create_ruleset,landlock_restrict_self,prctl:set_mm

# What ctest says of tests that have not failed.
unremarkable=' (Start +[0-9]+: |Passed +[0-9.]+ sec|[(*]+Skipped)'
# A suite that hangs is a failed suite. The slowest takes half of this.
suite_limit=900
logs=$PWD/build/test-logs
passed=0 failed=0
declare -A running  # by suite: the shell that runs it
# Those beside others leave them the machine. Where the kernel groups by session (autogroups, sched(7))
# it takes a session of their own: niced ones among others of the same session starve those for seconds.
# shellcheck disable=SC2016  # $@ is for the inner shell
beside_others=(setsid nice bash -c '{ echo 10 >/proc/self/autogroup; } 2>/dev/null; exec "$@"' nice)
# Jobs, not numbers: bash knows which of them are still ours.
trap 'kill $(jobs -r | sed -nE "s/^\[([0-9]+)\].*/%\1/p") 2>/dev/null; exit 130' INT TERM

note() { printf '%s\n' "$*"; }

attribute() { sed -nE "s/.*<testsuites.* $1=\"([0-9]+)\".*/\1/p" "$2" | head -n 1; }

# Sets suite_passed, suite_failed and suite_skipped, from the suite's own record.
count_suite() {  # NAME EXIT_CODE
  suite_passed=0 suite_failed=0 suite_skipped=0
  local line file ran failures off summary=' ([0-9]+) tests failed out of ([0-9]+)'
  line=$(tail -n 1 "$logs/$1.log" | grep -Ex '[0-9]+ passed, [0-9]+ failed(, [0-9]+ skipped)?')
  if [ -n "$line" ]; then
    read -r suite_passed _ suite_failed _ suite_skipped _ <<<"${line//,/} 0"
  elif [[ $(grep -E "tests passed,$summary" "$logs/$1.log") =~ $summary ]]; then
    suite_failed=${BASH_REMATCH[1]}
    suite_skipped=$(grep -cE ' \((Skipped|Disabled)\)$' "$logs/$1.log")
    suite_passed=$((BASH_REMATCH[2] - suite_failed - suite_skipped))
  elif compgen -G "$logs/$1/*.xml" >/dev/null; then
    for file in "$logs/$1"/*.xml; do
      ran=$(attribute tests "$file") failures=$(attribute failures "$file")
      off=$(($(attribute disabled "$file") + $(grep -c ' result="skipped"' "$file")))
      suite_passed=$((suite_passed + ran - failures - off))
      suite_failed=$((suite_failed + failures))
      suite_skipped=$((suite_skipped + off))
    done
  elif [ "$2" = 0 ]; then
    suite_passed=1
  fi
  # A crash, a time-out, or a run that found no test.
  [ "$suite_failed" = 0 ] && { [ "$2" != 0 ] || [ "$suite_passed" = 0 ]; } && suite_failed=1
}

start_suite() {  # NAME COMMAND [WRAPPER...]
  rm -rf "${logs:?}/$1" "$logs/$1.end"
  {
    began=$SECONDS code=0
    XML=xml:$logs/$1/ "${@:3}" timeout --kill-after=10 $suite_limit bash -c "$2" &
    # timeout leads a process group of its own, so an interrupted run has to pass the signal on.
    trap 'kill %1 2>/dev/null' INT TERM
    wait $! || code=$?
    echo "$code $((SECONDS - began))" >"$logs/$1.end"
  } </dev/null >"$logs/$1.log" 2>&1 &
  running[$1]=$!
}

end_suite() {  # NAME
  local code=1 seconds=0 skips=
  wait "${running[$1]}"
  unset "running[$1]"
  read -r code seconds <"$logs/$1.end"
  count_suite "$1" "$code"
  [ "$suite_skipped" = 0 ] || skips=", $suite_skipped skipped"
  note "$1: $suite_passed passed, $suite_failed failed$skips ($seconds s)"
  sed -n 's/^# /    /p' "$logs/$1.log"
  [ "$suite_failed" = 0 ] || grep -vE -e '^\[( RUN  |       OK|-+)' -e "$unremarkable" "$logs/$1.log" |
    tail -n 60 | sed 's/^/    /'
  passed=$((passed + suite_passed)) failed=$((failed + suite_failed))
}

build() {  # PRESET [TARGET...]
  cmake --preset "$1" -DQUIETUS_WERROR=ON && cmake --build --preset "$1" ${2:+--target "${@:2}"}
}
export -f build

# Builds a preset once. A failure counts as one failed test, and suites that need it do not run.
declare -A built
build_preset() {  # PRESET[:TARGET]
  local began=$SECONDS log=$logs/build-${1%%:*}.log words
  if [ -z "${built[$1]-}" ]; then
    built[$1]=yes
    IFS=: read -ra words <<<"$1"
    build "${words[@]}" </dev/null >"$log" 2>&1 || built[$1]=no
    if [ "${built[$1]}" = yes ]; then
      note "build $1 ($((SECONDS - began)) s)"
    else
      note "build $1: failed"
      tail -n 40 "$log" | sed 's/^/    /'
      failed=$((failed + 1))
    fi
  fi
  [ "${built[$1]}" = yes ]
}

for wanted in "$@"; do
  grep -Eq "^$wanted +(& *)?[|]" <<<"$suites" && continue
  note "test.sh: no suite '$wanted'; there are:" >&2
  sed -nE 's/^([^ |]+)[ &]*[|].*/  \1/p' <<<"$suites" >&2
  exit 2
done

bash tools/setup.sh test || exit 1
mkdir -p "$logs"
while IFS='|' read -r name presets command; do
  read -r name beside <<<"$name"
  [ -n "$name" ] || continue
  [ $# = 0 ] || [[ " $* " == *" $name "* ]] || continue
  ready=yes
  for preset in $presets; do build_preset "$preset" || ready=no; done
  if [ $ready = no ]; then
    note "$name: not run"
  else
    if [ -n "$beside" ]; then
      while [ "$(jobs -pr | wc -l)" -ge 2 ]; do wait -n; done
      start_suite "$name" "$command" "${beside_others[@]}"
    else
      start_suite "$name" "$command"
      end_suite "$name"
    fi
  fi
done <<<"$suites"
for name in "${!running[@]}"; do end_suite "$name"; done

note "$passed passed, $failed failed"
[ $passed -gt 0 ] && [ $failed = 0 ]

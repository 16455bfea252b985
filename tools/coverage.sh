#!/usr/bin/env bash
# Counts which lines of ours the tests run, in the preset coverage. The counters lie in files that are
# mapped, so that they outlive SIGKILL, _exit and a fork without exec. Takes some minutes.
#
#   coverage.sh           installs what is missing, builds, runs the tests and reports
#   coverage.sh --report  only reports, on what was counted before
#
# The report, build/coverage/report.txt, has a table by folder and names every line that no test ran.
# The exit code is 1 where a folder is under its bound. A test that fails is told and not judged: here
# it only does not count.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

groups='contract 95 kernel 95 supervisor 95 session 95 client 90 program 0 cli 0'
suites='unit|blackbox|session|faults|client|bootstrap|cli|adapters'
here=build/coverage
report=$here/report.txt

if [ "${1-}" != --report ]; then
  bash tools/setup.sh coverage || exit 1
  for preset in musl musl-aarch64 coverage; do  # the first two are what the tests of bootstrap place
    cmake --preset $preset >/dev/null && cmake --build --preset $preset || exit 1
  done
  rm -rf $here/counts
  # A supervisor may be anybody's process.
  install -d -m 777 $here/counts
  $here/quietus --version >$here/tests.log && chmod a+w $here/counts/* || exit 1
  QUIETUS_BINARY=$PWD/$here/quietus ctest --test-dir $here -j 8 -L "^($suites)$" --output-on-failure |
    tee $here/tests.log | sed -n '/tests passed,/,$p'
fi

llvm-profdata-19 merge --sparse --output $here/counts.profdata $here/counts/*.profraw || exit 1
objects=()
for program in quietusctl unit_tests faults client_tests adapter_tests bootstrap_tests; do
  objects+=(--object "$here/$program")
done
# The log tells of inline functions that some programs do not use, and others do.
if ! llvm-cov-19 export --format=lcov --instr-profile $here/counts.profdata $here/quietus \
  "${objects[@]}" >$here/lines.lcov 2>$here/export.log; then
  cat $here/export.log
  exit 1
fi
awk -v root="$PWD/" -v groups="$groups" -f tools/coverage.awk $here/lines.lcov >$report
code=$?
sed '/^$/,$d' $report
echo "The lines that no test ran: $report"
exit $code

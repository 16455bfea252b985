#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
unpack grading-gate grade
echo right >answer
# The daemon of this harness changes the answer as often as it can, also while it is being graded.
cat >harness <<'PROGRAM'
#!/bin/sh
( setsid sh -c 'trap "" TERM; echo $$ >detached; while :; do echo forged >answer; sleep 0.02; done' \
  </dev/null >/dev/null 2>&1 & )
until [ -s detached ]; do sleep 0.02; done
exit 7
PROGRAM
cat >verifier <<'PROGRAM'
#!/bin/sh
echo right >answer
sleep 0.5
cat answer >grade.txt
[ ! -e "/proc/$(cat detached)" ] && echo alone >>grade.txt
PROGRAM
chmod 755 harness verifier
expect 'the verifier runs' sh ./grade ./harness ./verifier
expect 'the harness had a daemon' lived
expect 'the answer was not changed while it was graded' grep -qx right grade.txt
expect 'nothing of the harness ran' grep -qx alone grade.txt

rm detached grade.txt
cat >harness <<'PROGRAM'
#!/bin/sh
echo $$ >detached
trap "" TERM
while :; do sleep 1; done
PROGRAM
sed -i 's/--cleanup-timeout 5/--cleanup-timeout 1/' grade
expect 'partial work is graded' env LIMIT=1 sh ./grade ./harness ./verifier
expect 'nothing of the late harness ran' grep -qx alone grade.txt

rm grade.txt
expect 'what never ran is not graded' ends_with 75 sh ./grade ./nosuch ./verifier
expect 'its verifier did not run' [ ! -e grade.txt ]
rm receipt.json
mkdir receipt.json
expect 'the gate stays shut without a receipt' ends_with 75 env LIMIT=1 sh ./grade ./harness ./verifier
expect 'the verifier did not run' [ ! -e grade.txt ]

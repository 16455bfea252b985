#!/bin/sh
# liar.sh RECEIPT COMMAND...
# A supervisor that runs its command, confirms, and looks for nobody: the bench must see through it.
receipt=$1
shift
"$@"
code=$?
printf '{"cleanup_confirmed": true, "return_code": %d, "error": null, "timed_out": false}' $code \
  >"$receipt.part"
mv "$receipt.part" "$receipt"

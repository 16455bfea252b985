#!/usr/bin/env bash
# Root file systems for bwrap, at $BWRAP_ROOTS/busybox and $BWRAP_ROOTS/bare:
#
#   enclose.sh with_bwrap.sh PROGRAM CMD...
#
# PROGRAM is all that the second holds, as /quietus. Both have a place to mount $TMPDIR.
set -euo pipefail
lib=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/common.sh
. "$lib/common.sh"
need bwrap busybox
program=$1
shift
export BWRAP_ROOTS=$SANDBOXES/roots
mkdir -p "$BWRAP_ROOTS"
bash "$lib/rootfs.sh" busybox "$BWRAP_ROOTS/busybox"
bash "$lib/rootfs.sh" bare "$BWRAP_ROOTS/bare" "$program"
for kind in busybox bare; do mkdir -p "$BWRAP_ROOTS/$kind$TMPDIR"; done
bwrap --bind "$BWRAP_ROOTS/busybox" / --dev /dev --proc /proc --unshare-pid true ||
  { echo "$0: bwrap does not work here" >&2; exit 1; }
"$@"

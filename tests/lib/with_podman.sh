#!/usr/bin/env bash
# podman with runc, in a store of its own (said by its environment, not by options as in podman.sh,
# since programs that are tested call it), with the images q:busybox and q:bare, and a container
# of each that runs, named `busybox` and `bare`:
#
#   enclose.sh with_podman.sh PROGRAM CMD...
#
# PROGRAM is all that q:bare holds, as /quietus. CMD needs no options for podman: its environment
# says all, but --cgroup-parent=/$CGROUPS for what it creates. $TMPDIR is seen inside.
set -euo pipefail
lib=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/common.sh
. "$lib/common.sh"
need podman runc conmon busybox tar
program=$1
shift

store=$SANDBOXES/podman
# shellcheck source=tests/lib/podman_store.sh
. "$lib/podman_store.sh"
podman_store "$store" overlay

bash "$lib/rootfs.sh" busybox "$store/busybox"
bash "$lib/rootfs.sh" bare "$store/bare" "$program"
for kind in busybox bare; do
  tar -C "$store/$kind" -cf - . | podman import -q - "q:$kind" >/dev/null
done
start() {  # KIND CMD...
  podman run -d --name "$1" --cgroup-parent="/$CGROUPS" --volume="$TMPDIR:$TMPDIR" \
    --entrypoint "$2" "q:$1" "${@:3}" >/dev/null
}
start busybox /bin/sleep 100000
start bare /quietus wait --session /

code=0
"$@" || code=$?
podman rm --all --force --time 0 >/dev/null || code=1
exit "$code"

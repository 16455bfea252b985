#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lib/podman.sh
source "$(dirname "$0")/../lib/podman.sh"
podman_in "$PWD/podman"
trap podman_out EXIT

# A base image that needs no network: busybox.
mkdir -p base/bin context receipts
cp "$(command -v busybox)" base/bin/
for applet in sh sleep setsid cat mv; do ln -s busybox base/bin/$applet; done
tar -C base -cf - . | "${podman[@]}" import -q - base:1 >/dev/null
unpack container Containerfile
mv Containerfile context/
cp "$(command -v quietus)" context/
"${podman[@]}" build -q --network=none --build-arg BASE=localhost/base:1 -t recipe context >/dev/null ||
  fail 'the image is built'

# What a shell started is ended, and a main process that does not handle TERM still gets it.
"${podman[@]}" run -d --name c "${podman_limits[@]}" -v "$PWD/receipts:/receipts" recipe \
  /bin/sh -c 'setsid sh -c "trap \"\" TERM; : >/receipts/daemon; while :; do sleep 1; done" & exec sleep 1000' \
  >/dev/null || fail 'the container starts'
expect 'the daemon lives in the container' wait_for 20 test -e receipts/daemon
began=$(date +%s%N)
"${podman[@]}" stop -t 10 c >/dev/null
took=$((($(date +%s%N) - began) / 1000000))
echo "stopped in $took ms"
expect 'the container stopped without waiting for the kill' [ $took -lt 8000 ]
expect 'it was stopped on request' [ "$("${podman[@]}" inspect -f '{{.State.ExitCode}}' c)" = 122 ]
expect 'the receipt on the volume confirms' is_confirmed receipts/done.json

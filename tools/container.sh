#!/usr/bin/env bash
# Installs what is missing, builds quietusctl and the supervisor, and shows what they are for: in a
# container a harness is started whose tools have detached from it; its deadline ends all of them,
# what it saved is fetched, and the container is gone. The image is made of Debian's busybox; podman
# gets a store of its own, so that yours is not touched.
set -euo pipefail
cd "$(dirname "$0")/.."

bash tools/setup.sh container
mkdir -p build
echo "building quietusctl, which takes a minute or two, with its log in build/container-build.log"
if ! { cmake --preset release &&
  cmake --build --preset release --target quietus quietusctl; } >build/container-build.log 2>&1; then
  tail -n 40 build/container-build.log
  exit 1
fi

scene=$(mktemp -d)
running=
# shellcheck disable=SC2317  # called by the trap
leave() {
  # A job, not a number: bash knows whether it is still ours.
  if kill %1 2>/dev/null; then wait "$running" || true; fi
  podman rm --all --force --time 0 >/dev/null 2>&1 || true
  podman unshare rm -rf "$scene" 2>/dev/null || rm -rf "$scene"
}
trap leave EXIT

# shellcheck source=tests/lib/podman_store.sh
. tests/lib/podman_store.sh
podman_store "$scene" vfs
export XDG_STATE_HOME=$scene/state

bash tests/lib/rootfs.sh busybox "$scene/root"
mkdir "$scene/root/work"
tar -C "$scene/root" -cf - . | podman import --quiet - quietus-example >/dev/null

# Each tool is in a session of its own, has no parent left, and is deaf to TERM. The harness saves its
# work when it is told to end.
# shellcheck disable=SC2016  # the dollars are for the shell inside
harness='trap "echo half of the work >/work/saved; exit 7" TERM
for tool in compiler server watcher; do
  ( ( trap "" TERM HUP INT; setsid sh -c "echo $tool >>/work/tools; exec sleep 1000" & ) & )
done
while :; do sleep 0.1; done'

command=(build/release/quietusctl run --sandbox podman-image:quietus-example --workdir /work
  --timeout 3s --close-timeout 6s --collect saved --into "$scene/collected" --verbose)
echo
echo "\$ ${command[*]} -- sh -c '...'"
"${command[@]}" -- sh -c "$harness" &
running=$!
# Only looks: the container is quietusctl's.
container() { podman ps --format '{{.Names}}' 2>/dev/null | head -n 1 || true; }
tools() { podman exec "$1" cat /work/tools 2>/dev/null || true; }
# 400 looks are 20 seconds.
seen=0
for ((look = 0; look < 400; look++)); do
  name=$(container)
  [ -z "$name" ] || seen=$(tools "$name" | wc -l)
  if [ "$seen" = 3 ] || [ -z "$(jobs -r)" ]; then break; fi
  sleep 0.05
done
echo "  alive in container $name:"
podman top "$name" pid ppid comm | sed 's/^/    /' || true

code=0
wait $running || code=$?
left=$(podman ps --all --quiet | wc -l)
echo "exit code $code (124: the deadline ended it)"
echo "containers left: $left"
echo "fetched: saved, with '$(cat "$scene/collected/saved")' in it"
[ $code = 124 ] && [ "$left" = 0 ] && [ "$seen" = 3 ] && [ -s "$scene/collected/saved" ]

#!/usr/bin/env bash
# Runs a command where all that it starts ends with it, daemons too, however it ends:
#
#   enclose.sh CMD...
#
# CMD gets PID, mount, network, IPC and UTS namespaces of its own. Killing this script, with
# whatever signal, kills all that is inside. Only loopback exists there, ports cannot collide, and
# /run, $SANDBOXES and $TMPDIR lie in memory, so that no file stays either. Needs root.
#
# What a PID namespace cannot take along are the cgroups of containers: they stand below $CGROUPS,
# and are removed at the end; what a killed script has left, by the next one.
set -euo pipefail
lib=$(cd "$(dirname "$0")" && pwd)

if [ "${1-}" != --inside ]; then
  [ "$(id -u)" = 0 ] || { echo "enclose.sh: needs root" >&2; exit 1; }
  export CGROUPS=quietus-enclosed-$$ inside=
  # Ours, and those whose script is gone. A tree that is in use refuses.
  # shellcheck disable=SC2317  # called by a trap
  tidy() {
    local top
    for top in /sys/fs/cgroup/quietus-enclosed-* /sys/fs/cgroup/*/quietus-enclosed-*; do
      if [ -d "$top" ] && { [ "${top##*-}" = $$ ] || [ ! -e "/proc/${top##*-}" ]; }; then
        # What is killed needs a moment to be gone.
        for _ in {1..100}; do
          find "$top" -depth -type d -exec rmdir {} + 2>/dev/null || true
          if [ "${top##*-}" != $$ ] || [ ! -d "$top" ]; then break; fi
          sleep 0.05
        done
      fi
    done
  }
  # unshare ignores TERM and INT while it waits; its own end is the end of all.
  # shellcheck disable=SC2317  # called by the traps
  leave() { [ -z "$inside" ] || kill -KILL "$inside" 2>/dev/null || true; }
  trap 'leave; exit 143' TERM HUP
  trap 'leave; exit 130' INT
  trap 'leave; tidy' EXIT
  # Our own end, by whatever signal, is the end of unshare, and that of its child.
  setpriv --pdeathsig KILL unshare --pid --fork --kill-child --mount --mount-proc --net --ipc \
    --uts python3 "$lib/own_root.py" bash "$lib/enclose.sh" --inside "$@" &
  inside=$!
  code=0
  wait "$inside" || code=$?
  inside=
  exit "$code"
fi

shift
mount -t tmpfs -o mode=755 tmpfs /run
mount -t tmpfs -o mode=1777 tmpfs /dev/shm
export SANDBOXES=/run/sandboxes TMPDIR=/run/sandboxes/tmp
mkdir -p $TMPDIR
chmod 1777 $TMPDIR
hostname node
printf '127.0.0.1 localhost node\n' >$SANDBOXES/hosts
mount --bind $SANDBOXES/hosts /etc/hosts
busybox ip link set lo up
# getaddrinfo(3) with AI_ADDRCONFIG knows no IPv4 as long as 127.0.0.1 is the only address.
busybox ip address add 10.255.255.1/32 dev lo
# A cgroup of its own, where there is version 2, so that supervisors make theirs below it.
OWN_CGROUP=
unified=$(awk '$3 == "cgroup2" { print $2; exit }' /proc/mounts)
if [ -n "$unified" ] && mkdir -p "$unified/$CGROUPS/own" 2>/dev/null &&
  echo 0 2>/dev/null >"$unified/$CGROUPS/own/cgroup.procs"; then
  OWN_CGROUP=$unified/$CGROUPS/own
fi
export OWN_CGROUP
# As the init of the namespace bash also collects the orphans; so it must stay.
code=0
"$@" || code=$?
exit "$code"

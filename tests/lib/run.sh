#!/usr/bin/env bash
# Shows that an enclosure takes all with it, however it ends, and that each kind of sandbox comes up
# in one. The last line is the count. Needs root or sudo, and the preset musl built.
set -uo pipefail
[ "$(id -u)" = 0 ] || exec sudo -n -E bash "$0" "$@"
lib=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/lib/tally.sh
source "$lib/tally.sh"

# A daemon in a session of its own writes its heartbeat to a file here.
# shellcheck disable=SC2016  # for the shell inside
daemon='setsid sh -c "trap \"\" TERM HUP INT; while :; do touch \"\$0\"; sleep 0.05; done" "$0" &'

wait_for() {  # SECONDS CMD...
  local left=$(($1 * 20))
  shift
  until "$@"; do
    left=$((left - 1))
    [ $left -gt 0 ] || return 1
    sleep 0.05
  done
}

beats() {  # FILE
  local before
  before=$(stat -c %y "$1" 2>/dev/null) || return 1
  sleep 1
  [ "$before" != "$(stat -c %y "$1")" ]
}

still() { [ -e "$1" ] && ! beats "$1"; }

# shellcheck disable=SC2317  # called by wait_for
no_groups() { [ -z "$(find /sys/fs/cgroup -type d -name "quietus-enclosed-$1")" ]; }

for signal in TERM INT HUP KILL; do
  beat=$scratch/$signal
  # What is started with & ignores INT, and cannot trap it then.
  env --default-signal=INT bash "$lib/enclose.sh" bash -c "$daemon sleep 60" "$beat" \
    </dev/null >/dev/null 2>&1 &
  outer=$!
  wait_for 60 beats "$beat" && kill -$signal $outer && wait_for 60 still "$beat"
  result $? "$signal to the script ends a daemon inside"
  wait $outer 2>/dev/null
  [ $signal = KILL ] || { no_groups $outer; result $? "$signal leaves no cgroup"; }
done

beat=$scratch/normal
bash "$lib/enclose.sh" bash -c "$daemon sleep 2; exit 7" "$beat" </dev/null
[ $? = 7 ] && [ -e "$beat" ] && still "$beat"
result $? "the end of the command ends a daemon inside, and its code is passed on"

[ "$(bash "$lib/enclose.sh" awk 'NR > 2 { print $1 }' /proc/net/dev </dev/null)" = lo: ]
result $? "nothing but loopback is there"
[ ! -e /run/sandboxes ] && [ "$(hostname)" != node ]
result $? "nothing of it is seen outside"

# Its commands end with 7, which each way into a sandbox passes on.
comes_up() {  # WHAT SETUP... -- TEXT
  local what=$1 words=()
  shift
  while [ "$1" != -- ]; do words+=("$1"); shift; done
  bash "$lib/enclose.sh" bash "${words[@]}" bash -c "$2" "$lib/standins" </dev/null
  result $(($? != 7)) "$what comes up"
}
# shellcheck disable=SC2016  # for the shell inside
bash "$lib/enclose.sh" bash -c '[ "$(nsenter --mount=/proc/self/ns/mnt stat -c %d:%i /)" = "$(stat -c %d:%i /)" ]' \
  </dev/null
result $? "nothing of the machine is reached by entering its mounts"
supervisor=$(cd "$lib/../.." && pwd)/build/musl/quietus
# shellcheck disable=SC2016  # for the shell inside
{
  comes_up podman "$lib/with_podman.sh" "$supervisor" -- '
    podman exec bare /quietus --version >/dev/null &&
      podman run --rm --cgroup-parent="/$CGROUPS" q:busybox true && podman exec busybox sh -c "exit 7"'
  comes_up 'kubectl that stands for podman' "$lib/with_podman.sh" "$supervisor" -- '
    "$0"/kubectl get pod -n default busybox -o "jsonpath={.status.phase}" | grep -qx Running &&
      echo "exit 7" | "$0"/kubectl exec -i -n default busybox -- sh'
  comes_up 'apptainer that stands for podman' "$lib/with_podman.sh" "$supervisor" -- '
    "$0"/apptainer instance list busybox | grep -q "^busybox " &&
      "$0"/apptainer --silent exec --pwd /tmp --env A=7 instance://busybox sh -c "exit \$A"'
  comes_up sshd "$lib/with_sshd.sh" -- '
    ssh -F "$SSH_CONFIG" node test -e /etc/passwd &&
      ssh -F "$SSH_CONFIG" busybox "! test -e /etc/passwd && exit 7" 2>/dev/null'
  comes_up bwrap "$lib/with_bwrap.sh" "$supervisor" -- '
    bwrap --bind "$BWRAP_ROOTS/bare" / /quietus --version >/dev/null &&
      bwrap --bind "$BWRAP_ROOTS/busybox" / sh -c "exit 7"'
  comes_up Slurm "$lib/with_slurm.sh" -- 'srun --overlap --jobid="$JOB" --quiet sh -c "exit 7" 2>/dev/null'
}

echo "$passed passed, $failed failed"
[ $failed = 0 ]

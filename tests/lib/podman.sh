# shellcheck shell=bash
# Sourced by tests that need a container engine: podman with a storage of its own in a scratch
# folder, so that nothing of the host's is seen or changed.
#
#   podman_in FOLDER     sets the array podman, and limits for podman run (an unprivileged host may
#                        not raise what podman would ask for)
#   podman_out           removes what podman left behind

podman_in() {
  podman_home=$1
  mkdir -p "$podman_home/tmp"
  podman=(env "TMPDIR=$podman_home/tmp" podman --root "$podman_home/store" --runroot "$podman_home/run"
    --storage-driver vfs --runtime runc --cgroup-manager cgroupfs --log-level error)
  # shellcheck disable=SC2034  # for whoever sources this
  podman_limits=(--ulimit=nofile=1024:1024 --ulimit=nproc=4096:4096 --network=none)
}

podman_out() {
  "${podman[@]}" rm -f -a -t 0 >/dev/null 2>&1 || true
  umount -R "$podman_home"/store/* "$podman_home"/run/* 2>/dev/null || true
  # Groups that podman makes and forgets; only empty ones can be removed.
  find /sys/fs/cgroup -depth -type d -path '*libpod_parent*' -exec rmdir {} + 2>/dev/null || true
  rm -rf "$podman_home"
}

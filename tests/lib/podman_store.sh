# shellcheck shell=bash
# Sourced by who needs podman with runc and a store of its own, said by its environment and not by
# options, since programs that call podman are run:
#
#   podman_store FOLDER DRIVER    makes it, and exports where it is

podman_store() {
  mkdir -p "$1"
  # Limits that an unprivileged host allows: even root may lack CAP_SYS_RESOURCE, without which
  # podman's own cannot be set.
  cat >"$1/containers.conf" <<CONF
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=4096:4096"]
netns = "none"
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "$1/engine"
CONF
  cat >"$1/storage.conf" <<CONF
[storage]
driver = "$2"
graphroot = "$1/graph"
runroot = "$1/run"
CONF
  export CONTAINERS_CONF=$1/containers.conf CONTAINERS_STORAGE_CONF=$1/storage.conf
}

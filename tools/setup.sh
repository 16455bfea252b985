#!/usr/bin/env bash
# Installs what is missing to build and test quietus on Debian 12 or a relative of it.
#
#   setup.sh demo        what tools/demo.sh needs: a compiler, CMake, Ninja, musl
#   setup.sh container   what tools/container.sh needs: also the controller's libraries, and podman
#   setup.sh bench       what tools/bench.sh needs: also the controller's libraries, and the peers
#   setup.sh coverage    what tools/coverage.sh and tools/fuzz.sh need: everything, and a newer clang
#   setup.sh test        what tools/test.sh needs: everything
#
# Quiet when nothing is missing. Works as root, or with sudo; a minimal debootstrap is enough.
set -euo pipefail

demo=(g++ cmake ninja-build libexpected-dev musl-dev)
controller=(libasio-dev nlohmann-json3-dev libtomlplusplus-dev libcurl4-openssl-dev libarchive-dev
  libssl-dev)
container=(podman runc busybox-static)
bench=(python3 tini dumb-init catatonit coreutils bubblewrap util-linux runit s6 strace
  libbenchmark-dev valgrind)
tests=(pkgconf libgtest-dev libgmock-dev clang clang-format clang-tidy libclang-rt-dev shellcheck git
  procps spin openssl
  scdoc man-db zsh fish lintian debootstrap qemu-user-static
  make systemd openssh-server openssh-client slurmctld slurmd slurm-client munge
  g++-aarch64-linux-gnu musl-dev:arm64 qemu-system-arm cpio)
# Of those in Debian 12 the one that knows coroutines and keeps counters in mapped files.
coverage=(clang-19 llvm-19 libclang-rt-19-dev)

# Adapters are tested with an agent from the npm registry; somebody else's Node.js will do.
command -v npm >/dev/null || tests+=(nodejs npm)

case "${1-}" in
  demo) wanted=("${demo[@]}") ;;
  container) wanted=("${demo[@]}" "${controller[@]}" "${container[@]}") ;;
  bench) wanted=("${demo[@]}" "${controller[@]}" "${bench[@]}") ;;
  test | coverage)
    wanted=("${demo[@]}" "${controller[@]}" "${container[@]}" "${bench[@]}" "${tests[@]}")
    [ "$1" = test ] || wanted+=("${coverage[@]}")
    ;;
  *) echo "usage: setup.sh demo|container|bench|test|coverage" >&2; exit 2 ;;
esac

# A bare name means this machine's architecture; dpkg-query would be content with any.
native=$(dpkg --print-architecture)
is_installed() {
  local name=${1%:*} architecture="($native|all)"
  [ "$name" = "$1" ] || architecture=${1#*:}
  dpkg-query -W -f='${Architecture} ${db:Status-Status}\n' "$name" 2>/dev/null |
    grep -Eqx "$architecture installed"
}

missing=()
for package in "${wanted[@]}"; do
  is_installed "$package" || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

as_root=()
if [ "$(id -u)" != 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "setup.sh: not root and no sudo; as root: apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

# apt's chatter is of interest only when it fails.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
quietly() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive "$@" </dev/null >"$log" 2>&1 && return
  echo "setup.sh: failed: $*" >&2
  tail -n 20 "$log" >&2
  return 1
}

echo "setup: installing ${missing[*]}"
case " ${missing[*]} " in
  *:arm64\ *) quietly dpkg --add-architecture arm64 ;;
esac
# A third-party source that cannot be reached is no reason to stop: the install below decides.
quietly apt-get update || true
# The tests start their own sshd, munged and slurmd, on loopback; none of the machine's is wanted.
policy=/usr/sbin/policy-rc.d
if [ ! -e $policy ]; then
  printf '#!/bin/sh\nexit 101\n' | "${as_root[@]}" tee $policy >/dev/null
  "${as_root[@]}" chmod 755 $policy
  trap '"${as_root[@]}" rm -f $policy; rm -f "$log"' EXIT
fi
quietly apt-get install -y --no-install-recommends "${missing[@]}"

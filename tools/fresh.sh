#!/usr/bin/env bash
# Tries the README's commands as a newcomer would: in a Debian 12 that holds nothing but what
# debootstrap's smallest variant installs, and a clean clone.
#
#   fresh.sh demo|container|test|bench|both
#
# Needs root, debootstrap and git. Everything is mounted in a namespace of its own and every process
# lives in a PID namespace, so that nothing stays mounted or running, however this ends.
set -euo pipefail

case "${1-}" in
  demo | container | test | bench) commands=("$1") ;;
  both) commands=(demo test) ;;
  *) echo "usage: fresh.sh demo|container|test|bench|both" >&2; exit 2 ;;
esac

if [ -z "${FRESH_SCRATCH-}" ]; then
  [ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root" >&2; exit 1; }
  FRESH_SCRATCH=$(mktemp -d)
  export FRESH_SCRATCH
  trap 'rm -rf --one-file-system "$FRESH_SCRATCH"' EXIT
  code=0
  unshare --mount --pid --fork --kill-child --mount-proc bash "$0" "$@" || code=$?
  exit $code
fi

cd "$(dirname "$0")/.."
debian=$FRESH_SCRATCH/debian
# shellcheck disable=SC2016  # the dollars are for apt
sources=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
  awk '$1 ~ /debian/ && $2 ~ /^bookworm/ && $3 == "main" {print "deb " $0}' | sort -u)
mirror=$(awk '$3 == "bookworm" {print $2; exit}' <<<"$sources")
debootstrap --variant=minbase bookworm "$debian" "${mirror:-http://deb.debian.org/debian}" \
  >"$FRESH_SCRATCH/log" 2>&1 || { tail "$FRESH_SCRATCH/log"; exit 1; }
[ -z "$mirror" ] || echo "$sources" >"$debian/etc/apt/sources.list"
apt-config dump | grep -E '^Acquire::https?::Proxy' >"$debian/etc/apt/apt.conf.d/90proxy" || true
cp -L /etc/resolv.conf /etc/hosts "$debian/etc/"
# Behind a proxy with a certificate of its own npm has to know it.
certificates=()
if [ -n "${NODE_EXTRA_CA_CERTS-}" ]; then
  cp -L "$NODE_EXTRA_CA_CERTS" "$debian/etc/npm-certificates.pem"
  certificates=(NODE_EXTRA_CA_CERTS=/etc/npm-certificates.pem)
fi
git clone -q . "$debian/root/quietus"

for command in "${commands[@]}"; do
  line="bash tools/$command.sh"
  grep -qF "$line" README.md || { echo "fresh.sh: the README does not say '$line'"; exit 1; }
  root=$FRESH_SCRATCH/$command
  cp -a "$debian" "$root"
  mount -t proc proc "$root/proc"
  mount --rbind /sys "$root/sys"
  mount --rbind /dev "$root/dev"
  echo "== fresh Debian $(cat "$root/etc/debian_version"): $line"
  enter=(chroot "$root")
  # podman needs / to be what it is on a machine, the root of the mount namespace. test.sh sees to
  # that by itself.
  # shellcheck disable=SC2016  # for the shell inside
  [ "$command" != container ] || enter=(unshare --mount sh -c '
    cd "$0" && mount --rbind . . && cd "$0" && pivot_root . mnt && umount -l /mnt && exec "$@"' "$root")
  "${enter[@]}" /usr/bin/env -i HOME=/root TERM=dumb "${certificates[@]}" \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
    sh -c "cd /root/quietus && $line" </dev/null
done

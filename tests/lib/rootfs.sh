#!/usr/bin/env bash
# Makes root file systems for sandboxes:
#
#   rootfs.sh busybox DIR          busybox, its applets, and nothing else
#   rootfs.sh bare DIR PROGRAM     PROGRAM as /quietus, and nothing else
set -euo pipefail

kind=$1 root=$2
umask 022
# Where runtimes mount things, and where sessions put theirs.
mkdir -p "$root"/{dev,proc,sys,etc,run,tmp}
chmod 1777 "$root/tmp"
case $kind in
  busybox)
    mkdir -p "$root/bin"
    cp "$(command -v busybox)" "$root/bin/busybox"
    "$root/bin/busybox" --list | while read -r applet; do
      [ "$applet" = busybox ] || ln -s busybox "$root/bin/$applet"
    done
    ;;
  bare)
    install -m 755 "$3" "$root/quietus"
    ;;
  *)
    echo "usage: rootfs.sh busybox DIR | bare DIR PROGRAM" >&2
    exit 2
    ;;
esac

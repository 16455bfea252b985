#!/usr/bin/env bash
# Runs the aarch64 binary on a real, older kernel: Debian's own (6.1, without Landlock's signal
# scope) in a virtual machine, whose first process is our init with its cases.
#
#   run.sh [BUILD_DIR [WORD]]   the quietus of BUILD_DIR (build/musl-aarch64); only the cases whose
#                               name holds WORD
#
# Needs what tools/setup.sh installs for the tests, and once Debian's archive for the kernel, which is
# kept in build/aarch64. Ends with the count; whatever is missing is a failure, never a skip.
set -euo pipefail
cd "$(dirname "$0")/../.."
binary=$(realpath -m "${1:-build/musl-aarch64}")/quietus
word=${2-}
work=$PWD/build/aarch64
# A run takes half a minute on an idle host.
limit=500

give_up() { echo "aarch64: $*"; echo "0 passed, 1 failed"; exit 1; }

[ -x "$binary" ] || give_up "$binary is missing: cmake --preset musl-aarch64 && cmake --build --preset musl-aarch64"
for tool in qemu-system-aarch64 cpio aarch64-linux-gnu-g++ cmake ninja; do
  command -v "$tool" >/dev/null || give_up "$tool is missing: bash tools/setup.sh test"
done

as_root() {
  if [ "$(id -u)" = 0 ]; then "$@"; else sudo -n "$@"; fi
}

# The versioned package that linux-image-arm64 stands for.
kernel_package() {
  apt-cache depends linux-image-arm64:arm64 2>/dev/null |
    sed -nE '0,/Depends:/s/^ *Depends: (linux-image-[^ :]+).*/\1/p'
}

download() {  # PACKAGE
  rm -f "$work"/linux-image-*.deb
  [ -n "$1" ] && (cd "$work" && apt-get download "$1:arm64") >"$work/apt.log" 2>&1
}

fetch_kernel() {
  case " $(dpkg --print-architecture) $(dpkg --print-foreign-architectures | tr '\n' ' ') " in
    *\ arm64\ *) ;;
    *) as_root dpkg --add-architecture arm64 || give_up "cannot add the architecture arm64 to dpkg" ;;
  esac
  # Lists that are missing, or that name a package which the archive has replaced since.
  if ! download "$(kernel_package)"; then
    as_root apt-get update >"$work/apt.log" 2>&1 || true
    download "$(kernel_package)" ||
      give_up "cannot download the kernel that linux-image-arm64 depends on: $(tail -n 1 "$work/apt.log")"
  fi
  dpkg --fsys-tarfile "$work"/linux-image-*.deb | tar -xO --wildcards './boot/vmlinuz-*' >"$work/vmlinuz.part"
  mv "$work/vmlinuz.part" "$work/vmlinuz"
  rm "$work"/linux-image-*.deb
}

mkdir -p "$work/root/tmp"
[ -s "$work/vmlinuz" ] || fetch_kernel

{
  cmake -S tests/aarch64 -B "$work/guest" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O1 \
    -DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=aarch64 -DCMAKE_CXX_COMPILER=aarch64-linux-gnu-g++ &&
    cmake --build "$work/guest"
} >"$work/build.log" 2>&1 || { tail -n 30 "$work/build.log"; give_up "the guest's programs do not build"; }

install -m 755 "$binary" "$work/root/quietus"
install -m 755 -s --strip-program=aarch64-linux-gnu-strip "$work/guest/init" "$work/guest/actor/actor" "$work/root/"
(cd "$work/root" && find . | cpio --quiet -o -H newc -R 0:0) >"$work/initrd"

# Time in the machine is counted in its own instructions and jumps where it would idle: what a case
# finds does not depend on how busy this host is. In our own process group, so that whoever ends this
# script ends the machine too. No network, no disk: the console is the only way out. A panic ends it.
timeout --foreground --kill-after=5 $limit qemu-system-aarch64 -M virt -cpu cortex-a57 -smp 2 -m 1024 \
  -icount shift=2,sleep=off -rtc clock=vm -display none -monitor none -serial stdio -no-reboot -nic none \
  -kernel "$work/vmlinuz" -initrd "$work/initrd" \
  -append "console=ttyAMA0 quiet panic=-1 rdinit=/init -- $word" </dev/null 2>&1 |
  sed -u -e 's/\r$//' -e '/reboot: Power down$/d' | tee "$work/console" || true

line=$(tail -n 1 "$work/console")
[[ $line =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]] ||
  give_up "the machine ended, or was ended after $limit s, without a count"
[ "${BASH_REMATCH[1]}" -gt 0 ] && [ "${BASH_REMATCH[2]}" = 0 ]

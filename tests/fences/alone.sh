#!/usr/bin/env bash
# The in-sandbox half builds from a directory that holds nothing else. Where the musl preset is
# built already, the binary must be the same to the byte: neither the place nor the time may show.
#
#   alone.sh [ROOT]
set -eu
root=$(cd "${1:-$(dirname "$0")/../..}" && pwd)
alone=$(mktemp -d)
trap 'rm -rf "$alone"' EXIT

for folder in contract kernel supervisor session program cmake; do
  [ ! -d "$root/$folder" ] || cp -r "$root/$folder" "$alone/"
done
shipped=$root/build/musl
commit=$(sed -nE 's/.*kCommit = "(.*)".*/\1/p' "$shipped/program/generated/quietus_version.hpp" 2>/dev/null || true)

cd "$alone"
cmake -S program -B build -G Ninja --toolchain "$alone/cmake/musl/toolchain.cmake" \
  -DCMAKE_BUILD_TYPE=MinSizeRel -DQUIETUS_COMMIT="${commit:-unknown}"
cmake --build build
if [ -e "$shipped/quietus" ]; then
  cmp build/quietus "$shipped/quietus"
fi

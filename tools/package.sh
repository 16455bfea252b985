#!/usr/bin/env bash
# Builds what is shipped: for each architecture a Debian package and an archive, and their checksums.
# The same sources give the same bytes, wherever and whenever they are built.
#
#   package.sh [FOLDER]    the packages go there (default: build/packages)
#
# The date in the packages is SOURCE_DATE_EPOCH, by default that of the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
output=$(realpath -m "${1:-build/packages}")
umask 022
export LC_ALL=C TZ=UTC
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

rm -rf "$output"
mkdir -p "$output"
log=$output.log

# What holds the date is always made anew.
build() {  # PRESET
  rm -rf "build/$1"/packaging/documents/{man,changelog*}
  cmake --preset "$1" && cmake --build --preset "$1" --target quietus documents
}

# A reproducible archive: names in order, one time, one owner, no time in the envelope.
archive() {  # FOLDER
  tar -C "$(dirname "$1")" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner -cf - "$(basename "$1")" | gzip -9n
}

for preset in musl musl-aarch64; do
  build $preset >"$log" 2>&1 || { tail -n 40 "$log"; exit 1; }
  cpack --config build/$preset/CPackConfig.cmake -B build/$preset/cpack >"$log" 2>&1 ||
    { tail -n 40 "$log"; exit 1; }
  mv build/$preset/cpack/*.deb "$output/"
  rm -rf build/$preset/cpack

  machine=x86_64
  [ $preset = musl ] || machine=aarch64
  version=$(sed -nE 's/^set\(CPACK_PACKAGE_VERSION "(.*)"\)/\1/p' build/$preset/CPackConfig.cmake)
  name=quietus-$version-linux-$machine
  stage=build/$preset/stage/$name
  rm -rf build/$preset/stage
  cmake --install build/$preset --component quietus --prefix "$stage" >"$log" 2>&1 ||
    { tail -n 40 "$log"; exit 1; }
  # What only Debian reads.
  rm -r "$stage/share/lintian" "$stage/share/doc/quietus/"{copyright,changelog.gz}
  cp LICENSE CHANGELOG.md "$stage/share/doc/quietus/"
  gunzip "$stage"/share/man/man?/*.gz
  archive "$stage" >"$output/$name.tar.gz"
  rm -rf build/$preset/stage
done
rm -f "$log"
cd "$output"
sha256sum -- *.deb *.tar.gz >SHA256SUMS
cat SHA256SUMS

#!/usr/bin/env bash
# Builds what is shipped: of the supervisor a Debian package and an archive for each architecture; of the
# controller, which needs this machine's C library, packages for this machine's; and their checksums.
# The same sources give the same bytes, wherever and whenever they are built.
#
#   package.sh [FOLDER [supervisor]]    the packages go there (default: build/packages); with "supervisor"
#                                       only its own, which take a tenth of the time
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
quietly() { "$@" >"$log" 2>&1 || { tail -n 40 "$log"; exit 1; }; }

build() {  # PRESET TARGET...
  quietly cmake --preset "$1"
  quietly cmake --build --preset "$1" --target "${@:2}"
}
packages() {  # PRESET
  quietly cpack --config "build/$1/CPackConfig.cmake" -B "build/$1/cpack"
  mv "build/$1"/cpack/*.deb "$output/"
  rm -rf "build/$1/cpack"
}

# Manual and completions are the same for all. What holds the date is always made anew.
documents=build/musl/packaging/documents
rm -rf $documents/{man,changelog*}
build musl quietus documents
build musl-aarch64 quietus

# A reproducible archive: names in order, one time, one owner, no time in the envelope.
archive() {  # FOLDER
  tar -C "$(dirname "$1")" --format=ustar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 \
    --numeric-owner -cf - "$(basename "$1")" | gzip -9n
}

for preset in musl musl-aarch64; do
  [ $preset = musl ] || cp -rT $documents build/$preset/packaging/documents
  packages $preset

  machine=x86_64
  [ $preset = musl ] || machine=aarch64
  version=$(sed -nE 's/^set\(CPACK_PACKAGE_VERSION "(.*)"\)/\1/p' build/$preset/CPackConfig.cmake)
  name=quietus-$version-linux-$machine
  stage=build/$preset/stage/$name
  rm -rf build/$preset/stage
  quietly cmake --install build/$preset --component quietus --prefix "$stage"
  # What only Debian reads.
  rm -r "$stage/share/lintian" "$stage/share/doc/quietus/"{copyright,changelog.gz}
  cp LICENSE CHANGELOG.md "$stage/share/doc/quietus/"
  gunzip "$stage"/share/man/man?/*.gz
  archive "$stage" >"$output/$name.tar.gz"
  rm -rf build/$preset/stage
done

# It brings the two supervisors along.
if [ "${2-}" != supervisor ]; then
  build release quietusctl
  cp -rT $documents build/release/packaging/documents
  packages release
fi
rm -f "$log"
cd "$output"
sha256sum -- *.deb *.tar.gz >SHA256SUMS
cat SHA256SUMS

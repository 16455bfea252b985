#!/usr/bin/env bash
# clang-tidy over every source that ends up in the binary, or over the files named. Needs the dev
# preset configured. Ends with the count of files.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

files=("$@")
if [ $# = 0 ]; then
  mapfile -t files < <(find contract kernel supervisor session program -name '*.cpp' \
    ! -name '*_test.cpp' | sort)
fi
if [ ! -e build/dev/compile_commands.json ]; then
  echo "tidy: configure the dev preset first"
  exit 1
fi

check() {
  clang-tidy --quiet -p build/tidy "$1" 2>/dev/null || { echo "tidy: $1"; return 1; }
}
export -f check

# Without what only g++ knows: its precompiled headers, and a warning that is turned off.
mkdir -p build/tidy
sed -E 's/-include [^ ]*cmake_pch\.hxx//; s/-Winvalid-pch|-Wno-maybe-uninitialized//g' \
  build/dev/compile_commands.json >build/tidy/compile_commands.json

# shellcheck disable=SC2016  # $0 is for the inner shell
printf '%s\0' "${files[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'check "$0"' >build/tidy/log
cat build/tidy/log
failed=$(grep -c '^tidy: ' build/tidy/log)
echo "$((${#files[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]

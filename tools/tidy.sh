#!/usr/bin/env bash
# clang-tidy over every source that ends up in the binary, or over the files named. Needs the
# release preset built. Ends with the count of files.
#
# Most of its time goes into the headers of the C++ library, so the sources of a folder are looked at
# as one; where that one has a fault, each of them is looked at by itself, which tells the place.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1

if [ ! -e build/release/compile_commands.json ]; then
  echo "tidy: build the release preset first"
  exit 1
fi
rm -rf build/tidy
mkdir -p build/tidy
# Without what only g++ knows.
sed 's/-Wno-maybe-uninitialized//g' \
  build/release/compile_commands.json >build/tidy/compile_commands.json
sources() {  # FOLDER...
  find "$@" -name '*.cpp' ! -name '*_test.cpp' | sort
}

alone() {  # FILE
  clang-tidy --quiet -p build/tidy "$1" 2>/dev/null || { echo "tidy: $1"; return 1; }
}

# The sources of one folder have the same flags. What they include twice is no fault here.
together() {  # FOLDER
  local folder=$1 files command
  mapfile -t files < <(sources "$folder")
  command=$(grep -F "\"command\": " build/tidy/compile_commands.json | grep -F "$PWD/${files[0]}\"")
  command=${command#*\"command\": \"}
  read -ra command <<<"${command%% -o *}"
  cat "${files[@]}" >"build/tidy/$folder.cpp"
  clang-tidy --quiet --checks=-readability-duplicate-include "build/tidy/$folder.cpp" -- \
    "${command[@]:1}" >"build/tidy/$folder.log" 2>&1
}

if [ $# = 0 ]; then
  folders=(contract kernel supervisor session program)
  mapfile -t files < <(sources "${folders[@]}")
  export -f together sources
  # shellcheck disable=SC2016  # $0 is for the inner shell
  mapfile -t suspects < <(printf '%s\0' "${folders[@]}" |
    xargs -0 -n 1 -P "$(nproc)" bash -c 'together "$0" || echo "$0"')
  [ ${#suspects[@]} = 0 ] || mapfile -t looked_at < <(sources "${suspects[@]}")
else
  files=("$@") looked_at=("$@") suspects=()
fi

failed=0
if [ -n "${looked_at[*]-}" ]; then
  export -f alone
  # shellcheck disable=SC2016
  printf '%s\0' "${looked_at[@]}" | xargs -0 -n 1 -P "$(nproc)" bash -c 'alone "$0"' >build/tidy/log
  cat build/tidy/log
  failed=$(grep -c '^tidy: ' build/tidy/log)
  if [ "$failed" = 0 ] && [ ${#suspects[@]} -gt 0 ]; then
    for folder in "${suspects[@]}"; do cat "build/tidy/$folder.log"; done
    echo "tidy: only where the sources of a folder are one: ${suspects[*]}"
    failed=1
  fi
fi
echo "$((${#files[@]} - failed)) passed, $failed failed"
[ "$failed" = 0 ]

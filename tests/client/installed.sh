#!/usr/bin/env bash
# The library as somebody else's program finds it once it is installed: by CMake and by pkg-config,
# with nothing of this repository in reach. Needs libquietus_bootstrap built in build/dev.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
passed=0
ok() { echo "ok      $1"; passed=$((passed + 1)); }

cmake --install "$root/build/dev" --component controller --prefix "$scratch/prefix" >/dev/null
cd "$scratch"
cp "$root"/examples/run_command/* .
cmake -S . -B build -G Ninja -DCMAKE_PREFIX_PATH="$scratch/prefix" >/dev/null
cmake --build build >/dev/null
[ "$(build/user)" = 'hello from inside' ]
ok 'by find_package'

PKG_CONFIG_PATH=$(dirname "$(find "$scratch/prefix" -name quietus.pc)")
export PKG_CONFIG_PATH
# shellcheck disable=SC2046  # the flags are words
g++ main.cpp -o by-pkg-config $(pkg-config --define-prefix --cflags --libs quietus)
[ "$(./by-pkg-config)" = 'hello from inside' ]
ok 'by pkg-config'

if grep -rq "$root" "$scratch/prefix/include" "$scratch/prefix/lib"*/cmake; then
  echo "the installed files name the repository"
  exit 1
fi
ok 'with nothing of the repository'
echo "$passed passed, 0 failed"

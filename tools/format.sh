#!/usr/bin/env bash
# Formats every C and C++ source of the repository in place; with --check only says what would change.
set -euo pipefail
cd "$(dirname "$0")/.."

mode=(-i)
[ "${1-}" != --check ] || mode=(--dry-run -Werror)
find . -path ./build -prune -o \( -name '*.cpp' -o -name '*.hpp' -o -name '*.c' -o -name '*.h' \) -print0 |
  xargs -0r clang-format "${mode[@]}"

#!/usr/bin/env bash
# Which folder may include which. Prints file:line of each quoted include that the table forbids.
#
#   layers.sh [ROOT]
set -u
root=${1:-$(dirname "$0")/../..}

# folder: the folders that it may include. What the build generates has no folder and is named;
# quietus/ is the public face of the client (client/include).
declare -A may_include=(
  [contract]="contract"
  [kernel]="contract kernel"
  [supervisor]="contract kernel supervisor quietus_version.hpp"
  [session]="contract kernel supervisor session"
  [program]="contract kernel supervisor session program quietus_version.hpp"
  [client]="contract client quietus quietus_uv_manifest.hpp"
  [cli]="contract cli quietus quietus_version.hpp"
)

cd "$root" || exit 1
wrong=0
for folder in "${!may_include[@]}"; do
  [ -d "$folder" ] || continue
  while IFS=: read -r file line include; do
    target=$(sed -E 's/^[^"]*"([^"]*)".*/\1/' <<<"$include")
    allowed=${may_include[$folder]}
    case "$file" in *_test.cpp) allowed+=" harness" ;; esac
    case " $allowed " in
      *" ${target%%/*} "*) ;;
      *) echo "$file:$line: $folder/ may not include $target"; wrong=1 ;;
    esac
  done < <(grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' --include='*.[ch]pp' "$folder")
done
exit $wrong

#!/usr/bin/env bash
# Runs every fence on the repository, and then again on a planted violation, which it must report.
# Needs the presets dev, release, musl and musl-aarch64 built. Ends with the count.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# shellcheck source=tests/lib/tally.sh
source "$here/../lib/tally.sh"

fence() { bash "$here/$1.sh" "${@:2}"; }

# A copy of the sources with one file more.
plant() {  # FILE CONTENT
  rm -rf "$scratch/tree"
  mkdir "$scratch/tree"
  for folder in contract kernel supervisor session program cmake; do
    [ ! -d "$root/$folder" ] || cp -r "$root/$folder" "$scratch/tree/"
  done
  mkdir -p "$scratch/tree/client"
  echo '#pragma once' >"$scratch/tree/client/planted.hpp"
  printf '%s\n' "$2" >"$scratch/tree/$1"
}

compile() {  # SOURCE_TEXT FLAGS...
  printf '%b\n' "$1" >"$scratch/planted.cpp"
  g++ -w "$scratch/planted.cpp" "${@:2}"
}

holds layers fence layers "$root"
plant supervisor/planted.cpp '#include "client/planted.hpp"'
notices 'an include of another layer' 'supervisor/planted.cpp:1: supervisor/ may not include client/' \
  fence layers "$scratch/tree"
plant contract/planted.hpp '#  include "kernel/gate.hpp"'
notices 'an include of a lower layer' 'contract/planted.hpp:1: contract/ may not include kernel/' \
  fence layers "$scratch/tree"
plant kernel/planted.hpp '#include "gate.hpp"'
notices 'an include without a folder' 'kernel/planted.hpp:1: kernel/ may not include gate.hpp' \
  fence layers "$scratch/tree"

holds awaits fence awaits "$root"
plant client/planted.cpp 'void f() { if (x() && co_await y()) return; }'
notices 'an awaited condition' 'client/planted.cpp:1: co_await inside a condition' fence awaits "$scratch/tree"

holds alone fence alone "$root"
plant contract/planted.cpp '#include "client/planted.hpp"'
notices 'a half that does not build alone' 'client/planted.hpp: No such file' fence alone "$scratch/tree"

holds static_elf fence static_elf "$root"/build/{dev,release,musl,musl-aarch64}/quietus
compile 'int main() {}' -o "$scratch/dynamic"
notices 'a dynamic binary' 'asks for an interpreter' fence static_elf "$scratch/dynamic"
compile 'int main() {}' -static-pie -o "$scratch/pie"
notices 'a static-pie binary' 'has a dynamic section' fence static_elf "$scratch/pie"
compile '#include <iostream>\nint main() { std::cout << 1; }' -static -s -o "$scratch/stream"
notices 'iostream in a stripped binary' 'holds iostream' fence static_elf "$scratch/stream"
compile '#include <netdb.h>\nint main() { return getaddrinfo("", "", nullptr, nullptr); }' \
  -static -o "$scratch/lookup" -Wl,--no-warnings
notices 'a name look-up' 'holds getaddrinfo' fence static_elf "$scratch/lookup"

holds size fence size "$root"
for preset in musl musl-aarch64 release; do
  mkdir -p "$scratch/sizes/build/$preset"
  truncate -s 160K "$scratch/sizes/build/$preset/quietus"
done
holds 'size at the budget' fence size "$scratch/sizes"
truncate -s +1 "$scratch/sizes/build/musl/quietus"
notices 'one byte over the budget' 'musl: over its budget' fence size "$scratch/sizes"

holds one_door fence one_door "$root"
objects=build/release/program/CMakeFiles/quietus_inside.dir/__/supervisor
mkdir -p "$scratch/door/$objects"
compile '#include <signal.h>\nint f() { return ::kill(1, 0); }' -c -o "$scratch/door/$objects/planted.cpp.o"
notices 'a system call beside the door' 'supervisor/planted.cpp: needs kill' fence one_door "$scratch/door"
compile '#include <chrono>\nauto f() { return std::chrono::steady_clock::now(); }' -c \
  -o "$scratch/door/$objects/planted.cpp.o"
notices 'a clock that libstdc++ reads' 'needs std::chrono' fence one_door "$scratch/door"
compile 'int f() { return 0; }' -c -o "$scratch/door/$objects/planted.cpp.o"
mkdir "$scratch/door/supervisor"
echo 'void f() { asm volatile("syscall"); }' >"$scratch/door/supervisor/planted.cpp"
notices 'assembly' 'supervisor/planted.cpp:1:' fence one_door "$scratch/door"

echo "$passed passed, $failed failed"
[ $failed = 0 ]

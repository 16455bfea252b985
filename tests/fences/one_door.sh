#!/usr/bin/env bash
# Every system call of the in-sandbox half goes through Gate::perform. Looks at the objects of the
# release build: none may need anything of the C library that is not in the list, which holds functions
# that never enter the kernel. Only kernel/gate.cpp, the door, may need syscall.
#
#   one_door.sh [ROOT]
set -u
root=${1:-$(dirname "$0")/../..}

pure='mem(chr|cmp|cpy|move|set|rchr)|str(len|nlen|cmp|ncmp|chr|rchr)|abort|main'
pure+='|__stack_chk_fail|_GLOBAL_OFFSET_TABLE_|__cxa_pure_virtual|__cxa_atexit|__dso_handle'
# Ours; operator new and delete; std::string; what the containers call when they are misused.
pure+='|_ZT[VISTC]+N7quietus.*|_ZG?[VR]?N?K?N?7quietus.*|_ZN?K?7quietus.*|_ZZ?NK?7quietus.*'
pure+='|_Zn[aw]m.*|_Zd[al]Pv.*|_ZSt[0-9]+__throw_.*|_ZNK?St7__cxx1112basic_string.*'
declare -A extra=([kernel/gate.cpp]='syscall|__errno_location')

cd "$root" || exit 1
mapfile -t objects < <(find build/release/program/CMakeFiles/quietus{_inside,}.dir -name '*.o' 2>/dev/null)
if [ ${#objects[@]} = 0 ]; then
  echo "one_door: build the release preset first"
  exit 1
fi

wrong=0
for object in "${objects[@]}"; do
  source=${object#*.dir/}
  source=${source#__/}
  source=${source%.o}
  while read -r symbol; do
    echo "$source: needs $(c++filt "$symbol")"
    wrong=1
  done < <(nm -u --format=just-symbols "$object" | grep -Evx "$pure|${extra[$source]:-main}")
done

# What the symbols cannot show: an instruction that enters the kernel.
assembly=$(grep -rnE '\b(asm|__asm__?)\b' --include='*.[ch]pp' \
  contract kernel supervisor session program 2>/dev/null)
if [ -n "$assembly" ]; then
  echo "one_door: no assembly in the in-sandbox half:"
  echo "$assembly"
  wrong=1
fi
exit $wrong

// What is run by the sandbox's shell: any POSIX sh, with whatever programs it finds. Each line of
// an answer starts with the token, so that nothing else that is printed counts.
#pragma once

namespace quietus {

// $1 token, $2 KiB that are needed, $3 digests to look for (blanks between), $4 the program's name,
// $5 "keep" to leave the directory that will do, then directories: in this order, to the first that
// will do. Each program that is started costs as much as all that the shell does itself: there are
// seven.
inline constexpr const char* kSurveyScript = R"sh(
t=$1 need=$2 wanted=$3 name=$4 keep=$5
shift 5
set -f
umask 022
say() { printf '%s %s\n' "$t" "$*"; }
say begin
k=$(uname -sm 2>/dev/null)
say kernel "${k% *}"
say machine "${k##* }"
u=$(id -u 2>/dev/null)
say uid "$u"
p=
while read -r a b c; do
  if [ "$a" = KernelPageSize: ]; then p=$((b * 1024)); break; fi
done 2>/dev/null </proc/self/smaps
[ -n "$p" ] || p=$(getconf PAGESIZE 2>/dev/null)
say page_size "$p"
number() {  # of TEXT what is behind WORDS
  v=-
  case $1 in *"$2"*) v=${1#*"$2"} v=${v%%[!0-9.]*} v=${v%.} ;; esac
  [ -n "$v" ] || v=-
}
for l in /lib64/ld-linux-x86-64.so.2 /lib/ld-linux-aarch64.so.1 /lib64/ld-linux-aarch64.so.1; do
  [ -e "$l" ] || continue
  number "$("$l" --version 2>/dev/null)" 'release version '
  # Before 2.33 the loader does not say; what asks the C library itself does.
  [ "$v" != - ] || number "$(getconf GNU_LIBC_VERSION 2>/dev/null)" 'glibc '
  say library glibc "$v" "$l"
done
for l in /lib/ld-musl-x86_64.so.1 /lib/ld-musl-aarch64.so.1; do
  [ -e "$l" ] || continue
  number "$("$l" 2>&1)" 'Version '
  say library musl "$v" "$l"
done
sh=$(command -v sh)
case $sh in /*) ;; *) sh=/bin/sh ;; esac
n='
'
for d; do
  b=${d%/}/quietus-$u
  made=
  if [ ! -d "$b" ]; then
    top=$b  # of what is made
    while a=${top%/*} && [ -n "$a" ] && [ ! -d "$a" ]; do top=$a; done
    mkdir -p -- "$b" 2>/dev/null && made=$b
  fi
  w=no x=unknown k=-
  if [ ! -L "$b" ] && [ -d "$b" ] && [ -O "$b" ]; then
    f=$b/.try-$t
    if { printf '#!%s\nexit 42\n' "$sh" >"$f"; } 2>/dev/null; then
      w=yes
      if chmod 700 "$f" 2>/dev/null; then
        "$f" >/dev/null 2>&1
        case $? in 42) x=yes ;; 126) x=no ;; esac
      fi
      rm -f -- "$f" 2>/dev/null
    fi
    for s in $wanted; do
      f=$b/$s/$name
      [ -f "$f" ] && [ -x "$f" ] && [ ! -L "$f" ] || continue
      h=$(sha256sum <"$f" 2>/dev/null)
      say present "${h%% *}" "$f"
    done
    k=$(df -Pk "$b" 2>/dev/null)
    set -- ${k#*"$n"}
    k=${4:--}
  fi
  say directory "$w" "$x" "$k" "$d"
  fits=
  case $k in ''|*[!0-9]*) ;; *) if [ "$x" = yes ] && [ "$k" -ge "$need" ]; then fits=yes; fi ;; esac
  # Only what is empty, and was made here, goes.
  [ "$keep$fits" != keepyes ] || made=
  while [ -n "$made" ] && rmdir -- "$made" 2>/dev/null && [ "$made" != "$top" ]; do
    made=${made%/*}
  done
  [ -z "$fits" ] || break
done
say end
)sh";

// $1 token, $2 the base directory, which is only ours, $3 the one in it, $4 the name, $5 size, $6
// SHA-256, then the words of the check. Standard input is the program.
inline constexpr const char* kDeliverScript = R"sh(
t=$1 b=$2 d=$3 f=$3/$4 n=$3/.$4-$1 size=$5 sum=$6
shift 6
say() { printf '%s %s\n' "$t" "$*"; }
umask 022
{ [ -d "$d" ] || mkdir -p -- "$d"; } && [ ! -L "$b" ] && [ -O "$b" ] && [ ! -L "$d" ] && [ -O "$d" ] || exit 1
cat >"$n" || { rm -f -- "$n"; exit 1; }
h=$(sha256sum <"$n" 2>/dev/null)
if [ "${h%% *}" != "$sum" ]; then
  why=
  if [ "$(wc -c <"$n")" -ne "$size" ]; then why=short; elif [ -n "$h" ]; then why=differs; fi
  if [ -n "$why" ]; then
    rm -f -- "$n"
    say "$why"
    exit 1
  fi
fi
chmod 755 "$n" && mv -f -- "$n" "$f" || { rm -f -- "$n"; exit 1; }
say stored
if [ $# -gt 0 ]; then
  "$f" "$@" </dev/null
  say ran $?
fi
)sh";

}  // namespace quietus

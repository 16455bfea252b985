#!/usr/bin/env bash
# A Debian of the smallest kind, as debootstrap's minbase has it, of the files of this machine's own
# packages: those that every Debian must have, and all that they depend on.
#
#   debian_root.sh DIR
set -euo pipefail

root=$1
native=$(dpkg --print-architecture)
# shellcheck disable=SC2016  # the dollars are for dpkg-query
fields='${Package}\t${Architecture}\t${Priority}\t${Essential}\t${Pre-Depends},${Depends}\n'
packages=$(dpkg-query -W -f "$fields" |
  awk -F '\t' -v native="$native" '
    function want(name) {
      if (name in depends && !(name in wanted)) { wanted[name] = 1; queue[++last] = name }
    }
    $2 == native || $2 == "all" {
      depends[$1] = $5
      full[$1] = $2 == "all" ? $1 : $1 ":" native  # a name alone may be that of two
      if ($3 == "required" || $4 == "yes" || $1 == "apt") first[$1] = 1
    }
    END {
      for (name in first) want(name)
      while (done < last) {
        count = split(depends[queue[++done]], words, /[,|]/)
        for (at = 1; at <= count; at++) {
          sub(/^ +/, "", words[at]); sub(/[ :(].*/, "", words[at]); want(words[at])
        }
      }
      for (name in wanted) print full[name]
    }')

for folder in bin sbin lib lib64; do
  mkdir -p "$root/usr/$folder"
  ln -s "usr/$folder" "$root/$folder"
done
# Nobody reads the pages in there.
unread='^/usr/share/(doc|man|locale|info|i18n|zoneinfo)/'
xargs dpkg -L <<<"$packages" | grep -vE "$unread" |
  sed -E 's,^/(bin|sbin|lib|lib64)/,/usr/\1/,' | sort -u |
  while read -r file; do
    if [ -L "$file" ] || [ -f "$file" ]; then printf '%s\n' "${file#/}"; fi
  done |
  tar -C / -c --no-recursion -T - | tar -C "$root" -x
mkdir -p "$root"/{tmp,var/tmp,dev,proc,run,opt}
chmod 1777 "$root"/{tmp,var/tmp}

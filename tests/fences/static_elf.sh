#!/usr/bin/env bash
# A shipped binary needs nothing of the sandbox: no interpreter, no dynamic section. And it holds
# nothing that would change that or double its size: no stream, locale or regex, no name look-up,
# no threads. Shipped binaries are stripped, so the symbols are read where there are any, and the
# names that libstdc++ keeps as text in every one.
#
#   static_elf.sh BINARY...
set -u
banned_symbols='getpwnam|getgrnam|getaddrinfo|gethostbyname|pthread_create|_ZSt4cout|_ZNSt6locale.*|_ZNSt8ios_base.*'
banned_text='St6locale5facet|St8ios_base|basic_regex'

wrong=0
complain() { echo "$1: $2"; wrong=1; }
for binary in "$@"; do
  headers=$(readelf -lW "$binary") || { complain "$binary" "not an ELF file"; continue; }
  [[ $headers != *INTERP* ]] || complain "$binary" "asks for an interpreter"
  [[ $headers != *DYNAMIC* ]] || complain "$binary" "has a dynamic section"
  symbols=$(nm "$binary" 2>/dev/null | awk '{print $NF}' | grep -Ex "$banned_symbols" | sort -u)
  [ -z "$symbols" ] || complain "$binary" "holds ${symbols//$'\n'/ }"
  ! grep -aqE "$banned_text" "$binary" || complain "$binary" "holds iostream, locale or regex"
done
exit $wrong

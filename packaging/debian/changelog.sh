#!/bin/sh
# CHANGELOG.md, on standard input, in the form of a Debian changelog.
#
#   changelog.sh VERSION MAINTAINER
set -eu
date=$(LC_ALL=C date -u -R ${SOURCE_DATE_EPOCH:+-d "@$SOURCE_DATE_EPOCH"})
awk -v version="$1" -v maintainer="$2" -v date="$date" '
  # Debian wants lines of 80 columns.
  function wrap(text, margin,   line, words, count, at) {
    count = split(text, words, " ")
    line = margin "* " words[2]
    for (at = 3; at <= count; at++) {
      if (length(line) + 1 + length(words[at]) > 78) { print line; line = margin " " }
      line = line " " words[at]
    }
    print line
  }
  function flush() { if (entry != "") wrap(entry, "  "); entry = "" }
  function finish() { flush(); if (open) print "\n -- " maintainer "  " date "\n" }
  /^## / {
    finish()
    print "quietus (" (open ? $2 : version) ") unstable; urgency=medium\n"
    open = 1
    next
  }
  !open || /^$/ { next }
  /^- / { flush() }
  { entry = entry " " $0 }
  END { finish() }
'

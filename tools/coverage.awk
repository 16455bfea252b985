# Reads what llvm-cov exports (lcov) and prints a table by group, then every line that did not run.
#
#   -v root=/PATH/         where the sources lie
#   -v groups="NAME PERCENT ..."  files or folders, and their bounds; what is in none is left out
#
# The exit code is 1 where a group is under its bound. Tests (*_test.cpp) do not count.
function group_of(file,    at) {
  for (at = 1; at < words; at += 2) if (file == word[at] || index(file, word[at] "/") == 1) return word[at]
  return ""
}

# Adds the lines that did not run to missed and told.
function tell(file,    line, text, begin, range) {
  # One more than there are: it ends the last range.
  for (line = 1; line <= last[file] + 1; line++) {
    text = ""
    getline text <(root file)
    if ((file, line) in runs && !runs[file, line]) {
      missed++
      if (!begin) begin = line
      range = range "    " text "\n"
    } else if (begin) {
      told = told "\n" file ":" begin (begin < line - 1 ? "-" line - 1 : "") "\n" range
      begin = 0
      range = ""
    }
  }
  close(root file)
}

BEGIN { words = split(groups, word, " ") }

/^SF:/ {
  file = substr($0, 4)
  if (index(file, root) == 1) file = substr(file, length(root) + 1)
  sub(/^(build|\.)\//, "", file)  # what -ffile-prefix-map makes of root
  group = file ~ /_test\.cpp$/ ? "" : group_of(file)
}

group != "" && /^DA:/ {
  split(substr($0, 4), field, ",")
  line = field[1] + 0
  if (!((file, line) in runs)) lines[group]++
  if (!(file in last)) files[++count] = file
  if (line > last[file]) last[file] = line
  runs[file, line] += field[2]
}

END {
  code = 0
  for (word_at = 1; word_at < words; word_at += 2) {
    group = word[word_at]
    missed = 0
    for (at = 1; at <= count; at++) if (group_of(files[at]) == group) tell(files[at])
    percent = lines[group] ? 100 * (1 - missed / lines[group]) : 0
    under = percent < word[word_at + 1] + 0
    if (under) code = 1
    printf "%-36s %5d lines, %4d missed, %6.2f %%%s\n", group, lines[group], missed, percent,
      under ? ", less than " word[word_at + 1] : ""
  }
  printf "%s", told
  exit code
}

#!/usr/bin/env zsh
# Prints what zsh offers for a line, one candidate a line: types the line and a tab into an
# interactive zsh on a terminal of its own, whose compadd prints what it would have shown.
#
#   candidates.zsh FOLDER LINE    FOLDER holds the completion of the line's command
zmodload zsh/zpty
folder=$1 line=$2
scratch=$(mktemp -d)
trap 'zpty -d inner 2>/dev/null; rm -rf $scratch' EXIT

cat >$scratch/setup <<SETUP
fpath=(${(q)folder} \$fpath)
autoload -Uz compinit
compinit -u -d ${(q)scratch}/dump
PS1= PS2=
setopt no_auto_list no_beep
bindkey '^I' complete-word
zstyle ':completion:*' completer _complete
compadd() {
  local -a hits
  # Calls that only fill an array offer nothing.
  if [[ \${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
    builtin compadd "\$@"
    return
  fi
  builtin compadd -O hits "\$@"
  local prefix= at=\${argv[(i)-P]}
  ((at > \$#)) || prefix=\$argv[at+1]
  local suffix= 
  at=\${argv[(i)-S]}
  ((at > \$#)) || suffix=\$argv[at+1]
  print -rl -- \${^hits}\$suffix >>${(q)scratch}/found
  builtin compadd "\$@"
}
finish() { zle complete-word; print -n done >${(q)scratch}/done }
zle -N finish
bindkey '^I' finish
print ready >${(q)scratch}/ready
SETUP

wait_for() {
  local -i looks
  for ((looks = 0; looks < 1000; looks++)); do
    [[ -e $1 ]] && return
    zpty -rt inner _ 2>/dev/null
    sleep 0.02
  done
  print -u2 "zsh: no $1"
  exit 1
}

export TERM=dumb
zpty inner zsh -f -i
zpty -w inner "source $scratch/setup"
wait_for $scratch/ready
zpty -w -n inner "$line"$'\t'
wait_for $scratch/done
[[ ! -e $scratch/found ]] || sort -u $scratch/found | grep -v '^$'

#!/bin/sh
# service.sh TOOL DIR -- COMMAND...
# Makes a service directory that runs COMMAND and hands it to TOOL (s6-supervise, runsv), which
# restarts a service for ever: no command of ours has a single quote.
tool=$1
dir=$2
shift 3
rm -rf "$dir"
mkdir -p "$dir"
{
  echo '#!/bin/sh'
  printf 'exec'
  for word in "$@"; do printf " '%s'" "$word"; done
  echo
} >"$dir/run"
chmod +x "$dir/run"
exec "$tool" "$dir"

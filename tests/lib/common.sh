# shellcheck shell=bash
# For the with_*.sh scripts, which read it: they run inside enclose.sh, set something up, run a
# command, and take it down again.

[ -n "${SANDBOXES-}" ] || { echo "$0: run it by tests/lib/enclose.sh" >&2; exit 2; }

need() {  # TOOL...
  local tool
  for tool in "$@"; do
    command -v "$tool" >/dev/null && continue
    echo "$0: there is no $tool: bash tools/setup.sh test installs it" >&2
    exit 1
  done
}

# Asks until the command succeeds, for half a minute and more: the machine may be busy.
until_true() {  # WHAT CMD...
  local what=$1 left=600
  shift
  until "$@" >/dev/null 2>&1; do
    left=$((left - 1))
    [ $left -gt 0 ] || { echo "$0: $what does not come up" >&2; return 1; }
    sleep 0.1
  done
}

# Ends the daemon that wrote the file, and waits for its end.
end_of() {  # PIDFILE
  local pid left=100
  [ -s "$1" ] || return 0
  pid=$(<"$1")
  kill "$pid" 2>/dev/null || return 0
  while kill -0 "$pid" 2>/dev/null && [ $left -gt 0 ]; do
    left=$((left - 1))
    sleep 0.1
  done
  [ $left -gt 0 ] || kill -KILL "$pid" 2>/dev/null || true
}

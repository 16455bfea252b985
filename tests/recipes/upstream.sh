#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
daemoniser harness <<<'trap "echo saved >work; exit 0" TERM; : >ready; pkill -9 -f process_supervisor || true; while :; do sleep 0.1; done'
unpack upstream three-lines.py
expect 'the caller gets a true receipt' python3 "$(dirname "$0")/upstream_caller.py" three-lines.py "$PWD"
daemon_is_gone
expect 'the harness saved its work' grep -q saved work

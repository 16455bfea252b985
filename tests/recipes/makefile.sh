#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
unpack makefile Makefile
daemoniser run-tests <<<'exit 0'
expect 'make check succeeds' make check
daemon_is_gone

rm detached
daemoniser run-tests <<<'trap "" TERM; while :; do sleep 1; done'
sed -i 's/--cleanup-timeout 10/--cleanup-timeout 1/' Makefile
expect 'make ends at the deadline' ends_with 2 make check TIMEOUT=1 2>messages
expect 'make names the deadline' grep -q 'Error 124' messages
daemon_is_gone

#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
# As the runner does: the body in a file, for bash with these options.
unpack github-actions step.yml
sed '1,/^  run: |$/d; s/^    //' step.yml >body.sh
mkdir ci
step() { GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$PWD/summary bash --noprofile --norc -eo pipefail body.sh; }

daemoniser ci/test <<<'exit 3'
expect 'the step has the exit code of the tests' ends_with 3 step
daemon_is_gone
expect 'the summary has the receipt' grep -q '"cleanup_confirmed": true, "return_code": 3' summary

rm detached
sed -i 's/--timeout 20m --cleanup-timeout 10/--timeout 1s --cleanup-timeout 1/' body.sh
daemoniser ci/test <<<'while :; do sleep 1; done'
expect 'the step fails at the deadline' ends_with 124 step >annotations
expect 'the deadline is annotated' grep -q '^::error::the tests took longer' annotations
daemon_is_gone

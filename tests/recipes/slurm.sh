#!/usr/bin/env bash
# shellcheck source=tests/recipes/lib.sh
source "$(dirname "$0")/lib.sh"
# shellcheck source=tests/lib/slurm.sh
source "$(dirname "$0")/../lib/slurm.sh"
trap slurm_out EXIT
slurm_in "$PWD/slurm" || fail 'Slurm starts'
unpack slurm job.sbatch
daemoniser harness <<<'exec sleep 1000'
# This daemon holds the output of its step.
sed -i 's|</dev/null >/dev/null 2>&1||' harness

job=$(sbatch --parsable --output="$PWD/job.log" job.sbatch)
expect 'the job starts its daemon' wait_for 20 lived
scancel "$job"
# KillWait is 5 s here; then a node without leftovers is idle again.
node_is_idle() { [ "$(sinfo -h -o %t)" = idle ]; }
expect 'the node does not stay completing' wait_for 12 node_is_idle
daemon_is_gone
expect 'the receipt confirms' is_confirmed receipt.json
expect 'the next job runs' wait_for 10 sbatch --wait --output=/dev/null --wrap=true

#!/usr/bin/env bash
# A Slurm of one node (slurm.sh):
#
#   enclose.sh with_slurm.sh CMD...
#
# CMD has srun, salloc, scancel and squeue, and an allocation, $JOB, beside which there is room for
# one more.
set -euo pipefail
lib=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/common.sh
. "$lib/common.sh"
# shellcheck source=tests/lib/slurm.sh
. "$lib/slurm.sh"
need munged slurmctld slurmd srun salloc scancel squeue setpriv

trap slurm_out EXIT
# Without this a job takes the whole memory of the node.
slurm_in "$SANDBOXES/slurm" SelectTypeParameters=CR_CPU
JOB=$(salloc --no-shell --job-name=borrowed 2>&1 | sed -n 's/.*Granted job allocation //p')
export JOB
[ -n "$JOB" ] || { echo "$0: no allocation is given" >&2; exit 1; }
code=0
"$@" || code=$?
scancel "$JOB"
exit "$code"

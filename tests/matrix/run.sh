#!/usr/bin/env bash
# Runs the columns of the matrix beside each other, each with its sandboxes in an enclosure:
#
#   run.sh PROGRAM [COLUMN...]
#
# PROGRAM is matrix_tests. QUIETUS_BINARY is the supervisor that is uploaded. With $XML (as
# GoogleTest's --gtest_output wants it) a record of each column is left there.
# Needs root or sudo.
set -uo pipefail
[ "$(id -u)" = 0 ] || exec sudo -n -E bash "$0" "$@"
cd "$(dirname "$0")/../.." || exit 1

program=$(realpath "$1")
shift
[ $# -gt 0 ] || set -- local podman ssh bwrap slurm kube apptainer
lib=$PWD/tests/lib
payload=${QUIETUS_BINARY:?must name the supervisor}
# An enclosure that gets TERM ends at once, with all that is in it.
# shellcheck source=tests/lib/beside.sh
source "$lib/beside.sh"
running=()

setup() {  # COLUMN; prints the words that make its sandboxes
  case $1 in
    local) printf '%s\n' env ;;
    podman) printf '%s\n' bash "$lib/with_podman.sh" "$payload" ;;
    kube | apptainer)
      printf '%s\n' bash "$lib/with_podman.sh" "$payload" env "PATH=$lib/standins:$PATH" ;;
    ssh) printf '%s\n' bash "$lib/with_sshd.sh" ;;
    bwrap) printf '%s\n' bash "$lib/with_bwrap.sh" "$payload" ;;
    slurm) printf '%s\n' bash "$lib/with_slurm.sh" ;;
    *) echo "run.sh: no column '$1'" >&2; return 1 ;;
  esac
}

for column in "$@"; do
  words=$(setup "$column") || exit 2
  mapfile -t words <<<"$words"
  options=()
  [ -z "${XML-}" ] || options=("--gtest_output=$XML$column.xml")
  # It is the same everywhere.
  [ "$column" = local ] || options+=("--gtest_filter=-Table.*")
  mkdir "$scratch/disk-$column"
  QUIETUS_COLUMN=$column QUIETUS_DISK=$scratch/disk-$column \
    bash "$lib/enclose.sh" "${words[@]}" "$program" "${options[@]}" \
    >"$scratch/$column" 2>&1 </dev/null &
  running+=($!)
done

code=0
for pid in "${running[@]}"; do wait "$pid" || code=1; done
running=()
# What root has written goes back to whom the folder belongs.
[ -z "${SUDO_UID-}" ] || [ -z "${XML-}" ] || chown -R --reference=README.md "${XML#xml:}"
for column in "$@"; do
  echo "== $column"
  cat "$scratch/$column"
done
exit $code

#!/usr/bin/env bash
# Installs what is missing, builds, and measures quietus beside other supervisors: how fast it
# starts, confirms and stops, how surely it ends what is left, and what it costs to have it.
#
#   bench.sh             everything, in less than ten minutes; results in build/bench/results
#   bench.sh --short     a minute's worth of it
#   bench.sh --gate      fails when a bound of bench/bounds.toml is broken
#   bench.sh --document  also writes docs/performance.md and docs/plots
#   bench.sh --help      all options
set -euo pipefail

# Python reads the options, so that a wrong one is told before anything is installed or built.
command -v python3 >/dev/null || bash "$(dirname "$0")/setup.sh" bench
exec python3 -B "$(dirname "$0")/../bench/bench.py" "$@"

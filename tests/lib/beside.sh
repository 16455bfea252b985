# shellcheck shell=bash
# Sourced by scripts that run several commands beside each other: a folder $scratch for what they say,
# and when the script is told to end, so are they.

scratch=$(mktemp -d)
# shellcheck disable=SC2317  # called by the traps
leave_beside() {
  local job
  # Jobs, not numbers: bash knows which of them are still ours.
  for job in $(jobs -r | sed -nE 's/^\[([0-9]+)\].*/%\1/p'); do kill "$job" 2>/dev/null; done
  wait
  rm -rf "$scratch"
}
trap leave_beside EXIT
trap 'exit 143' TERM HUP
trap 'exit 130' INT

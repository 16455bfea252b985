# shellcheck shell=bash
# Sourced by tests that need a Slurm cluster: one node on the loopback, in a scratch folder, with
# munge and ports of its own; needs root, slurmctld, slurmd, slurm-client and munge.
#
#   slurm_in FOLDER [LINE...]    starts it; the lines go into slurm.conf; exports SLURM_CONF
#   slurm_out                    ends it

slurm_in() {
  slurm_home=$1
  shift
  local host port
  host=$(hostname -s)
  port=$((20000 + RANDOM % 20000))
  mkdir -p "$slurm_home"/{munge,state,spool}
  chmod 755 "$slurm_home"
  head -c 128 /dev/urandom >"$slurm_home/munge/key"
  chmod 400 "$slurm_home/munge/key"
  chown -R munge:munge "$slurm_home/munge"
  chmod 711 "$slurm_home/munge"
  setpriv --reuid=munge --regid=munge --clear-groups /usr/sbin/munged --force \
    --key-file="$slurm_home/munge/key" --socket="$slurm_home/munge/socket" --seed-file="$slurm_home/munge/seed" \
    --pid-file="$slurm_home/munge/pid" --log-file="$slurm_home/munge/log" 2>"$slurm_home/munge/messages" || return
  export SLURM_CONF=$slurm_home/slurm.conf
  {
    printf '%s\n' ClusterName=test "SlurmctldHost=$host(127.0.0.1)" SlurmUser=root AuthType=auth/munge \
      "AuthInfo=socket=$slurm_home/munge/socket" "SlurmctldPort=$port" "SlurmdPort=$((port + 1))" \
      "StateSaveLocation=$slurm_home/state" "SlurmdSpoolDir=$slurm_home/spool" \
      "SlurmctldPidFile=$slurm_home/slurmctld.pid" "SlurmdPidFile=$slurm_home/slurmd.pid" \
      "SlurmctldLogFile=$slurm_home/slurmctld.log" "SlurmdLogFile=$slurm_home/slurmd.log" \
      ProctrackType=proctrack/linuxproc TaskPlugin=task/none SelectType=select/cons_tres \
      MpiDefault=none ReturnToService=2 KillWait=5 MailProg=/bin/true \
      "NodeName=$host NodeAddr=127.0.0.1 CPUs=2 RealMemory=500 State=UNKNOWN" \
      "PartitionName=all Nodes=$host Default=YES State=UP"
    [ $# = 0 ] || printf '%s\n' "$@"
  } >"$SLURM_CONF"
  slurmctld -c -f "$SLURM_CONF" 2>>"$slurm_home/messages" && slurmd -f "$SLURM_CONF" -N "$host" 2>>"$slurm_home/messages" || return
  local -i looks
  for ((looks = 0; looks < 300; looks++)); do
    [ "$(sinfo -h -o %t 2>/dev/null)" != idle ] || return 0
    sleep 0.1
  done
  tail -n 20 "$slurm_home"/*.log
  return 1
}

slurm_out() {
  local file
  for file in slurmd.pid slurmctld.pid munge/pid; do
    [ ! -s "$slurm_home/$file" ] || kill "$(cat "$slurm_home/$file")" 2>/dev/null || true
  done
}

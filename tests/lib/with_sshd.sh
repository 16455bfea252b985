#!/usr/bin/env bash
# sshd on loopback, with keys and configuration of its own:
#
#   enclose.sh with_sshd.sh CMD...
#
# CMD reaches it by `ssh -F $SSH_CONFIG HOST`, where HOST is `node`, this machine, or `busybox`, a
# root file system at $SSH_ROOT that holds nothing else but what is mounted there ($TMPDIR).
set -euo pipefail
lib=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib/common.sh
. "$lib/common.sh"
need sshd ssh ssh-keygen busybox

own=$SANDBOXES/ssh
mkdir -p "$own" /run/sshd
for key in host user; do ssh-keygen -q -t ed25519 -N '' -f "$own/$key"; done
export SSH_CONFIG=$own/config SSH_ROOT=$own/root
bash "$lib/rootfs.sh" busybox "$SSH_ROOT"
mount --bind /dev "$SSH_ROOT/dev"
mount -t proc proc "$SSH_ROOT/proc"
mkdir -p "$SSH_ROOT$TMPDIR"
mount --bind "$TMPDIR" "$SSH_ROOT$TMPDIR"
# The shell of the user must exist in that root too.
sed 's|^\(root:.*:\)[^:]*$|\1/bin/sh|' /etc/passwd >"$own/passwd"
mount --bind "$own/passwd" /etc/passwd

cat >"$own/sshd_config" <<CONF
Port 22022
Port 22023
ListenAddress 127.0.0.1
HostKey $own/host
AuthorizedKeysFile $own/user.pub
PidFile $own/pid
PasswordAuthentication no
KbdInteractiveAuthentication no
UsePAM no
StrictModes no
PrintMotd no
MaxStartups 100
Match LocalPort 22023
  ChrootDirectory $SSH_ROOT
CONF
cat >"$SSH_CONFIG" <<CONF
Host node
  Port 22022
Host busybox
  Port 22023
Host *
  HostName 127.0.0.1
  User root
  IdentityFile $own/user
  IdentitiesOnly yes
  UserKnownHostsFile $own/known_hosts
  GlobalKnownHostsFile /dev/null
  StrictHostKeyChecking accept-new
CONF

"$(command -v sshd)" -f "$own/sshd_config" -E "$own/log"
code=0
until_true sshd ssh -F "$SSH_CONFIG" -o BatchMode=yes node true || { cat "$own/log" >&2; code=1; }
[ $code != 0 ] || "$@" || code=$?
end_of "$own/pid"
exit "$code"

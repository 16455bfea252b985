#!/usr/bin/env bash
# What is shipped: the same bytes from two folders; a Debian package that installs, serves, is upgraded
# and leaves nothing; archives with the same content; an image FROM scratch. Needs root or sudo, and what
# tools/setup.sh test installs. Ends with the count.
#
# The clean Debian that the package is tried in is kept in build/debian.
# shellcheck disable=SC2016  # what stands in quotes is for the shell inside
set -u
[ "$(id -u)" = 0 ] || exec sudo -n -E bash "$0" "$@"
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
scratch=$(mktemp -d)
# shellcheck source=tests/lib/podman.sh
source "$here/../lib/podman.sh"
podman_in "$scratch/podman"
# With sudo, what was built goes back to whom the folder belongs.
finish() {
  podman_out
  rm -rf --one-file-system "$scratch"
  [ -z "${SUDO_UID-}" ] || chown -R --reference="$root/README.md" "$root"/build/{musl,musl-aarch64,packages}
}
trap finish EXIT
# shellcheck source=tests/lib/tally.sh
source "$here/../lib/tally.sh"
give_up() { bad "$1"; echo "$passed passed, $failed failed"; exit 1; }

# --- the same bytes ---------------------------------------------------------------------------------

cd "$root" || exit 1
SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
export SOURCE_DATE_EPOCH
bash tools/package.sh >"$scratch/output" 2>&1 || give_up 'the packages are built'
ok 'the packages are built'
packages=$root/build/packages

# Another folder with a longer name, another umask, time zone and language. A clone, because the
# binary tells its commit; with what is not committed yet put over it.
build_elsewhere() {
  elsewhere=$scratch/another/folder/with/a/longer/name
  git clone -q "$root" "$elsewhere" &&
    git ls-files -z --cached --others --exclude-standard | xargs -0 cp --parents -t "$elsewhere" &&
    (cd "$elsewhere" && umask 077 && TZ=Asia/Tokyo LANG=C.UTF-8 bash tools/package.sh "$scratch/second")
}
holds 'they are built in another folder' build_elsewhere
holds 'both folders give the same packages' diff "$packages/SHA256SUMS" "$scratch/second/SHA256SUMS"
count_is() { [ "$(wc -l <"$packages/SHA256SUMS")" = "$1" ] && cat "$packages/SHA256SUMS"; }
holds 'a package and an archive for each architecture' count_is 4
sums_hold() { (cd "$packages" && sha256sum -c SHA256SUMS); }
holds 'the checksums are those of the files' sums_hold
rm -rf "$scratch/another"

# --- what is in them --------------------------------------------------------------------------------

amd64=$(echo "$packages"/quietus_*_amd64.deb)
arm64=$(echo "$packages"/quietus_*_arm64.deb)
names_in() { dpkg-deb -c "$1" | awk '{print $1, $2, $6}'; }
holds 'both packages hold the same files' diff <(names_in "$amd64") <(names_in "$arm64")
extract() { mkdir -p "$scratch/$1" && dpkg-deb -x "$2" "$scratch/$1"; }
extract amd64 "$amd64"
extract arm64 "$arm64"
holds 'the amd64 package is for x86-64' grep -q X86-64 <(readelf -h "$scratch/amd64/usr/bin/quietus")
holds 'the arm64 package is for AArch64' grep -q AArch64 <(readelf -h "$scratch/arm64/usr/bin/quietus")
same_binary() {  # DEBIAN ARCHIVE
  tar -C "$scratch" -xzf "$packages"/quietus-*-linux-"$2".tar.gz
  cmp "$scratch/$1/usr/bin/quietus" "$scratch"/quietus-*-linux-"$2"/bin/quietus
}
holds 'the x86_64 archive holds the same binary' same_binary amd64 x86_64
holds 'the aarch64 archive holds the same binary' same_binary arm64 aarch64
for deb in "$amd64" "$arm64"; do
  is_clean() { [ -z "$(lintian --allow-root "$deb" 2>&1)" ] || { lintian --allow-root "$deb"; false; }; }
  holds "lintian has nothing to say about $(basename "$deb")" is_clean
done

# --- in a clean Debian ------------------------------------------------------------------------------

make_debian() {
  local mirror
  # shellcheck disable=SC2016  # the dollars are for apt
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
    awk '$2 == "bookworm" && $3 == "main" {print $1; exit}')
  rm -rf "$root/build/debian.part"
  debootstrap --variant=minbase --include=man-db,bash-completion bookworm "$root/build/debian.part" \
    "${mirror:-http://deb.debian.org/debian}" && rm -rf "$root"/build/debian.part/var/cache/apt/archives/*.deb &&
    mv "$root/build/debian.part" "$root/build/debian"
}
[ -d build/debian ] || make_debian >"$scratch/output" 2>&1 || give_up 'a clean Debian'
debian=$scratch/debian
cp -a --reflink=auto build/debian "$debian"

# In namespaces of its own, so that nothing stays mounted or running.
inside() {
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$0/proc" && exec chroot "$0" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
      TERM=dumb LC_ALL=C.UTF-8 "$@"' "$debian" "$@" </dev/null
}
inventory() { (cd "$debian" && find . -path ./proc -prune -o -printf '%p %y %m %l\n' | sort); }
# What dpkg and man keep for themselves: logs, the backup of the status, an index of all pages.
theirs='^\./var/(log|cache/man|lib/dpkg/(status|available|lock))'
before=$(inventory | grep -vE "$theirs")

# An older version, with a file that the new one no longer has.
older() {
  cp -a "$scratch/amd64" "$scratch/older"
  dpkg-deb -e "$amd64" "$scratch/older/DEBIAN"
  sed -i 's/^Version: .*/Version: 0.0.9/' "$scratch/older/DEBIAN/control"
  touch "$scratch/older/usr/share/doc/quietus/gone-in-the-next-version"
  dpkg-deb -b --root-owner-group "$scratch/older" "$debian/root/older.deb"
}
holds 'an older package is made' older
cp "$amd64" "$debian/root/quietus.deb"

holds 'there is no quietus before' inside sh -c '! command -v quietus'
holds 'the older package installs' inside dpkg -i /root/older.deb
holds 'the upgrade installs' inside dpkg -i /root/quietus.deb
version_is() { [ "$(inside dpkg-query -W -f '${Version}' quietus)" = "$(inside quietus --version | cut -d' ' -f2)" ]; }
holds 'package and program have the same version' version_is
holds 'the upgrade removes what is no longer shipped' inside test ! -e /usr/share/doc/quietus/gone-in-the-next-version
holds 'the files are as they were packed' inside dpkg --verify quietus
holds 'the package depends on nothing' test -z "$(dpkg-deb -f "$amd64" Depends Pre-Depends Recommends)"
for page in quietus quietus-receipt quietus-session; do
  holds "man finds $page" inside man -w "$page"
done
holds 'bash loads the completion' inside bash -c '. /usr/share/bash-completion/bash_completion
  _completion_loader quietus; complete -p quietus && COMP_WORDS=(quietus la) COMP_CWORD=1 COMP_LINE="quietus la" COMP_POINT=10
  _quietus && test "${COMPREPLY[*]}" = launch'
in_path() { case " $1 " in *" $2 "*) ;; *) echo "$2 is not in $1"; false ;; esac; }
zsh_folder=$(dirname "$(find "$scratch/amd64" -name _quietus)")
holds 'zsh looks where the completion is' in_path "$(zsh -fc 'echo $fpath')" "${zsh_folder#"$scratch/amd64"}"
fish_folder=$(dirname "$(find "$scratch/amd64" -name quietus.fish)")
holds 'fish looks where the completion is' in_path "$(fish -c 'echo $fish_complete_path')" "${fish_folder#"$scratch/amd64"}"
holds 'quietus doctor passes' inside quietus doctor
holds 'quietus runs a command' inside quietus run --timeout 5 -- sh -c 'exit 0'
ends_all() {
  inside sh -c 'code=0
    quietus run --timeout 1 --cleanup-timeout 1 --receipt /tmp/receipt -- \
      sh -c "setsid sh -c '\''echo \$\$ >/tmp/pid; exec sleep 987'\'' & sleep 987" || code=$?
    receipt=$(cat /tmp/receipt) pid=$(cat /tmp/pid)
    rm /tmp/receipt /tmp/pid
    echo "exit code $code, detached process $pid, receipt $receipt"
    test $code = 124 && test "$pid" -gt 0 && ! test -e "/proc/$pid" &&
      case $receipt in *"confirmed\": true"*) ;; *) false ;; esac'
}
holds 'quietus ends a detached process' ends_all
holds 'it is removed' inside dpkg --purge quietus
rm "$debian"/root/*.deb
leaves_nothing() { diff <(echo "$before") <(inventory | grep -vE "$theirs"); }
holds 'nothing is left' leaves_nothing
touch "$debian/usr/share/man/man1/planted"
if leaves_nothing >/dev/null; then bad 'what is left would be noticed'; else ok 'what is left would be noticed'; fi

# --- FROM scratch -----------------------------------------------------------------------------------

image() {
  mkdir -p "$scratch/context"
  cp "$scratch/amd64/usr/bin/quietus" "$scratch/context/"
  "${podman[@]}" build -q --network=none -t quietus -f packaging/Containerfile "$scratch/context"
}
holds 'the image is built' image
runs() { "${podman[@]}" run --rm "${podman_limits[@]}" quietus "$@"; }
holds 'the image runs quietus' runs --version
holds 'quietus doctor passes in it' runs doctor
holds 'quietus in it runs a command' runs run --timeout 5 -- /quietus run -- /quietus --version

echo "$passed passed, $failed failed"
[ $failed = 0 ]

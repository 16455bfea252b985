#!/usr/bin/env bash
# What is shipped: the same bytes from two folders; Debian packages that install, serve, are upgraded
# and leave nothing; archives with the same content; an image FROM scratch. Needs root or sudo, and what
# tools/setup.sh test installs. Ends with the count.
#
# The second folder makes the supervisor's packages only; with QUIETUS_REPRODUCE=1 also the controller's,
# which are minutes of compiling. The clean Debian that all are tried in is kept in build/debian.
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
  [ -z "${SUDO_UID-}" ] || chown -R --reference="$root/README.md" "$root"/build/{musl,musl-aarch64,release,packages}
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
    (cd "$elsewhere" && umask 077 && TZ=Asia/Tokyo LANG=C.UTF-8 bash tools/package.sh "$scratch/second" "${again[@]}")
}
again=(supervisor) count_again=4
[ -z "${QUIETUS_REPRODUCE-}" ] || again=() count_again=6
holds 'they are built in another folder' build_elsewhere
# Sums of the one, files of the other.
sums_hold() { [ "$(wc -l <"$1/SHA256SUMS")" = "$2" ] && (cd "$packages" && sha256sum -c "$1/SHA256SUMS"); }
holds 'both folders give the same packages' sums_hold "$scratch/second" $count_again
holds 'two packages and two archives of the supervisor, two packages of the controller' sums_hold "$packages" 6
rm -rf "$scratch/another"

# --- what is in them --------------------------------------------------------------------------------

amd64=$(echo "$packages"/quietus_*_amd64.deb)
arm64=$(echo "$packages"/quietus_*_arm64.deb)
names_in() { dpkg-deb -c "$1" | awk '{print $1, $2, $6}'; }
holds 'both packages hold the same files' diff <(names_in "$amd64") <(names_in "$arm64")
extract() { mkdir -p "$scratch/$1" && dpkg-deb -x "$2" "$scratch/$1"; }
extract amd64 "$amd64"
extract arm64 "$arm64"
native=$(dpkg --print-architecture)
names=(quietus quietusctl libquietus-dev)  # what is installed
for name in quietusctl libquietus-dev; do extract $name "$packages/${name}"_*_"$native.deb"; done
holds 'the amd64 package is for x86-64' grep -q X86-64 <(readelf -h "$scratch/amd64/usr/bin/quietus")
holds 'the arm64 package is for AArch64' grep -q AArch64 <(readelf -h "$scratch/arm64/usr/bin/quietus")
same_binary() {  # DEBIAN ARCHIVE
  tar -C "$scratch" -xzf "$packages"/quietus-*-linux-"$2".tar.gz
  cmp "$scratch/$1/usr/bin/quietus" "$scratch"/quietus-*-linux-"$2"/bin/quietus
}
holds 'the x86_64 archive holds the same binary' same_binary amd64 x86_64
holds 'the aarch64 archive holds the same binary' same_binary arm64 aarch64
tells_no_folder() { ! grep -rF -e "$root" "$scratch"/{amd64,arm64,quietusctl,libquietus-dev}; }
holds 'nothing in them tells where they were built' tells_no_folder
same_supervisors() {
  cmp "$scratch/amd64/usr/bin/quietus" "$scratch/quietusctl/usr/libexec/quietus/quietus-x86_64" &&
    cmp "$scratch/arm64/usr/bin/quietus" "$scratch/quietusctl/usr/libexec/quietus/quietus-aarch64"
}
holds 'quietusctl brings along the supervisors that are shipped' same_supervisors
builds_with_it() {
  cp -r examples/run_command "$scratch/user" &&
    sed -i 's/REQUIRED)/REQUIRED COMPONENTS bootstrap)/; s/quietus::quietus/quietus::bootstrap/' "$scratch/user/CMakeLists.txt" &&
    cmake -S "$scratch/user" -B "$scratch/user/build" -G Ninja -DCMAKE_PREFIX_PATH="$scratch/libquietus-dev/usr" &&
    cmake --build "$scratch/user/build" && [ "$("$scratch/user/build/user")" = 'hello from inside' ]
}
holds 'a program is built with libquietus-dev' builds_with_it
for deb in "$packages"/*.deb; do
  is_clean() { [ -z "$(lintian --allow-root "$deb" 2>&1)" ] || { lintian --allow-root "$deb"; false; }; }
  holds "lintian has nothing to say about $(basename "$deb")" is_clean
done

# --- in a clean Debian ------------------------------------------------------------------------------

# What the test asks for, and what the packages depend on.
contents=(man-db bash-completion libarchive13 libcurl4 libasio-dev libexpected-dev)
make_debian() {
  local mirror
  # shellcheck disable=SC2016  # the dollars are for apt
  mirror=$(apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Identifier: Packages' |
    awk '$2 == "bookworm" && $3 == "main" {print $1; exit}')
  rm -rf "$root"/build/debian{,.part}
  debootstrap --variant=minbase --include="$(IFS=,; echo "${contents[*]}")" bookworm "$root/build/debian.part" \
    "${mirror:-http://deb.debian.org/debian}" && rm -rf "$root"/build/debian.part/var/cache/apt/archives/*.deb &&
    mv "$root/build/debian.part" "$root/build/debian"
}
holds_contents() { dpkg-query --admindir=build/debian/var/lib/dpkg -W "${contents[@]}"; }
holds_contents >/dev/null 2>&1 || make_debian >"$scratch/output" 2>&1 || give_up 'a clean Debian'
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

# Older versions, with a file that the new ones no longer have.
older() {
  local name
  for name in "${names[@]}"; do
    dpkg-deb -R "$packages/${name}"_*_"$native.deb" "$scratch/older" &&
      sed -i 's/^Version: .*/Version: 0.0.9/' "$scratch/older/DEBIAN/control" &&
      touch "$scratch/older/usr/share/doc/$name/gone-in-the-next-version" &&
      dpkg-deb -b -Znone --root-owner-group "$scratch/older" "$debian/root/older-$name.deb" || return
    rm -r "$scratch/older"
  done
}
holds 'older packages are made' older
for name in "${names[@]}"; do cp "$packages/${name}"_*_"$native.deb" "$debian/root/$name.deb"; done

holds 'there is no quietus before' inside sh -c '! command -v quietus && ! command -v quietusctl'
holds 'the older packages install' inside sh -c 'dpkg -i /root/older-*.deb'
holds 'the upgrade installs' inside sh -c 'rm /root/older-*.deb && dpkg -i /root/*.deb'
version_is() { [ "$(inside dpkg-query -W -f '${Version}' "$1")" = "$(inside "$1" --version | cut -d' ' -f2)" ]; }
for name in quietus quietusctl; do holds "$name: package and program have the same version" version_is $name; done
holds 'the upgrade removes what is no longer shipped' inside sh -c '! ls /usr/share/doc/*/gone-in-the-next-version'
for name in "${names[@]}"; do holds "$name: the files are as they were packed" inside dpkg --verify "$name"; done
field() { dpkg-deb -f "$debian/root/$1.deb" "${@:2}"; }
holds 'quietus depends on nothing' test -z "$(field quietus Depends Pre-Depends Recommends)"
depends_on_its_libraries() {
  local library owner depends
  depends=", $(field quietusctl Depends),"
  while read -r library; do
    owner=$(inside dpkg -S "*/$library" | cut -d: -f1 | sort -u)
    [[ -n $owner && $depends == *", $owner "* ]] || { echo "$library of '$owner' is not in$depends"; return 1; }
  done < <(readelf -d "$scratch/quietusctl/usr/bin/quietusctl" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p')
}
holds 'quietusctl depends on the libraries that it is linked with' depends_on_its_libraries
for page in quietus quietus-receipt quietus-session quietusctl; do
  holds "man finds $page" inside man -w "$page"
done
loads() {  # COMMAND BEGINNING WORD
  inside bash -c '. /usr/share/bash-completion/bash_completion
    _completion_loader $0; complete -p $0 && COMP_WORDS=($0 $1) COMP_CWORD=1 COMP_LINE="$0 $1" COMP_POINT=$((${#0} + 1 + ${#1}))
    _$0 && test "${COMPREPLY[*]}" = $2' "$@"
}
holds 'bash loads the completion of quietus' loads quietus la launch
holds 'bash loads the completion of quietusctl' loads quietusctl ba batch
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
# A file of the sandbox comes out, and nothing stays in the ledger.
controls() {
  inside sh -ec 'export XDG_STATE_HOME=/tmp/state; cd /tmp; code=0
    quietusctl run --sandbox local --workdir /tmp --timeout 5 --collect made --into /tmp/fetched -- \
      sh -c "echo work >made; exit 7" || code=$?
    echo "exit code $code"; test $code = 7; test "$(cat fetched/made)" = work
    test -z "$(find state -type f)"; rm -r made fetched state'
}
holds 'quietusctl runs a command' controls
holds 'quietusctl doctor passes' inside quietusctl doctor --sandbox local
holds 'quietusctl runs a command without quietus' inside sh -ec 'dpkg --remove quietus >/dev/null
  XDG_STATE_HOME=/tmp/state quietusctl run --sandbox local --timeout 5 -- true; rm -r /tmp/state'
holds 'they are removed' inside dpkg --purge "${names[@]}"
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

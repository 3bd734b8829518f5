# SPDX-License-Identifier: MIT
# Kernels of Debian, unpacked into a cache folder: nothing is installed, and the machine's own state
# of packages is not changed. Sourced, after ../skip.sh. Each sets, or skips with the reason:
#
#	vm_kernel	this Debian's kernel, and the headers to build modules for it
#		vm_release	its release, such as 6.1.0-57-amd64
#		vm_image	its file
#		vm_headers	the folder to build against
#	vm_newest_kernel	the one of sid; vm_release and vm_image
#
# The cache is ${XDG_CACHE_HOME:-$HOME/.cache}/percpu; it may be removed at any time. Names of
# packages come from the meta packages. Where the machine's own lists of packages do not know them,
# lists are fetched into the cache; those of sid always, from where the machine's packages are from.

vm_cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/percpu
vm_arch=amd64

# One option a line, for apt to use its own lists; empty: the machine's.
vm_apt_options=

vm__apt()
{
	tool=$1
	shift
	# The options have no blanks inside: see vm__own_lists.
	# shellcheck disable=SC2086
	"$tool" $vm_apt_options "$@" 2>>"$vm_cache/apt.log"
}

vm__own_lists()
{
	case $vm_cache in
	*[[:space:]]*) return 1 ;;
	esac
	mkdir -p "$vm_cache/lists/partial" "$vm_cache/apt/archives/partial"
	vm_apt_options="-o Dir::State::Lists=$vm_cache/lists -o Dir::Cache=$vm_cache/apt"
	vm__apt apt-get update -q >>"$vm_cache/apt.log"
}

# The keyring keeps out archives of others that have suites of the same name.
vm__sid_lists()
{
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	case $vm_cache in
	*[[:space:]]*) return 1 ;;
	esac
	[ -e "$keyring" ] && [ -e /etc/os-release ] || return 1
	mkdir -p "$vm_cache/sid/lists/partial" "$vm_cache/sid/apt/archives/partial"
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# Fields of apt.
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' \
		2>>"$vm_cache/apt.log" |
		sed -nE "s/^(${codename:-sid}|oldstable|stable|testing|unstable|sid) main //p" |
		sort -u |
		sed "s|.*|deb [arch=$vm_arch signed-by=$keyring] & sid main|" >"$vm_cache/sid/sources"
	vm_apt_options="-o Dir::Etc::SourceList=$vm_cache/sid/sources
		-o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists=$vm_cache/sid/lists
		-o Dir::Cache=$vm_cache/sid/apt -o Acquire::Languages=none"
	vm__apt apt-get update -q >>"$vm_cache/apt.log"
}

# The names that PACKAGE depends on and that match PATTERN (of sed).
vm__depends()
{
	vm__apt apt-cache depends "$1" | sed -n "s/^ *Depends: \($2\)\$/\1/p"
}

# Sets vm_release and vm_packages; fails where apt does not know.
vm__resolve()
{
	headers=$(vm__depends "linux-headers-$vm_arch" "linux-headers-[0-9].*-$vm_arch" | head -1)
	[ -n "$headers" ] || return 1
	vm_release=${headers#linux-headers-}
	vm_packages="$headers $(vm__depends "$headers" 'linux-headers-.*-common\|linux-kbuild-.*')"
	[ "$vm_packages" != "$headers " ] || return 1
	version=$(vm__apt apt-cache show --no-all-versions "$headers" |
		sed -n 's/^Version: //p' | head -1)
	[ -n "$version" ] || return 1
	# Image and headers of one build: modules carry checksums of what they use.
	vm_packages="linux-image-$vm_release=$version $vm_packages"
}

# Downloads and unpacks into $1. Of the image only the kernel itself is wanted.
vm__fetch()
{
	mkdir -p "$1/deb" || return 1
	# shellcheck disable=SC2086
	(cd "$1/deb" && vm__apt apt-get download -q $vm_packages >>"$vm_cache/apt.log") || return 1
	for deb in "$1"/deb/linux-headers-*.deb "$1"/deb/linux-kbuild-*.deb; do
		dpkg-deb -x "$deb" "$1" || return 1
	done
	dpkg-deb --fsys-tarfile "$1"/deb/linux-image-*.deb |
		tar -x -C "$1" --wildcards './boot/vmlinuz-*' || return 1
	rm -r "$1/deb"
}

# The headers expect to lie in /usr/src.
vm__move_to()
{
	sed -i "s|/usr/src/|$2/usr/src/|" "$1/usr/src/linux-headers-$vm_release/Makefile" &&
		mv "$1" "$2"
}

# vm__newest_cached PREFIX: of the folders.
vm__newest_cached()
{
	newest=$(ls -1td "$vm_cache/$1"-[0-9]*-"$vm_arch" 2>/dev/null | head -1)
	[ -n "$newest" ] || return 1
	vm_release=${newest##*/"$1"-}
	echo "apt knows no kernel; using $vm_release of an earlier time"
}

vm__get()
{
	if vm__resolve || { vm__own_lists && vm__resolve; }; then
		root=$vm_cache/linux-$vm_release
		[ ! -e "$root" ] || return 0
		rm -rf "$root.new"
		# A list may be older than the packages that are still there.
		vm__fetch "$root.new" ||
			{ vm__own_lists && vm__resolve && vm__fetch "$root.new"; } || return 1
		vm__move_to "$root.new" "$vm_cache/linux-$vm_release"
	else
		vm__newest_cached linux
	fi
}

# Sets vm_release and vm_packages. In sid the kernel itself has a package of its own.
vm__resolve_sid()
{
	image=$(vm__depends "linux-image-$vm_arch" "linux-image-[0-9].*-$vm_arch" | head -1)
	[ -n "$image" ] || return 1
	vm_release=${image#linux-image-}
	vm_packages=$(vm__depends "$image" 'linux-binary-.*')
	[ -n "$vm_packages" ]
}

vm__fetch_sid()
{
	root=$vm_cache/sid-$vm_release
	[ ! -e "$root" ] || return 0
	rm -rf "$root.new"
	mkdir -p "$root.new/deb" || return 1
	# shellcheck disable=SC2086
	(cd "$root.new/deb" && vm__apt apt-get download -q $vm_packages >>"$vm_cache/apt.log") &&
		dpkg-deb --fsys-tarfile "$root.new"/deb/linux-binary-*.deb |
		tar -x -C "$root.new" --strip-components 5 --wildcards '*/vmlinuz' || return 1
	rm -r "$root.new/deb"
	mv "$root.new" "$root"
}

vm__lock()
{
	need apt-get apt
	need dpkg-deb dpkg
	need flock util-linux
	mkdir -p "$vm_cache" || fail "cannot make $vm_cache"
	exec 9>"$vm_cache/lock"
	flock 9
	: >"$vm_cache/apt.log"
}

vm__unlock()
{
	flock -u 9
	exec 9>&-
}

vm_kernel()
{
	vm__lock
	vm__get || {
		tail -5 "$vm_cache/apt.log" >&2
		skip_missing "linux-image-$vm_arch or linux-headers-$vm_arch (to download, not installed)"
	}
	vm__unlock
	vm_image=$vm_cache/linux-$vm_release/boot/vmlinuz-$vm_release
	vm_headers=$vm_cache/linux-$vm_release/usr/src/linux-headers-$vm_release
	[ -e "$vm_image" ] && [ -e "$vm_headers/.config" ] ||
		fail "$vm_cache/linux-$vm_release is not complete: remove it"
}

vm_newest_kernel()
{
	vm__lock
	{ vm__sid_lists && vm__resolve_sid && vm__fetch_sid; } || vm__newest_cached sid || {
		tail -5 "$vm_cache/apt.log" >&2
		skip_missing "linux-image-$vm_arch of sid (to download, not installed)"
	}
	vm__unlock
	vm_image=$vm_cache/sid-$vm_release/vmlinuz
	[ -e "$vm_image" ] || fail "$vm_cache/sid-$vm_release is not complete: remove it"
}

# SPDX-License-Identifier: MIT
# Kernels of Debian, unpacked into a cache folder: nothing is installed, and the machine's own state
# of packages is neither used nor changed. Sourced, after ../skip.sh, by scripts that have set here, this
# folder.
#
#	vm_kernel CPU RELEASE	a kernel; or skips with the reason
#		CPU is a preset for another CPU, or x86_64, i386; RELEASE is 6.1 (of bookworm), 6.12
#		(of trixie) or newest (of sid). That of ppc64 is built (build_kernel.sh). Sets
#		vm_release	its release, such as 6.1.0-57-amd64
#		vm_image	its file
#	vm_kernel_headers	after that, of 6.1: what modules are built with. Sets
#		vm_headers	the folder to build against
#
# The cache is ${XDG_CACHE_HOME:-$HOME/.cache}/percpu; it may be removed at any time. Names of
# packages come from the meta packages. Each pair of suite and architecture has lists of packages of
# its own in the cache, from where the machine's packages are from. What is in the cache is used
# without asking again, but for newest: what that is is asked each time. Where nobody answers, the
# newest one of the cache will do.

: "${here:?}"
vm_cache=${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/percpu

# Debian's architecture and the meta package of the kernel.
vm__names()
{
	case $1 in
	x86_64) vm_arch=amd64 vm_flavour=amd64 ;;
	i386) vm_arch=i386 vm_flavour=686-pae ;;
	arm64) vm_arch=arm64 vm_flavour=arm64 ;;
	arm) vm_arch=armhf vm_flavour=armmp-lpae ;;
	ppc64le) vm_arch=ppc64el vm_flavour=powerpc64le ;;
	s390x) vm_arch=s390x vm_flavour=s390x ;;
	riscv64) vm_arch=riscv64 vm_flavour=riscv64 ;;
	mipsel) vm_arch=mipsel vm_flavour=4kc-malta ;;
	mips64el) vm_arch=mips64el vm_flavour=5kc-malta ;;
	*) fail "no kernel is known for $1" ;;
	esac
	case $2 in
	6.1) vm_suite=bookworm ;;
	6.12) vm_suite=trixie ;;
	newest) vm_suite=sid ;;
	*) fail "no kernel $2 is known" ;;
	esac
	vm_folder=$vm_cache/kernels/$vm_suite-$vm_arch
}

vm__apt()
{
	tool=$1
	shift
	"$tool" -o Dir::Etc::SourceList="$vm_lists/sources" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$vm_lists/lists" -o Dir::Cache="$vm_lists/cache" \
		-o APT::Architecture="$vm_arch" -o APT::Architectures="$vm_arch" \
		-o Acquire::Languages=none "$@" 2>>"$vm_cache/apt.log"
}

# Where the machine's own packages are from.
vm__mirror()
{
	codename=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
	# Fields of apt.
	# shellcheck disable=SC2016
	apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' \
		2>>"$vm_cache/apt.log" |
		sed -nE "s/^(${codename:-sid}|oldstable|stable|testing|unstable|sid) main //p" | sort -u | head -1
}

# The keyring keeps out archives of others that have suites of the same name.
vm__update()
{
	keyring=/usr/share/keyrings/debian-archive-keyring.gpg
	[ -e "$keyring" ] && [ -e /etc/os-release ] || return 1
	mkdir -p "$vm_lists/lists/partial" "$vm_lists/cache/archives/partial"
	mirror=$(vm__mirror)
	[ -n "$mirror" ] || return 1
	echo "deb [arch=$vm_arch signed-by=$keyring] $mirror $vm_suite main" >"$vm_lists/sources"
	vm__apt apt-get update -q >>"$vm_cache/apt.log"
}

# The names that PACKAGE depends on and that match PATTERN (of sed).
vm__depends()
{
	vm__apt apt-cache depends "$1" | sed -n "s/^ *Depends: \($2\)\$/\1/p"
}

vm__version()
{
	vm__apt apt-cache show --no-all-versions "$1" | sed -n 's/^Version: //p' | head -1
}

# vm__download FOLDER PACKAGE...
vm__download()
{
	folder=$1
	shift
	mkdir -p "$folder" && (cd "$folder" && vm__apt apt-get download -q "$@" >>"$vm_cache/apt.log")
}

# Sets vm_release, and vm_package and vm_version of the kernel's file; fails where apt does not know.
# A kernel that is signed or built apart has that file in a package of its own.
vm__resolve()
{
	image=$(vm__depends "linux-image-$vm_flavour" "linux-image-[0-9].*-$vm_flavour" | head -1)
	[ -n "$image" ] || return 1
	vm_release=${image#linux-image-}
	vm_package=$(vm__depends "$image" 'linux-binary-.*' | head -1)
	vm_package=${vm_package:-$image}
	vm_version=$(vm__version "$vm_package")
	[ -n "$vm_version" ]
}

# Of the package, the kernel itself is kept.
vm__fetch()
{
	[ ! -e "$vm_folder/$vm_release" ] || return 0
	new=$vm_folder/$vm_release.new
	rm -rf "$new"
	vm__download "$new/deb" "$vm_package=$vm_version" || return 1
	mkdir "$new/files" && dpkg-deb --fsys-tarfile "$new"/deb/*.deb |
		tar -x -C "$new/files" --wildcards './boot/vmlinu*' './usr/lib/modules/*/vmlinu*' \
			2>>"$vm_cache/apt.log"
	find "$new/files" -type f -exec mv {} "$new/kernel" \;
	[ -s "$new/kernel" ] || return 1
	echo "$vm_version" >"$new/version"
	rm -r "$new/deb" "$new/files"
	mv "$new" "$vm_folder/$vm_release"
}

vm__newest_cached()
{
	newest=$(ls -1td "$vm_folder"/*[0-9]*/kernel 2>/dev/null | head -1)
	[ -n "$newest" ] || return 1
	vm_release=$(basename "$(dirname "$newest")")
}

vm__lock()
{
	need apt-get apt
	need dpkg-deb dpkg
	need flock util-linux
	case $vm_cache in
	*[[:space:]]*) fail "a blank in $vm_cache" ;;
	esac
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

vm__missing()
{
	tail -5 "$vm_cache/apt.log" >&2
	skip_missing "$1 of $vm_suite for $vm_arch (to download, not installed)"
}

vm_kernel()
{
	if [ "$1" = ppc64 ]; then
		vm__built_kernel
		return
	fi
	vm__names "$1" "$2"
	vm_lists=$vm_folder/apt
	vm__lock
	{ [ "$2" != newest ] && vm__newest_cached; } ||
		{ vm__update && vm__resolve && vm__fetch; } ||
		{ vm__newest_cached && echo "nobody tells which kernel is the newest; using $vm_release"; } ||
		vm__missing "linux-image-$vm_flavour"
	vm__unlock
	vm_image=$vm_folder/$vm_release/kernel
	[ -s "$vm_image" ] || fail "$vm_folder/$vm_release is not complete: remove it"
}

# Headers are of the kernel's version: modules carry checksums of what they use. They expect to lie
# in /usr/src.
vm__fetch_headers()
{
	headers=linux-headers-$vm_release
	version=$(cat "$vm_folder/$vm_release/version")
	packages=$(vm__depends "$headers" 'linux-headers-.*-common\|linux-kbuild-.*')
	[ -n "$packages" ] || return 1
	new=$1.new
	rm -rf "$new"
	# Words: names of packages.
	# shellcheck disable=SC2086
	vm__download "$new/deb" "$headers=$version" $packages || return 1
	for deb in "$new"/deb/*.deb; do
		dpkg-deb -x "$deb" "$new" || return 1
	done
	rm -r "$new/deb"
	sed -i "s|/usr/src/|$1/usr/src/|" "$new/usr/src/$headers/Makefile" && mv "$new" "$1"
}

vm_kernel_headers()
{
	root=$vm_folder/$vm_release/headers
	vm__lock
	[ -e "$root" ] || vm__fetch_headers "$root" || { vm__update && vm__fetch_headers "$root"; } ||
		vm__missing "linux-headers-$vm_release"
	vm__unlock
	vm_headers=$root/usr/src/linux-headers-$vm_release
	[ -e "$vm_headers/.config" ] || fail "$root is not complete: remove it"
}

vm__source()
{
	rm -rf "$vm_folder/source"
	vm__update && vm__download "$vm_folder/source" linux-source-6.1 || return 1
	mv "$vm_folder"/source/*.deb "$vm_folder/source.deb"
	rm -r "$vm_folder/source"
}

# Built while others wait for it.
vm__built_kernel()
{
	for tool in bc flex bison; do
		need "$tool" "$tool"
	done
	need powerpc64-linux-gnu-gcc gcc-powerpc64-linux-gnu
	vm_arch=amd64 vm_suite=bookworm
	vm_folder=$vm_cache/kernels/built-ppc64
	vm_lists=$vm_folder/apt
	vm_image=$vm_folder/kernel
	vm__lock
	mkdir -p "$vm_folder"
	[ -s "$vm_image" ] || {
		vm__source || vm__missing linux-source-6.1
		sh "$here/build_kernel.sh" "$vm_folder/source.deb" "$vm_folder/work" "$vm_image" \
			>"$vm_folder/log" 2>&1 || {
			tail -20 "$vm_folder/log" >&2
			fail "the kernel does not build, see $vm_folder/log"
		}
	}
	vm__unlock
	vm_release=6.1
}

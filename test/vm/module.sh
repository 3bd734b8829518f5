# SPDX-License-Identifier: MIT
# Builds the kernel module for a kernel of Debian, boots that kernel under the emulator with a small
# init (init.c) that loads, runs and unloads the module in every way, and judges what it printed.
#	sh module.sh SOURCE_DIR WORK_DIR
set -eu
source=$1
work=$2
here=$source/test/vm
. "$source/test/skip.sh"
# shellcheck source=test/vm/packages.sh
. "$here/packages.sh"
# shellcheck source=test/vm/guest.sh
. "$here/guest.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=kernel_module

guest_needs
need make make
need gcc-12 gcc-12
need python3 python3
vm_kernel
# Programs that come with the headers are linked with it.
if ldd "$vm_headers/tools/objtool/objtool" | grep -q 'libelf.* not found'; then
	skip_missing libelf1
fi

# W=1: the warnings that kernel developers switch on for themselves.
build_module()
{
	rm -rf "$work/module"
	mkdir -p "$work/module"
	cp "$source"/kernel/*.[ch] "$source/kernel/Kbuild" "$source/kernel/Makefile" "$work/module"
	make -C "$work/module" -j2 KDIR="$vm_headers" W=1 >"$work/build.log" 2>&1 || {
		cat "$work/build.log" >&2
		fail "the module does not build for $vm_release"
	}
	if grep -iE 'warning|error' "$work/build.log" >&2; then
		fail "the module builds for $vm_release with warnings"
	fi
}

pack_initramfs()
{
	rm -rf "$work/root"
	mkdir -p "$work/root"
	gcc-12 -std=gnu11 -O2 -static "$here/init.c" -o "$work/root/init" ||
		fail "init.c does not build"
	strip --strip-debug -o "$work/root/percpu_local.ko" "$work/module/percpu_local.ko"
	guest_pack
}

build_module
pack_initramfs
guest_boot max,vendor=GenuineIntel preempt=voluntary
python3 "$here/judge_module" --kernel "$vm_release" --cpus "$guest_cpus" "$work/console" || {
	guest_show
	fail "Linux $vm_release: see above"
}
python3 "$here/judge_module" --kernel "$vm_release" --cpus "$guest_cpus" --spoil "$work/console" ||
	fail "judge_module lets mistakes pass"

# SPDX-License-Identifier: MIT
# Builds the kernel module for a kernel of Debian, boots that kernel under the emulator with a small
# init (init.c) that loads, runs and unloads the module in every way, and judges what it printed.
#	sh module.sh SOURCE_DIR WORK_DIR
# PERCPU_VM_SECONDS in the environment is the guest's time limit.
set -eu
source=$1
work=$2
here=$source/test/vm
. "$source/test/skip.sh"
# shellcheck source=test/vm/packages.sh
. "$here/packages.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=kernel_module

limit=${PERCPU_VM_SECONDS:-600}
cpus=2

[ "$(uname -m)" = x86_64 ] || skip "the guest is built on x86-64 only"
need qemu-system-x86_64 qemu-system-x86
need cpio cpio
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
	(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/initramfs"
}

# An oops ends the guest. Stalls and lock-ups are not watched for: they would tell of a slow host.
boot()
{
	status=0
	timeout -k 10 "$limit" qemu-system-x86_64 -accel tcg,thread=multi -cpu max,vendor=GenuineIntel -smp "$cpus" \
		-m 1G -display none -monitor none -serial stdio -nic none -no-reboot \
		-kernel "$vm_image" -initrd "$work/initramfs" -append "console=ttyS0 loglevel=1 \
oops=panic panic=-1 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 preempt=voluntary" \
		</dev/null >"$work/console" 2>"$work/qemu.log" || status=$?
	[ ! -s "$work/qemu.log" ] || cat "$work/qemu.log" >&2
}

show_console()
{
	echo "the last lines of $work/console:" >&2
	tr -d '\r' <"$work/console" | tail -60 >&2
}

build_module
pack_initramfs
boot
[ "$status" -eq 0 ] || {
	show_console
	[ "$status" -ne 124 ] || fail "the guest did not end within $limit seconds"
	fail "the emulator ended with status $status"
}
python3 "$here/judge_module" --kernel "$vm_release" --cpus "$cpus" "$work/console" || {
	show_console
	fail "Linux $vm_release: see above"
}
python3 "$here/judge_module" --kernel "$vm_release" --cpus "$cpus" --spoil "$work/console" ||
	fail "judge_module lets mistakes pass"

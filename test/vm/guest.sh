# SPDX-License-Identifier: MIT
# How a guest is packed and booted. Sourced, after packages.sh, by scripts that have set work, a
# folder.
#
#	guest_needs	skips where this machine cannot have guests
#	guest_pack	makes the guest's files of the folder $work/root
#	guest_boot CPU WORD	boots $vm_image, with WORD on its command line, until it switches off;
#		what it prints is in $work/console
#	guest_show	the end of that
#
# PERCPU_VM_SECONDS in the environment is the guest's time limit.

# Set by others.
: "${work:?}" "${vm_image:=}"

guest_limit=${PERCPU_VM_SECONDS:-400}
guest_cpus=2

guest_needs()
{
	[ "$(uname -m)" = x86_64 ] || skip "the guest is built on x86-64 only"
	need qemu-system-x86_64 qemu-system-x86
	need cpio cpio
}

guest_pack()
{
	(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/initramfs"
}

guest_show()
{
	echo "the last lines of $work/console:" >&2
	tr -d '\r' <"$work/console" | tail -60 >&2
}

# An oops ends the guest. Stalls and lock-ups are not watched for: they would tell of a slow host.
guest__run()
{
	status=0
	timeout -k 10 "$guest_limit" qemu-system-x86_64 -accel tcg,thread=multi -cpu "$1" \
		-smp "$guest_cpus" -m 1G -display none -monitor none -serial stdio -nic none -no-reboot \
		-kernel "$vm_image" -initrd "$work/initramfs" -append "console=ttyS0 loglevel=1 \
oops=panic panic=-1 nowatchdog rcupdate.rcu_cpu_stall_suppress=1 $2" \
		</dev/null >"$work/console" 2>"$work/qemu.log" || status=$?
	[ ! -s "$work/qemu.log" ] || cat "$work/qemu.log" >&2
}

# Beside many busy processes the emulator was seen to hang before the guest's first program: that
# says nothing of the guest, and it gets a second boot.
guest_boot()
{
	guest__run "$@"
	[ "$status" -ne 124 ] || grep -q '^@ ' "$work/console" || guest__run "$@"
	[ "$status" -ne 0 ] || return 0
	guest_show
	[ "$status" -ne 124 ] || fail "the guest did not end within $guest_limit seconds"
	fail "the emulator ended with status $status"
}

# SPDX-License-Identifier: MIT
# How a guest is packed and booted. Sourced, after ../skip.sh, by scripts that have set here, this
# folder, work, the guest's folder, and guest_machine, guest_kernel and guest_cpus.
#
#	guest_needs	skips where this machine cannot have the guest; sets guest_image
#	guest_pack	makes the guest's files of the folder $work/root
#	guest_boot OPTION...	boots until it switches off or hangs, with further options of the
#		emulator; what it prints is in $work/console, and how it ended in $work/ending: empty
#		when it switched off, else why it did not
#
# Variables of the environment: PERCPU_VM_SECONDS, the guest's time limit; PERCPU_VM_SILENCE, the
# seconds without a word after which it counts as hanging.

# Set by others; the last ones may be.
: "${here:?}" "${work:?}" "${guest_machine:?}" "${guest_kernel:?}" "${guest_cpus:?}" "${guest_append:=}" \
	"${guest_thread:=multi}" "${guest_step:=}"

# shellcheck source=test/vm/packages.sh
. "$here/packages.sh"
# shellcheck source=test/vm/machines.sh
. "$here/machines.sh"

guest_limit=${PERCPU_VM_SECONDS:-3000}
guest_silence=${PERCPU_VM_SILENCE:-400}

guest_needs()
{
	machine "$guest_machine" "$guest_cpus"
	need "$machine_emulator" "$machine_package"
	need cpio cpio
	vm_kernel "$guest_machine" "$guest_kernel"
	guest_image=$vm_image
}

guest_pack()
{
	(cd "$work/root" && find . | cpio -o -H newc --quiet) >"$work/initramfs"
}

# Says why the guest is not waited for any longer, once that is so.
guest__is_late()
{
	size=$(wc -c <"$work/console")
	if [ "$size" -ne "$guest_size" ]; then
		guest_size=$size
		guest_heard=$guest_seconds
	fi
	if [ "$guest_seconds" -ge "$guest_limit" ]; then
		echo "the guest did not end within $guest_limit seconds"
	elif [ $((guest_seconds - guest_heard)) -ge "$guest_silence" ]; then
		echo "the guest said nothing for $guest_silence seconds"
	fi >"$work/ending"
	[ -s "$work/ending" ]
}

# Interrupts are taken between blocks of translated code; then each instruction is one.
guest__step()
{
	if "$machine_emulator" -help | grep -q '^-singlestep'; then
		echo "-accel tcg,thread=$guest_thread -singlestep"
	else
		echo "-accel tcg,thread=$guest_thread,one-insn-per-tb=on"
	fi
}

# An oops ends the guest. Stalls and lock-ups are not watched for: they would tell of a slow host.
guest__start()
{
	[ "$guest_step" = TRUE ] || guest_accelerator="-accel tcg,thread=$guest_thread"
	[ "$guest_step" != TRUE ] || guest_accelerator=$(guest__step)
	# Words: options.
	# shellcheck disable=SC2086
	"$machine_emulator" $guest_accelerator $machine_options -smp "$guest_cpus" \
		-m "$machine_memory" -display none -monitor none -serial stdio -nic none -no-reboot \
		-kernel "$guest_image" -initrd "$work/initramfs" "$@" \
		-append "console=$machine_console rdinit=/init loglevel=1 oops=panic panic=-1 \
nowatchdog mitigations=off rcupdate.rcu_cpu_stall_suppress=1 $machine_append $guest_append" \
		</dev/null >"$work/console" 2>"$work/emulator.log" &
	guest_pid=$!
	trap 'kill "$guest_pid" 2>/dev/null; exit 1' INT TERM
}

guest__run()
{
	: >"$work/console"
	: >"$work/ending"
	guest__start "$@"
	guest_seconds=0 guest_heard=0 guest_size=0
	while kill -0 "$guest_pid" 2>/dev/null; do
		sleep 1
		guest_seconds=$((guest_seconds + 1))
		! guest__is_late || kill "$guest_pid" 2>/dev/null || true
	done
	status=0
	wait "$guest_pid" || status=$?
	trap - INT TERM
	[ ! -s "$work/emulator.log" ] || cat "$work/emulator.log" >&2
	[ "$status" -eq 0 ] || [ -s "$work/ending" ] ||
		echo "the emulator ended with status $status" >"$work/ending"
	tr -d '\r' <"$work/console" >"$work/output"
}

# Beside many busy processes the emulator was seen to hang before the guest's first program: that
# says nothing of the guest, and it gets a second boot.
guest_boot()
{
	guest__run "$@"
	[ ! -s "$work/ending" ] || grep -q '^@ ' "$work/console" || guest__run "$@"
}

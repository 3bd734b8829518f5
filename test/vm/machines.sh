# SPDX-License-Identifier: MIT
# Which machine a CPU's guests are. Sourced.
#	machine CPU CPUS	CPU: as in packages.sh, or ppc64; CPUS: how many
#		machine_emulator, machine_package	the program, and Debian's package with it
#		machine_options		its options, without blanks inside
#		machine_console		the name of the kernel's console
#		machine_append		what else the kernel is told

# Read by guest.sh.
# shellcheck disable=SC2034
machine()
{
	machine_package=qemu-system-misc
	machine_console=ttyS0
	machine_append=
	case $1 in
	x86_64)
		machine_emulator=qemu-system-x86_64
		machine_package=qemu-system-x86
		machine_options="-cpu max,vendor=GenuineIntel"
		;;
	i386)
		machine_emulator=qemu-system-i386
		machine_package=qemu-system-x86
		machine_options="-cpu max"
		;;
	arm64)
		# The older interrupt controller has 8 CPUs at most; keys for pointers are computed
		# by a hash that costs less than the architecture's.
		machine_emulator=qemu-system-aarch64
		machine_package=qemu-system-arm
		machine_options="-M virt,gic-version=3 -cpu max,pauth-impdef=on"
		machine_console=ttyAMA0
		;;
	arm)
		machine_emulator=qemu-system-arm
		machine_package=qemu-system-arm
		machine_options="-M virt -cpu cortex-a15"
		machine_console=ttyAMA0
		;;
	ppc64le | ppc64)
		machine_emulator=qemu-system-ppc64
		machine_package=qemu-system-ppc
		machine_options="-M pseries -cpu power9"
		machine_console=hvc0
		;;
	s390x)
		machine_emulator=qemu-system-s390x
		machine_options="-M s390-ccw-virtio"
		;;
	riscv64)
		machine_emulator=qemu-system-riscv64
		machine_options="-M virt"
		;;
	mipsel | mips64el)
		# It cannot be switched off by these kernels.
		machine_emulator=qemu-system-$1
		machine_package=qemu-system-mips
		machine_options="-M malta"
		[ "$1" = mipsel ] || machine_options="-M malta -cpu MIPS64R2-generic"
		machine_append=RESTART=1
		;;
	*) fail "no machine is known for $1" ;;
	esac
	# 64 CPUs want room for what each of them has.
	machine_memory=1G
	[ "$2" -le 8 ] || machine_memory=2G
}

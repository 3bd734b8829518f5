# SPDX-License-Identifier: MIT
# Builds a kernel that Debian has no package of: PowerPC, 64-bit and big-endian, from the source of
# Debian's kernel, as small as the tests allow. Programs of 32 bits run on it as well. Minutes.
#	sh build_kernel.sh ARCHIVE WORK KERNEL
# ARCHIVE is the package with the source; KERNEL, the file that is made.
set -eu
archive=$1
work=$2
kernel=$3
cross=powerpc64-linux-gnu-

rm -rf "$work"
mkdir -p "$work"
dpkg-deb --fsys-tarfile "$archive" | tar -x -O --wildcards './usr/src/linux-source-*.tar.xz' |
	tar -x -J -C "$work" --strip-components 1
cd "$work"

build()
{
	make -s ARCH=powerpc CROSS_COMPILE="$cross" KBUILD_BUILD_TIMESTAMP=0 "$@"
}

build tinyconfig
for option in PPC64 PPC_BOOK3S_64 PPC_PSERIES CPU_BIG_ENDIAN SMP COMPAT HVC_CONSOLE BLK_DEV_INITRD \
	PRINTK TTY BINFMT_ELF BINFMT_SCRIPT PROC_FS SYSFS DEVTMPFS TMPFS SHMEM MEMFD_CREATE RSEQ \
	MEMBARRIER FUTEX EPOLL SIGNALFD TIMERFD EVENTFD POSIX_TIMERS HIGH_RES_TIMERS PREEMPT MULTIUSER \
	ADVISE_SYSCALLS FILE_LOCKING SECCOMP SECCOMP_FILTER NET UNIX ALTIVEC VSX HOTPLUG_CPU; do
	scripts/config --enable "$option"
done
for option in PPC_POWERNV PPC_PMAC PPC_MAPLE PPC_PASEMI PPC_CELL; do
	scripts/config --disable "$option"
done
scripts/config --set-val NR_CPUS 64
build olddefconfig
build -j2 vmlinux
"${cross}strip" -o "$kernel.new" vmlinux
mv "$kernel.new" "$kernel"
cd /
rm -rf "$work"

# SPDX-License-Identifier: MIT
# Puts the kernel module, and the program that tries it, into a guest's folder root. Sourced by
# boot.sh, which has set source, work and here.
: "${source:?}" "${work:?}" "${here:?}" "${vm_headers:=}" "${vm_release:=}"

[ "$(uname -m)" = x86_64 ] || skip "the module is built on x86-64 only"
need make make
need gcc-12 gcc-12
need python3 python3
vm_kernel_headers
# Programs that come with the headers are linked with it.
if ldd "$vm_headers/tools/objtool/objtool" | grep -q 'libelf.* not found'; then
	skip_missing libelf1
fi

# W=1: the warnings that kernel developers switch on for themselves.
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
gcc-12 -std=gnu11 -O2 -static "$here/module.c" -o "$work/root/programs/module" ||
	fail "module.c does not build"
strip --strip-debug -o "$work/root/percpu_local.ko" "$work/module/percpu_local.ko"

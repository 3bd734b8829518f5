# SPDX-License-Identifier: MIT
# Links sequences whose cold code is far away: in the same function, behind more than a conditional
# branch reaches, and in other sections, behind more than any single branch reaches.
#	sh far.sh SOURCE_DIR CPU
set -eu
source=$1
cpu=$2
# shellcheck source=test/skip.sh
. "$source/test/skip.sh"

case $cpu in
arm64)
	prefix=aarch64-linux-gnu
	distance=$((150 << 20))
	;;
riscv64)
	prefix=riscv64-linux-gnu
	distance=$((150 << 20))
	;;
ppc64le | ppc64 | ppc32)
	prefix=$(echo "$cpu" | sed 's/^ppc/powerpc/; s/32$//')-linux-gnu
	distance=$((50 << 20))
	;;
*) fail "no such CPU: $cpu" ;;
esac
need python3 python3
need "$prefix-gcc" "gcc-$prefix"
export OBJDUMP="$prefix-objdump"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile()
{
	"$prefix-gcc" -std=gnu11 -D_GNU_SOURCE -I"$source/include" -I"$source/test" -fPIC "$@" ||
		fail "does not compile: $*"
}

for level in -O0 -O2; do
	# Not optimised, the compiler's own branches do not reach.
	compile -O2 -c "$source/test/cross/far.c" -o "$work/far.o"
	compile "$level" -c "$source/test/seq/ops.c" -o "$work/ops.o"
	printf '.text\n.space %d\n.section .note.GNU-stack,"",%%progbits\n' "$distance" | compile -x assembler -c - -o "$work/distance.o"
	compile -shared -nostdlib -Wl,--fatal-warnings "$work/far.o" "$work/ops.o" "$work/distance.o" \
		-o "$work/far.so"
	python3 "$source/test/check_disassembly" "$work/far.so"
	rm "$work/far.so"
done

# SPDX-License-Identifier: MIT
# Shows that the operations of the way atomic are the CPU's atomics and nothing else: no barrier, no
# acquire, no release (its data are one thread's and its handlers').
#	sh order.sh SOURCE_DIR CPU
set -eu
source=$1
cpu=$2
# shellcheck source=test/skip.sh
. "$source/test/skip.sh"

case $cpu in
arm64)
	prefix=aarch64-linux-gnu
	# Words that order, and words that are atomic.
	ordering='dmb|dsb|isb|ldar[bh]?|stl[a-z]*|ldaxr[bh]?|stlxr[bh]?|(swp|cas|ld[a-z]{3}|st[a-z]{3})(a|l|al)[bh]?'
	atomic='ldxr[bh]?|ldadd[bh]?'
	variants="-march=armv8-a+nolse:-mno-outline-atomics -march=armv8.1-a"
	;;
riscv64)
	prefix=riscv64-linux-gnu
	ordering='fence[a-z.]*|(amo[a-z]+|lr|sc)\.[wd]\.(aq|rl|aqrl)'
	atomic='amoadd\.[wd]|lr\.[wd]'
	variants="-march=rv64gc"
	;;
ppc64le | ppc64 | ppc32)
	prefix=$(echo "$cpu" | sed 's/^ppc/powerpc/; s/32$//')-linux-gnu
	ordering='(lw|hw)?sync|isync|eieio'
	atomic='l[bhwd]arx'
	# Before the CPU of 2010 there are reservations of words only.
	variants=-O2
	[ "$cpu" = ppc32 ] || variants="-mcpu=power5 -mcpu=power8"
	;;
arm)
	prefix=arm-linux-gnueabihf
	ordering='dmb|dsb|isb|mcr'
	atomic='ldrex[bhd]?'
	variants="-mthumb -marm"
	;;
*) fail "no such CPU: $cpu" ;;
esac
need "$prefix-gcc" "gcc-$prefix"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

words()
{
	"$prefix-objdump" -d --no-show-raw-insn "$work/order.o" | sed -n 's/^ *[0-9a-f]*:[[:space:]]*//p' |
		awk '{ print $1 }'
}

compile()
{
	"$prefix-gcc" -std=gnu11 -O2 -D_GNU_SOURCE -I"$source/include" "$@" -c \
		"$source/test/cross/order.c" -o "$work/order.o" || fail "does not compile: $*"
}

for variant in $variants; do
	# Options of one variant have colons in between.
	# shellcheck disable=SC2046
	set -- $(echo "$variant" | tr : ' ')
	compile "$@"
	words | grep -qEx "$atomic" || fail "no atomics with $*"
	! words | grep -Ex "$ordering" || fail "these order, with $*"
	compile "$@" -DWITH_ORDER
	words | grep -qEx "$ordering" || fail "an operation that orders is not noticed with $*"
done

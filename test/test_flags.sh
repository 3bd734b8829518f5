# SPDX-License-Identifier: MIT
# Compiles every sequence with flags that add code to functions, and checks what came out (a
# sequence is one asm statement so that none of them can add anything inside: field failure G4).
#	sh test_flags.sh COMPILER SOURCE_DIR [FLAG...]
set -eu
here=$(dirname "$0")
. "$here/skip.sh"
compiler=$1
source=$2
shift 2

need python3 python3
need "${OBJDUMP:-objdump}" binutils
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0

check()
{
	# What another CPU has not.
	echo | "$compiler" -Werror "$@" -c -x c -o "$scratch/empty" - 2>/dev/null || return 0
	"$compiler" -std=gnu11 -D_GNU_SOURCE -I"$source/include" -I"$source/test" "$@" \
		-c -o "$scratch/ops$count.o" "$source/test/seq/ops.c" || fail "does not compile: $*"
	count=$((count + 1))
}

for flags in -O0 -O1 -O2 -O3 -Os "-O0 -fPIC -fno-omit-frame-pointer" "-O2 -fPIC" "-O2 -pg" \
	"-O2 -finstrument-functions" "-O2 -fstack-protector-all" "-O2 -fcf-protection=full" \
	"-O2 -mbranch-protection=standard" \
	"-O2 -ftls-model=global-dynamic -fPIC" "-O1 -fsanitize=address,undefined" "-O2 --coverage"; do
	# shellcheck disable=SC2086
	check $flags "$@"
done
python3 "$here/check_disassembly" "$scratch"/*.o

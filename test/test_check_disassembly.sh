# SPDX-License-Identifier: MIT
# Shows check_disassembly one right sequence, and then each mistake it is there for.
#	sh test_check_disassembly.sh COMPILER CPU
# The sequence is arch/CPU_mistakes.S, and what makes it wrong is in arch/CPU_mistakes and here.
set -eu
here=$(dirname "$0")
. "$here/skip.sh"
compiler=${1:-cc}
cpu=${2:-x86_64}

need python3 python3
case $cpu in
x86_64)
	[ "$(uname -m)" = x86_64 ] || skip "these mistakes are written for x86-64"
	need objdump binutils
	compiler="$compiler -m64"
	;;
arm64) prefix=aarch64-linux-gnu ;;
riscv64) prefix=riscv64-linux-gnu ;;
ppc64) prefix=powerpc64le-linux-gnu ;;
s390x) prefix=s390x-linux-gnu ;;
esac
if [ "$cpu" != x86_64 ]; then
	need "$prefix-gcc" "gcc-$prefix"
	compiler=$prefix-gcc
	export OBJDUMP="$prefix-objdump"
fi
mistakes=$here/arch/${cpu}_mistakes
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

assemble()
{
	# The compiler may have an option.
	# shellcheck disable=SC2086
	$compiler -c -o "$scratch/mistake.o" "$@" "$mistakes.S"
}

right()
{
	assemble "$@"
	python3 "$here/check_disassembly" "$scratch/mistake.o" || fail "complains about what is right: $*"
}

# mistake WORDS DEFINITION [OPTIONS...]: the definition must make the check fail with these words
mistake()
{
	words=$1
	definition=$2
	shift 2
	assemble "-D$definition" "$@"
	status=0
	python3 "$here/check_disassembly" "$scratch/mistake.o" >"$scratch/out" 2>&1 || status=$?
	[ "$status" -eq 1 ] || fail "exit status $status for $definition: $(cat "$scratch/out")"
	grep -q "$words" "$scratch/out" || fail "not '$words' for $definition: $(cat "$scratch/out")"
	count=$((count + 1))
}

count=0
right
mistake "signature is" "SIGNATURE=0x53053054"
mistake "version 1" "VERSION=1"
mistake "does not fit its section" "LENGTH=4096"
mistake "abort entry lies in the range" "ABORT=2b"
mistake "__rseq_cs is not loaded" 'LOADED="w"'
mistake "does not list each descriptor once" "LISTED=.quad 0"
mistake "does not list each descriptor once" "LISTED=.quad 5b, 5b"
mistake "no exit point is listed" "EXIT=.quad 3b, 6f"

# Those that may store first, and no others. Commits of transactions: their begin armed them, so they
# ask first, and there is one of each.
commit=percpu_abort_txn_commit
right -DTRANSACTION "-DNAME=${commit}_1"
mistake "not armed right before the range" TRANSACTION
while IFS='|' read -r words definition; do
	case $words in
	'#'*) ;;
	+*) mistake "${words#+}" "$definition" -DTRANSACTION "-DNAME=${commit}_1" ;;
	=)
		right -DNAME=percpu_abort_list_push_1 "-D$definition"
		for kind in 2 _copy; do
			right -DTRANSACTION "-DNAME=${commit}${kind}_1" "-D$definition"
		done
		;;
	*) mistake "$words" "$definition" ;;
	esac
done <"$mistakes"

right -DTRANSACTION "-DNAME=${commit}_1"
mv "$scratch/mistake.o" "$scratch/one.o"
right -DTRANSACTION "-DNAME=${commit}_2" -Dsequence=another
# shellcheck disable=SC2086
$compiler -r -nostdlib -o "$scratch/both.o" "$scratch/one.o" "$scratch/mistake.o"
! python3 "$here/check_disassembly" "$scratch/both.o" >"$scratch/out" 2>&1 || fail "no complaint of two"
grep -q "this commit is there twice" "$scratch/out" || fail "not 'twice': $(cat "$scratch/out")"
count=$((count + 1))

# A file without sequences is a mistake, unless it may be one.
# shellcheck disable=SC2086
echo | $compiler -c -x c -o "$scratch/empty.o" -
! python3 "$here/check_disassembly" "$scratch/empty.o" 2>/dev/null || fail "no sequence, and no complaint"
python3 "$here/check_disassembly" --may-be-none "$scratch/empty.o" || fail "--may-be-none"
echo "$count mistakes found"

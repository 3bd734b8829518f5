# SPDX-License-Identifier: MIT
# Runs the tests of transactions on the newest kernel of Debian, booted under the emulator: kernels
# since 7.0 do otherwise than older ones to a body that makes system calls. Each program runs with
# libc's registration and with the library's own, and test_txn also as a debug build, for the trap
# at system calls.
#	sh transactions.sh SOURCE_DIR WORK_DIR
set -eu
source=$1
work=$2
here=$source/test/vm
. "$source/test/skip.sh"
# shellcheck source=test/vm/packages.sh
. "$here/packages.sh"
# shellcheck source=test/vm/guest.sh
. "$here/guest.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=transactions_on_the_newest_kernel

guest_needs
need gcc gcc
vm_newest_kernel

compile()
{
	gcc -std=gnu11 -O2 -D_GNU_SOURCE -I"$source/include" -I"$source/src" -I"$source/test" \
		"$@" >"$work/build.log" 2>&1 || fail "$* does not compile: $(cat "$work/build.log")"
}

# library NAME [DEFINITION]
library()
{
	name=$1
	shift
	mkdir -p "$work/$name"
	for file in "$source"/src/*.c; do
		compile "$@" -c "$file" -o "$work/$name/$(basename "$file" .c).o"
	done
	ar rcs "$work/$name/libpercpu.a" "$work/$name"/*.o
}

# program NAME LIBRARY ARGUMENT...: without shared libraries, since the guest has none.
program()
{
	name=$1
	archive=$work/$2/libpercpu.a
	shift 2
	compile -static -o "$work/root/programs/$name" "$@" "$archive" -pthread
}

# Not what an earlier run has left.
rm -rf "$work"
mkdir -p "$work/root/programs"
library plain
library debug -DPERCPU_DEBUG
program test_txn plain "$source/test/test_txn.c"
program test_txn_kernel plain "$source/test/test_txn_kernel.c"
program test_seq_txn plain "$source/test/test_seq_txn.c" "$source/test/seq/ops.c" \
	"$source/test/seq/tracee.c" "$source/test/model/pseudo.c"
for name in test_txn test_txn_kernel test_seq_txn; do
	ln "$work/root/programs/$name" "$work/root/programs/$name@self"
done
program test_txn@debug debug -DPERCPU_DEBUG "$source/test/test_txn.c"
compile -static -o "$work/root/init" "$here/run_programs.c"
guest_pack
guest_boot max ""
tr -d '\r' <"$work/console" >"$work/output"

wrong()
{
	guest_show
	fail "Linux $vm_release: $*"
}

# says LINE: the guest has printed it.
says()
{
	grep -Fxq "$1" "$work/output" || wrong "no line '$1'"
}

# judge PROGRAM: each of its tests has passed, or is not for this build.
judge()
{
	sed -n "/^@ begin $1\$/,/^@ end $1: /p" "$work/output" >"$work/$1"
	[ "$(tail -n 1 "$work/$1")" = "@ end $1: 0" ] || wrong "$1 did not end with status 0"
	tests=$("$work/root/programs/$1" --list)
	[ -n "$tests" ] || fail "$1 has no tests"
	for test in $tests; do
		if grep -Fxq "ok: $test" "$work/$1"; then
			passed=$((passed + 1))
		else
			grep -Eq "^SKIP: $test: (debug builds |this is no debug build)" "$work/$1" ||
				wrong "$1: $test has not passed"
		fi
	done
}

# What kind of kernel it is.
show_kind()
{
	for what in switch migration; do
		grep -E "^this kernel (notices|does not notice) a $what in a system call" "$work/$1" ||
			wrong "$1 does not say whether a $what is noticed"
	done
}

says "@ mount: ok"
says "@ kernel $vm_release"
says "@ done"
passed=0
for file in "$work"/root/programs/*; do
	judge "${file##*/}"
done
grep -Fxq "ok: rule_3_debug_builds_stop_at_a_system_call" "$work/test_txn@debug" ||
	wrong "the debug build does not stop at a system call"
echo "Linux $vm_release: $passed tests passed"
show_kind test_txn_kernel
show_kind test_txn_kernel@self

# SPDX-License-Identifier: MIT
# Builds the library without sequences for a big-endian CPU and runs the tests of the local
# operations there, under the emulator of one program (qemu-user).
#	sh local.sh SOURCE_DIR COUNTER:ATOMIC...
# COUNTER and ATOMIC are ways of the two families; test_local is built once for each pair, and once
# for this CPU's own choice.
set -eu
source=$1
shift
here=$source/test/cross
# shellcheck source=test/skip.sh
. "$source/test/skip.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=local_on_sparc64

compiler=sparc64-linux-gnu-gcc
emulator=qemu-sparc64
need "$compiler" gcc-sparc64-linux-gnu
need "$emulator" qemu-user

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

warnings="-Wall -Wextra -Wshadow -Wconversion -Wundef -Wstrict-prototypes -Werror"
compile()
{
	# The words of warnings are meant to be split.
	# shellcheck disable=SC2086
	"$compiler" -std=gnu11 -O2 -D_GNU_SOURCE -I"$source/include" -I"$source/src" \
		-I"$source/test" $warnings "$@" >log 2>&1 || fail "$* does not compile: $(cat log)"
}

# build PROGRAM ARGUMENT...: statically, so that nothing of that CPU has to be installed.
build()
{
	program=$1
	shift
	compile -static -o "$program" "$@" libpercpu.a -pthread
}

# run PROGRAM [ARGUMENT...]: those of its tests that grep finds with these arguments, or all. None of
# them may be skipped.
run()
{
	program=$1
	shift
	[ $# -gt 0 ] || set -- .
	tests=$("$emulator" "./$program" --list) || fail "$program does not list its tests"
	tests=$(echo "$tests" | grep "$@") || fail "$program has no such tests"
	for test in $tests; do
		"$emulator" "./$program" "$test" >log 2>&1 || fail "$program: $(cat log)"
		count=$((count + 1))
	done
}

echo 'int main(void) { return 0; }' >probe.c
"$compiler" -static probe.c -o probe -pthread >log 2>&1 || skip_missing libc6-dev-sparc64-cross
"$emulator" ./probe || skip "such programs do not run here"

for file in "$source"/src/*.c; do
	compile -fPIC -c "$file" -o "library_$(basename "$file" .c).o"
done
sparc64-linux-gnu-ar rcs libpercpu.a library_*.o

count=0
build cpu "$here/cpu.c"
run cpu

# Of an unsigned sum it is asked whether it is negative, too.
build test_local -Wno-type-limits "$source/test/test_local.c"
run test_local
for ways; do
	counter=${ways%:*}
	atomic=${ways#*:}
	build test_local -Wno-type-limits "$source/test/test_local.c" \
		-DPERCPU_LOCAL_COUNTER_WAY="$counter" -DPERCPU_LOCAL_ATOMIC_WAY="$atomic" \
		-DWANTED_COUNTER_WAY="\"$counter\"" -DWANTED_ATOMIC_WAY="\"$atomic\""
	run test_local
done

# This CPU has no way "local".
build storm "$source/test/local_storm.c" "$source/test/local_subjects.c"
run storm -v '^local_'
# The emulator has no ptrace: of the contexts there are those that a faulting store makes.
build contexts "$source/test/local_contexts.c" "$source/test/local_subjects.c"
run contexts 'store_faults'
# The emulator keeps the last real-time signals for itself, SIGRTMAX among them.
build handlers "$source/test/local_handlers.c"
run handlers -v '^handlers_get_what_sigaction_gives_them$'
echo "$count tests passed on sparc64"

# SPDX-License-Identifier: MIT
# Builds the library and the storm as one line of the table of variants says, and runs the storm.
#	sh build_variant.sh SOURCE_DIR NAME
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../skip.sh"
source=$1
name=$2
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=variant.$name

# shellcheck disable=SC2046
set -- $(grep "^$name " "$here/variants")
[ $# -ge 5 ] || fail "no such variant"
compiler=$2
package=$3
linking=$4
shift 4
flags=
program_flags=
checks=
for word; do
	case $word in
	+*) program_flags="$program_flags ${word#+}" ;;
	@*) checks="$checks ${word#@}" ;;
	*) flags="$flags $word" ;;
	esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

need "$compiler" "$package"
case $linking in
static | static-pie) link=-$linking ;;
*) link= ;;
esac
echo 'int main(void) { return 0; }' >probe.c
# The words of flags are meant to be split.
# shellcheck disable=SC2086
"$compiler" $flags $link probe.c -o probe -pthread >log 2>&1 || skip_missing "$package"
./probe || skip "such programs do not run here"

warnings="-Wall -Wextra -Wshadow -Wconversion -Wundef -Wstrict-prototypes -Werror"
compile()
{
	# shellcheck disable=SC2086
	"$compiler" -std=gnu11 -D_GNU_SOURCE -I"$source/include" -I"$source/src" -I"$source/test" \
		$warnings $flags "$@" >log 2>&1 || fail "$* does not compile: $(cat log)"
}

link()
{
	# shellcheck disable=SC2086
	"$compiler" $flags "$@" -pthread >log 2>&1 || fail "$1 $2 does not link: $(cat log)"
}

# The archive's objects are position-independent, unless the variant says otherwise.
pic=-fPIC
case $flags in
*-fno-pie* | *-ftls-model=local-exec*) pic= ;;
esac
library=
for file in "$source"/src/*.c; do
	object=library_$(basename "$file" .c).o
	# shellcheck disable=SC2086
	compile $pic -c "$file" -o "$object"
	library="$library $object"
done
if [ "$linking" = shared ]; then
	# shellcheck disable=SC2086
	link -o libpercpu.so -shared $library -Wl,--version-script="$source/src/percpu.map" \
		-Wl,-z,nodelete -Wl,-z,now
	library="libpercpu.so -Wl,-rpath,$work"
fi

storm=
for file in "$source"/test/test_storm.c "$source"/test/storm_*.c; do
	object=$(basename "$file" .c).o
	# shellcheck disable=SC2086
	compile $program_flags -c "$file" -o "$object"
	storm="$storm $object"
done
# shellcheck disable=SC2086
compile $program_flags -c "$source/test/test_storm_threads.c" -o test_storm_threads.o
# shellcheck disable=SC2086
link -o storm $link $storm $library
# shellcheck disable=SC2086
link -o threads $link test_storm_threads.o $library

# run PROGRAM: all of its tests; skipped ones are part of what a variant is.
run()
{
	"./$1" >log 2>&1 || fail "$(grep -v 'aborts seen' log | head -60)"
	grep '^SKIP' log || true
}

check_ibt()
{
	need readelf binutils
	for object in library_*.o $storm; do
		readelf -nW "$object" | grep -q 'IBT, SHSTK' || fail "$object has lost its marks"
	done
}

check_racy()
{
	compile -c "$here/racy.c" -o racy.o
	# shellcheck disable=SC2086
	link -o racy racy.o $library
	if ./racy >log 2>&1; then
		fail "a race in a user's program is not reported"
	fi
	grep -q 'WARNING: ThreadSanitizer: data race' log || fail "ended otherwise: $(cat log)"
}

# Sanitizers and -O0 make each call slow.
case $flags in
*thread*) scale=0.03 ;;
*memory* | *address*) scale=0.05 ;;
*) scale=0.15 ;;
esac
export STORM_SCALE="${STORM_SCALE:-$scale}"
run storm
run threads
for check in $checks; do
	"check_$check"
done

# SPDX-License-Identifier: MIT
# Combinations that must not compile do not, with the library's own words; and the rest does.
#	sh test_refused.sh SOURCE_DIR FILE [-m32 | -mx32]
# FILE, in test/refused/, has the cases.
set -eu
. "$(dirname "$0")/skip.sh"

source=$1
words=$source/test/refused/$2
machine=${3:-}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
tried=0

# compile COMPILER LANGUAGE DEFINITIONS...
compile()
{
	compiler=$1
	language=$2
	shift 2
	# Words: the machine may be none.
	# shellcheck disable=SC2086
	"$compiler" $machine -x "$language" "$@" -fsyntax-only -Wall -Wextra -Wshadow -Wconversion \
		-Werror -I"$source/include" "$words" >"$log" 2>&1
}

# All cases for one compiler and one set of definitions. Eight bytes are too many for 32 bits only.
check_cases()
{
	for case in $(grep -o 'REFUSE_[A-Z_]*' "$words" | grep -v 'REFUSE_$' | sort -u); do
		case $case:$machine in
		REFUSE_EIGHT_BYTES*:) continue ;;
		esac
		! compile "$@" "-D$case" || fail "$*: $case compiles"
		case $case in
		REFUSE_PLAIN_*) ;;
		*) grep -q 'percpu: ' "$log" || fail "$*: $case: no word of the library's: $(cat "$log")" ;;
		esac
		tried=$((tried + 1))
	done
}

for pair in gcc:c clang:c g++:c++ clang++:c++; do
	compiler=${pair%:*}
	language=${pair#*:}
	command -v "$compiler" >/dev/null 2>&1 || continue
	if [ "$machine" = -mx32 ]; then
		! compile "$compiler" "$language" || fail "$compiler: x32 compiles"
		# A compiler without x32's headers may not get as far as to the library.
		grep -q 'percpu: x32' "$log" || continue
		tried=$((tried + 1))
		continue
	fi
	if ! compile "$compiler" "$language"; then
		# libc's headers for the machine are another package.
		[ -n "$machine" ] && grep -q 'stubs-32.h\|c++config.h' "$log" && continue
		fail "$compiler: what is right does not compile: $(cat "$log")"
	fi
	# The checks come before what is different there: one compiler is enough for that.
	if [ "$tried" -eq 0 ]; then
		check_cases "$compiler" "$language" -DPERCPU_ARCH_NONE
		check_cases "$compiler" "$language" -DPERCPU_OUTLINE
	fi
	check_cases "$compiler" "$language"
done

if [ "$tried" -eq 0 ]; then
	[ "$machine" != -mx32 ] || skip "no compiler gets as far as to the library for x32"
	[ -n "$machine" ] || fail "no compiler found"
	skip_missing "g++-multilib"
fi
echo "$tried combinations do not compile"

# SPDX-License-Identifier: MIT
# Judges one test of a guest, by what the guest has printed (see init.c).
#	sh judge.sh SOURCE_DIR WORK NAME [CPU]
#		the test NAME has passed, or was skipped; in a run that allows no skips (PERCPU_NO_SKIP)
#		and on a CPU that has to be proven, for one of the reasons in the file skips only
#	sh judge.sh SOURCE_DIR WORK --end
#		the guest switched itself off after its last test, and the kernel had nothing to say
#	sh judge.sh SOURCE_DIR WORK --offline
#		CPUs went offline and came back
set -eu
source=$1
work=$2
name=$3
# shellcheck source=test/skip.sh
. "$source/test/skip.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=$(basename "$work").$name

[ ! -s "$work/skipped" ] || skip "$(cat "$work/skipped")"
output=$work/output
[ -e "$output" ] || fail "the guest has not run"

show_end()
{
	echo "$output ends so:" >&2
	tail -n 60 "$output" >&2
}

judge_end()
{
	if [ -s "$work/ending" ]; then
		show_end
		fail "$(cat "$work/ending")"
	fi
	grep -q '^@ done$' "$output" || {
		show_end
		fail "the guest ended before its last test"
	}
	# Lines with a number in brackets are of a log that a test shows.
	! grep -v '^<[0-9]>' "$output" | grep -nE "$trouble" >&2 || fail "trouble in $output, see above"
	if grep -E '^@ (no |not )' "$output" >&2; then
		fail "the guest is not complete, see above"
	fi
}

trouble='Kernel panic|BUG: |Oops|Call Trace|Unable to handle|general protection fault'

judge_offline()
{
	grep -E '^@ offline [1-9][0-9]*$' "$output" ||
		fail "no CPU went offline: $(grep '^@ offline' "$output")"
}

# What a skipped test says is its reason; the file has expressions, TEST: REASON.
judge_skip()
{
	reason=$(grep -F "SKIP: " "$work/section.$$" | tail -1)
	rm "$work/section.$$"
	echo "${reason:-SKIP: $name: without a reason}" >&2
	[ -n "${PERCPU_NO_SKIP:-}" ] && [ "$1" = proven ] || exit 77
	sed -n 's/^[^#]/&/p' "$source/test/vm/skips" | while read -r pattern; do
		! echo "$name: ${reason#SKIP: *: }" | grep -qE "$pattern" || exit 77
	done || exit 77
	fail "on this CPU it must not be skipped for that reason"
}

judge_test()
{
	pattern=$(echo "$name" | sed 's/\./\\./g')
	test=$(echo "$name" | sed 's/^[^.]*\.//; s/@.*//')
	sed -n "/^@ begin $pattern\$/,/^@ end $pattern: /p" "$output" >"$work/section.$$"
	trap 'rm -f "$work/section.$$"' EXIT
	result=$(sed -n "s/^@ end $pattern: //p" "$work/section.$$")
	case $result in
	0,*)
		grep -Fxq "ok: $test" "$work/section.$$" && exit 0
		cat "$work/section.$$" >&2
		fail "status 0 without a word"
		;;
	77,*) judge_skip "$1" ;;
	'')
		[ -s "$work/section.$$" ] || fail "the guest has no result of it"
		cat "$work/section.$$" >&2
		fail "the guest ended in it: $(cat "$work/ending")"
		;;
	esac
	cat "$work/section.$$" >&2
	fail "it ended with $result seconds"
}

case $name in
--end) judge_end ;;
--offline) judge_offline ;;
*) judge_test "${4:-}" ;;
esac

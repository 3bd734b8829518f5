# SPDX-License-Identifier: MIT
# A debugger with a breakpoint in every sequence of a program and in the body of a transaction, which
# then steps through transactions and structures: the program comes to its end with exact sums. Once
# as the debugger is, and once without displaced stepping: that executes the instruction under the
# breakpoint somewhere else, where the kernel takes the sequence for left, so that it goes on
# unprotected. Without it the breakpoint is hit at every attempt.
#	sh breakpoint.sh PROGRAM
set -eu
. "$(dirname "$0")/../skip.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=breakpoint
need gdb gdb

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/script" <<'END'
set confirm off
break set_breakpoints_now
run
set $i = 0
while $i < sequence_count
	break *sequence_starts[$i]
	ignore $bpnum 1000000
	set $i = $i + 1
end
break in_body
ignore $bpnum 1000000
tbreak step_from_here
continue
info breakpoints
delete
stepi 6000
continue
END

# debug PROGRAM auto|off: how often breakpoints were hit, the first one, outside, included.
debug()
{
	timeout 100 gdb -nx -batch -ex "set displaced-stepping $2" -x "$work/script" "$1" \
		>"$work/log" 2>&1 </dev/null || fail "the debugger ended badly: $(tail -5 "$work/log")"
	grep -q '^hits 15 sum 30 transactions 64 kept 64' "$work/log" || fail "wrong or missing sums: $(tail -20 "$work/log")"
	sed -n 's/.*breakpoint already hit \([0-9]*\) time.*/\1/p' "$work/log" |
		awk '{ sum += $1 } END { print sum + 0 }'
}

as_is=$(debug "$1" auto)
again=$(debug "$1" off)
[ "$again" -gt 1 ] || skip "no sequence was entered under the debugger"
# 15 calls of an operation that tries again.
[ "$again" -gt 1000 ] || fail "hit $again times only: nothing was aborted again and again"
echo "$as_is hits, $again without displaced stepping"

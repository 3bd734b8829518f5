# SPDX-License-Identifier: MIT
# The percpu command: exit statuses, messages and output errors.
#	sh test_command.sh PERCPU
set -eu
. "$(dirname "$0")/skip.sh"

percpu=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# expect STATUS WORDS...: runs the command, keeps its output in $dir/out and $dir/err.
expect()
{
	want=$1
	shift
	status=0
	"$percpu" "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" -eq "$want" ] || {
		cat "$dir/out" "$dir/err" >&2
		fail "'percpu $*' ended with $status, expected $want"
	}
}

one_line_on_stderr()
{
	[ ! -s "$dir/out" ] || fail "output for a usage error"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "not one line: $(cat "$dir/err")"
}

expect 0 --version
grep -qE '^percpu [0-9]+\.[0-9]+\.[0-9]+$' "$dir/out" || fail "--version: $(cat "$dir/out")"
expect 0 help
grep -q doctor "$dir/out" || fail "help does not list the doctor"
expect 0 help doctor
expect 0 help bench
expect 2
expect 2 no-such-command
one_line_on_stderr
expect 2 help no-such-command
one_line_on_stderr
expect 2 doctor --no-such-option
one_line_on_stderr
expect 2 bench no-such-table
one_line_on_stderr
expect 2 bench --threads 0
one_line_on_stderr

expect 0 doctor
grep -q '^sequences' "$dir/out" || fail "doctor: no word on sequences"
expect 0 doctor --json
[ "$(wc -l <"$dir/out")" -eq 1 ] || fail "doctor --json: not one line"
for key in version kernel machine libc sequences owner feature_size fence cpus_possible \
	cpus_online cpus_allowed cpu_slots shared_slots self_test self_test_why reason; do
	grep -q "\"$key\":" "$dir/out" || fail "doctor --json: no key $key"
	"$percpu" help doctor | grep -q "^    $key " || fail "help doctor: no word on key $key"
done

# A forced mode is a mode, not a fault.
PERCPU_RSEQ=off
export PERCPU_RSEQ
expect 0 doctor --json
unset PERCPU_RSEQ
grep -q '"sequences":false' "$dir/out" || fail "PERCPU_RSEQ=off leaves sequences on"

# Lost output is an error: a full disk, and a reader that has gone away.
[ -w /dev/full ] || skip "no /dev/full"
status=0
"$percpu" doctor >/dev/full 2>"$dir/err" || status=$?
[ "$status" -eq 1 ] || fail "full disk: status $status"
grep -q 'cannot write' "$dir/err" || fail "full disk: no message"
mkfifo "$dir/pipe"
sh -c 'exec 3<"$1"; exec 3<&-; echo gone >"$2"' sh "$dir/pipe" "$dir/gone" &
exec 4>"$dir/pipe"
wait $!
status=0
"$percpu" doctor >&4 2>"$dir/err" || status=$?
[ "$status" -eq 1 ] || fail "closed pipe: status $status"
echo "the command obeys its contract"

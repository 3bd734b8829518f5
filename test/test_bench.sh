# SPDX-License-Identifier: MIT
# percpu bench: every table runs, in every format, with the names and keys that are promised.
#	sh test_bench.sh PERCPU
set -eu
. "$(dirname "$0")/skip.sh"

percpu=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

bench()
{
	"$percpu" bench --seconds 0.01 "$@" >"$dir/out" 2>"$dir/err" ||
		fail "'percpu bench $*' ended with $?: $(cat "$dir/err")"
}

usage_error()
{
	status=0
	"$percpu" bench "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" -eq 2 ] || fail "'percpu bench $*' ended with $status, expected 2"
	[ ! -s "$dir/out" ] || fail "'percpu bench $*' printed something"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "'percpu bench $*': not one line"
}

has_row()
{
	grep -q "^{\"table\":\"$1\",\"method\":\"$2\",\"threads\":$3,\"param\":\"$4\"," "$dir/out" ||
		fail "no row $1, $2, $3 threads, $4"
}

"$percpu" bench list | while read -r table title; do
	[ -n "$title" ] || fail "$table has no title"
	bench --threads 2,1 --json "$table"
	head -n 1 "$dir/out" | grep -q '^{"table":"machine",.*"kernel":.*"libc":.*"compiler":' ||
		fail "$table: the machine is not named first"
	grep -q "^{\"table\":\"$table\"," "$dir/out" || fail "$table: no rows"
	grep "^{\"table\":\"$table\"," "$dir/out" |
		grep -vE '^\{"table":"[^"]+","method":"[^"]+","threads":[0-9]+,"param":"[^"]*","ns_min":[^,]+,"ns_median":[^,]+,"wall_ns_median":[^,]+,"ratio":[^,]+,"unit":"[^"]+"\}$' &&
		fail "$table: a row with other keys"
	[ -z "$(grep '"method":' "$dir/out" | grep -o '"method":"[^"]*[A-Z]' || true)" ] ||
		fail "$table: a method's name is not in lower case"
done

bench --threads 1,2 --json --reference counters
has_row counters "plain ++" 1 ""
for threads in 1 2; do
	for method in "thread-local ++" "atomic fetch-add shared" "atomic compare-exchange shared" \
		"atomic per-thread slot" "getcpu + atomic per-cpu slot" "pthread mutex" \
		"percpu add, shared slots"; do
		has_row counters "$method" $threads ""
	done
	for param in "static object" "through pointer" this_cpu "shared library" archive plugin; do
		has_row counters "percpu add" $threads "$param"
	done
done
has_row "counters (historic)" "percpu rseq increment" 8 "x86-64 Xeon E5-2630 v3 2.40GHz"

bench --json getcpu
for method in "empty loop" "libc sched_getcpu" "getcpu system call"; do
	has_row getcpu "$method" 1 ""
done

bench --csv --threads 1 zone
grep -v '^#' "$dir/out" | head -n 1 |
	grep -qx 'table,method,threads,param,ns_min,ns_median,wall_ns_median,ratio,unit' ||
	fail "csv: $(head -n 1 "$dir/out")"
[ -z "$(grep -v '^#' "$dir/out" | awk -F, 'NF != 9')" ] || {
	# a quoted comma is no separator
	grep -v '^#' "$dir/out" | sed 's/"[^"]*"//g' | awk -F, 'NF != 9' | grep . &&
		fail "csv: a line without nine columns"
}

bench --threads 1,2 --svg "$dir/pictures" zone getcpu
if command -v gnuplot >/dev/null; then
	for table in zone getcpu; do
		grep -q '</svg>' "$dir/pictures/$table.svg" || fail "no picture of $table"
	done
else
	grep -q "gnuplot is not installed" "$dir/err" || fail "no word on the missing gnuplot"
fi

for words in no-such-table "list more" "--threads 0" "--threads 1,,2" "--threads 1x" \
	"--threads 1025" "--threads" "--seconds 0" "--seconds -1" "--seconds nan" "--seconds x" \
	"--svg $percpu" "--json --csv" "--no-such-option"; do
	# shellcheck disable=SC2086
	usage_error $words
done
for key in table method threads param ns_min ns_median wall_ns_median ratio unit; do
	"$percpu" help bench | grep -q "^    $key " || fail "help bench: no word on key $key"
done

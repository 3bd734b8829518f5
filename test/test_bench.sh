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
	kernel=
	[ "$table" != local ] || kernel="--kernel=$dir/no-such-file"
	# shellcheck disable=SC2086
	bench --threads 2,1 --json $kernel "$table"
	[ -z "$kernel" ] || grep -q '"text":"no rows of the kernel: .*not loaded' "$dir/out" ||
		fail "local: no note on the missing module"
	head -n 1 "$dir/out" | grep -q '^{"table":"machine",.*"kernel":.*"libc":.*"compiler":' ||
		fail "$table: the machine is not named first"
	grep -q "^{\"table\":\"$table\"," "$dir/out" || fail "$table: no rows"
	for key in cpu clock caches cpus kernel libc compiler; do
		head -n 1 "$dir/out" | grep -q "\"$key\":" || fail "$table: no word on the $key"
	done
	lost=
	case $table in contended | events) lost=',"lost":[0-9.]+' ;; esac
	grep "^{\"table\":\"$table\"," "$dir/out" |
		grep -vE '^\{"table":"[^"]+","method":"[^"]+","threads":[0-9]+,"param":"[^"]*","ns_min":[^,]+,"ns_median":[^,]+,"wall_ns_median":[^,]+,"ratio":[^,]+,"unit":"[^"]+"'"$lost"'\}$' &&
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

# The array that no cache holds has a size of this machine's own.
cat >"$dir/kernel.json" <<EOF
{"table":"kernel_machine","kernel":"6.1.0 x86_64","preemption":"voluntary","cpus":2,"checked":9,"wrong":0}
{"table":"kernel_local","method":"local_t","threads":1,"param":"inc 1048576","ns_min":1.25,"ns_median":1.5,"wall_ns_median":2,"ratio":1.01,"unit":"ns/op"}
{"table":"kernel_cmpxchg","method":"cmpxchg_local","threads":1,"param":"","ns_min":1,"ns_median":77.5,"wall_ns_median":null,"ratio":1,"unit":"cycles/op"}
{"table":"kernel_local","method":"cut o
EOF
bench --json --reference "--kernel=$dir/kernel.json" local
ways="plain add,atomic,softmask,trivalue,twovalue,sigmask"
grep -q '"text":"local not measured' "$dir/out" || ways="$ways,local"
for size in hot "262144 longs" "1048576 longs" "2097152 longs"; do
	for column in inc add add_return read; do
		echo "$ways" | tr , '\n' | while read -r way; do
			how=
			case $column,$way in
			add_return,t*value) how=' (protected add + sum)' ;;
			esac
			has_row local "$way" 1 "$column$how, $size"
		done
	done
done
[ "$(grep -o '"table":"local",.*"param":"inc, [0-9]* longs"' "$dir/out" |
	sed 's/.*inc, //' | sort -u | wc -l)" -ge 4 ] || fail "local: no array beyond the caches"
echo "$ways,percpu" | tr , '\n' | while read -r way; do
	has_row local "$way" 1 "cpu_local_inc, hot"
done
for family in counter atomic; do
	grep -qE "^\{\"table\":\"local_verdict\",\"family\":\"$family\",\"param\":\"all\",\"fastest\":\"[a-z]+\",\"default\":\"[a-z]+\",\"loses_percent\":[0-9.]+\}\$" "$dir/out" ||
		fail "local: no verdict on $family"
done
has_row kernel_local local_t 1 "inc 1048576"
has_row "local (historic)" "local_t inc" 1 "x86-32 2.13 GHz Core Duo 2, array_longs 1048576, preempt n"
[ "$(grep -c '"table":"kernel_' "$dir/out")" -eq 2 ] || fail "local: not two rows of the kernel"
grep -q "6.1.0 x86_64, preemption voluntary; of its 9 totals 0 are wrong" "$dir/out" ||
	fail "local: which kernel?"
sed 's/"wrong":0/"wrong":1/' "$dir/kernel.json" >"$dir/wrong.json"

# So short a run may or may not find that the default loses.
status=0
"$percpu" bench --seconds 0.01 --reference "--kernel=$dir/kernel.json" --verify-default local \
	>"$dir/out" 2>"$dir/err" || status=$?
case $status in
0) [ ! -s "$dir/err" ] || fail "verified in spite of: $(cat "$dir/err")" ;;
1) grep -q "^percpu bench: family .* loses" "$dir/err" || fail "status 1 without a reason" ;;
*) fail "--verify-default ended with $status" ;;
esac
grep -qE '^atomic_long +atomic +118 \([0-9.]+\)' "$dir/out" || fail "local: no historic line beside ours"
grep -qE '^kernel local_t +1\.50 \(1\.01\)' "$dir/out" || fail "local: no line of the kernel"
grep -qE '^cmpxchg_local .* 77\.50 .*cycles/op' "$dir/out" || fail "local: no cycles of the kernel"
grep -qE '^ +inc +add +add_return +read$' "$dir/out" || fail "local: no line of columns"
status=0
"$percpu" bench --seconds 0.01 --csv "--kernel=$dir/wrong.json" local >"$dir/out" || status=$?
[ "$status" -eq 1 ] || fail "a wrong total of the kernel: status $status"
grep -q '^kernel_local,local_t,1,inc 1048576,1.2500,1.5000,2.0000,1.0100,ns/op,$' "$dir/out" ||
	fail "local: csv: no row of the kernel"

bench --json --reference cmpxchg contended
for method in "locked cmpxchg" "signal mask save" "signal mask restore" \
	"signal mask save and restore" "soft mask on" "soft mask off"; do
	has_row cmpxchg "$method" 1 ""
done
has_row "cmpxchg (historic)" local_cmpxchg 1 "IA32 (P4)"
for method in "load, add, store" "atomic add, result used" "atomic add, result unused" \
	"atomic add among stores, relaxed" "atomic add among stores, acquire" \
	"atomic add among stores, release" "atomic add among stores, seq_cst"; do
	has_row contended "$method" 1 "one line"
	has_row contended "$method" 2 "one line"
	has_row contended "$method" 2 "two lines"
done
[ -z "$(grep '"table":"contended","method":"atomic' "$dir/out" |
	grep -v '"lost":0.0000}$' || true)" ] ||
	fail "contended: an atomic addition was lost"
[ -z "$(grep '"table":"contended",.*"param":"two lines"' "$dir/out" |
	grep -v '"lost":0.0000}$' || true)" ] || fail "contended: lost with a line each"

bench --csv --threads 1 zone
grep -v '^#' "$dir/out" | head -n 1 |
	grep -qx 'table,method,threads,param,ns_min,ns_median,wall_ns_median,ratio,unit,lost' ||
	fail "csv: $(head -n 1 "$dir/out")"
[ -z "$(grep -v '^#' "$dir/out" | awk -F, 'NF != 10')" ] || {
	# a quoted comma is no separator
	grep -v '^#' "$dir/out" | sed 's/"[^"]*"//g' | awk -F, 'NF != 10' | grep . &&
		fail "csv: a line without ten columns"
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
	"--svg $percpu" "--json --csv" "--no-such-option" "--kernel zone" "--kernel= local" \
	"--verify-default getcpu zone"; do
	# shellcheck disable=SC2086
	usage_error $words
done
for key in table method threads param ns_min ns_median wall_ns_median ratio unit lost; do
	"$percpu" help bench | grep -q "^    $key " || fail "help bench: no word on key $key"
done

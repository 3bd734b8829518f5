# SPDX-License-Identifier: MIT
# percpu stress: every kind and option, its two outputs, wrong usage, and mistakes that it must find.
#	sh test_stress.sh PERCPU MISTAKEN
# MISTAKEN is percpu stress built with STRESS_MISTAKES.
set -eu
. "$(dirname "$0")/skip.sh"

percpu=$1
mistaken=$2
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# expect STATUS WORDS...: runs percpu stress, keeps its output in $dir/out and $dir/err.
expect()
{
	want=$1
	shift
	status=0
	"$percpu" stress "$@" >"$dir/out" 2>"$dir/err" || status=$?
	[ "$status" -eq "$want" ] || {
		cat "$dir/out" "$dir/err" >&2
		fail "'percpu stress $*' ended with $status, expected $want"
	}
}

# refused WORDS...: wrong usage, said in one line.
refused()
{
	expect 2 "$@"
	[ ! -s "$dir/out" ] || fail "output for the wrong usage '$*'"
	[ "$(wc -l <"$dir/err")" -eq 1 ] || fail "'$*': not one line: $(cat "$dir/err")"
	grep -q '^percpu stress: ' "$dir/err" || fail "'$*': $(cat "$dir/err")"
}

# number KEY: its value in the one line of JSON in $dir/out.
number()
{
	sed -n "s/.*\"$1\":\([0-9.]*\)[,}].*/\1/p" "$dir/out"
}

"$percpu" help stress >"$dir/help"
kinds=$(sed -n '/^kinds:/,$s/^  \([a-z]*\) .*/\1/p' "$dir/help" | grep -vx all)
[ "$(echo "$kinds" | wc -l)" -ge 2 ] || fail "hardly any kinds: $kinds"

# ---- Each kind, each option ----

for kind in $kinds; do
	expect 0 --ops 3000 --threads 3 --json "$kind"
	grep -q "^{\"kind\":\"$kind\".*\"verdict\":\"exact\",\"why\":\"\"}$" "$dir/out" ||
		fail "$kind: $(cat "$dir/out")"
	[ "$(number operations)" -eq 9000 ] || fail "$kind: not all operations: $(cat "$dir/out")"
	[ "$(number threads)" -eq 3 ] || fail "$kind: not three threads"
	expect 0 --seconds 0.3 --yield --signal=20 --sleep=500 --affinity-storm --mixed "$kind"
	expect 0 --seconds 0.3 --fork-storm --signal "$kind"
	expect 0 --seconds 0.1 --no-rseq --signal=10 --fork-storm --json "$kind"
done

expect 0 --ops 500 --threads=1 all
[ "$(grep -c ' exact$' "$dir/out")" -eq "$(echo "$kinds" | wc -l)" ] || fail "all is not all"
expect 0 --ops 500 add add
[ "$(wc -l <"$dir/out")" -eq 3 ] || fail "twice add is not two lines under one header"

# Options do what they say.
expect 0 --ops 20000 --threads 4 --signal=5 --json add
[ "$(number signals)" -gt 0 ] || fail "no signals"
[ "$(number handled)" -gt 0 ] || fail "no operations in handlers"
expect 0 --seconds 0.2 --affinity-storm --json add
[ "$(number moves)" -gt 0 ] || fail "no moves"
expect 0 --seconds 0.2 --fork-storm --json add
[ "$(number forks)" -gt 0 ] || fail "no forks"
expect 0 --ops 4000 --threads 4 --mixed --json add
[ "$(number unregistered)" -eq 2 ] || fail "--mixed: $(cat "$dir/out")"
expect 0 --ops 4000 --threads 4 --no-rseq --json txn
[ "$(number unregistered)" -eq 4 ] || fail "--no-rseq: $(cat "$dir/out")"
[ "$(number fallbacks)" -eq "$(number operations)" ] || fail "--no-rseq: not all on shared slots"

# The keys are those that the help names, no more and no fewer.
tr '{,' '\n\n' <"$dir/out" | sed -n 's/^"\([a-z_]*\)":.*/\1/p' | sort >"$dir/keys"
sed -n 's/^    \([a-z_][a-z_]*\)  .*/\1/p' "$dir/help" | sort >"$dir/named"
cmp -s "$dir/keys" "$dir/named" || fail "keys: $(diff "$dir/keys" "$dir/named")"

# Nothing but the table on the output, and no progress where there is no terminal.
[ ! -s "$dir/err" ] || fail "messages without need: $(cat "$dir/err")"
if command -v script >/dev/null 2>&1; then
	script -qc "'$percpu' stress --seconds 0.6 add" /dev/null >"$dir/terminal" </dev/null
	grep -q 'add: 0\.[0-9] s, [0-9]* operations' "$dir/terminal" || fail "no progress line"
fi

# ---- Wrong usage ----

refused
refused --threads 2
refused no-such-kind
refused add no-such-kind
refused --no-such-option add
refused --json=1 add
refused --threads
for value in 0 1025 -1 +1 1x x '' 99999999999999999999; do
	refused --threads "$value" add
	refused "--threads=$value" add
done
for value in 0 -1 x 1e3 '' 1000000000000001; do
	refused --ops "$value" add
done
for value in 0 -1 nan inf x '' 86401 1s; do
	refused --seconds "$value" add
done
for option in yield signal sleep; do
	for value in 0 x '' -1 1000000001; do
		refused "--$option=$value" add
	done
done
for value in '' 1 1= =1 0=1 6=1 1=x 1=-1 1=10000001 11=1 x=1; do
	refused --delay "$value" add
done
refused --no-rseq --mixed add

# ---- Mistakes ----

# The places at which a kind of the mistaken build goes wrong.
places()
{
	grep -lF ".name = \"$1\"" "$(dirname "$0")"/../cli/stress_*.c |
		xargs sed -n 's/.*stress_mistake(context, \([0-9]*\)).*/\1/p' | sort -u
}

found=0
for kind in $kinds; do
	PERCPU_STRESS_MISTAKE=0 "$mistaken" --ops 3000 --threads 2 "$kind" >"$dir/out" ||
		fail "$kind: wrong without a mistake: $(cat "$dir/out")"
	here=0
	for place in $(places "$kind"); do
		status=0
		PERCPU_STRESS_MISTAKE=$place "$mistaken" --ops 3000 --threads 2 "$kind" \
			>"$dir/out" 2>&1 || status=$?
		[ "$status" -eq 1 ] || fail "$kind: mistake $place: status $status"
		grep -q ' WRONG: ' "$dir/out" || fail "$kind: mistake $place: $(cat "$dir/out")"
		here=$((here + 1))
	done
	[ "$here" -gt 0 ] || fail "$kind: no mistake is planted"
	found=$((found + here))
done
echo "all kinds are exact, and $found mistakes were found"

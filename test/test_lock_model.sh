# SPDX-License-Identifier: MIT
# Every run of the model of the lock: one holder at a time, and everybody gets through. Every run of
# the model of what is found under it by CPUs that load early. And each mistake that the models can
# make is found.
#	sh test_lock_model.sh SOURCE_DIR
set -eu
. "$(dirname "$0")/skip.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=test_lock_model
need spin spin
need gcc gcc
models=$(cd "$1" && pwd)/test/model
model=$models/lock.pml

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# check WHAT FLAGS...: leaves spin's verdict in log. WHAT: safety or progress.
check()
{
	case $1 in
	safety) compile="-DSAFETY -DNOCLAIM" run= ;;
	progress) compile="-DNFAIR=3" run="-a -f" ;;
	esac
	shift
	spin "$@" -a "$model" >log 2>&1 || fail "spin $*: $(cat log)"
	# The words are meant to be split.
	# shellcheck disable=SC2086
	gcc -O2 -DMEMLIM=2000 $compile -o pan pan.c >log 2>&1 || fail "pan.c: $(cat log)"
	# shellcheck disable=SC2086
	./pan $run -m1000000 >log 2>&1 || fail "pan $*: $(cat log)"
	grep -q 'errors: [01]$' log || fail "$*: $(cat log)"
	! grep -qE 'max search depth too small|out of memory' log || fail "$*: $(cat log)"
}

holds()
{
	check "$@"
	grep -q 'errors: 0' log || fail "$*: $(cat log)"
	states=$(sed -n 's/^ *\([0-9e.+]*\) states, stored.*/\1/p' log)
	echo "$*: $states states"
}

# fails_by TEXT WHAT FLAGS...
fails_by()
{
	text=$1
	shift
	check "$@"
	grep -q "$text" log || fail "$*: not found: $(cat log)"
	echo "$*: $(grep -m1 "$text" log)"
}

holds safety
holds progress
holds safety -DFAILURES=1
fails_by 'assertion violated (inside==1)' safety -DNO_TAKER_FENCE
fails_by 'assertion violated (inside==1)' safety -DNO_ABORT
fails_by 'pan:1: invalid end state' safety -DNO_SLEEPER_FENCE
fails_by 'pan:1: invalid end state' safety -DFAILURES=1 -DSLEEP_ON_ABANDONED
fails_by 'acceptance cycle' progress -DNO_SLEEPER_FENCE

model=$models/order.pml
holds safety
holds safety -DONLY_LIST
fails_by 'assertion violated (early_data==added)' safety -DPLAIN_ZERO
fails_by 'assertion violated (early_data==added)' safety -DNO_ACQUIRE
fails_by 'assertion violated (early_data==added)' safety -DNO_OPEN_FENCE
fails_by 'assertion violated head' safety -DNO_OPEN_FENCE -DONLY_LIST

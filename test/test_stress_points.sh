# SPDX-License-Identifier: MIT
# percpu stress with a delay at each point inside of the sequences, in a build with PERCPU_INJECT.
#	sh test_stress_points.sh PERCPU
# Delays from one that is never interrupted to one that nearly always is.
set -eu
. "$(dirname "$0")/skip.sh"

percpu=$1
runs=0
for point in 1 2 3 4 5; do
	for loops in 100 20000; do
		"$percpu" stress --delay "$point=$loops" --seconds 0.5 --threads 6 --mixed \
			--signal=20 --affinity-storm all || fail "point $point, $loops loops"
		runs=$((runs + 1))
	done
done
"$percpu" stress --delay 1=50 --delay 2=50 --delay 3=50 --delay 4=50 --delay 5=50 --seconds 1 \
	--signal=20 --fork-storm --yield all || fail "all points"
echo "$((runs + 1)) runs"

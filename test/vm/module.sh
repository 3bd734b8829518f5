# SPDX-License-Identifier: MIT
# Judges what a guest's kernel module did, by judge_module; and then judge_module.
#	sh module.sh SOURCE_DIR WORK
set -eu
source=$1
work=$2
: "${guest_cpus:=}"
# shellcheck source=test/skip.sh
. "$source/test/skip.sh"
# shellcheck disable=SC1091
. "$work/settings"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=kernel_module

[ ! -s "$work/skipped" ] || skip "$(cat "$work/skipped")"
[ -e "$work/output" ] || fail "the guest has not run"
kernel=$(sed -n 's/^@ kernel \([^,]*\),.*/\1/p' "$work/output")
sed '1,/^@ begin module\.runs$/d; /^@ end module\.runs: /,$d' "$work/output" >"$work/section"

python3 "$source/test/vm/judge_module" --kernel "$kernel" --cpus "$guest_cpus" "$work/section" || {
	tail -n 60 "$work/section" >&2
	fail "Linux $kernel: see above"
}
python3 "$source/test/vm/judge_module" --kernel "$kernel" --cpus "$guest_cpus" --spoil "$work/section" ||
	fail "judge_module lets mistakes pass"

# SPDX-License-Identifier: MIT
# Writes what a guest is to run, in the form that init.c reads.
#	sh plan.sh WORK
# WORK/settings, written by CMakeLists.txt, says which guest it is.
set -eu
work=$1
: "${guest_folder:=}" "${guest_plan:=}" "${guest_programs:=}" "${guest_exclude:=}" "${guest_seconds_per_test:=}" \
	"${guest_environment:=}"
# shellcheck disable=SC1091
. "$work/settings"

if [ -n "$guest_plan" ]; then
	echo "$guest_plan" >"$work/plan"
	exit
fi

# plan_of PROGRAM VARIANT ENVIRONMENT
plan_of()
{
	while read -r name; do
		echo "$1.$name$2|$guest_seconds_per_test|/programs/$1|$name|$3 $guest_environment"
	done <"$guest_folder/$1.tests"
}

while IFS='|' read -r program variant environment; do
	! echo "$program$variant" | grep -Eq "$guest_programs" || plan_of "$program" "$variant" "$environment"
done <"$guest_folder/programs" | grep -vE "${guest_exclude:-^$}" >"$work/plan.new"
[ -s "$work/plan.new" ] || {
	echo "no program matches $guest_programs" >&2
	exit 1
}
mv "$work/plan.new" "$work/plan"

# SPDX-License-Identifier: MIT
# Packs and boots a guest; passes when it came as far as to its first program. What became of its
# tests is judged one by one, by judge.sh.
#	sh boot.sh SOURCE_DIR WORK
# WORK/settings, written by CMakeLists.txt, says which guest it is; WORK/plan, what it runs.
set -eu
source=$1
work=$2
: "${guest_folder:=}" "${guest_options:=}" "${guest_name:=}" "${guest_prepare:=}"
cd "$work"
rm -rf skipped output console ending root
# shellcheck source=test/skip.sh
. "$source/test/skip.sh"
# shellcheck disable=SC1091
. ./settings
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=$guest_name
here=$source/test/vm
# shellcheck source=test/vm/guest.sh
. "$here/guest.sh"

# Why there is no guest is why there are no results.
leave()
{
	status=$?
	cat reason >&3
	[ "$status" -ne 77 ] || mv reason skipped
	exit "$status"
}
trap leave EXIT
exec 3>&2 2>reason
guest_needs
mkdir -p root/programs
cp "$guest_folder/guest_init" root/init
cp plan root/plan
# shellcheck disable=SC1090
[ -z "$guest_prepare" ] || . "$here/$guest_prepare"
cut -d '|' -f 3 plan | sort -u | while read -r program; do
	[ -e "root$program" ] || cp "$guest_folder/${program##*/}" "root$program"
done
exec 2>&3 3>&-
trap - EXIT
cat reason >&2
guest_pack
begin=$(date +%s)
# Words: options.
# shellcheck disable=SC2086
guest_boot $guest_options
echo $(($(date +%s) - begin)) >seconds
rm -r root initramfs

grep "^@ kernel " output || {
	tail -60 output >&2
	fail "the guest's first program was not reached: $(cat ending)"
}
echo "$(grep -c '^@ end ' output) of $(wc -l <plan) tests ended, in $(cat seconds) seconds"

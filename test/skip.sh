# SPDX-License-Identifier: MIT
# How a test script ends early. Sourced by scripts, which may set test_name; as a program,
#	sh skip.sh PACKAGE
# stands in for a test that could not even be built without PACKAGE.

fail()
{
	echo "FAILED: ${test_name:-$(basename "$0")}: $*" >&2
	exit 1
}

# The machine cannot run this test.
skip()
{
	echo "SKIP: ${test_name:-$(basename "$0")}: $*" >&2
	exit 77
}

# A package is missing. Where PERCPU_NO_SKIP is set, everything was to be installed, and its
# absence is a failure. test_skip_missing() in test.h does the same for C.
skip_missing()
{
	[ -z "${PERCPU_NO_SKIP:-}" ] || fail "package $1 is missing"
	skip "package $1 is missing"
}

# need PROGRAM PACKAGE
need()
{
	command -v "$1" >/dev/null 2>&1 || skip_missing "$2"
}

case $0 in
*/skip.sh) skip_missing "$1" ;;
esac

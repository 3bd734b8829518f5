# SPDX-License-Identifier: MIT
# Lists the tests of a program that cannot be run here, by its symbols (TEST in ../test.h).
#	sh list_tests.sh NM PROGRAM OUTPUT
set -eu
"$1" "$2" >"$3.symbols"
sed -n 's/^[^ ]* [A-Za-z] test__case_//p' "$3.symbols" | sort >"$3"
rm "$3.symbols"

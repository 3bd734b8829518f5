# SPDX-License-Identifier: MIT
# Module x is x.h, x.c, test_x.c, bench_x.c (or a place in another table) and percpu_x(3). Every
# source is in the list of sources, whether this machine needs it or not.
#	sh modules_are_complete.sh SOURCE_DIR
set -eu
. "$(dirname "$0")/skip.sh"
cd "$1"

missing=0
checked=0

want()
{
	[ -e "$2" ] || {
		echo "module $1: no $2" >&2
		missing=$((missing + 1))
	}
}

for header in include/percpu/*.h; do
	module=$(basename "$header" .h)
	case $module in
	percpu | arch | seq) continue ;;
	esac
	checked=$((checked + 1))
	want "$module" "src/$module.c"
	want "$module" "test/test_$module.c"
	want "$module" "doc/man3/percpu_$module.3"
	[ -e "bench/bench_$module.c" ] || grep -rqE "percpu(/|_)$module\b" bench --include=*.[ch] || {
		echo "module $module: nothing in bench/ uses it" >&2
		missing=$((missing + 1))
	}
done

for source in src/*.c; do
	grep -q "^  $(basename "$source")" src/CMakeLists.txt || {
		echo "src/CMakeLists.txt: no $source" >&2
		missing=$((missing + 1))
	}
done

[ "$checked" -gt 0 ] || fail "no modules in $1/include/percpu"
[ "$missing" -eq 0 ] || fail "$missing parts are missing"
echo "$checked modules are complete"

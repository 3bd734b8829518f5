# SPDX-License-Identifier: MIT
# What a user of the installed library meets.
#	sh package.sh CASE
# The environment (see CMakeLists.txt) names the compilers, their flags and the places.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../skip.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=package.$1

# Programs compile quickly and run long enough to preempt each other.
strict="-O2 -Wall -Wextra -Wpedantic -Wconversion -Wundef -Werror"
libdir=$PREFIX/$LIBDIR
definitions=
[ "${ARCH_NONE:-OFF}" != ON ] || definitions="$definitions -DPERCPU_ARCH_NONE"
[ "${DEBUG:-OFF}" != ON ] || definitions="$definitions -DPERCPU_DEBUG"
[ "${INJECT:-OFF}" != ON ] || definitions="$definitions -DPERCPU_INJECT"
include="-I$PREFIX/include $definitions"
shared="-L$libdir -lpercpu -Wl,-rpath,$libdir -pthread"
archive="$libdir/libpercpu.a -pthread"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The words of flags are meant to be split.
# shellcheck disable=SC2086
c11() { $CC $CFLAGS -std=c11 $strict -Wshadow -Wstrict-prototypes "$@"; }
# shellcheck disable=SC2086
cxx17() { $CXX $CXXFLAGS -std=c++17 $strict -x c++ "$@"; }

have_cxx()
{
	[ "$CXX_TESTS" = ON ] && [ -n "$CXX" ] && [ "$CXX" != NOTFOUND ]
}

need_cxx()
{
	[ "$CXX_TESTS" = ON ] || skip "C++ tests are switched off"
	have_cxx || skip_missing g++
}

# compile_both COMPILER FLAGS...: both files of the program to objects in $work.
compile_both()
{
	compiler=$1
	shift
	"$compiler" -c "$here/program.c" -o "$work/program.o" "$@"
	"$compiler" -c "$here/other.c" -o "$work/other.o" "$@"
}

run_program()
{
	[ "$("$work/program")" = exact ] || fail "the program's sums are wrong"
}

c11_program()
{
	# shellcheck disable=SC2086
	compile_both c11 $include "$@"
}

cxx17_program()
{
	need_cxx
	# shellcheck disable=SC2086
	compile_both cxx17 $include "$@"
}

# link_and_run LINKER LIBRARY...
link_and_run()
{
	linker=$1
	shift
	# shellcheck disable=SC2086
	$linker "$work/program.o" "$work/other.o" -o "$work/program" "$@"
	run_program
}

case_install()
{
	rm -rf "$PREFIX"
	"$CMAKE" --install "$BUILD" --prefix "$PREFIX" >"$work/log" || fail "$(cat "$work/log")"
}

list_files()
{
	(cd "$1" && find . ! -type d | LC_ALL=C sort)
}

case_installed_files_are_all_there()
{
	for file in bin/percpu "$LIBDIR/libpercpu.a" "$LIBDIR/libpercpu.so" "$LIBDIR/libpercpu.so.0" \
		"$LIBDIR/libpercpu.so.$VERSION" "$LIBDIR/pkgconfig/percpu.pc" \
		"$LIBDIR/cmake/percpu/percpu-config.cmake" \
		"$LIBDIR/cmake/percpu/percpu-config-version.cmake" share/doc/percpu/LICENSE; do
		[ -e "$PREFIX/$file" ] || fail "no $file"
	done
	# field_N4: every header and every page of the tree is installed.
	(cd "$SOURCE/include" && find . -name '*.h') | while read -r header; do
		[ -e "$PREFIX/include/$header" ] || fail "no include/$header"
	done
	(cd "$SOURCE/doc" && find man1 man3 man5 man7 -name '*.[1357]') | while read -r page; do
		[ -e "$PREFIX/share/man/$page" ] || fail "no share/man/$page"
	done
}

case_destdir_and_prefix_are_honoured()
{
	DESTDIR=$work "$CMAKE" --install "$BUILD" --prefix /opt/percpu >"$work/log" ||
		fail "$(cat "$work/log")"
	list_files "$PREFIX" >"$work/wanted"
	list_files "$work/opt/percpu" >"$work/got"
	diff "$work/wanted" "$work/got" || fail "DESTDIR changes what is installed"
}

# An installed tree can be moved.
case_installed_tree_names_no_other_place()
{
	if grep -rlE "$PREFIX|$BUILD" "$PREFIX/$LIBDIR/pkgconfig" "$PREFIX/$LIBDIR/cmake" \
		"$PREFIX/include"; then
		fail "these files name the place they were built or installed in"
	fi
}

case_installed_command_runs()
{
	[ "$("$PREFIX/bin/percpu" --version)" = "percpu $VERSION" ] || fail "wrong --version"
}

case_shared_library_exports_only_percpu_names()
{
	need nm binutils
	nm -D --defined-only "$libdir/libpercpu.so" | awk '{ print $NF }' >"$work/names"
	grep -q '^percpu_counter_sum$' "$work/names" || fail "percpu_counter_sum is not exported"
	if grep -v '^percpu_' "$work/names"; then
		fail "exported names without the prefix"
	fi
}

case_shared_library_has_its_version_and_flags()
{
	need readelf binutils
	readelf -dW "$libdir/libpercpu.so" >"$work/dynamic"
	grep -q 'SONAME.*\[libpercpu\.so\.0\]' "$work/dynamic" || fail "wrong SONAME"
	# field_E9
	grep -q 'FLAGS_1.*NODELETE' "$work/dynamic" || fail "not linked with -z nodelete"
	if grep -q TEXTREL "$work/dynamic"; then
		fail "text relocations"
	fi
	# Linked into everything, it must not drag anything in.
	case $CFLAGS in
	*-fsanitize=*) return ;;
	esac
	if grep NEEDED "$work/dynamic" | grep -vE '\[(libc|libpthread|ld-linux[-a-z0-9]*)\.so'; then
		fail "depends on more than libc"
	fi
}

# With -fcf-protection=full every object must carry the mark, or the linker drops it for all. Linked
# without libc, whose own objects may lack it.
case_shared_library_keeps_branch_protection()
{
	need readelf binutils
	echo 'int x;' >"$work/probe.c"
	# shellcheck disable=SC2086
	$CC $CFLAGS -fcf-protection=full -c "$work/probe.c" -o "$work/probe.o" 2>/dev/null ||
		skip "the compiler has no -fcf-protection for this CPU"
	# shellcheck disable=SC2086
	for source in "$SOURCE"/src/*.c; do
		$CC $CFLAGS -std=gnu11 -O1 -fPIC -fcf-protection=full -D_GNU_SOURCE \
			-I"$SOURCE/include" $definitions -c "$source" -o "$work/$(basename "$source" .c).o"
		readelf -nW "$work/$(basename "$source" .c).o" | grep -q 'IBT, SHSTK' ||
			fail "$source: not marked for IBT and SHSTK"
	done
	rm "$work/probe.o"
	# shellcheck disable=SC2086
	$CC $CFLAGS -shared -nostdlib "$work"/*.o -o "$work/libpercpu.so"
	readelf -nW "$work/libpercpu.so" | grep -q 'IBT, SHSTK' || fail "the library lost the marks"
}

# run_or_skip PROGRAM LIBRARY: musl places a program's initial-exec thread-local storage once, at
# its start, and takes no library with more of it later.
run_or_skip()
{
	"$@" 2>"$work/err" || {
		cat "$work/err" >&2
		! grep -q 'initial-exec TLS' "$work/err" ||
			skip "this libc cannot load a library with initial-exec TLS later"
		return 1
	}
}

case_field_E9_shared_library_stays_after_dlclose()
{
	c11 -Wno-pedantic "$here/dlclose.c" -o "$work/program" -ldl
	run_or_skip "$work/program" "$libdir/libpercpu.so.0" || fail "dlclose removes the library"
}

case_c11_program_uses_the_shared_library()
{
	c11_program
	# shellcheck disable=SC2086
	link_and_run c11 $shared
}

case_c11_program_uses_the_archive()
{
	c11_program
	# shellcheck disable=SC2086
	link_and_run c11 $archive
}

link_cxx()
{
	# shellcheck disable=SC2086
	$CXX $CXXFLAGS "$@"
}

case_cxx17_program_uses_the_shared_library()
{
	cxx17_program
	# shellcheck disable=SC2086
	link_and_run link_cxx $shared
}

case_cxx17_program_uses_the_archive()
{
	cxx17_program
	# shellcheck disable=SC2086
	link_and_run link_cxx $archive
}

case_pkg_config_builds_a_program()
{
	need pkg-config pkg-config
	# A copy: the file must find its prefix from where it is.
	cp -a "$PREFIX" "$work/moved"
	PKG_CONFIG_PATH=$work/moved/$LIBDIR/pkgconfig
	export PKG_CONFIG_PATH
	[ "$(pkg-config --modversion percpu)" = "$VERSION" ] || fail "wrong version"
	# shellcheck disable=SC2046
	compile_both c11 $(pkg-config --cflags percpu)
	# shellcheck disable=SC2046
	link_and_run c11 $(pkg-config --libs percpu) -Wl,-rpath,"$work/moved/$LIBDIR" -pthread
	# shellcheck disable=SC2046
	link_and_run c11 $(pkg-config --static --libs percpu) -Wl,-rpath,"$work/moved/$LIBDIR" -pthread
}

# configure_and_build FLAGS...: the consumer project, all of its programs run.
configure_and_build()
{
	# Its sources name ../program.c: give it a copy of this folder, outside the tree.
	cp -a "$here" "$work/outside"
	have_cxx || CXX=NOTFOUND
	export CC CXX CFLAGS CXXFLAGS
	"$CMAKE" -S "$work/outside/consumer" -B "$work/build" -G "$GENERATOR" \
		-DCMAKE_BUILD_TYPE=RelWithDebInfo "$@" >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	"$CMAKE" --build "$work/build" -j 2 >"$work/log" 2>&1 || fail "$(cat "$work/log")"
	ran=0
	for program in "$work"/build/c_percpu* "$work"/build/cxx_percpu*; do
		[ -x "$program" ] || continue
		[ "$("$program")" = exact ] || fail "$program: the sums are wrong"
		ran=$((ran + 1))
	done
	[ "$ran" -ge 2 ] || fail "only $ran programs were built"
}

case_cmake_package_builds_programs()
{
	cp -a "$PREFIX" "$work/moved"
	configure_and_build -DCMAKE_PREFIX_PATH="$work/moved" -DPERCPU_VERSION="$VERSION"
}

case_cmake_subdirectory_builds_a_program()
{
	configure_and_build -DPERCPU_SOURCE="$SOURCE" -DPERCPU_ARCH_NONE="${ARCH_NONE:-OFF}" \
		-DPERCPU_DEBUG="${DEBUG:-OFF}" -DPERCPU_INJECT="${INJECT:-OFF}"
}

case_outlined_program_works()
{
	c11_program -DPERCPU_OUTLINE
	# shellcheck disable=SC2086
	link_and_run c11 $shared
	# shellcheck disable=SC2086
	link_and_run c11 $archive
	need readelf binutils
	if readelf -SW "$work/program.o" | grep -q __rseq_cs; then
		fail "an outlined program has sequences of its own"
	fi
	cxx17_program -DPERCPU_OUTLINE
	# shellcheck disable=SC2086
	link_and_run link_cxx $shared
}

# The linker warns when a static program calls dlopen and its like.
case_field_E11_static_programs_link_silently()
{
	case $CFLAGS in
	*-fsanitize=*) skip "sanitizers have no static programs" ;;
	esac
	for kind in -static -static-pie; do
		c11_program -fPIE
		# shellcheck disable=SC2086
		link_and_run c11 $kind $archive -Wl,--fatal-warnings
	done
}

case_archive_goes_into_another_shared_library()
{
	# shellcheck disable=SC2086
	c11 -fPIC -shared $include "$here/plugin.c" -o "$work/plugin.so" -Wl,-z,text -Wl,-z,nodelete \
		$archive
	c11 -Wno-pedantic "$here/load_plugin.c" -o "$work/program" -ldl
	run_or_skip "$work/program" "$work/plugin.so" || fail "the plugin counts wrong"
}

# At -O0 and -O2: inline functions are kept as functions, or melt into their callers.
case_two_files_with_inline_functions_link()
{
	for level in -O0 -O1 -O2 -O3; do
		c11_program $level
		# shellcheck disable=SC2086
		link_and_run c11 $shared
		cxx17_program $level
		# shellcheck disable=SC2086
		link_and_run link_cxx $shared -Wl,--fatal-warnings
		# shellcheck disable=SC2086
		link_and_run link_cxx $shared -Wl,--gc-sections
	done
}

# compile_headers HEADER...: one file with these includes, in each language there is a compiler for.
compile_headers()
{
	for header in "$@"; do
		echo "#include <$header>"
	done >"$work/headers.c"
	echo 'int headers_compile;' >>"$work/headers.c"
	for standard in c11 gnu11; do
		# shellcheck disable=SC2086
		$CC $CFLAGS -std=$standard $strict $include -c "$work/headers.c" -o "$work/headers.o" ||
			fail "$standard: $*"
	done
	have_cxx || return 0
	for standard in c++17 gnu++17; do
		# shellcheck disable=SC2086
		$CXX $CXXFLAGS -std=$standard $strict $include -x c++ -c "$work/headers.c" \
			-o "$work/headers.o" || fail "$standard: $*"
	done
}

case_field_B9_headers_mix_with_rseq_headers()
{
	tried=0
	for rseq in linux/rseq.h sys/rseq.h; do
		echo "#include <$rseq>" >"$work/probe.c"
		# shellcheck disable=SC2086
		$CC $CFLAGS -fsyntax-only "$work/probe.c" 2>/dev/null || continue
		strict="-O1 -Wall -Wextra -Wsystem-headers -Werror"
		compile_headers percpu/percpu.h "$rseq"
		compile_headers "$rseq" percpu/percpu.h
		tried=$((tried + 1))
	done
	[ "$tried" -gt 0 ] || skip "this system has neither header"
	need_cxx
}

case_each_header_stands_alone()
{
	for path in "$PREFIX"/include/percpu/*.h; do
		header=percpu/$(basename "$path")
		compile_headers "$header" "$header"
		compile_headers percpu/percpu.h "$header"
	done
	need_cxx
}

"case_$1"
echo "ok: $1"

# SPDX-License-Identifier: MIT
# What is written about the project is true of it: programs in the README, in doc/local.md and in
# the manual compile, run and print what is shown; names, options, presets, tests and places that
# are mentioned exist; and what exists is mentioned.
#	sh test_docs.sh SOURCE_DIR ARCHIVE COMMAND
# The environment names the compiler (CC) and its flags (CFLAGS).
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/skip.sh"
# Read by skip.sh.
# shellcheck disable=SC2034
test_name=test_docs
source=$1
archive=$2
command=$3

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

complaints=0

complain()
{
	echo "$*" >&2
	complaints=$((complaints + 1))
}

# ---- Programs ----

# The words of flags are meant to be split.
# shellcheck disable=SC2086
build()
{
	$CC ${CFLAGS:-} -std=gnu11 -O2 -Wall -Wextra -Werror -I"$source/include" "$1" "$archive" \
		-pthread -o "$2" 2>"$work/log"
}

# Each block of a page's EXAMPLES becomes PAGE.N.c.
programs_of_page()
{
	awk -v out="$work/$(basename "$1")" '
		/^\.Sh / { examples = $2 == "EXAMPLES" }
		/^\.Ed/ { block = 0 }
		block { gsub(/\\e/, "\\"); print > (out "." n ".c") }
		examples && /^\.Bd -literal/ { block = 1; n++ }' "$1"
}

# Each block of C in a text becomes NAME.N.c; a block of text that follows it before the next one is
# what it prints, NAME.N.text.
programs_of_text()
{
	awk -v out="$work/$(basename "$1" .md)" '
		/^```/ && inside { inside = 0; file = ""; next }
		/^```/ { inside = 1 }
		$0 == "```c" { file = out "." ++n ".c"; prints = 1; next }
		$0 == "```text" && prints { file = out "." n ".text"; prints = 0; next }
		inside && file != "" { print > file }' "$1"
}

# ThreadSanitizer runs handlers when it likes, so programs with handlers print something else.
check_output()
{
	shown=0
	for text in "$work"/*.text; do
		name=$(basename "$text" .text)
		shown=$((shown + 1))
		case $name:${CFLAGS:-} in
		local.*:*-fsanitize=thread*) continue ;;
		esac
		cmp -s "$text" "$work/$name.out" ||
			complain "$name prints $(cat "$work/$name.out"), which is not what is shown"
	done
	[ "$shown" -ge 6 ] || complain "only $shown programs show what they print"
}

check_programs()
{
	count=0
	for page in "$source"/doc/man3/*.3 "$source"/doc/man7/*.7; do
		programs_of_page "$page"
	done
	programs_of_text "$source/README.md"
	programs_of_text "$source/doc/local.md"
	for program in "$work"/*.c; do
		name=$(basename "$program" .c)
		count=$((count + 1))
		if ! build "$program" "$work/program"; then
			complain "$name does not compile: $(cat "$work/log")"
		elif ! "$work/program" >"$work/$name.out" 2>&1; then
			complain "$name fails: $(cat "$work/$name.out")"
		fi
	done
	[ "$count" -ge 14 ] || complain "only $count programs were found"
	check_output
}

# ---- Names ----

# Public names in a header: without comments, strings and include guards.
public_names()
{
	awk '
		{
			line = $0
			text = ""
			while (line != "") {
				if (comment) {
					at = index(line, "*/")
					line = at ? substr(line, at + 2) : ""
					comment = !at
				} else {
					at = index(line, "/*")
					text = text (at ? substr(line, 1, at - 1) : line)
					line = at ? substr(line, at + 2) : ""
					comment = at > 0
				}
			}
			gsub(/"[^"]*"/, "", text)
			print text
		}' "$@" | words | grep -vE '^PERCPU_[A-Z0-9_]*_H$' || true
}

# Words with the public prefix, once each.
words()
{
	grep -oE '\b(percpu|PERCPU)_[A-Za-z0-9_]+' |
		grep -vE '^(percpu__|PERCPU__)' | LC_ALL=C sort -u
}

# arch and seq belong to the overview; the others are in an order in which none uses a later one.
modules()
{
	echo arch seq thread area this_cpu
	for header in "$source"/include/percpu/*.h; do
		case $(basename "$header" .h) in
		arch | seq | thread | area | this_cpu | percpu) ;;
		*) basename "$header" .h ;;
		esac
	done
}

# Names in a header that those before it do not have are in the header's page.
check_names_have_pages()
{
	: >"$work/known"
	for module in $(modules); do
		case $module in
		arch | seq) page=$source/doc/man7/percpu.7 ;;
		*) page=$source/doc/man3/percpu_$module.3 ;;
		esac
		public_names "$source/include/percpu/$module.h" >"$work/names"
		LC_ALL=C comm -23 "$work/names" "$work/known" >"$work/new"
		while read -r name; do
			grep -qsE "\b$name\b" "$page" ||
				complain "$(basename "$page") does not mention $name"
		done <"$work/new"
		LC_ALL=C sort -u "$work/names" "$work/known" >"$work/both"
		mv "$work/both" "$work/known"
	done
	[ "$(wc -l <"$work/known")" -ge 60 ] || complain "hardly any public names were found"
}

# Names in the manual and the README are in a header, or are pages, or stand for several names.
check_pages_have_names()
{
	sed '/^\.Dt /d' "$source"/doc/man?/*.? "$source/README.md" "$source/CHANGELOG.md" \
		"$source/doc/environments.md" "$source/doc/local.md" | words >"$work/written"
	LC_ALL=C comm -23 "$work/written" "$work/known" | while read -r name; do
		case $name in
		percpu_abort_ | percpu_static) continue ;;
		*_) grep -q "^$name" "$work/known" && continue ;;
		esac
		[ -e "$source/doc/man3/$name.3" ] ||
			grep -rqE "\b$name\b" "$source/src" "$source/CMakeLists.txt" ||
			echo "$name is mentioned and does not exist"
	done >"$work/drift"
	[ ! -s "$work/drift" ] || complain "$(cat "$work/drift")"
}

# ---- The command ----

check_command()
{
	page=$source/doc/man1/percpu.1
	"$command" help | sed -n '/^commands:/,/^$/s/^  \([a-z_]*\) .*/\1/p' >"$work/subcommands"
	while read -r name; do
		grep -q "^\.Ss percpu $name$" "$page" || complain "percpu.1 has nothing on 'percpu $name'"
		"$command" help "$name" >>"$work/help"
	done <"$work/subcommands"
	"$command" bench list | sed 's/^ *\([a-z_]*\) .*/\1/' | while read -r table; do
		grep -q "^\.It Cm $table$" "$page" || echo "percpu.1 has nothing on the table $table"
	done >"$work/drift"
	grep -oE '^ +--[a-z]+' "$work/help" | tr -d ' ' | sed 's/^--//' | while read -r option; do
		grep -qE "^\.It Fl -$option\b|^\.Fl -$option\b" "$page" ||
			echo "percpu.1 has nothing on --$option"
	done >>"$work/drift"
	sed -n 's/^    \([a-z_][a-z_]*\)  .*/\1/p' "$work/help" | while read -r key; do
		grep -q "^\.It Li $key$" "$page" || echo "percpu.1 has nothing on the key $key"
	done >>"$work/drift"
	[ ! -s "$work/drift" ] || complain "$(cat "$work/drift")"
}

# ---- Places ----

check_links()
{
	for file in "$source"/*.md "$source"/doc/*.md; do
		grep -oE '\]\([^)#:]+[)#]' "$file" | sed 's/^](\(.*\).$/\1/' | while read -r place; do
			[ -e "$(dirname "$file")/$place" ] ||
				echo "$(basename "$file"): no $place"
		done
	done >"$work/drift"
	awk '/^## / { map = /[Mm]ap of the tree/ }
		map && /^```/ { block = !block; next }
		map && block && /^[^ ]/ { print $1 }' "$source/README.md" >"$work/map"
	[ -s "$work/map" ] || complain "README.md: no map of the tree"
	while read -r place; do
		[ -e "$source/$place" ] || echo "README.md: no $place"
	done <"$work/map" >>"$work/drift"
	[ ! -s "$work/drift" ] || complain "$(cat "$work/drift")"
}

check_presets_and_tests()
{
	grep -ohE -e '--preset[ =][a-z0-9]+' "$source"/*.md "$source"/doc/*.md | sed 's/.*[ =]//' |
		sort -u | while read -r preset; do
		grep -q "\"name\": \"$preset\"" "$source/CMakePresets.json" || echo "no preset $preset"
	done >"$work/drift"
	grep -ohE '\bfield_[A-Z][0-9]+_[A-Za-z0-9_]*' "$source/doc/design.md" | sort -u |
		while read -r name; do
			grep -rqF "$name" "$source/test" || echo "design.md: no test $name"
		done >>"$work/drift"
	sed -n '/^## Field failures/,$p' "$source/doc/design.md" |
		grep -oE '`[A-Za-z0-9]+(_[A-Za-z0-9]+){3,}' | tr -d '`' | sort -u |
		while read -r name; do
			grep -rqF "$name" "$source/test" || echo "design.md: no test $name"
		done >>"$work/drift"
	grep -rohE '\bfield_[A-Z][0-9]+_' "$source/test" | sort -u | sed 's/field_\(.*\)_/\1/' |
		while read -r number; do
			grep -q "^| $number |" "$source/doc/design.md" || echo "design.md: no entry $number"
		done >>"$work/drift"
	[ ! -s "$work/drift" ] || complain "$(cat "$work/drift")"
}

check_programs
check_names_have_pages
check_pages_have_names
check_command
check_links
check_presets_and_tests
[ "$complaints" -eq 0 ] || fail "$complaints complaints"
echo "$count programs run, $(wc -l <"$work/known") public names have pages"

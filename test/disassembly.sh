# SPDX-License-Identifier: MIT
# Runs check_disassembly where there is a python3.
#	sh disassembly.sh [--may-be-none] FILE...
set -eu
here=$(dirname "$0")
. "$here/skip.sh"
need python3 python3
need "${OBJDUMP:-objdump}" binutils
exec python3 "$here/check_disassembly" "$@"

# SPDX-License-Identifier: MIT
# Shows check_disassembly one right sequence, and then each mistake it is there for.
#	sh test_check_disassembly.sh COMPILER
set -eu
here=$(dirname "$0")
. "$here/skip.sh"
compiler=${1:-cc}

need python3 python3
need objdump binutils
[ "$(uname -m)" = x86_64 ] || skip "the mistakes are written for x86-64"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

assemble()
{
	"$compiler" -m64 -c -o "$scratch/mistake.o" "$@" "$here/arch/x86_64_mistakes.S"
}

# mistake WORDS DEFINITION [OPTIONS...]: the definition must make the check fail with these words
mistake()
{
	words=$1
	definition=$2
	shift 2
	assemble "-D$definition" "$@"
	status=0
	python3 "$here/check_disassembly" "$scratch/mistake.o" >"$scratch/out" 2>&1 || status=$?
	[ "$status" -eq 1 ] || fail "exit status $status for $definition: $(cat "$scratch/out")"
	grep -q "$words" "$scratch/out" || fail "not '$words' for $definition: $(cat "$scratch/out")"
	count=$((count + 1))
}

assemble
python3 "$here/check_disassembly" "$scratch/mistake.o" || fail "complains about what is right"

count=0
mistake "call inside" "BODY=call elsewhere"
mistake "system call or trap inside" "BODY=syscall"
mistake "system call or trap inside" 'BODY=int $0x80'
mistake "return inside" "BODY=ret"
mistake "trap inside" "BODY=ud2"
mistake "indirect jump inside" "BODY=jmp *%rcx"
mistake "lock prefix or fence inside" "BODY=lock incl (%rcx)"
mistake "lock prefix or fence inside" "BODY=mfence"
mistake "change of the stack inside" "BODY=push %rcx; popq %rcx"
mistake "change of the stack pointer inside" 'BODY=sub $8, %rsp'
mistake "stores before its last instruction" "BODY=mov %rcx, 8(%rax)"
mistake "stores before its last instruction" "BODY=rep movsb"
mistake "stores before its last instruction" "BODY=sete (%rcx)"
mistake "stores before its last instruction" "BODY=xchg (%rcx), %rdx"
mistake "stores to thread-local storage" "BODY=mov %rcx, %fs:16(%rdx)"
mistake "last instruction stores nothing" "COMMIT=addq (%rax), %rcx"
mistake "last instruction stores nothing" 'COMMIT=addq $1, (%rax); nop'
mistake "jump into the range" "BEHIND=jmp 2b"
mistake "not armed right before the range" "ARM=nop"
mistake "not armed right before the range" "ARM=movq %rax, 8(%rdx)"
mistake "signature is" "SIGNATURE=0x53053054"
mistake "version 1" "VERSION=1"
mistake "does not end with an instruction" "LENGTH=(3b - 2b - 1)"
mistake "does not fit its section" "LENGTH=4096"
mistake "abort entry lies in the range" "ABORT=2b"
mistake "__rseq_cs is not loaded" 'LOADED="w"'
mistake "does not list each descriptor once" "LISTED=.quad 0"
mistake "does not list each descriptor once" "LISTED=.quad 5b, 5b"
mistake "no exit point is listed" "EXIT=.quad 3b, 6f"

# Those that may store first, and no others.
assemble -DNAME=percpu_abort_list_push_1 "-DBODY=mov %rcx, 8(%rdx)"
python3 "$here/check_disassembly" "$scratch/mistake.o" || fail "list_push may store before its commit"

# Commits of transactions: their begin armed them, so they ask first, and there is one of each.
commit=percpu_abort_txn_commit
transaction()
{
	assemble -DTRANSACTION "$@"
}
transaction "-DNAME=${commit}_1"
python3 "$here/check_disassembly" "$scratch/mistake.o" || fail "complains about a right transaction"
for kind in 2 _copy; do
	transaction "-DNAME=${commit}${kind}_1" "-DBODY=mov %rcx, 8(%rdi)"
	python3 "$here/check_disassembly" "$scratch/mistake.o" || fail "txn_commit$kind may store first"
done
mistake "not armed right before the range" TRANSACTION
set -- -DTRANSACTION "-DNAME=${commit}_1"
mistake "does not begin with the compare of rseq_cs" "ASK=nop" "$@"
mistake "does not begin with the compare of rseq_cs" "ASK=nop; cmpq %rax, %fs:8(%rdx); jne 6f" "$@"
mistake "does not begin with the compare of rseq_cs" "ASK=cmpq %rax, 8(%rdx); jne 6f" "$@"
mistake "does not begin with the compare of rseq_cs" "ASK=cmpq %rax, %fs:16(%rdx); jne 6f" "$@"
mistake "does not begin with the compare of rseq_cs" "ASK=cmpq %rax, %fs:8(%rdx); je 6f" "$@"
mistake "does not begin with the compare of rseq_cs" "ASK=cmpq %rax, %fs:8(%rdx)" "$@"
mistake ": armed right before the range" "ARM=movq %rax, %fs:8(%rdx)" "$@"
mistake "stores before its last instruction" "BODY=mov %rcx, 8(%rdi)" "$@"
mistake "stores to thread-local storage" "BODY=mov %rcx, %fs:16(%rdx)" "$@"
transaction "-DNAME=${commit}_1"
mv "$scratch/mistake.o" "$scratch/one.o"
transaction "-DNAME=${commit}_2" -Dsequence=another
"$compiler" -m64 -r -nostdlib -o "$scratch/both.o" "$scratch/one.o" "$scratch/mistake.o"
! python3 "$here/check_disassembly" "$scratch/both.o" >"$scratch/out" 2>&1 || fail "no complaint of two"
grep -q "this commit is there twice" "$scratch/out" || fail "not 'twice': $(cat "$scratch/out")"
count=$((count + 1))

# A file without sequences is a mistake, unless it may be one.
echo | "$compiler" -m64 -c -x c -o "$scratch/empty.o" -
! python3 "$here/check_disassembly" "$scratch/empty.o" 2>/dev/null || fail "no sequence, and no complaint"
python3 "$here/check_disassembly" --may-be-none "$scratch/empty.o" || fail "--may-be-none"
echo "$count mistakes found"

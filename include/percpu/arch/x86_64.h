/* SPDX-License-Identifier: MIT */
/*
 * x86-64: the assembly snippets that sequences are made of.
 *
 * What each name must do is written in doc/porting.md; seq.h composes them. Text is AT&T syntax for
 * extended asm. A and B are the two address registers of a sequence; they are fixed because an
 * asm goto without outputs can only clobber temporaries, not allocate them.
 */
#ifndef PERCPU_ARCH_X86_64_H
#define PERCPU_ARCH_X86_64_H

#if defined(__ILP32__)
#error "percpu: x32 is not supported; build for x86-64 (-m64) or i386 (-m32)"
#endif

#define ARCH_NAME "x86_64"
#define ARCH_HAVE_SEQ 1
#define ARCH_HAVE_SEQ_8 1
#define ARCH_ATOMIC_64 1
#define ARCH_LOADS_IN_ORDER 1
#define ARCH_INLINE_COUNTER 1
#define ARCH_STORES_IN_ORDER 1

/* Assembly text, an instruction a line: */
/* clang-format off */

/* The trap that precedes every abort entry: ud1 %edi, with the signature as its displacement. */
#define ARCH_RSEQ_SIG 0x53053053
#define ARCH_SIGNATURE ".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"

/* A pointer in a 64-bit field, as descriptors hold them. */
#define ARCH_PTR64(x) ".quad " x "\n\t"

#define ARCH_A "%%rax"
#define ARCH_B "%%rcx"
#define ARCH_CLOBBER_A "rax"
#define ARCH_CLOBBER_B "rcx",
#define ARCH_CLOBBER_DATA
#define ARCH_CLOBBER_RMW_8
#define ARCH_CLOBBER_FLAGS "cc"

/*
 * Operand constraints: rseq offset, bound and base; inputs by width (with or without immediates),
 * pointers, and pointers there may be too many of for registers; outputs by width, and one that
 * only ARCH_STORE_FOLLOWING uses; the number of attempts left; a handle.
 */
#define ARCH_C_RSEQ "r"
#define ARCH_C_BOUND "r"
#define ARCH_C_BASE "r"
#define ARCH_C_VALUE_1 "iq"
#define ARCH_C_VALUE_2 "ir"
#define ARCH_C_VALUE_4 "ir"
#define ARCH_C_VALUE_8 "er"
#define ARCH_C_IN_1 "q"
#define ARCH_C_IN_2 "r"
#define ARCH_C_IN_4 "r"
#define ARCH_C_IN_8 "r"
#define ARCH_C_IN_POINTER "r"
#define ARCH_C_FAR "rm"
#define ARCH_C_NEXT "=&r"
#define ARCH_C_OUT_1 "=&q"
#define ARCH_C_OUT_2 "=&r"
#define ARCH_C_OUT_4 "=&r"
#define ARCH_C_OUT_8 "=&r"
#define ARCH_C_BUDGET "+r"
#define ARCH_C_HANDLE(h) [handle] "r"(h), "m"(*(h))
#define ARCH_HANDLE_LOCALS(v) (void)(v)
#define ARCH_C_HANDLE_VALUE(v) [value] "er"(v)

/* Instruction suffix and operand modifier of each width. */
#define ARCH_SUFFIX_1 "b"
#define ARCH_SUFFIX_2 "w"
#define ARCH_SUFFIX_4 "l"
#define ARCH_SUFFIX_8 "q"
#define ARCH_OP_1(name) "%b[" name "]"
#define ARCH_OP_2(name) "%w[" name "]"
#define ARCH_OP_4(name) "%k[" name "]"
#define ARCH_OP_8(name) "%q[" name "]"

/* rseq_cs = the descriptor at local label cs. */
#define ARCH_ARM(cs)                                                                               \
	"leaq " cs "(%%rip), " ARCH_A "\n\t"                                                       \
	"movq " ARCH_A ", %%fs:8(%[rseq])\n\t"

/* The CPU number, once, and the one compare that chooses the side. */
#define ARCH_CPU(reg) "movl %%fs:4(%[rseq]), " reg "\n\t"
#define ARCH_LEAVE_UNLESS_BELOW(reg, bound, label)                                                 \
	"cmpl " bound ", " reg "\n\t"                                                              \
	"jae " label "\n\t"
#define ARCH_CPU_A "%%eax"
#define ARCH_SLOT "%k[slot]"

/* A (or B) = slot * stride + base. */
#define ARCH_SCALE_A "imulq $" PERCPU__STRIDE_TEXT ", " ARCH_A ", " ARCH_A "\n\t"
#define ARCH_SCALE_SLOT "imulq $" PERCPU__STRIDE_TEXT ", %q[slot], " ARCH_A "\n\t"
#define ARCH_ADD_BASE(base) "addq " base ", " ARCH_A "\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_HANDLE(label)                                                      \
	ARCH_LEAVE_UNLESS_BELOW(ARCH_CPU_A, "8(%[handle])", label)
#define ARCH_ADD_HANDLE_BASE "addq (%[handle]), " ARCH_A "\n\t"
#define ARCH_ADD_HANDLE_BASE_OR_LEAVE(label)                                                       \
	"movq (%[handle]), " ARCH_B "\n\t"                                                                \
	"testq " ARCH_B ", " ARCH_B "\n\t"                                                                \
	"jz " label "\n\t"                                                                                \
	"addq " ARCH_B ", " ARCH_A "\n\t"
#define ARCH_ADD_BASE_B(base)                                                                      \
	"movq " ARCH_A ", " ARCH_B "\n\t"                                                          \
	"addq " base ", " ARCH_B "\n\t"

/* What a read-modify-write does, as ARCH_RMW spells it. */
#define ARCH_DO_ADD "add"
#define ARCH_DO_AND "and"
#define ARCH_DO_OR "or"
/* Memory at A or B, to and from named operands. */
#define ARCH_RMW(op, w, val) op ARCH_SUFFIX_##w " " ARCH_OP_##w(val) ", (" ARCH_A ")\n\t"
#define ARCH_LOAD(w, dst) "mov" ARCH_SUFFIX_##w " (" ARCH_A "), " ARCH_OP_##w(dst) "\n\t"
#define ARCH_STORE(w, src) "mov" ARCH_SUFFIX_##w " " ARCH_OP_##w(src) ", (" ARCH_A ")\n\t"
#define ARCH_STORE_B(w, src, tmp) "mov" ARCH_SUFFIX_##w " " ARCH_OP_##w(src) ", (" ARCH_B ")\n\t"
#define ARCH_ADD(w, src, dst) "add" ARCH_SUFFIX_##w " " ARCH_OP_##w(src) ", " ARCH_OP_##w(dst) "\n\t"
#define ARCH_LEAVE_IF_NE(w, value, label)                                                          \
	"cmp" ARCH_SUFFIX_##w " " ARCH_OP_##w(value) ", (" ARCH_A ")\n\t"                          \
	"jne " label "\n\t"
#define ARCH_LEAVE_IF_NE_B(w, value, label)                                                        \
	"cmp" ARCH_SUFFIX_##w " " ARCH_OP_##w(value) ", (" ARCH_B ")\n\t"                          \
	"jne " label "\n\t"
#define ARCH_LEAVE_IF_REG_NE(w, value, reg, label)                                                 \
	"cmp" ARCH_SUFFIX_##w " " ARCH_OP_##w(value) ", " ARCH_OP_##w(reg) "\n\t"                  \
	"jne " label "\n\t"
#define ARCH_LEAVE_IF_NE_BY(w, value, tmp, label) ARCH_LEAVE_IF_NE(w, value, label)
#define ARCH_LEAVE_IF_POINTER_NE(value, tmp, label) ARCH_LEAVE_IF_NE(8, value, label)

#define ARCH_LOAD_POINTER(dst) ARCH_LOAD(8, dst)
#define ARCH_STORE_POINTER(src) ARCH_STORE(8, src)

/* A list's slot at A: is its second word 0? *A = *node; *node = tmp; *A = NULL. */
#define ARCH_LEAVE_UNLESS_BOTH_NULL(label)                                                         \
	"movq 8(" ARCH_A "), " ARCH_B "\n\t"                                                              \
	"orq (" ARCH_A "), " ARCH_B "\n\t"                                                                \
	"jnz " label "\n\t"
#define ARCH_LEAVE_IF_CLOSED(label)                                                                \
	"cmpq $0, 8(" ARCH_A ")\n\t"                                                               \
	"jne " label "\n\t"
#define ARCH_STORE_FOLLOWING(node, tmp)                                                            \
	"movq (%q[" node "]), %q[" tmp "]\n\t"                                                     \
	"movq %q[" tmp "], (" ARCH_A ")\n\t"
#define ARCH_STORE_NEXT(node, tmp) "movq %q[" tmp "], (%q[" node "])\n\t"
#define ARCH_STORE_NULL "movq $0, (" ARCH_A ")\n\t"

/* A list's or a stack's slot at A: B = its second word; compares with B, unsigned. */
#define ARCH_LOAD_SECOND_B "movq 8(" ARCH_A "), " ARCH_B "\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_B(reg, label)                                                      \
	"cmpq " ARCH_B ", %q[" reg "]\n\t"                                                         \
	"jae " label "\n\t"
#define ARCH_LEAVE_UNLESS_ABOVE_B(reg, label)                                                      \
	"cmpq " ARCH_B ", %q[" reg "]\n\t"                                                         \
	"jbe " label "\n\t"
#define ARCH_LEAVE_IF_ABOVE_B(reg, label)                                                          \
	"cmpq " ARCH_B ", %q[" reg "]\n\t"                                                         \
	"ja " label "\n\t"

/* A stack's slot at A: items behind its two words. */
#define ARCH_ADD_POINTER(reg) "addq $8, %q[" reg "]\n\t"
#define ARCH_SUBTRACT_POINTER(reg) "subq $8, %q[" reg "]\n\t"
#define ARCH_ADD_SIZE(reg, size) "addq %q[" size "], %q[" reg "]\n\t"
#define ARCH_SUBTRACT_SIZE(reg, size) "subq %q[" size "], %q[" reg "]\n\t"
#define ARCH_LOAD_ITEM(at, dst) "movq 16(" ARCH_A ",%q[" at "]), %q[" dst "]\n\t"
#define ARCH_STORE_ITEM(at, src) "movq %q[" src "], 16(" ARCH_A ",%q[" at "])\n\t"
#define ARCH_STORE_TOP(src) "movq %q[" src "], (" ARCH_A ")\n\t"
#define ARCH_ITEM(at) "leaq 16(" ARCH_A ",%q[" at "]), %q[" at "]\n\t"
#define ARCH_ITEM_B(at, less)                                                                      \
	"leaq 16(" ARCH_A ",%q[" at "]), " ARCH_B "\n\t"                                           \
	"subq %q[" less "], " ARCH_B "\n\t"

/* Copy to B: words until the ruler (from, or B) reaches words, then bytes until it reaches end. Two
 * words without a loop: a pair of values_pop and values_push takes an eighth less. */
#define ARCH_OP_POINTER(name) "%q[" name "]"
#define ARCH_MOVE(dst, src) "movq %q[" src "], %q[" dst "]\n\t"
#define ARCH_MOVE_B(src) "movq %q[" src "], " ARCH_B "\n\t"
#define ARCH_COPY(from, ruler, words, end, data)                                                   \
	"leaq 16(" ruler "), %q[" data "]\n\t"                                             \
	"cmpq %q[" end "], %q[" data "]\n\t"                                               \
	"jne 41f\n\t"                                                                      \
	"movq (%q[" from "]), %q[" data "]\n\t"                                            \
	"movq %q[" data "], (" ARCH_B ")\n\t"                                              \
	"movq 8(%q[" from "]), %q[" data "]\n\t"                                           \
	"movq %q[" data "], 8(" ARCH_B ")\n\t"                                             \
	"jmp 45f\n\t"                                                                      \
	"41:\n\t"                                                                          \
	"cmpq %q[" words "], " ruler "\n\t"                                                        \
	"je 43f\n\t"                                                                               \
	"42:\n\t"                                                                                  \
	"movq (%q[" from "]), %q[" data "]\n\t"                                                    \
	"movq %q[" data "], (" ARCH_B ")\n\t"                                                      \
	"addq $8, %q[" from "]\n\t"                                                                \
	"addq $8, " ARCH_B "\n\t"                                                                  \
	"cmpq %q[" words "], " ruler "\n\t"                                                        \
	"jne 42b\n\t"                                                                              \
	"43:\n\t"                                                                                  \
	"cmpq %q[" end "], " ruler "\n\t"                                                          \
	"je 45f\n\t"                                                                               \
	"44:\n\t"                                                                                  \
	"movb (%q[" from "]), %b[" data "]\n\t"                                                    \
	"movb %b[" data "], (" ARCH_B ")\n\t"                                                      \
	"incq %q[" from "]\n\t"                                                                    \
	"incq " ARCH_B "\n\t"                                                                      \
	"cmpq %q[" end "], " ruler "\n\t"                                                          \
	"jne 44b\n\t"                                                                              \
	"45:\n\t"

/* A pause inside a section that changes nothing but its counter (self-test, delay points). */
#define ARCH_DELAY(n)                                                                              \
	"46:\n\t"                                                                                  \
	"decq " n "\n\t"                                                                           \
	"jnz 46b\n\t"
/* The same for a long at an offset in a structure, which may be 0; in a register of its own
 * (PERCPU_INJECT). */
#define ARCH_CLOBBER_DELAY "r11",
#define ARCH_C_DELAYS(structure) "m"(structure)
#define ARCH_DELAY_OF(structure, offset)                                                           \
	"leaq " structure ", %%r11\n\t"                                                            \
	"movq " offset "(%%r11), %%r11\n\t"                                                        \
	"testq %%r11, %%r11\n\t"                                                                   \
	"jz 47f\n\t" ARCH_DELAY("%%r11") "47:\n\t"
#define ARCH_DELAY_OF_KEEPING_B(structure, offset) ARCH_DELAY_OF(structure, offset)

/* Commits of transactions. Before the range: the descriptor's address, where the next compares with
 * it, and to an operand; A and B from operands. */
#define ARCH_FIND_DESCRIPTOR(cs) "leaq " cs "(%%rip), " ARCH_A "\n\t"
#define ARCH_TELL_DESCRIPTOR(dst) "movq " ARCH_A ", %q[" dst "]\n\t"
#define ARCH_LEAVE_UNLESS_ARMED(label)                                                             \
	"cmpq " ARCH_A ", %%fs:8(%[rseq])\n\t"                                                     \
	"jne " label "\n\t"
#define ARCH_POINT_A(p) "movq " p ", " ARCH_A "\n\t"
#define ARCH_POINT_B(p) "movq " p ", " ARCH_B "\n\t"

/* Outside the range: leaving with an answer, spending one attempt, jumps. */
#define ARCH_JUMP(label) "jmp " label "\n\t"
#define ARCH_ANSWER(reg, code) "movl $" code ", %k[" reg "]\n\t"
#define ARCH_RETRY(again)                                                                          \
	"decl %k[left]\n\t"                                                                        \
	"jnz " again "\n\t"

/*
 * Where glibc's thread control block can stand in for an rseq area before the start: cpu_id is the
 * upper half of the random pointer guard, above any number of CPUs, and rseq_cs a word that nobody
 * has used for years.
 */
#define ARCH_GLIBC_STAND_IN 0x30

/* The thread pointer, and the two words of the area that lies at an offset from it. */
#define ARCH_THREAD_POINTER()                                                                      \
	__extension__({                                                                            \
		char *tp_;                                                                         \
		__asm__("movq %%fs:0, %0" : "=r"(tp_));                                            \
		tp_;                                                                               \
	})
#define ARCH_LOAD_CPU_ID(result, offset)                                                           \
	__asm__ volatile("movl %%fs:4(%1), %0" : "=r"(result) : "r"(offset))
#define ARCH_SET_CS(offset, cs)                                                                    \
	__asm__ volatile("movq %1, %%fs:8(%0)" : : "r"(offset), "r"(cs))
#define ARCH_LOAD_CS(result, offset)                                                               \
	__asm__ volatile("movq %%fs:8(%1), %0" : "=r"(result) : "r"(offset))
#define ARCH_CLEAR_CS(offset)                                                                      \
	__asm__ volatile("movq $0, %%fs:8(%0)" : : "r"(offset) : "memory")

/* clang-format on */

#include <percpu/arch/x86_local.h>

/* The baseline of every counter bench: one bare unlocked add of 1 to a 64-bit word. */
#define ARCH_PLAIN_INC(ptr) __asm__ volatile("addq $1, %0" : "+m"(*(ptr)) : : "cc")

#endif

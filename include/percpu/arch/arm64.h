/* SPDX-License-Identifier: MIT */
/*
 * arm64 (AArch64, both byte orders): the assembly snippets that sequences are made of.
 *
 * A read-modify-write is a load, the operation and a store, whose store is the commit: no LSE and no
 * exclusive access, with or without which the code is the same. The address of the thread's area
 * is formed outside, so that it stays in a register over a loop, as the stride does.
 *
 * A and B are x16 and x17, which a linker's veneer may change where a jump is longer than 128 MiB:
 * nothing is in them at the jumps out of a sequence. Conditional branches reach 1 MiB and get no
 * veneer, so they stay inside and jump over an unconditional one.
 *
 * The abort entry is no target of an indirect branch: the kernel returns there, with the branch type
 * of the instruction that was interrupted, and none in a range can be the first after such a branch.
 * So it needs no BTI, and pointer authentication has nothing to sign.
 */
#ifndef PERCPU_ARCH_ARM64_H
#define PERCPU_ARCH_ARM64_H

#if defined(__ILP32__)
#error "percpu: ILP32 is not supported; build for arm64 (-mabi=lp64)"
#endif

#define ARCH_NAME "arm64"
#define ARCH_HAVE_SEQ 1
#define ARCH_HAVE_SEQ_8 1
#define ARCH_ATOMIC_64 1
#define ARCH_LOADS_IN_ORDER 0
#define ARCH_INLINE_COUNTER 1
/* No single instruction adds to memory without being an atomic. */
#define ARCH_HAVE_LOCAL 0

/* Assembly text, an instruction a line: */
/* clang-format off */

/* The trap that precedes every abort entry: brk #0x45e0. Code is little-endian, data may not be. */
#define ARCH_SIGNATURE ".inst 0xd428bc00\n\t"
#if defined(__AARCH64EB__)
#define ARCH_RSEQ_SIG 0x00bc28d4
#else
#define ARCH_RSEQ_SIG 0xd428bc00
#endif

/* A pointer in a 64-bit field, as descriptors hold them. */
#define ARCH_PTR64(x) ".xword " x "\n\t"

#define ARCH_A "x16"
#define ARCH_B "x17"
#define ARCH_CLOBBER_A "x16"
#define ARCH_CLOBBER_B
#define ARCH_CLOBBER_DATA "x15", "x17",
#define ARCH_CLOBBER_RMW_8
#define ARCH_CLOBBER_FLAGS "cc"

/* Registers there are enough. %[rseq] is the address of the area. */
#define ARCH_C_RSEQ(offset)                                                                        \
	"r"(ARCH_THREAD_POINTER() + (offset)), [stride] "r"((long)PERCPU__STRIDE)
#define ARCH_C_BOUND "r"
#define ARCH_C_BASE "r"
#define ARCH_C_VALUE_1 "r"
#define ARCH_C_VALUE_2 "r"
#define ARCH_C_VALUE_4 "r"
#define ARCH_C_VALUE_8 "r"
#define ARCH_C_IN_1 "r"
#define ARCH_C_IN_2 "r"
#define ARCH_C_IN_4 "r"
#define ARCH_C_IN_8 "r"
#define ARCH_C_IN_POINTER "r"
#define ARCH_C_FAR "r"
#define ARCH_C_NEXT "=&r"
#define ARCH_C_OUT_1 "=&r"
#define ARCH_C_OUT_2 "=&r"
#define ARCH_C_OUT_4 "=&r"
#define ARCH_C_OUT_8 "=&r"
#define ARCH_C_BUDGET "+r"
#define ARCH_C_HANDLE(h) [handle] "r"(h), "m"(*(h))
#define ARCH_HANDLE_LOCALS(v) (void)(v)
#define ARCH_C_HANDLE_VALUE(v) [value] "r"(v)

/* By width: suffix of loads and stores, operands, the scratch register, and how a compare extends
 * its second operand, whose upper bits mean nothing. */
#define ARCH_SUFFIX_1 "b"
#define ARCH_SUFFIX_2 "h"
#define ARCH_SUFFIX_4 ""
#define ARCH_SUFFIX_8 ""
#define ARCH_OP_1(name) "%w[" name "]"
#define ARCH_OP_2(name) "%w[" name "]"
#define ARCH_OP_4(name) "%w[" name "]"
#define ARCH_OP_8(name) "%x[" name "]"
#define ARCH_DATA_1 "w15"
#define ARCH_DATA_2 "w15"
#define ARCH_DATA_4 "w15"
#define ARCH_DATA_8 "x15"
#define ARCH_EXTEND_1 ", uxtb"
#define ARCH_EXTEND_2 ", uxth"
#define ARCH_EXTEND_4
#define ARCH_EXTEND_8

/* Leaves unless the condition holds. */
#define ARCH_LEAVE_UNLESS(condition, label)                                                        \
	"b." condition " 41f\n\t"                                                                  \
	"b " label "\n\t"                                                                          \
	"41:\n\t"

/* rseq_cs = the descriptor at local label cs. */
#define ARCH_ARM(cs)                                                                               \
	ARCH_FIND_DESCRIPTOR(cs)                                                                   \
	"str x16, [%x[rseq], #8]\n\t"

/* The CPU number, once, and the one compare that chooses the side. */
#define ARCH_CPU(reg) "ldr " reg ", [%x[rseq], #4]\n\t"
#define ARCH_LEAVE_UNLESS_BELOW(reg, bound, label)                                                 \
	"cmp " reg ", %w[bound]\n\t"                                                              \
	ARCH_LEAVE_UNLESS("lo", label)
#define ARCH_LEAVE_UNLESS_BELOW_HANDLE(label)                                                      \
	"ldr w15, [%x[handle], #8]\n\t"                                                            \
	"cmp w16, w15\n\t"                                                                         \
	ARCH_LEAVE_UNLESS("lo", label)
#define ARCH_CPU_A "w16"
#define ARCH_SLOT "%w[slot]"

/* A (or B) = slot * stride + base: one instruction, when the base is known. */
#define ARCH_SCALE_A
#define ARCH_SCALE_SLOT "mov w16, %w[slot]\n\t"
#define ARCH_ADD_BASE(base) "madd x16, x16, %x[stride], " base "\n\t"
#define ARCH_ADD_BASE_B(base) "madd x17, x16, %x[stride], " base "\n\t"
#define ARCH_ADD_HANDLE_BASE                                                                       \
	"ldr x17, [%x[handle]]\n\t"                                                                \
	"madd x16, x16, %x[stride], x17\n\t"
#define ARCH_ADD_HANDLE_BASE_OR_LEAVE(label)                                                       \
	"ldr x17, [%x[handle]]\n\t"                                                                \
	"cbnz x17, 41f\n\t"                                                                        \
	"b " label "\n\t"                                                                          \
	"41:\n\t"                                                                                  \
	"madd x16, x16, %x[stride], x17\n\t"

/* What a read-modify-write does, as ARCH_RMW spells it. */
#define ARCH_DO_ADD "add"
#define ARCH_DO_AND "and"
#define ARCH_DO_OR "orr"
/* Memory at A or B, to and from named operands. */
#define ARCH_RMW(op, w, val)                                                                       \
	"ldr" ARCH_SUFFIX_##w " " ARCH_DATA_##w ", [x16]\n\t"                                      \
	op " " ARCH_DATA_##w ", " ARCH_DATA_##w ", " ARCH_OP_##w(val) "\n\t"                       \
	"str" ARCH_SUFFIX_##w " " ARCH_DATA_##w ", [x16]\n\t"
#define ARCH_LOAD(w, dst) "ldr" ARCH_SUFFIX_##w " " ARCH_OP_##w(dst) ", [x16]\n\t"
#define ARCH_STORE(w, src) "str" ARCH_SUFFIX_##w " " ARCH_OP_##w(src) ", [x16]\n\t"
#define ARCH_STORE_B(w, src, tmp) "str" ARCH_SUFFIX_##w " " ARCH_OP_##w(src) ", [x17]\n\t"
#define ARCH_ADD(w, src, dst)                                                                      \
	"add " ARCH_OP_##w(dst) ", " ARCH_OP_##w(dst) ", " ARCH_OP_##w(src) "\n\t"
#define ARCH_LEAVE_IF_DIFFERENT(w, reg, value, label)                                              \
	"cmp " reg ", " ARCH_OP_##w(value) ARCH_EXTEND_##w "\n\t"                                  \
	ARCH_LEAVE_UNLESS("eq", label)
#define ARCH_LEAVE_IF_NE(w, value, label)                                                          \
	"ldr" ARCH_SUFFIX_##w " " ARCH_DATA_##w ", [x16]\n\t"                                      \
	ARCH_LEAVE_IF_DIFFERENT(w, ARCH_DATA_##w, value, label)
#define ARCH_LEAVE_IF_NE_B(w, value, label)                                                        \
	"ldr" ARCH_SUFFIX_##w " " ARCH_DATA_##w ", [x17]\n\t"                                      \
	ARCH_LEAVE_IF_DIFFERENT(w, ARCH_DATA_##w, value, label)
/* reg has been loaded, so it is extended. */
#define ARCH_LEAVE_IF_REG_NE(w, value, reg, label)                                                 \
	ARCH_LEAVE_IF_DIFFERENT(w, ARCH_OP_##w(reg), value, label)
#define ARCH_LEAVE_IF_NE_BY(w, value, tmp, label) ARCH_LEAVE_IF_NE(w, value, label)
#define ARCH_LEAVE_IF_POINTER_NE(value, tmp, label) ARCH_LEAVE_IF_NE(8, value, label)

#define ARCH_LOAD_POINTER(dst) ARCH_LOAD(8, dst)
#define ARCH_STORE_POINTER(src) ARCH_STORE(8, src)

/* A lock's or a list's slot at A: are its two words 0, is its second? *A = *node; *node = tmp;
 * *A = NULL. */
#define ARCH_LEAVE_UNLESS_BOTH_NULL(label)                                                         \
	"ldp x17, x15, [x16]\n\t"                                                                  \
	"orr x17, x17, x15\n\t"                                                                    \
	"cbz x17, 41f\n\t"                                                                         \
	"b " label "\n\t"                                                                          \
	"41:\n\t"
#define ARCH_LEAVE_IF_CLOSED(label)                                                                \
	"ldr x15, [x16, #8]\n\t"                                                                   \
	"cbz x15, 41f\n\t"                                                                         \
	"b " label "\n\t"                                                                          \
	"41:\n\t"
#define ARCH_STORE_FOLLOWING(node, tmp)                                                            \
	"ldr %x[" tmp "], [%x[" node "]]\n\t"                                                      \
	"str %x[" tmp "], [x16]\n\t"
#define ARCH_STORE_NEXT(node, tmp) "str %x[" tmp "], [%x[" node "]]\n\t"
#define ARCH_STORE_NULL "str xzr, [x16]\n\t"

/* A list's or a stack's slot at A: B = its second word; compares with B, unsigned. */
#define ARCH_LOAD_SECOND_B "ldr x17, [x16, #8]\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_B(reg, label)                                                      \
	"cmp %x[" reg "], x17\n\t"                                                                 \
	ARCH_LEAVE_UNLESS("lo", label)
#define ARCH_LEAVE_UNLESS_ABOVE_B(reg, label)                                                      \
	"cmp %x[" reg "], x17\n\t"                                                                 \
	ARCH_LEAVE_UNLESS("hi", label)
#define ARCH_LEAVE_IF_ABOVE_B(reg, label)                                                          \
	"cmp %x[" reg "], x17\n\t"                                                                 \
	ARCH_LEAVE_UNLESS("ls", label)

/* A stack's slot at A: items behind its two words. */
#define ARCH_ADD_POINTER(reg) "add %x[" reg "], %x[" reg "], #8\n\t"
#define ARCH_SUBTRACT_POINTER(reg) "sub %x[" reg "], %x[" reg "], #8\n\t"
#define ARCH_ADD_SIZE(reg, size) "add %x[" reg "], %x[" reg "], %x[" size "]\n\t"
#define ARCH_SUBTRACT_SIZE(reg, size) "sub %x[" reg "], %x[" reg "], %x[" size "]\n\t"
#define ARCH_LOAD_ITEM(at, dst)                                                                    \
	"add x15, x16, %x[" at "]\n\t"                                                             \
	"ldr %x[" dst "], [x15, #16]\n\t"
#define ARCH_STORE_ITEM(at, src)                                                                   \
	"add x15, x16, %x[" at "]\n\t"                                                             \
	"str %x[" src "], [x15, #16]\n\t"
#define ARCH_STORE_TOP(src) ARCH_STORE(8, src)
#define ARCH_ITEM(at)                                                                              \
	"add %x[" at "], %x[" at "], x16\n\t"                                                      \
	"add %x[" at "], %x[" at "], #16\n\t"
#define ARCH_ITEM_B(at, less)                                                                      \
	"add x17, x16, %x[" at "]\n\t"                                                             \
	"sub x17, x17, %x[" less "]\n\t"                                                           \
	"add x17, x17, #16\n\t"

/* Copy to B: words until the ruler (from, or B) reaches words, then bytes until it reaches end. */
#define ARCH_OP_POINTER(name) "%x[" name "]"
#define ARCH_MOVE(dst, src) "mov %x[" dst "], %x[" src "]\n\t"
#define ARCH_MOVE_B(src) "mov x17, %x[" src "]\n\t"
#define ARCH_COPY(from, ruler, words, end, data)                                                   \
	"cmp " ruler ", %x[" words "]\n\t"                                                         \
	"b.eq 43f\n\t"                                                                             \
	"42:\n\t"                                                                                  \
	"ldr %x[" data "], [%x[" from "]], #8\n\t"                                                 \
	"str %x[" data "], [x17], #8\n\t"                                                          \
	"cmp " ruler ", %x[" words "]\n\t"                                                         \
	"b.ne 42b\n\t"                                                                             \
	"43:\n\t"                                                                                  \
	"cmp " ruler ", %x[" end "]\n\t"                                                           \
	"b.eq 45f\n\t"                                                                             \
	"44:\n\t"                                                                                  \
	"ldrb %w[" data "], [%x[" from "]], #1\n\t"                                                \
	"strb %w[" data "], [x17], #1\n\t"                                                         \
	"cmp " ruler ", %x[" end "]\n\t"                                                           \
	"b.ne 44b\n\t"                                                                             \
	"45:\n\t"

/* A pause inside a section that changes nothing but its counter (self-test, delay points). */
#define ARCH_DELAY(n)                                                                              \
	"46:\n\t"                                                                                  \
	"subs " n ", " n ", #1\n\t"                                                                \
	"b.ne 46b\n\t"
/* The same for a long at an offset in a structure, which may be 0; in a register of its own
 * (PERCPU_INJECT). */
#define ARCH_CLOBBER_DELAY "x14",
#define ARCH_C_DELAYS(structure) "r"(&(structure)), "m"(structure)
#define ARCH_DELAY_OF(structure, offset)                                                           \
	"ldr x14, [" structure ", #" offset "]\n\t"                                                \
	"cbz x14, 47f\n\t" ARCH_DELAY("x14") "47:\n\t"
#define ARCH_DELAY_OF_KEEPING_B(structure, offset) ARCH_DELAY_OF(structure, offset)

/* Commits of transactions. Before the range: the descriptor's address, where the next compares with
 * it, and to an operand; A and B from operands. */
#define ARCH_FIND_DESCRIPTOR(cs)                                                                   \
	"adrp x16, " cs "\n\t"                                                                     \
	"add x16, x16, :lo12:" cs "\n\t"
#define ARCH_TELL_DESCRIPTOR(dst) "mov %x[" dst "], x16\n\t"
#define ARCH_LEAVE_UNLESS_ARMED(label)                                                             \
	"ldr x17, [%x[rseq], #8]\n\t"                                                              \
	"cmp x17, x16\n\t"                                                                         \
	ARCH_LEAVE_UNLESS("eq", label)
#define ARCH_POINT_A(p) "mov x16, " p "\n\t"
#define ARCH_POINT_B(p) "mov x17, " p "\n\t"

/* Outside the range: leaving with an answer, spending one attempt, jumps. */
#define ARCH_JUMP(label) "b " label "\n\t"
#define ARCH_ANSWER(reg, code) "mov %w[" reg "], #" code "\n\t"
#define ARCH_RETRY(again)                                                                          \
	"subs %w[left], %w[left], #1\n\t"                                                          \
	"b.eq 41f\n\t"                                                                             \
	"b " again "\n\t"                                                                          \
	"41:\n\t"

/* The thread pointer, and the two words of the area that lies at an offset from it. */
#define ARCH_THREAD_POINTER() ((char *)__builtin_thread_pointer())
#define ARCH_LOAD_CPU_ID(result, offset)                                                           \
	__asm__ volatile("ldr %w0, [%1, #4]" : "=r"(result) : "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_SET_CS(offset, cs)                                                                    \
	__asm__ volatile("str %0, [%1, #8]" : : "r"(cs), "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_LOAD_CS(result, offset)                                                               \
	__asm__ volatile("ldr %0, [%1, #8]" : "=r"(result) : "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_CLEAR_CS(offset)                                                                      \
	__asm__ volatile("str xzr, [%0, #8]" : : "r"(ARCH_THREAD_POINTER() + (offset)) : "memory")

/* clang-format on */

/* The baseline of every counter bench: one bare unlocked add of 1 to a 64-bit word. */
#define ARCH_PLAIN_INC(ptr)                                                                        \
	do {                                                                                       \
		long inc_;                                                                         \
		__asm__ volatile("ldr %0, %1\n\tadd %0, %0, #1\n\tstr %0, %1"                      \
				 : "=&r"(inc_), "+m"(*(ptr)));                                     \
	} while (0)

#endif

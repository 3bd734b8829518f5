/* SPDX-License-Identifier: MIT */
/*
 * arm (32 bits, ARMv7-A and newer, ARM and Thumb-2 code): the assembly snippets that sequences are
 * made of.
 *
 * What each name must do is written in doc/porting.md; seq.h composes them. The address of the
 * thread's area is formed outside, so that it stays in a register over a loop. Far inputs stay
 * elsewhere: without optimisation there are 13 registers.
 *
 * Thumb code has no IT block in a sequence: the kernel aborts by a new program counter alone, and
 * the conditions that were left of a block would apply to the abort handler. For the same reason an
 * abort entry is code of the range's instruction set, and its address has no bit 0. Conditional
 * branches of Thumb reach 1 MiB, so they jump over one that reaches further. Veneers change ip, in
 * which nothing is at the jumps out of a sequence: it is A.
 *
 * Both halves of a counter are stored by strexd, the one 64-bit store that is whole on every ARMv7.
 * It may refuse; its answer is looked at behind the range.
 */
#ifndef PERCPU_ARCH_ARM_H
#define PERCPU_ARCH_ARM_H

#define ARCH_NAME "arm"
#define ARCH_HAVE_SEQ 1
#define ARCH_HAVE_SEQ_8 0
#define ARCH_ATOMIC_64 1
#define ARCH_LOADS_IN_ORDER 0
/* The 64-bit add takes many registers: a call into the library. */
#define ARCH_INLINE_COUNTER 0
/* No instruction adds to memory. */
#define ARCH_HAVE_LOCAL 0

/* Assembly text, an instruction a line: */
/* clang-format off */

/* The trap that precedes every abort entry: udf #0x5de3, in Thumb code udf #0xf3 and a branch that
 * nobody reaches. Code is little-endian, data may not be. */
#if defined(__thumb__)
#define ARCH_SIGNATURE ".inst.n 0xdef3\n\t.inst.n 0xe7f5\n\t"
#else
#define ARCH_SIGNATURE ".inst 0xe7f5def3\n\t"
#endif
/* The half of a 64-bit field that holds a pointer, a register that has the lower half of a number
 * that was loaded to r2 and r3, and how the halves of a 64-bit operand are numbered. */
#if defined(__ARMEB__)
#define ARCH_RSEQ_SIG 0xf3def5e7
#define ARCH_PTR64(x) ".long 0, " x "\n\t"
#define ARCH_CS "12"
#define ARCH_LOW "r3"
#define ARCH_HIGH "r2"
#define ARCH_LOW_HALF 1
#else
#define ARCH_RSEQ_SIG 0xe7f5def3
#define ARCH_PTR64(x) ".long " x ", 0\n\t"
#define ARCH_CS "8"
#define ARCH_LOW "r2"
#define ARCH_HIGH "r3"
#define ARCH_LOW_HALF 0
#endif

#define ARCH_A "ip"
#define ARCH_B "lr"
#define ARCH_CLOBBER_A "ip"
#define ARCH_CLOBBER_B
#define ARCH_CLOBBER_DATA "lr",
#define ARCH_CLOBBER_FLAGS "cc"
#define ARCH_CLOBBER_RMW_8 , "r2", "r3"

/* The area's address, not its offset. */
#define ARCH_C_RSEQ(offset) "r"(ARCH_THREAD_POINTER() + (offset))
#define ARCH_C_BOUND "r"
#define ARCH_C_BASE "r"
#define ARCH_C_VALUE_1 "r"
#define ARCH_C_VALUE_2 "r"
#define ARCH_C_VALUE_4 "r"
#define ARCH_C_IN_1 "r"
#define ARCH_C_IN_2 "r"
#define ARCH_C_IN_4 "r"
#define ARCH_C_IN_POINTER "r"
/* clang has a register for the address of each operand in memory, and would have none left. */
#if defined(__clang__) && defined(__ARM_FP)
#define ARCH_C_FAR "t"
#define ARCH_LOAD_FAR(reg, name) "vmov " reg ", %[" name "]\n\t"
#else
#define ARCH_C_FAR "m"
#define ARCH_LOAD_FAR(reg, name) "ldr " reg ", %[" name "]\n\t"
#endif
#define ARCH_C_NEXT "=&r"
#define ARCH_C_OUT_1 "=&r"
#define ARCH_C_OUT_2 "=&r"
#define ARCH_C_OUT_4 "=&r"
#define ARCH_C_BUDGET "+r"
#define ARCH_C_HANDLE(h) [handle] "r"(h), "m"(*(h))
/* The halves of a 64-bit value, each an operand. */
#define ARCH_HANDLE_LOCALS(v)                                                                      \
	const union {                                                                              \
		int64_t whole;                                                                     \
		uint32_t half[2];                                                                  \
	} parts = {v}
#define ARCH_C_HANDLE_VALUE(v)                                                                     \
	[value] "r"(parts.half[ARCH_LOW_HALF]), [high] "r"(parts.half[1 - ARCH_LOW_HALF])

#define ARCH_OP(name) "%[" name "]"
#define ARCH_OP_POINTER(name) ARCH_OP(name)

/* Jumps to other sections; how far ahead of an addition the program counter is read by it. */
#if defined(__thumb__)
#define ARCH_JUMP(label) "b.w " label "\n\t"
#define ARCH_JUMP_IF(condition, opposite, label)                                                   \
	"b" opposite " 41f\n\t"                                                                    \
	"b.w " label "\n\t"                                                                        \
	"41:\n\t"
#define ARCH_AHEAD "4"
#else
#define ARCH_JUMP(label) "b " label "\n\t"
#define ARCH_JUMP_IF(condition, opposite, label) "b" condition " " label "\n\t"
#define ARCH_AHEAD "8"
#endif
#define ARCH_JUMP_IF_EQUAL(label) ARCH_JUMP_IF("eq", "ne", label)
#define ARCH_JUMP_IF_UNEQUAL(label) ARCH_JUMP_IF("ne", "eq", label)

#define ARCH_ARM(cs)                                                                               \
	ARCH_FIND_DESCRIPTOR(cs)                                                                   \
	"str ip, [%[rseq], #" ARCH_CS "]\n\t"

#define ARCH_CPU(reg) "ldr " reg ", [%[rseq], #4]\n\t"
#define ARCH_LEAVE_UNLESS_BELOW(reg, bound, label)                                                 \
	"cmp " reg ", " bound "\n\t"                                                               \
	ARCH_JUMP_IF("hs", "lo", label)
#define ARCH_LEAVE_UNLESS_BELOW_HANDLE(label)                                                      \
	"ldr lr, [%[handle], #4]\n\t"                                                              \
	ARCH_LEAVE_UNLESS_BELOW("ip", "lr", label)
#define ARCH_CPU_A ARCH_A
#define ARCH_SLOT "%[slot]"

#define ARCH_SCALE(reg)                                                                            \
	"movw lr, #(" PERCPU__STRIDE_TEXT " & 0xffff)\n\t"                                         \
	"movt lr, #(" PERCPU__STRIDE_TEXT " >> 16)\n\t"                                            \
	"mul ip, " reg ", lr\n\t"
#define ARCH_SCALE_A ARCH_SCALE("ip")
#define ARCH_SCALE_SLOT ARCH_SCALE("%[slot]")
#define ARCH_ADD_BASE(base) "add ip, ip, " base "\n\t"
#define ARCH_ADD_BASE_B(base) "add lr, ip, " base "\n\t"
#define ARCH_ADD_HANDLE_BASE                                                                       \
	"ldr lr, [%[handle]]\n\t"                                                                  \
	"add ip, ip, lr\n\t"
#define ARCH_ADD_HANDLE_BASE_OR_LEAVE(label)                                                       \
	"ldr lr, [%[handle]]\n\t"                                                                  \
	"cmp lr, #0\n\t"                                                                           \
	ARCH_JUMP_IF_EQUAL(label)                                                                  \
	"add ip, ip, lr\n\t"

/* What a read-modify-write does, as ARCH_RMW spells it. */
#define ARCH_DO_ADD "add"
#define ARCH_DO_AND "and"
#define ARCH_DO_OR "orr"
#define ARCH_RMW(op, w, val) ARCH_RMW_##w(op, val)
#define ARCH_RMW_1(op, val) ARCH_RMW_NARROW(op, "b", val)
#define ARCH_RMW_2(op, val) ARCH_RMW_NARROW(op, "h", val)
#define ARCH_RMW_4(op, val) ARCH_RMW_NARROW(op, "", val)
#define ARCH_RMW_NARROW(op, suffix, val)                                                           \
	"ldr" suffix " lr, [ip]\n\t"                                                               \
	op " lr, lr, " ARCH_OP(val) "\n\t"                                                         \
	"str" suffix " lr, [ip]\n\t"
/* Additions only. */
#define ARCH_RMW_8(op, val)                                                                        \
	"ldrexd r2, r3, [ip]\n\t"                                                                  \
	"adds " ARCH_LOW ", " ARCH_LOW ", " ARCH_OP(val) "\n\t"                                    \
	"adc " ARCH_HIGH ", " ARCH_HIGH ", %[high]\n\t"                                            \
	"strexd lr, r2, r3, [ip]\n\t"
#define ARCH_LEAVE_UNLESS_STORED(w, label) ARCH_LEAVE_UNLESS_STORED_##w(label)
#define ARCH_LEAVE_UNLESS_STORED_1(label)
#define ARCH_LEAVE_UNLESS_STORED_2(label)
#define ARCH_LEAVE_UNLESS_STORED_4(label)
#define ARCH_LEAVE_UNLESS_STORED_8(label)                                                          \
	"cmp lr, #0\n\t"                                                                           \
	ARCH_JUMP_IF_UNEQUAL(label)

#define ARCH_SUFFIX_1 "b"
#define ARCH_SUFFIX_2 "h"
#define ARCH_SUFFIX_4 ""
/* Of narrow values the upper bits mean nothing: left is changed. */
#define ARCH_COMPARE_1(left, right) ARCH_COMPARE_NARROW(left, left, right, "24")
#define ARCH_COMPARE_2(left, right) ARCH_COMPARE_NARROW(left, left, right, "16")
#define ARCH_COMPARE_4(left, right) "cmp " left ", " right "\n\t"
#define ARCH_COMPARE_NARROW(tmp, left, right, bits)                                                \
	"eor " tmp ", " left ", " right "\n\t"                                                     \
	"lsls " tmp ", " tmp ", #" bits "\n\t"
#define ARCH_COMPARE_REGISTERS_1(left, right) ARCH_COMPARE_NARROW("lr", left, right, "24")
#define ARCH_COMPARE_REGISTERS_2(left, right) ARCH_COMPARE_NARROW("lr", left, right, "16")
#define ARCH_COMPARE_REGISTERS_4(left, right) ARCH_COMPARE_4(left, right)

#define ARCH_LOAD(w, dst) "ldr" ARCH_SUFFIX_##w " " ARCH_OP(dst) ", [ip]\n\t"
#define ARCH_STORE(w, src) "str" ARCH_SUFFIX_##w " " ARCH_OP(src) ", [ip]\n\t"
#define ARCH_STORE_B(w, src, tmp) "str" ARCH_SUFFIX_##w " " ARCH_OP(src) ", [lr]\n\t"
#define ARCH_ADD(w, src, dst) "add " ARCH_OP(dst) ", " ARCH_OP(dst) ", " ARCH_OP(src) "\n\t"
#define ARCH_LEAVE_IF_NE_AT(w, at, value, tmp, label)                                              \
	"ldr" ARCH_SUFFIX_##w " " tmp ", [" at "]\n\t"                                             \
	ARCH_COMPARE_##w(tmp, ARCH_OP(value))                                                      \
	ARCH_JUMP_IF_UNEQUAL(label)
#define ARCH_LEAVE_IF_NE(w, value, label) ARCH_LEAVE_IF_NE_AT(w, "ip", value, "lr", label)
#define ARCH_LEAVE_IF_NE_B(w, value, label) ARCH_LEAVE_IF_NE_AT(w, "lr", value, "lr", label)
#define ARCH_LEAVE_IF_NE_BY(w, value, tmp, label)                                                  \
	ARCH_LEAVE_IF_NE_AT(w, "ip", value, ARCH_OP(tmp), label)
#define ARCH_LEAVE_IF_REG_NE(w, value, reg, label)                                                 \
	ARCH_COMPARE_REGISTERS_##w(ARCH_OP(reg), ARCH_OP(value))                                   \
	ARCH_JUMP_IF_UNEQUAL(label)
#define ARCH_LEAVE_IF_POINTER_NE(value, tmp, label) ARCH_LEAVE_IF_NE_BY(4, value, tmp, label)
#define ARCH_LOAD_POINTER(dst) ARCH_LOAD(4, dst)
#define ARCH_STORE_POINTER(src) ARCH_STORE(4, src)

/* A list's or a lock's slot at A. */
#define ARCH_LEAVE_UNLESS_BOTH_NULL(label)                                                         \
	ARCH_LEAVE_IF_CLOSED(label)                                                                \
	"ldr lr, [ip]\n\t"                                                                         \
	"cmp lr, #0\n\t"                                                                           \
	ARCH_JUMP_IF_UNEQUAL(label)
#define ARCH_LEAVE_IF_CLOSED(label)                                                                \
	"ldr lr, [ip, #4]\n\t"                                                                     \
	"cmp lr, #0\n\t"                                                                           \
	ARCH_JUMP_IF_UNEQUAL(label)
#define ARCH_STORE_FOLLOWING(node, tmp)                                                            \
	"ldr " ARCH_OP(tmp) ", [" ARCH_OP(node) "]\n\t"                                            \
	"str " ARCH_OP(tmp) ", [ip]\n\t"
#define ARCH_STORE_NEXT(node, tmp) "str " ARCH_OP(tmp) ", [" ARCH_OP(node) "]\n\t"
#define ARCH_STORE_NULL                                                                            \
	"mov lr, #0\n\t"                                                                           \
	"str lr, [ip]\n\t"

/* A list's or a stack's slot at A: B = its second word; compares with B, unsigned. */
#define ARCH_LOAD_SECOND_B "ldr lr, [ip, #4]\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_B(reg, label)                                                      \
	"cmp " ARCH_OP(reg) ", lr\n\t"                                                             \
	ARCH_JUMP_IF("hs", "lo", label)
#define ARCH_LEAVE_UNLESS_ABOVE_B(reg, label)                                                      \
	"cmp " ARCH_OP(reg) ", lr\n\t"                                                             \
	ARCH_JUMP_IF("ls", "hi", label)
#define ARCH_LEAVE_IF_ABOVE_B(reg, label)                                                          \
	"cmp " ARCH_OP(reg) ", lr\n\t"                                                             \
	ARCH_JUMP_IF("hi", "ls", label)

/* A stack's slot at A: items behind its two words. A size in memory passes through the operand that
 * copies use later, and used before. */
#define ARCH_ADD_POINTER(reg) "add " ARCH_OP(reg) ", " ARCH_OP(reg) ", #4\n\t"
#define ARCH_SUBTRACT_POINTER(reg) "sub " ARCH_OP(reg) ", " ARCH_OP(reg) ", #4\n\t"
#define ARCH_ADD_SIZE(reg, size)                                                                   \
	ARCH_LOAD_FAR("%[data]", size)                                                                \
	"add " ARCH_OP(reg) ", " ARCH_OP(reg) ", %[data]\n\t"
#define ARCH_SUBTRACT_SIZE(reg, size)                                                              \
	ARCH_LOAD_FAR("%[data]", size)                                                                \
	"sub " ARCH_OP(reg) ", " ARCH_OP(reg) ", %[data]\n\t"
#define ARCH_LOAD_ITEM(at, dst)                                                                    \
	"add " ARCH_OP(dst) ", ip, " ARCH_OP(at) "\n\t"                                            \
	"ldr " ARCH_OP(dst) ", [" ARCH_OP(dst) ", #8]\n\t"
#define ARCH_STORE_ITEM(at, src)                                                                   \
	"add lr, ip, " ARCH_OP(at) "\n\t"                                                          \
	"str " ARCH_OP(src) ", [lr, #8]\n\t"
#define ARCH_STORE_TOP(src) ARCH_STORE(4, src)
#define ARCH_ITEM(at)                                                                              \
	"add " ARCH_OP(at) ", ip, " ARCH_OP(at) "\n\t"                                             \
	"add " ARCH_OP(at) ", " ARCH_OP(at) ", #8\n\t"
#define ARCH_ITEM_B(at, less)                                                                      \
	ARCH_LOAD_FAR("%[data]", less)                                                       \
	"add lr, ip, " ARCH_OP(at) "\n\t"                                                          \
	"sub lr, lr, %[data]\n\t"                                                                  \
	"add lr, lr, #8\n\t"

/* Copy to B: words until the ruler (from, or B) reaches words, then bytes until it reaches end. */
#define ARCH_MOVE(dst, src) ARCH_LOAD_FAR(ARCH_OP(dst), src)
#define ARCH_MOVE_B(src) ARCH_LOAD_FAR("lr", src)
#define ARCH_COPY(from, ruler, words, end, data)                                                   \
	ARCH_LOAD_FAR(ARCH_OP(data), words)                                            \
	"cmp " ruler ", " ARCH_OP(data) "\n\t"                                                     \
	"beq 43f\n\t"                                                                              \
	"42:\n\t"                                                                                  \
	"ldr " ARCH_OP(data) ", [" ARCH_OP(from) "]\n\t"                                           \
	"str " ARCH_OP(data) ", [lr]\n\t"                                                          \
	"add " ARCH_OP(from) ", " ARCH_OP(from) ", #4\n\t"                                         \
	"add lr, lr, #4\n\t"                                                                       \
	ARCH_LOAD_FAR(ARCH_OP(data), words)                                            \
	"cmp " ruler ", " ARCH_OP(data) "\n\t"                                                     \
	"bne 42b\n\t"                                                                              \
	"43:\n\t"                                                                                  \
	ARCH_LOAD_FAR(ARCH_OP(data), end)                                              \
	"cmp " ruler ", " ARCH_OP(data) "\n\t"                                                     \
	"beq 45f\n\t"                                                                              \
	"44:\n\t"                                                                                  \
	"ldrb " ARCH_OP(data) ", [" ARCH_OP(from) "]\n\t"                                          \
	"strb " ARCH_OP(data) ", [lr]\n\t"                                                         \
	"add " ARCH_OP(from) ", " ARCH_OP(from) ", #1\n\t"                                         \
	"add lr, lr, #1\n\t"                                                                       \
	ARCH_LOAD_FAR(ARCH_OP(data), end)                                              \
	"cmp " ruler ", " ARCH_OP(data) "\n\t"                                                     \
	"bne 44b\n\t"                                                                              \
	"45:\n\t"

/* A pause that changes nothing but its counter; and of a long at an offset in a structure, which may
 * be 0 (PERCPU_INJECT), in B: where that is in use there is none. */
#define ARCH_DELAY(n)                                                                              \
	"46:\n\t"                                                                                  \
	"subs " n ", " n ", #1\n\t"                                                                \
	"bne 46b\n\t"
#define ARCH_CLOBBER_DELAY
#define ARCH_C_DELAYS(structure) "r"(&(structure)), "m"(structure)
#define ARCH_DELAY_OF(structure, offset)                                                           \
	"ldr lr, [" structure ", #" offset "]\n\t"                                                 \
	"cmp lr, #0\n\t"                                                                           \
	"beq 47f\n\t" ARCH_DELAY("lr") "47:\n\t"
#define ARCH_DELAY_OF_KEEPING_B(structure, offset)

/* Commits of transactions. */
#define ARCH_FIND_DESCRIPTOR(cs)                                                                   \
	"movw ip, #:lower16:(" cs " - (40f + " ARCH_AHEAD "))\n\t"                                 \
	"movt ip, #:upper16:(" cs " - (40f + " ARCH_AHEAD "))\n\t"                                 \
	"40:\n\t"                                                                                  \
	"add ip, ip, pc\n\t"
#define ARCH_TELL_DESCRIPTOR(dst) "mov " ARCH_OP(dst) ", ip\n\t"
#define ARCH_LEAVE_UNLESS_ARMED(label)                                                             \
	"ldr lr, [%[rseq], #" ARCH_CS "]\n\t"                                                      \
	"cmp lr, ip\n\t"                                                                           \
	ARCH_JUMP_IF_UNEQUAL(label)
#define ARCH_POINT_A(p) "mov ip, " p "\n\t"
#define ARCH_POINT_B(p) "mov lr, " p "\n\t"

/* Outside the range. */
#define ARCH_ANSWER(reg, code) "mov " ARCH_OP(reg) ", #" code "\n\t"
#define ARCH_RETRY(again)                                                                          \
	"subs %[left], %[left], #1\n\t"                                                            \
	ARCH_JUMP_IF_UNEQUAL(again)

/*
 * Where glibc's thread control block can stand in for an rseq area before the start: cpu_id is a
 * pointer, above any number of CPUs, and rseq_cs a word that nobody uses.
 */
#if !defined(__ARMEB__)
#define ARCH_GLIBC_STAND_IN (-4)
#endif

#define ARCH_THREAD_POINTER()                                                                      \
	__extension__({                                                                            \
		char *tp_;                                                                         \
		__asm__("mrc p15, 0, %0, c13, c0, 3" : "=r"(tp_));                                 \
		tp_;                                                                               \
	})
#define ARCH_LOAD_CPU_ID(result, offset)                                                           \
	__asm__ volatile("ldr %0, [%1, #4]"                                                        \
			 : "=r"(result)                                                            \
			 : "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_SET_CS(offset, cs)                                                                    \
	__asm__ volatile("str %0, [%1, #" ARCH_CS "]"                                              \
			 :                                                                         \
			 : "r"(cs), "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_LOAD_CS(result, offset)                                                               \
	__asm__ volatile("ldr %0, [%1, #" ARCH_CS "]"                                              \
			 : "=r"(result)                                                            \
			 : "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_CLEAR_CS(offset)                                                                      \
	__asm__ volatile("str %0, [%1, #" ARCH_CS "]"                                              \
			 :                                                                         \
			 : "r"(0), "r"(ARCH_THREAD_POINTER() + (offset))                           \
			 : "memory")

/* clang-format on */

/* The baseline of every counter bench, as near to one unlocked add as C comes. */
#define ARCH_PLAIN_INC(ptr)                                                                        \
	do {                                                                                       \
		volatile __typeof__(*(ptr)) *inc_ = (ptr);                                         \
		*inc_ = *inc_ + 1;                                                                 \
	} while (0)

#endif

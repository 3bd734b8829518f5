/* SPDX-License-Identifier: MIT */
/*
 * riscv64 (with M, with C or without): the assembly snippets that sequences are made of.
 *
 * A read-modify-write is a load, the operation and a store, whose store is the commit. The address
 * of the thread's area is formed outside, so that it stays in a register over a loop, as the stride
 * does.
 *
 * Conditional branches reach 4 KiB, so they stay inside and jump over a pair of instructions that
 * reaches 2 GiB, or over what the linker makes of that when the target is near. The pair needs a
 * register. It is t2, by which one may jump without a landing pad (Zicfilp). A, B and t2 are t0 to t2.
 */
#ifndef PERCPU_ARCH_RISCV64_H
#define PERCPU_ARCH_RISCV64_H

#define ARCH_NAME "riscv64"
#define ARCH_HAVE_SEQ 1
#define ARCH_HAVE_SEQ_8 1
#define ARCH_ATOMIC_64 1
#define ARCH_LOADS_IN_ORDER 0
#define ARCH_INLINE_COUNTER 1
/* No single instruction adds to memory without being an atomic. */
#define ARCH_HAVE_LOCAL 0

/* Assembly text, an instruction a line: */
/* clang-format off */

/* The trap that precedes every abort entry: csrw mhartid, zero, which no mode can execute. Aligned,
 * so that the kernel reads it at once where instructions may have 2 bytes. */
#define ARCH_RSEQ_SIG 0xf1401073
#define ARCH_SIGNATURE ".balign 4\n\t.4byte 0xf1401073\n\t"

/* A pointer in a 64-bit field, as descriptors hold them. */
#define ARCH_PTR64(x) ".dword " x "\n\t"

#define ARCH_A "t0"
#define ARCH_B "t1"
#define ARCH_CLOBBER_A "t0"
#define ARCH_CLOBBER_B
#define ARCH_CLOBBER_DATA "t1", "t2",
#define ARCH_CLOBBER_RMW_8
#define ARCH_CLOBBER_FLAGS "cc"

/* Registers there are enough. %[rseq] is the address of the area; the bound has 64 bits, because of
 * an operand with 32 the upper ones mean nothing. */
#define ARCH_C_RSEQ(offset)                                                                        \
	"r"(ARCH_THREAD_POINTER() + (offset)), [stride] "r"((long)PERCPU__STRIDE)
#define ARCH_C_BOUND(bound) "r"((unsigned long)(bound))
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

#define ARCH_OP_POINTER(name) "%[" name "]"

/* By width: loads, stores, additions, and the difference of two words as what is 0 if they are
 * equal, whatever is above them in their registers. */
#define ARCH_LOADS_1 "lbu "
#define ARCH_LOADS_2 "lhu "
#define ARCH_LOADS_4 "lw "
#define ARCH_LOADS_8 "ld "
#define ARCH_STORES_1 "sb "
#define ARCH_STORES_2 "sh "
#define ARCH_STORES_4 "sw "
#define ARCH_STORES_8 "sd "
#define ARCH_ADDS_1 "addw "
#define ARCH_ADDS_2 "addw "
#define ARCH_ADDS_4 "addw "
#define ARCH_ADDS_8 "add "
#define ARCH_DIFFER_1(reg, value) "xor t2, " reg ", " value "\n\tslli t2, t2, 56\n\t"
#define ARCH_DIFFER_2(reg, value) "xor t2, " reg ", " value "\n\tslli t2, t2, 48\n\t"
#define ARCH_DIFFER_4(reg, value) "subw t2, " reg ", " value "\n\t"
#define ARCH_DIFFER_8(reg, value) "sub t2, " reg ", " value "\n\t"

/* Leaves unless a branch of this name, with these operands, is taken. */
#define ARCH_LEAVE_UNLESS(branch, operands, label)                                                 \
	branch " " operands ", 41f\n\t"                                                            \
	ARCH_JUMP(label)                                                                           \
	"41:\n\t"

/* rseq_cs = the descriptor at local label cs. */
#define ARCH_ARM(cs)                                                                               \
	ARCH_FIND_DESCRIPTOR(cs)                                                                   \
	"sd t0, 8(%[rseq])\n\t"

/* The CPU number, once, and the one compare that chooses the side. */
#define ARCH_CPU(reg) "lwu " reg ", 4(%[rseq])\n\t"
#define ARCH_LEAVE_UNLESS_BELOW(reg, bound, label)                                                 \
	ARCH_LEAVE_UNLESS("bltu", reg ", " bound, label)
#define ARCH_LEAVE_UNLESS_BELOW_HANDLE(label)                                                      \
	"lwu t1, 8(%[handle])\n\t"                                                                 \
	ARCH_LEAVE_UNLESS("bltu", "t0, t1", label)
#define ARCH_CPU_A "t0"
#define ARCH_SLOT "%[slot]"

/* A (or B) = slot * stride + base. */
#define ARCH_SCALE_A "mul t0, t0, %[stride]\n\t"
#define ARCH_SCALE_SLOT "mul t0, %[slot], %[stride]\n\t"
#define ARCH_ADD_BASE(base) "add t0, t0, " base "\n\t"
#define ARCH_ADD_BASE_B(base) "add t1, t0, " base "\n\t"
#define ARCH_ADD_HANDLE_BASE                                                                       \
	"ld t1, 0(%[handle])\n\t"                                                                  \
	"add t0, t0, t1\n\t"
#define ARCH_ADD_HANDLE_BASE_OR_LEAVE(label)                                                       \
	"ld t1, 0(%[handle])\n\t"                                                                  \
	ARCH_LEAVE_UNLESS("bnez", "t1", label)                                                     \
	"add t0, t0, t1\n\t"

/* What a read-modify-write does, as ARCH_RMW spells it. */
#define ARCH_DO_ADD "add"
#define ARCH_DO_AND "and"
#define ARCH_DO_OR "or"
/* Memory at A or B, to and from named operands. */
#define ARCH_RMW(op, w, val)                                                                       \
	ARCH_LOADS_##w "t2, 0(t0)\n\t"                                                             \
	op " t2, t2, %[" val "]\n\t"                                                               \
	ARCH_STORES_##w "t2, 0(t0)\n\t"
#define ARCH_LOAD(w, dst) ARCH_LOADS_##w "%[" dst "], 0(t0)\n\t"
#define ARCH_STORE(w, src) ARCH_STORES_##w "%[" src "], 0(t0)\n\t"
#define ARCH_STORE_B(w, src, tmp) ARCH_STORES_##w "%[" src "], 0(t1)\n\t"
#define ARCH_ADD(w, src, dst) ARCH_ADDS_##w "%[" dst "], %[" dst "], %[" src "]\n\t"
#define ARCH_LEAVE_IF_NE(w, value, label)                                                          \
	ARCH_LOADS_##w "t2, 0(t0)\n\t"                                                             \
	ARCH_DIFFER_##w("t2", "%[" value "]")                                                      \
	ARCH_LEAVE_UNLESS("beqz", "t2", label)
#define ARCH_LEAVE_IF_NE_B(w, value, label)                                                        \
	ARCH_LOADS_##w "t2, 0(t1)\n\t"                                                             \
	ARCH_DIFFER_##w("t2", "%[" value "]")                                                      \
	ARCH_LEAVE_UNLESS("beqz", "t2", label)
#define ARCH_LEAVE_IF_REG_NE(w, value, reg, label)                                                 \
	ARCH_DIFFER_##w("%[" reg "]", "%[" value "]")                                              \
	ARCH_LEAVE_UNLESS("beqz", "t2", label)
#define ARCH_LEAVE_IF_NE_BY(w, value, tmp, label) ARCH_LEAVE_IF_NE(w, value, label)
#define ARCH_LEAVE_IF_POINTER_NE(value, tmp, label) ARCH_LEAVE_IF_NE(8, value, label)

#define ARCH_LOAD_POINTER(dst) ARCH_LOAD(8, dst)
#define ARCH_STORE_POINTER(src) ARCH_STORE(8, src)

/* A lock's or a list's slot at A: are its two words 0, is its second? *A = *node; *node = tmp;
 * *A = NULL. */
#define ARCH_LEAVE_UNLESS_BOTH_NULL(label)                                                         \
	"ld t1, 0(t0)\n\t"                                                                         \
	"ld t2, 8(t0)\n\t"                                                                         \
	"or t1, t1, t2\n\t"                                                                        \
	ARCH_LEAVE_UNLESS("beqz", "t1", label)
#define ARCH_LEAVE_IF_CLOSED(label)                                                                \
	"ld t2, 8(t0)\n\t"                                                                         \
	ARCH_LEAVE_UNLESS("beqz", "t2", label)
#define ARCH_STORE_FOLLOWING(node, tmp)                                                            \
	"ld %[" tmp "], 0(%[" node "])\n\t"                                                        \
	"sd %[" tmp "], 0(t0)\n\t"
#define ARCH_STORE_NEXT(node, tmp) "sd %[" tmp "], 0(%[" node "])\n\t"
#define ARCH_STORE_NULL "sd zero, 0(t0)\n\t"

/* A list's or a stack's slot at A: B = its second word; compares with B, unsigned. */
#define ARCH_LOAD_SECOND_B "ld t1, 8(t0)\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_B(reg, label)                                                      \
	ARCH_LEAVE_UNLESS("bltu", "%[" reg "], t1", label)
#define ARCH_LEAVE_UNLESS_ABOVE_B(reg, label)                                                      \
	ARCH_LEAVE_UNLESS("bltu", "t1, %[" reg "]", label)
#define ARCH_LEAVE_IF_ABOVE_B(reg, label)                                                          \
	ARCH_LEAVE_UNLESS("bgeu", "t1, %[" reg "]", label)

/* A stack's slot at A: items behind its two words. */
#define ARCH_ADD_POINTER(reg) "addi %[" reg "], %[" reg "], 8\n\t"
#define ARCH_SUBTRACT_POINTER(reg) "addi %[" reg "], %[" reg "], -8\n\t"
#define ARCH_ADD_SIZE(reg, size) "add %[" reg "], %[" reg "], %[" size "]\n\t"
#define ARCH_SUBTRACT_SIZE(reg, size) "sub %[" reg "], %[" reg "], %[" size "]\n\t"
#define ARCH_LOAD_ITEM(at, dst)                                                                    \
	"add t2, t0, %[" at "]\n\t"                                                                \
	"ld %[" dst "], 16(t2)\n\t"
#define ARCH_STORE_ITEM(at, src)                                                                   \
	"add t2, t0, %[" at "]\n\t"                                                                \
	"sd %[" src "], 16(t2)\n\t"
#define ARCH_STORE_TOP(src) ARCH_STORE(8, src)
#define ARCH_ITEM(at)                                                                              \
	"add %[" at "], %[" at "], t0\n\t"                                                         \
	"addi %[" at "], %[" at "], 16\n\t"
#define ARCH_ITEM_B(at, less)                                                                      \
	"add t1, t0, %[" at "]\n\t"                                                                \
	"sub t1, t1, %[" less "]\n\t"                                                              \
	"addi t1, t1, 16\n\t"

/* Copy to B: words until the ruler (from, or B) reaches words, then bytes until it reaches end. */
#define ARCH_MOVE(dst, src) "mv %[" dst "], %[" src "]\n\t"
#define ARCH_MOVE_B(src) "mv t1, %[" src "]\n\t"
#define ARCH_COPY(from, ruler, words, end, data)                                                   \
	"beq " ruler ", %[" words "], 43f\n\t"                                                     \
	"42:\n\t"                                                                                  \
	"ld %[" data "], 0(%[" from "])\n\t"                                                       \
	"sd %[" data "], 0(t1)\n\t"                                                                \
	"addi %[" from "], %[" from "], 8\n\t"                                                     \
	"addi t1, t1, 8\n\t"                                                                       \
	"bne " ruler ", %[" words "], 42b\n\t"                                                     \
	"43:\n\t"                                                                                  \
	"beq " ruler ", %[" end "], 45f\n\t"                                                       \
	"44:\n\t"                                                                                  \
	"lbu %[" data "], 0(%[" from "])\n\t"                                                      \
	"sb %[" data "], 0(t1)\n\t"                                                                \
	"addi %[" from "], %[" from "], 1\n\t"                                                     \
	"addi t1, t1, 1\n\t"                                                                       \
	"bne " ruler ", %[" end "], 44b\n\t"                                                       \
	"45:\n\t"

/* A pause inside a section that changes nothing but its counter (self-test, delay points). */
#define ARCH_DELAY(n)                                                                              \
	"46:\n\t"                                                                                  \
	"addi " n ", " n ", -1\n\t"                                                                \
	"bnez " n ", 46b\n\t"
/* The same for a long at an offset in a structure, which may be 0; in a register of its own
 * (PERCPU_INJECT). */
#define ARCH_CLOBBER_DELAY "t3",
#define ARCH_C_DELAYS(structure) "r"(&(structure)), "m"(structure)
#define ARCH_DELAY_OF(structure, offset)                                                           \
	"addi t3, " structure ", " offset "\n\t"                                                   \
	"ld t3, 0(t3)\n\t"                                                                         \
	"beqz t3, 47f\n\t" ARCH_DELAY("t3") "47:\n\t"
#define ARCH_DELAY_OF_KEEPING_B(structure, offset) ARCH_DELAY_OF(structure, offset)

/* Commits of transactions. Before the range: the descriptor's address, where the next compares with
 * it, and to an operand; A and B from operands. */
#define ARCH_FIND_DESCRIPTOR(cs) "lla t0, " cs "\n\t"
#define ARCH_TELL_DESCRIPTOR(dst) "mv %[" dst "], t0\n\t"
#define ARCH_LEAVE_UNLESS_ARMED(label)                                                             \
	"ld t1, 8(%[rseq])\n\t"                                                                    \
	ARCH_LEAVE_UNLESS("beq", "t1, t0", label)
#define ARCH_POINT_A(p) "mv t0, " p "\n\t"
#define ARCH_POINT_B(p) "mv t1, " p "\n\t"

/* Leaving from anywhere, with an answer, and spending one attempt. */
#define ARCH_JUMP(label) "jump " label ", t2\n\t"
#define ARCH_ANSWER(reg, code) "li %[" reg "], " code "\n\t"
#define ARCH_RETRY(again)                                                                          \
	"addiw %[left], %[left], -1\n\t"                                                           \
	ARCH_LEAVE_UNLESS("beqz", "%[left]", again)

/*
 * Where glibc's two words in front of the thread pointer can stand in for an rseq area before the
 * start: rseq_cs is the second, which nobody uses, cpu_id the upper half of the first, a pointer.
 */
#define ARCH_GLIBC_STAND_IN (-16)

/* The thread pointer, and the two words of the area that lies at an offset from it. */
#define ARCH_THREAD_POINTER() ((char *)__builtin_thread_pointer())
#define ARCH_LOAD_CPU_ID(result, offset)                                                           \
	__asm__ volatile("lw %0, 4(%1)" : "=r"(result) : "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_SET_CS(offset, cs)                                                                    \
	__asm__ volatile("sd %0, 8(%1)" : : "r"(cs), "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_LOAD_CS(result, offset)                                                               \
	__asm__ volatile("ld %0, 8(%1)" : "=r"(result) : "r"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_CLEAR_CS(offset)                                                                      \
	__asm__ volatile("sd zero, 8(%0)" : : "r"(ARCH_THREAD_POINTER() + (offset)) : "memory")

/* clang-format on */

/* The baseline of every counter bench: one bare unlocked add of 1 to a 64-bit word. */
#define ARCH_PLAIN_INC(ptr)                                                                        \
	do {                                                                                       \
		long inc_;                                                                         \
		__asm__ volatile("ld %0, %1\n\taddi %0, %0, 1\n\tsd %0, %1"                        \
				 : "=&r"(inc_), "+m"(*(ptr)));                                     \
	} while (0)

#endif

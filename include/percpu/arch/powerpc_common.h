/* SPDX-License-Identifier: MIT */
/*
 * What ppc64.h and ppc32.h share: the snippets, over the names of instructions that differ by the
 * size of a pointer. Those files define before
 *
 *	ARCH_TP              the thread pointer's register, as text
 *	ARCH_P_LOAD, _LOADX, ARCH_P_STORE, _STOREX
 *	ARCH_P_COMPARE       of unsigned registers; ARCH_P_COMPARE_I with an immediate
 *	ARCH_P_MULTIPLY
 *	ARCH_P_1, ARCH_P_2   one and two sizes of a pointer, as text
 *	ARCH_CS              where in the area the half of rseq_cs is that holds a pointer
 *	ARCH_ADDRESS_A(cs)   A = the address of a local label
 *
 * A and B are r9 and r10. r0 is for values, r12 for one more address; r0, r12 and CTR are also what a
 * linker's stub may change where a branch reaches farther than 32 MiB. Register 0 as a base means
 * no register at all; being a clobber, it is nobody's operand. A conditional branch reaches 32 KiB
 * and is never sent through a stub, so it stays inside and jumps over an unconditional one.
 *
 * No snippet is a barrier: see "Order" and "PowerPC" in doc/porting.md.
 */
#ifndef PERCPU_ARCH_POWERPC_COMMON_H
#define PERCPU_ARCH_POWERPC_COMMON_H

#define ARCH_HAVE_SEQ 1
#define ARCH_LOADS_IN_ORDER 0
/* lwarx and stwcx. without a barrier are what relaxed atomics are made of. */
#define ARCH_HAVE_LOCAL 0

/* Assembly text, an instruction a line: */
/* clang-format off */

/* The trap that precedes every abort entry: twui r5, 11. */
#define ARCH_RSEQ_SIG 0x0fe5000b
#define ARCH_SIGNATURE ".long 0x0fe5000b\n\t"

#define ARCH_A "9"
#define ARCH_B "10"
#define ARCH_CLOBBER_A "r9"
#define ARCH_CLOBBER_B "r10",
#define ARCH_CLOBBER_DATA "r0", "r12", "ctr", ARCH_CLOBBER_LINK
#define ARCH_CLOBBER_FLAGS "cr0"

/*
 * The thread pointer stays in its register, so that no address of one thread's area is kept where a
 * body of code goes on in another thread (coroutines); two offsets take the place of that address.
 */
#define ARCH_C_RSEQ(offset)                                                                        \
	"r"((offset) + ARCH_CS), [cpu_id] "r"((offset) + 4), [stride] "r"((long)PERCPU__STRIDE)
#define ARCH_C_BOUND "r"
#define ARCH_C_BASE "r"
#define ARCH_C_VALUE_1 "r"
#define ARCH_C_VALUE_2 "r"
#define ARCH_C_VALUE_4 "r"
#define ARCH_C_IN_1 "r"
#define ARCH_C_IN_2 "r"
#define ARCH_C_IN_4 "r"
#define ARCH_C_IN_POINTER "r"
#define ARCH_C_FAR "r"
#define ARCH_C_NEXT "=&r"
#define ARCH_C_OUT_1 "=&r"
#define ARCH_C_OUT_2 "=&r"
#define ARCH_C_OUT_4 "=&r"
#define ARCH_C_BUDGET "+r"
#define ARCH_C_HANDLE(h) [handle] "b"(h), "m"(*(h))

/* Suffix of loads and of stores, of each width. Loads extend with zeros. */
#define ARCH_LOAD_1 "lbz"
#define ARCH_LOAD_2 "lhz"
#define ARCH_LOAD_4 "lwz"
#define ARCH_LOAD_8 "ld"
#define ARCH_STORE_1 "stb"
#define ARCH_STORE_2 "sth"
#define ARCH_STORE_4 "stw"
#define ARCH_STORE_8 "std"
/* Is r0 equal to an operand, in as many bytes? Sets CR0, and changes r0. */
#define ARCH_COMPARE_1(name) "xor 0,0,%[" name "]\n\tandi. 0,0,0xff\n\t"
#define ARCH_COMPARE_2(name) "xor 0,0,%[" name "]\n\tandi. 0,0,0xffff\n\t"
#define ARCH_COMPARE_4(name) "cmplw 0,%[" name "]\n\t"
#define ARCH_COMPARE_8(name) "cmpld 0,%[" name "]\n\t"

/* Goes on if the condition holds, else far away. */
#define ARCH_STAY_IF(condition, label)                                                             \
	"b" condition "+ 40f\n\t"                                                                  \
	"b " label "\n\t"                                                                          \
	"40:\n\t"

#define ARCH_ARM(cs) ARCH_ADDRESS_A(cs) ARCH_P_STOREX " " ARCH_A "," ARCH_TP ",%[rseq]\n\t"

#define ARCH_CPU(reg) "lwzx " reg "," ARCH_TP ",%[cpu_id]\n\t"
#define ARCH_LEAVE_UNLESS_BELOW(reg, bound, label)                                                 \
	"cmplw " reg "," bound "\n\t"                                                              \
	ARCH_STAY_IF("lt", label)
#define ARCH_CPU_A ARCH_A
#define ARCH_SLOT "%[slot]"
#define ARCH_LEAVE_UNLESS_BELOW_HANDLE(label)                                                      \
	"lwz 0," ARCH_P_1 "(%[handle])\n\t"                                                        \
	ARCH_LEAVE_UNLESS_BELOW(ARCH_A, "0", label)

#define ARCH_SCALE_A ARCH_P_MULTIPLY " " ARCH_A "," ARCH_A ",%[stride]\n\t"
#define ARCH_SCALE_SLOT ARCH_P_MULTIPLY " " ARCH_A ",%[slot],%[stride]\n\t"
#define ARCH_ADD_BASE(base) "add " ARCH_A "," ARCH_A "," base "\n\t"
#define ARCH_ADD_BASE_B(base) "add " ARCH_B "," ARCH_A "," base "\n\t"
#define ARCH_ADD_HANDLE_BASE                                                                       \
	ARCH_P_LOAD " 0,0(%[handle])\n\t"                                                          \
	"add " ARCH_A "," ARCH_A ",0\n\t"
#define ARCH_ADD_HANDLE_BASE_OR_LEAVE(label)                                                       \
	ARCH_P_LOAD " 0,0(%[handle])\n\t"                                                          \
	ARCH_P_COMPARE_I " 0,0\n\t"                                                                \
	ARCH_STAY_IF("ne", label)                                                                  \
	"add " ARCH_A "," ARCH_A ",0\n\t"

/* What a read-modify-write does, as ARCH_RMW spells it. */
#define ARCH_DO_ADD "add"
#define ARCH_DO_AND "and"
#define ARCH_DO_OR "or"
#define ARCH_RMW(op, w, val)                                                                       \
	ARCH_LOAD_##w " 0,0(" ARCH_A ")\n\t"                                                       \
	op " 0,0,%[" val "]\n\t"                                                                   \
	ARCH_STORE_##w " 0,0(" ARCH_A ")\n\t"
#define ARCH_LOAD(w, dst) ARCH_LOAD_##w " %[" dst "],0(" ARCH_A ")\n\t"
#define ARCH_STORE(w, src) ARCH_STORE_##w " %[" src "],0(" ARCH_A ")\n\t"
#define ARCH_STORE_B(w, src, tmp) ARCH_STORE_##w " %[" src "],0(" ARCH_B ")\n\t"
#define ARCH_ADD(w, src, dst) "add %[" dst "],%[" dst "],%[" src "]\n\t"
#define ARCH_LEAVE_IF_NE(w, value, label)                                                          \
	ARCH_LOAD_##w " 0,0(" ARCH_A ")\n\t"                                                       \
	ARCH_COMPARE_##w(value)                                                                    \
	ARCH_STAY_IF("eq", label)
#define ARCH_LEAVE_IF_NE_B(w, value, label)                                                        \
	ARCH_LOAD_##w " 0,0(" ARCH_B ")\n\t"                                                       \
	ARCH_COMPARE_##w(value)                                                                    \
	ARCH_STAY_IF("eq", label)
#define ARCH_LEAVE_IF_REG_NE(w, value, reg, label)                                                 \
	"mr 0,%[" reg "]\n\t"                                                                      \
	ARCH_COMPARE_##w(value)                                                                    \
	ARCH_STAY_IF("eq", label)
#define ARCH_LEAVE_IF_NE_BY(w, value, tmp, label) ARCH_LEAVE_IF_NE(w, value, label)

/* Pointers at A: of lists and stacks the second word says whether they are closed. */
#define ARCH_LOAD_POINTER(dst) ARCH_P_LOAD " %[" dst "],0(" ARCH_A ")\n\t"
#define ARCH_STORE_POINTER(src) ARCH_P_STORE " %[" src "],0(" ARCH_A ")\n\t"
#define ARCH_LEAVE_IF_POINTER_NE(value, tmp, label)                                                \
	ARCH_P_LOAD " 0,0(" ARCH_A ")\n\t"                                                         \
	ARCH_P_COMPARE " 0,%[" value "]\n\t"                                                       \
	ARCH_STAY_IF("eq", label)
#define ARCH_LEAVE_UNLESS_BOTH_NULL(label)                                                         \
	ARCH_P_LOAD " " ARCH_B "," ARCH_P_1 "(" ARCH_A ")\n\t"                                     \
	ARCH_P_LOAD " 0,0(" ARCH_A ")\n\t"                                                         \
	"or. 0,0," ARCH_B "\n\t"                                                                   \
	ARCH_STAY_IF("eq", label)
#define ARCH_LEAVE_IF_CLOSED(label)                                                                \
	ARCH_P_LOAD " 0," ARCH_P_1 "(" ARCH_A ")\n\t"                                              \
	ARCH_P_COMPARE_I " 0,0\n\t"                                                                \
	ARCH_STAY_IF("eq", label)
#define ARCH_STORE_FOLLOWING(node, tmp)                                                            \
	ARCH_P_LOAD " %[" tmp "],0(%[" node "])\n\t"                                               \
	ARCH_P_STORE " %[" tmp "],0(" ARCH_A ")\n\t"
#define ARCH_STORE_NEXT(node, tmp) ARCH_P_STORE " %[" tmp "],0(%[" node "])\n\t"
#define ARCH_STORE_NULL                                                                            \
	"li 0,0\n\t"                                                                               \
	ARCH_P_STORE " 0,0(" ARCH_A ")\n\t"

#define ARCH_LOAD_SECOND_B ARCH_P_LOAD " " ARCH_B "," ARCH_P_1 "(" ARCH_A ")\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_B(reg, label)                                                      \
	ARCH_P_COMPARE " %[" reg "]," ARCH_B "\n\t"                                                \
	ARCH_STAY_IF("lt", label)
#define ARCH_LEAVE_UNLESS_ABOVE_B(reg, label)                                                      \
	ARCH_P_COMPARE " %[" reg "]," ARCH_B "\n\t"                                                \
	ARCH_STAY_IF("gt", label)
#define ARCH_LEAVE_IF_ABOVE_B(reg, label)                                                          \
	ARCH_P_COMPARE " %[" reg "]," ARCH_B "\n\t"                                                \
	ARCH_STAY_IF("le", label)

/* A stack's slot at A: items behind its two words. */
#define ARCH_ADD_POINTER(reg) "addi %[" reg "],%[" reg "]," ARCH_P_1 "\n\t"
#define ARCH_SUBTRACT_POINTER(reg) "addi %[" reg "],%[" reg "],-" ARCH_P_1 "\n\t"
#define ARCH_ADD_SIZE(reg, size) "add %[" reg "],%[" reg "],%[" size "]\n\t"
#define ARCH_SUBTRACT_SIZE(reg, size) "subf %[" reg "],%[" size "],%[" reg "]\n\t"
#define ARCH_LOAD_ITEM(at, dst)                                                                    \
	"addi 12," ARCH_A "," ARCH_P_2 "\n\t"                                                      \
	ARCH_P_LOADX " %[" dst "],12,%[" at "]\n\t"
#define ARCH_STORE_ITEM(at, src)                                                                   \
	"addi 12," ARCH_A "," ARCH_P_2 "\n\t"                                                      \
	ARCH_P_STOREX " %[" src "],12,%[" at "]\n\t"
#define ARCH_STORE_TOP(src) ARCH_STORE_POINTER(src)
#define ARCH_ITEM(at)                                                                              \
	"addi %[" at "],%[" at "]," ARCH_P_2 "\n\t"                                                \
	"add %[" at "],%[" at "]," ARCH_A "\n\t"
#define ARCH_ITEM_B(at, less)                                                                      \
	"addi " ARCH_B "," ARCH_A "," ARCH_P_2 "\n\t"                                              \
	"add " ARCH_B "," ARCH_B ",%[" at "]\n\t"                                                  \
	"subf " ARCH_B ",%[" less "]," ARCH_B "\n\t"

/* Copy to B: words until the ruler (from, or B) reaches words, then bytes until it reaches end. */
#define ARCH_OP_POINTER(name) "%[" name "]"
#define ARCH_MOVE(dst, src) "mr %[" dst "],%[" src "]\n\t"
#define ARCH_MOVE_B(src) "mr " ARCH_B ",%[" src "]\n\t"
#define ARCH_COPY_UNTIL(end, load, store, size, from, ruler, data)                                 \
	ARCH_P_COMPARE " " ruler ",%[" end "]\n\t"                                                 \
	"beq 43f\n\t"                                                                              \
	"42:\n\t"                                                                                  \
	load " %[" data "],0(%[" from "])\n\t"                                                     \
	store " %[" data "],0(" ARCH_B ")\n\t"                                                     \
	"addi %[" from "],%[" from "]," size "\n\t"                                                \
	"addi " ARCH_B "," ARCH_B "," size "\n\t"                                                  \
	ARCH_P_COMPARE " " ruler ",%[" end "]\n\t"                                                 \
	"bne 42b\n\t"                                                                              \
	"43:\n\t"
#define ARCH_COPY(from, ruler, words, end, data)                                                   \
	ARCH_COPY_UNTIL(words, ARCH_P_LOAD, ARCH_P_STORE, ARCH_P_1, from, ruler, data)             \
	ARCH_COPY_UNTIL(end, "lbz", "stb", "1", from, ruler, data)

/* A pause inside a section that changes nothing but its counter (self-test, delay points). */
#define ARCH_DELAY(n)                                                                              \
	"mtctr " n "\n\t"                                                                          \
	"46:\n\t"                                                                                  \
	"bdnz 46b\n\t"
/* The same for a long at an offset in a structure, which may be 0 (PERCPU_INJECT). */
#define ARCH_CLOBBER_DELAY
#define ARCH_C_DELAYS(structure) "b"(&(structure)), "m"(structure)
#define ARCH_DELAY_OF(structure, offset)                                                           \
	ARCH_P_LOAD " 0," offset "(" structure ")\n\t"                                             \
	ARCH_P_COMPARE_I " 0,0\n\t"                                                                \
	"beq 47f\n\t" ARCH_DELAY("0") "47:\n\t"
#define ARCH_DELAY_OF_KEEPING_B(structure, offset) ARCH_DELAY_OF(structure, offset)

/* Commits of transactions. */
#define ARCH_FIND_DESCRIPTOR(cs) ARCH_ADDRESS_A(cs)
#define ARCH_TELL_DESCRIPTOR(dst) "mr %[" dst "]," ARCH_A "\n\t"
#define ARCH_LEAVE_UNLESS_ARMED(label)                                                             \
	ARCH_P_LOADX " 0," ARCH_TP ",%[rseq]\n\t"                                                  \
	ARCH_P_COMPARE " 0," ARCH_A "\n\t"                                                         \
	ARCH_STAY_IF("eq", label)
#define ARCH_POINT_A(p) "mr " ARCH_A "," p "\n\t"
#define ARCH_POINT_B(p) "mr " ARCH_B "," p "\n\t"

/* Outside the range: leaving with an answer, spending one attempt, jumps. */
#define ARCH_JUMP(label) "b " label "\n\t"
#define ARCH_ANSWER(reg, code) "li %[" reg "]," code "\n\t"
#define ARCH_RETRY(again)                                                                          \
	"addi %[left],%[left],-1\n\t"                                                              \
	"cmpwi %[left],0\n\t"                                                                      \
	ARCH_STAY_IF("eq", again)

/* The thread pointer, and the two words of the area that lies at an offset from it. */
#define ARCH_THREAD_POINTER()                                                                      \
	__extension__({                                                                            \
		char *tp_;                                                                         \
		__asm__("mr %0," ARCH_TP : "=r"(tp_));                                             \
		tp_;                                                                               \
	})
#define ARCH_LOAD_CPU_ID(result, offset)                                                           \
	__asm__ volatile("lwzx %0," ARCH_TP ",%1" : "=r"(result) : "r"((offset) + 4))
#define ARCH_SET_CS(offset, cs)                                                                    \
	__asm__ volatile(ARCH_P_STOREX " %1," ARCH_TP ",%0" : : "r"((offset) + ARCH_CS), "r"(cs))
#define ARCH_LOAD_CS(result, offset)                                                               \
	__asm__ volatile(ARCH_P_LOADX " %0," ARCH_TP ",%1"                                         \
			 : "=r"(result)                                                            \
			 : "r"((offset) + ARCH_CS))
#define ARCH_CLEAR_CS(offset)                                                                      \
	__asm__ volatile(ARCH_P_STOREX " %1," ARCH_TP ",%0"                                        \
			 :                                                                         \
			 : "r"((offset) + ARCH_CS), "r"(0L)                                        \
			 : "memory")

/* clang-format on */

/* The baseline of every counter bench: one bare unlocked add of 1 to a long. */
#define ARCH_PLAIN_INC(ptr)                                                                        \
	do {                                                                                       \
		volatile __typeof__(*(ptr)) *inc_ = (ptr);                                         \
		*inc_ = *inc_ + 1;                                                                 \
	} while (0)

#endif

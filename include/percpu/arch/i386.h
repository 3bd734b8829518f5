/* SPDX-License-Identifier: MIT */
/*
 * i386: the assembly snippets that sequences are made of.
 *
 * Seven registers, one of them the frame's and one the global offset table's: inputs stay in memory
 * and pass through B, so that every sequence assembles at -O0 -fPIC too. The descriptor's address
 * is found from the program counter, before the range begins. Pointers in 64-bit fields have their
 * upper half zero; rseq_cs's upper half is never written and zero since registration.
 */
#ifndef PERCPU_ARCH_I386_H
#define PERCPU_ARCH_I386_H

#define ARCH_NAME "i386"
#define ARCH_HAVE_SEQ 1
#define ARCH_HAVE_SEQ_8 0
/* cmpxchg8b, whatever a compiler says of a type that is aligned to 4 here. */
#define ARCH_ATOMIC_64 1
#define ARCH_LOADS_IN_ORDER 1
/* The 64-bit add below needs five registers: a call into the library. */
#define ARCH_INLINE_COUNTER 0

#define ARCH_RSEQ_SIG 0x53053053
#define ARCH_SIGNATURE ".byte 0x0f, 0xb9, 0x3d\n\t.long 0x53053053\n\t"
#define ARCH_PTR64(x) ".long " x ", 0\n\t"

/* Assembly text, an instruction a line: */
/* clang-format off */

#define ARCH_A "%%eax"
#define ARCH_B "%%ecx"
#define ARCH_CLOBBER_A "eax"
#define ARCH_CLOBBER_B
#define ARCH_CLOBBER_DATA "ecx",
#define ARCH_CLOBBER_FLAGS "cc"
#define ARCH_CLOBBER_RMW_8 , "ebx", "edx", "esi"

#define ARCH_C_RSEQ "m"
#define ARCH_C_BOUND "m"
#define ARCH_C_BASE "m"
#define ARCH_C_VALUE_1 "m"
#define ARCH_C_VALUE_2 "m"
#define ARCH_C_VALUE_4 "m"
#define ARCH_C_IN_1 "m"
#define ARCH_C_IN_2 "m"
#define ARCH_C_IN_4 "m"
#define ARCH_C_IN_POINTER "m"
#define ARCH_C_FAR "m"
#define ARCH_C_NEXT "=m"
#define ARCH_C_OUT_1 "=&q"
#define ARCH_C_OUT_2 "=&r"
#define ARCH_C_OUT_4 "=&r"
#define ARCH_C_BUDGET "+m"
#define ARCH_C_HANDLE(h) [handle] "D"(h)
/* The halves of a 64-bit value, each an operand. */
#define ARCH_HANDLE_LOCALS(v)                                                                      \
	const union {                                                                              \
		int64_t whole;                                                                     \
		uint32_t half[2];                                                                  \
	} parts = {v}
#define ARCH_ON_THE_STACK(variable) __asm__("" : "+m"(variable))
#define ARCH_C_HANDLE_VALUE(v) [value] "m"(parts.half[0]), [high] "m"(parts.half[1])

#define ARCH_SUFFIX_1 "b"
#define ARCH_SUFFIX_2 "w"
#define ARCH_SUFFIX_4 "l"
#define ARCH_OP_1(name) "%b[" name "]"
#define ARCH_OP_2(name) "%w[" name "]"
#define ARCH_OP_4(name) "%k[" name "]"
#define ARCH_DATA_1 "%%cl"
#define ARCH_DATA_2 "%%cx"
#define ARCH_DATA_4 "%%ecx"

#define ARCH_ARM(cs)                                                                               \
	"call 40f\n\t"                                                                             \
	"40:\n\t"                                                                                  \
	"popl " ARCH_B "\n\t"                                                                      \
	"leal (" cs " - 40b)(" ARCH_B "), " ARCH_B "\n\t"                                          \
	"movl %[rseq], " ARCH_A "\n\t"                                                             \
	"movl " ARCH_B ", %%gs:8(" ARCH_A ")\n\t"

#define ARCH_CPU(reg)                                                                              \
	"movl %[rseq], " ARCH_A "\n\t"                                                             \
	"movl %%gs:4(" ARCH_A "), " reg "\n\t"
#define ARCH_LEAVE_UNLESS_BELOW(reg, bound, label)                                                 \
	"cmpl " bound ", " reg "\n\t"                                                              \
	"jae " label "\n\t"
#define ARCH_CPU_A "%%eax"
#define ARCH_SLOT "%[slot]"

#define ARCH_SCALE_A "imull $" PERCPU__STRIDE_TEXT ", " ARCH_A ", " ARCH_A "\n\t"
#define ARCH_SCALE_SLOT "imull $" PERCPU__STRIDE_TEXT ", %[slot], " ARCH_A "\n\t"
#define ARCH_ADD_BASE(base) "addl " base ", " ARCH_A "\n\t"
#define ARCH_ADD_BASE_B(base)                                                                      \
	"movl " ARCH_A ", " ARCH_B "\n\t"                                                          \
	"addl " base ", " ARCH_B "\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_HANDLE(label)                                                      \
	ARCH_LEAVE_UNLESS_BELOW(ARCH_CPU_A, "4(%[handle])", label)
#define ARCH_ADD_HANDLE_BASE "addl (%[handle]), " ARCH_A "\n\t"
#define ARCH_ADD_HANDLE_BASE_OR_LEAVE(label)                                                       \
	"movl (%[handle]), " ARCH_B "\n\t"                                                                \
	"testl " ARCH_B ", " ARCH_B "\n\t"                                                                \
	"jz " label "\n\t"                                                                                \
	"addl " ARCH_B ", " ARCH_A "\n\t"

/* What a read-modify-write does, as ARCH_RMW spells it. */
#define ARCH_DO_ADD "add"
#define ARCH_DO_AND "and"
#define ARCH_DO_OR "or"
#define ARCH_RMW(op, w, val) ARCH_RMW_##w(op, w, val)
#define ARCH_RMW_1(op, w, val)                                                                     \
	"movb %[" val "], %%cl\n\t" op "b %%cl, (" ARCH_A ")\n\t"
#define ARCH_RMW_2(op, w, val)                                                                     \
	"movw %[" val "], %%cx\n\t" op "w %%cx, (" ARCH_A ")\n\t"
#define ARCH_RMW_4(op, w, val)                                                                     \
	"movl %[" val "], %%ecx\n\t" op "l %%ecx, (" ARCH_A ")\n\t"
/* Additions only. The one 64-bit store of this CPU is the compare-exchange; it cannot miss. */
#define ARCH_RMW_8(op, w, val)                                                                     \
	"movl " ARCH_A ", %%esi\n\t"                                                               \
	"movl (%%esi), %%eax\n\t"                                                                  \
	"movl 4(%%esi), %%edx\n\t"                                                                 \
	"movl %%eax, %%ebx\n\t"                                                                    \
	"movl %%edx, %%ecx\n\t"                                                                    \
	"addl %[" val "], %%ebx\n\t"                                                               \
	"adcl %[high], %%ecx\n\t"                                                                  \
	"cmpxchg8b (%%esi)\n\t"

#define ARCH_LOAD(w, dst) "mov" ARCH_SUFFIX_##w " (" ARCH_A "), " ARCH_OP_##w(dst) "\n\t"
#define ARCH_STORE(w, src)                                                                         \
	"mov" ARCH_SUFFIX_##w " " ARCH_OP_##w(src) ", " ARCH_DATA_##w "\n\t"                       \
	"mov" ARCH_SUFFIX_##w " " ARCH_DATA_##w ", (" ARCH_A ")\n\t"
#define ARCH_STORE_B(w, src, tmp)                                                                  \
	"mov" ARCH_SUFFIX_##w " %[" src "], " ARCH_OP_##w(tmp) "\n\t"                              \
	"mov" ARCH_SUFFIX_##w " " ARCH_OP_##w(tmp) ", (" ARCH_B ")\n\t"
#define ARCH_ADD(w, src, dst) "add" ARCH_SUFFIX_##w " %[" src "], " ARCH_OP_##w(dst) "\n\t"
/* The values compared pass through B, which no longer holds an address then. */
#define ARCH_LEAVE_IF_NE(w, value, label)                                                          \
	"mov" ARCH_SUFFIX_##w " %[" value "], " ARCH_DATA_##w "\n\t"                               \
	"cmp" ARCH_SUFFIX_##w " " ARCH_DATA_##w ", (" ARCH_A ")\n\t"                               \
	"jne " label "\n\t"
#define ARCH_LEAVE_IF_NE_B(w, value, label)                                                        \
	"mov" ARCH_SUFFIX_##w " (" ARCH_B "), " ARCH_DATA_##w "\n\t"                               \
	"cmp" ARCH_SUFFIX_##w " %[" value "], " ARCH_DATA_##w "\n\t"                               \
	"jne " label "\n\t"
#define ARCH_LEAVE_IF_REG_NE(w, value, reg, label)                                                 \
	"cmp" ARCH_SUFFIX_##w " %[" value "], " ARCH_OP_##w(reg) "\n\t"                            \
	"jne " label "\n\t"
#define ARCH_LEAVE_IF_NE_BY(w, value, tmp, label)                                                  \
	"mov" ARCH_SUFFIX_##w " (" ARCH_A "), " ARCH_OP_##w(tmp) "\n\t"                            \
	"cmp" ARCH_SUFFIX_##w " %[" value "], " ARCH_OP_##w(tmp) "\n\t"                            \
	"jne " label "\n\t"
#define ARCH_LEAVE_IF_POINTER_NE(value, tmp, label) ARCH_LEAVE_IF_NE_BY(4, value, tmp, label)
#define ARCH_LOAD_POINTER(dst) ARCH_LOAD(4, dst)
#define ARCH_STORE_POINTER(src) ARCH_STORE(4, src)

#define ARCH_LEAVE_UNLESS_BOTH_NULL(label)                                                         \
	"movl 4(" ARCH_A "), " ARCH_B "\n\t"                                                              \
	"orl (" ARCH_A "), " ARCH_B "\n\t"                                                                \
	"jnz " label "\n\t"
#define ARCH_LEAVE_IF_CLOSED(label)                                                                \
	"cmpl $0, 4(" ARCH_A ")\n\t"                                                               \
	"jne " label "\n\t"
#define ARCH_STORE_FOLLOWING(node, tmp)                                                            \
	"movl (%[" node "]), " ARCH_B "\n\t"                                                       \
	"movl " ARCH_B ", (" ARCH_A ")\n\t"
#define ARCH_STORE_NEXT(node, tmp)                                                                 \
	"movl %[" node "], " ARCH_B "\n\t"                                                         \
	"movl %[" tmp "], (" ARCH_B ")\n\t"
#define ARCH_STORE_NULL "movl $0, (" ARCH_A ")\n\t"

#define ARCH_LOAD_SECOND_B "movl 4(" ARCH_A "), " ARCH_B "\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_B(reg, label)                                                      \
	"cmpl " ARCH_B ", %[" reg "]\n\t"                                                          \
	"jae " label "\n\t"
#define ARCH_LEAVE_UNLESS_ABOVE_B(reg, label)                                                      \
	"cmpl " ARCH_B ", %[" reg "]\n\t"                                                          \
	"jbe " label "\n\t"
#define ARCH_LEAVE_IF_ABOVE_B(reg, label)                                                          \
	"cmpl " ARCH_B ", %[" reg "]\n\t"                                                          \
	"ja " label "\n\t"
#define ARCH_ADD_POINTER(reg) "addl $4, %[" reg "]\n\t"
#define ARCH_SUBTRACT_POINTER(reg) "subl $4, %[" reg "]\n\t"
#define ARCH_ADD_SIZE(reg, size) "addl %[" size "], %[" reg "]\n\t"
#define ARCH_SUBTRACT_SIZE(reg, size) "subl %[" size "], %[" reg "]\n\t"
#define ARCH_LOAD_ITEM(at, dst) "movl 8(" ARCH_A ",%[" at "]), %[" dst "]\n\t"
#define ARCH_STORE_ITEM(at, src)                                                                   \
	"movl %[" src "], " ARCH_B "\n\t"                                                          \
	"movl " ARCH_B ", 8(" ARCH_A ",%[" at "])\n\t"
#define ARCH_STORE_TOP(src) "movl %[" src "], (" ARCH_A ")\n\t"
#define ARCH_ITEM(at) "leal 8(" ARCH_A ",%[" at "]), %[" at "]\n\t"
#define ARCH_ITEM_B(at, less)                                                                      \
	"leal 8(" ARCH_A ",%[" at "]), " ARCH_B "\n\t"                                             \
	"subl %[" less "], " ARCH_B "\n\t"

#define ARCH_OP_POINTER(name) "%[" name "]"
#define ARCH_MOVE(dst, src) "movl %[" src "], %[" dst "]\n\t"
#define ARCH_MOVE_B(src) "movl %[" src "], " ARCH_B "\n\t"
#define ARCH_COPY(from, ruler, words, end, data)                                                   \
	"cmpl %[" words "], " ruler "\n\t"                                                         \
	"je 43f\n\t"                                                                               \
	"42:\n\t"                                                                                  \
	"movl (%[" from "]), %k[" data "]\n\t"                                                     \
	"movl %k[" data "], (" ARCH_B ")\n\t"                                                      \
	"addl $4, %[" from "]\n\t"                                                                 \
	"addl $4, " ARCH_B "\n\t"                                                                  \
	"cmpl %[" words "], " ruler "\n\t"                                                         \
	"jne 42b\n\t"                                                                              \
	"43:\n\t"                                                                                  \
	"cmpl %[" end "], " ruler "\n\t"                                                           \
	"je 45f\n\t"                                                                               \
	"44:\n\t"                                                                                  \
	"movb (%[" from "]), %b[" data "]\n\t"                                                     \
	"movb %b[" data "], (" ARCH_B ")\n\t"                                                      \
	"incl %[" from "]\n\t"                                                                     \
	"incl " ARCH_B "\n\t"                                                                      \
	"cmpl %[" end "], " ruler "\n\t"                                                           \
	"jne 44b\n\t"                                                                              \
	"45:\n\t"

#define ARCH_DELAY(n)                                                                              \
	"46:\n\t"                                                                                  \
	"decl " n "\n\t"                                                                           \
	"jnz 46b\n\t"
/* The same for a long at an offset in a structure, which may be 0; in B (PERCPU_INJECT). Where B is
 * in use there is no register left, and no delay. */
#define ARCH_CLOBBER_DELAY
#define ARCH_C_DELAYS(structure) "m"(structure)
#define ARCH_DELAY_OF(structure, offset)                                                           \
	"leal " structure ", " ARCH_B "\n\t"                                                       \
	"movl " offset "(" ARCH_B "), " ARCH_B "\n\t"                                              \
	"testl " ARCH_B ", " ARCH_B "\n\t"                                                         \
	"jz 47f\n\t" ARCH_DELAY(ARCH_B) "47:\n\t"
#define ARCH_DELAY_OF_KEEPING_B(structure, offset)

#define ARCH_FIND_DESCRIPTOR(cs)                                                                   \
	"call 40f\n\t"                                                                             \
	"40:\n\t"                                                                                  \
	"popl " ARCH_B "\n\t"                                                                      \
	"leal (" cs " - 40b)(" ARCH_B "), " ARCH_B "\n\t"                                          \
	"movl %[rseq], " ARCH_A "\n\t"
#define ARCH_TELL_DESCRIPTOR(dst) "movl " ARCH_B ", %[" dst "]\n\t"
#define ARCH_LEAVE_UNLESS_ARMED(label)                                                             \
	"cmpl " ARCH_B ", %%gs:8(" ARCH_A ")\n\t"                                                  \
	"jne " label "\n\t"
#define ARCH_POINT_A(p) "movl " p ", " ARCH_A "\n\t"
#define ARCH_POINT_B(p) "movl " p ", " ARCH_B "\n\t"

#define ARCH_JUMP(label) "jmp " label "\n\t"
#define ARCH_ANSWER(reg, code) "movl $" code ", %[" reg "]\n\t"
#define ARCH_RETRY(again)                                                                          \
	"decl %[left]\n\t"                                                                         \
	"jnz " again "\n\t"

/*
 * Where glibc's thread control block can stand in for an rseq area before the start: cpu_id is the
 * random pointer guard, above any number of CPUs, and rseq_cs a word unused since 2.34.
 */
#define ARCH_GLIBC_STAND_IN 0x14

#define ARCH_THREAD_POINTER()                                                                      \
	__extension__({                                                                            \
		char *tp_;                                                                         \
		__asm__("movl %%gs:0, %0" : "=r"(tp_));                                            \
		tp_;                                                                               \
	})
#define ARCH_LOAD_CPU_ID(result, offset)                                                           \
	__asm__ volatile("movl %%gs:4(%1), %0" : "=r"(result) : "r"(offset))
#define ARCH_SET_CS(offset, cs)                                                                    \
	__asm__ volatile("movl %1, %%gs:8(%0)" : : "r"(offset), "r"(cs))
#define ARCH_LOAD_CS(result, offset)                                                               \
	__asm__ volatile("movl %%gs:8(%1), %0" : "=r"(result) : "r"(offset))
#define ARCH_CLEAR_CS(offset)                                                                      \
	__asm__ volatile("movl $0, %%gs:8(%0)" : : "r"(offset) : "memory")

/* clang-format on */

#include <percpu/arch/x86_local.h>

/* The baseline of every counter bench: one bare unlocked add of 1 to a long. */
#define ARCH_PLAIN_INC(ptr) __asm__ volatile("addl $1, %0" : "+m"(*(ptr)) : : "cc")

#endif

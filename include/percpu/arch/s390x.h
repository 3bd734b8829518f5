/* SPDX-License-Identifier: MIT */
/*
 * s390x (IBM Z): the assembly snippets that sequences are made of.
 *
 * What each name must do is written in doc/porting.md; seq.h composes them. Instructions compare and
 * add with memory, so far inputs stay there. The thread pointer is in two access registers, from
 * which compilers put it together once for a loop: the area's address is an operand. Register 0 stands for no
 * register in an address; it is the data register, so no operand is ever in it. Stores and loads are
 * kept in order by this CPU, but for a load that passes an earlier store.
 */
#ifndef PERCPU_ARCH_S390X_H
#define PERCPU_ARCH_S390X_H

#define ARCH_NAME "s390x"
#define ARCH_HAVE_SEQ 1
#define ARCH_HAVE_SEQ_8 1
#define ARCH_ATOMIC_64 1
#define ARCH_LOADS_IN_ORDER 1
#define ARCH_INLINE_COUNTER 1
/* No single instruction adds to one or two bytes in memory. */
#define ARCH_HAVE_LOCAL 0

/* Assembly text, an instruction a line: */
/* clang-format off */

/* trap4 4095: special-operation exception, as Linux never enables it. */
#define ARCH_RSEQ_SIG 0xb2ff0fff
#define ARCH_SIGNATURE "trap4 4095\n\t"

#define ARCH_PTR64(x) ".quad " x "\n\t"

#define ARCH_A "%%r1"
#define ARCH_B "%%r5"
#define ARCH_DATA "%%r0"
#define ARCH_CLOBBER_A "r1"
#define ARCH_CLOBBER_B
#define ARCH_CLOBBER_DATA "r0", "r5",
#define ARCH_CLOBBER_FLAGS "cc"
#define ARCH_CLOBBER_RMW_8

/* The area's address, not its offset. */
#define ARCH_C_RSEQ(offset) "a"(ARCH_THREAD_POINTER() + (offset))
#define ARCH_C_BOUND "r"
#define ARCH_C_BASE "a"
#define ARCH_C_VALUE_1 "r"
#define ARCH_C_VALUE_2 "r"
#define ARCH_C_VALUE_4 "r"
#define ARCH_C_VALUE_8 "r"
#define ARCH_C_IN_1 "r"
#define ARCH_C_IN_2 "r"
#define ARCH_C_IN_4 "r"
#define ARCH_C_IN_8 "r"
#define ARCH_C_IN_POINTER "a"
#define ARCH_C_FAR "T"
#define ARCH_C_NEXT "=&r"
#define ARCH_C_OUT_1 "=&r"
#define ARCH_C_OUT_2 "=&r"
#define ARCH_C_OUT_4 "=&r"
#define ARCH_C_OUT_8 "=&r"
#define ARCH_C_BUDGET "+r"
#define ARCH_C_HANDLE(h) [handle] "a"(h), "m"(*(h))
#define ARCH_HANDLE_LOCALS(v) (void)(v)
#define ARCH_C_HANDLE_VALUE(v) [value] "r"(v)

#define ARCH_OP(name) "%[" name "]"
#define ARCH_OP_POINTER(name) ARCH_OP(name)

#define ARCH_ARM(cs)                                                                               \
	"larl " ARCH_A ", " cs "\n\t"                                                              \
	"stg " ARCH_A ", 8(%[rseq])\n\t"

#define ARCH_CPU(reg) "llgf " reg ", 4(%[rseq])\n\t"
#define ARCH_LEAVE_UNLESS_BELOW(reg, bound, label)                                                 \
	"clr " reg ", " bound "\n\t"                                                               \
	"jgnl " label "\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_HANDLE(label)                                                      \
	"cl " ARCH_A ", 8(%[handle])\n\t"                                                          \
	"jgnl " label "\n\t"
#define ARCH_CPU_A ARCH_A
#define ARCH_SLOT "%[slot]"

#define ARCH_SCALE_A "msgfi " ARCH_A ", " PERCPU__STRIDE_TEXT "\n\t"
#define ARCH_SCALE_SLOT                                                                            \
	"lgr " ARCH_A ", %[slot]\n\t"                                                              \
	"msgfi " ARCH_A ", " PERCPU__STRIDE_TEXT "\n\t"
#define ARCH_ADD_BASE(base) "agr " ARCH_A ", " base "\n\t"
#define ARCH_ADD_BASE_B(base) "la " ARCH_B ", 0(" base "," ARCH_A ")\n\t"
#define ARCH_ADD_HANDLE_BASE "ag " ARCH_A ", 0(%[handle])\n\t"
#define ARCH_ADD_HANDLE_BASE_OR_LEAVE(label)                                                       \
	"ltg " ARCH_B ", 0(%[handle])\n\t"                                                         \
	"jge " label "\n\t"                                                                        \
	"agr " ARCH_A ", " ARCH_B "\n\t"

/* What a read-modify-write does, as ARCH_RMW spells it. */
#define ARCH_DO_ADD "a"
#define ARCH_DO_AND "n"
#define ARCH_DO_OR "o"
#define ARCH_RMW(op, w, val) ARCH_RMW_##w(op, val)
#define ARCH_RMW_1(op, val)                                                                        \
	"ic " ARCH_DATA ", 0(" ARCH_A ")\n\t"                                                      \
	op "r " ARCH_DATA ", " ARCH_OP(val) "\n\t"                                                 \
	"stc " ARCH_DATA ", 0(" ARCH_A ")\n\t"
#define ARCH_RMW_2(op, val)                                                                        \
	"lh " ARCH_DATA ", 0(" ARCH_A ")\n\t"                                                      \
	op "r " ARCH_DATA ", " ARCH_OP(val) "\n\t"                                                 \
	"sth " ARCH_DATA ", 0(" ARCH_A ")\n\t"
#if defined(__ARCH__) && __ARCH__ >= 9
/* One instruction loads, computes and stores, since z196. */
#define ARCH_RMW_4(op, val) "la" op " " ARCH_DATA ", " ARCH_OP(val) ", 0(" ARCH_A ")\n\t"
#define ARCH_RMW_8(op, val) "la" op "g " ARCH_DATA ", " ARCH_OP(val) ", 0(" ARCH_A ")\n\t"
#else
#define ARCH_RMW_4(op, val)                                                                        \
	"l " ARCH_DATA ", 0(" ARCH_A ")\n\t"                                                       \
	op "r " ARCH_DATA ", " ARCH_OP(val) "\n\t"                                                 \
	"st " ARCH_DATA ", 0(" ARCH_A ")\n\t"
#define ARCH_RMW_8(op, val)                                                                        \
	"lg " ARCH_DATA ", 0(" ARCH_A ")\n\t"                                                      \
	op "gr " ARCH_DATA ", " ARCH_OP(val) "\n\t"                                                \
	"stg " ARCH_DATA ", 0(" ARCH_A ")\n\t"
#endif

/* Instructions of each width. */
#define ARCH_LOAD_1 "llgc "
#define ARCH_LOAD_2 "llgh "
#define ARCH_LOAD_4 "llgf "
#define ARCH_LOAD_8 "lg "
#define ARCH_STORE_1 "stc "
#define ARCH_STORE_2 "sth "
#define ARCH_STORE_4 "st "
#define ARCH_STORE_8 "stg "
#define ARCH_ADD_1 "ar "
#define ARCH_ADD_2 "ar "
#define ARCH_ADD_4 "ar "
#define ARCH_ADD_8 "agr "
/* Of narrow values the lowest bytes are compared, wherever they are. */
#define ARCH_COMPARE_1(value, at) "clm " value ", 1, 0(" at ")\n\t"
#define ARCH_COMPARE_2(value, at) "clm " value ", 3, 0(" at ")\n\t"
#define ARCH_COMPARE_4(value, at) "cl " value ", 0(" at ")\n\t"
#define ARCH_COMPARE_8(value, at) "clg " value ", 0(" at ")\n\t"
#define ARCH_COMPARE_REGISTERS_1(a, b) ARCH_COMPARE_NARROW(a, b, "0xff")
#define ARCH_COMPARE_REGISTERS_2(a, b) ARCH_COMPARE_NARROW(a, b, "0xffff")
#define ARCH_COMPARE_REGISTERS_4(a, b) "clr " a ", " b "\n\t"
#define ARCH_COMPARE_REGISTERS_8(a, b) "clgr " a ", " b "\n\t"
#define ARCH_COMPARE_NARROW(a, b, mask)                                                            \
	"lr " ARCH_DATA ", " a "\n\t"                                                              \
	"xr " ARCH_DATA ", " b "\n\t"                                                              \
	"tmll " ARCH_DATA ", " mask "\n\t"

#define ARCH_LOAD(w, dst) ARCH_LOAD_##w ARCH_OP(dst) ", 0(" ARCH_A ")\n\t"
#define ARCH_STORE(w, src) ARCH_STORE_##w ARCH_OP(src) ", 0(" ARCH_A ")\n\t"
#define ARCH_STORE_B(w, src, tmp) ARCH_STORE_##w ARCH_OP(src) ", 0(" ARCH_B ")\n\t"
#define ARCH_ADD(w, src, dst) ARCH_ADD_##w ARCH_OP(dst) ", " ARCH_OP(src) "\n\t"
#define ARCH_LEAVE_IF_NE(w, value, label)                                                          \
	ARCH_COMPARE_##w(ARCH_OP(value), ARCH_A)                                                   \
	"jgne " label "\n\t"
#define ARCH_LEAVE_IF_NE_B(w, value, label)                                                        \
	ARCH_COMPARE_##w(ARCH_OP(value), ARCH_B)                                                   \
	"jgne " label "\n\t"
#define ARCH_LEAVE_IF_NE_BY(w, value, tmp, label) ARCH_LEAVE_IF_NE(w, value, label)
#define ARCH_LEAVE_IF_REG_NE(w, value, reg, label)                                                 \
	ARCH_COMPARE_REGISTERS_##w(ARCH_OP(reg), ARCH_OP(value))                                   \
	"jgne " label "\n\t"
#define ARCH_LEAVE_IF_POINTER_NE(value, tmp, label) ARCH_LEAVE_IF_NE(8, value, label)
#define ARCH_LOAD_POINTER(dst) ARCH_LOAD(8, dst)
#define ARCH_STORE_POINTER(src) ARCH_STORE(8, src)

/* A list's or a lock's slot at A. */
#define ARCH_LEAVE_UNLESS_BOTH_NULL(label)                                                         \
	"lg " ARCH_B ", 8(" ARCH_A ")\n\t"                                                         \
	"og " ARCH_B ", 0(" ARCH_A ")\n\t"                                                         \
	"jgne " label "\n\t"
#define ARCH_LEAVE_IF_CLOSED(label)                                                                \
	"clghsi 8(" ARCH_A "), 0\n\t"                                                              \
	"jgne " label "\n\t"
#define ARCH_STORE_FOLLOWING(node, tmp)                                                            \
	"lg " ARCH_OP(tmp) ", 0(" ARCH_OP(node) ")\n\t"                                            \
	"stg " ARCH_OP(tmp) ", 0(" ARCH_A ")\n\t"
#define ARCH_STORE_NEXT(node, tmp) "stg " ARCH_OP(tmp) ", 0(" ARCH_OP(node) ")\n\t"
#define ARCH_STORE_NULL "mvghi 0(" ARCH_A "), 0\n\t"

/* A list's or a stack's slot at A: B = its second word; compares with B, unsigned. */
#define ARCH_LOAD_SECOND_B "lg " ARCH_B ", 8(" ARCH_A ")\n\t"
#define ARCH_LEAVE_UNLESS_BELOW_B(reg, label)                                                      \
	"clgr " ARCH_OP(reg) ", " ARCH_B "\n\t"                                                    \
	"jgnl " label "\n\t"
#define ARCH_LEAVE_UNLESS_ABOVE_B(reg, label)                                                      \
	"clgr " ARCH_OP(reg) ", " ARCH_B "\n\t"                                                    \
	"jgnh " label "\n\t"
#define ARCH_LEAVE_IF_ABOVE_B(reg, label)                                                          \
	"clgr " ARCH_OP(reg) ", " ARCH_B "\n\t"                                                    \
	"jgh " label "\n\t"

/* A stack's slot at A: items behind its two words. */
#define ARCH_ADD_POINTER(reg) "aghi " ARCH_OP(reg) ", 8\n\t"
#define ARCH_SUBTRACT_POINTER(reg) "aghi " ARCH_OP(reg) ", -8\n\t"
#define ARCH_ADD_SIZE(reg, size) "ag " ARCH_OP(reg) ", " ARCH_OP(size) "\n\t"
#define ARCH_SUBTRACT_SIZE(reg, size) "sg " ARCH_OP(reg) ", " ARCH_OP(size) "\n\t"
#define ARCH_LOAD_ITEM(at, dst) "lg " ARCH_OP(dst) ", 16(" ARCH_OP(at) "," ARCH_A ")\n\t"
#define ARCH_STORE_ITEM(at, src) "stg " ARCH_OP(src) ", 16(" ARCH_OP(at) "," ARCH_A ")\n\t"
#define ARCH_STORE_TOP(src) ARCH_STORE(8, src)
#define ARCH_ITEM(at) "la " ARCH_OP(at) ", 16(" ARCH_OP(at) "," ARCH_A ")\n\t"
#define ARCH_ITEM_B(at, less)                                                                      \
	"la " ARCH_B ", 16(" ARCH_OP(at) "," ARCH_A ")\n\t"                                        \
	"sg " ARCH_B ", " ARCH_OP(less) "\n\t"

/* Copy to B: words until the ruler (from, or B) reaches words, then bytes until it reaches end. */
#define ARCH_MOVE(dst, src) "lg " ARCH_OP(dst) ", " ARCH_OP(src) "\n\t"
#define ARCH_MOVE_B(src) "lg " ARCH_B ", " ARCH_OP(src) "\n\t"
#define ARCH_COPY(from, ruler, words, end, data)                                                   \
	"clg " ruler ", " ARCH_OP(words) "\n\t"                                                    \
	"je 43f\n\t"                                                                               \
	"42:\n\t"                                                                                  \
	"lg " ARCH_OP(data) ", 0(" ARCH_OP(from) ")\n\t"                                           \
	"stg " ARCH_OP(data) ", 0(" ARCH_B ")\n\t"                                                 \
	"aghi " ARCH_OP(from) ", 8\n\t"                                                            \
	"aghi " ARCH_B ", 8\n\t"                                                                   \
	"clg " ruler ", " ARCH_OP(words) "\n\t"                                                    \
	"jne 42b\n\t"                                                                              \
	"43:\n\t"                                                                                  \
	"clg " ruler ", " ARCH_OP(end) "\n\t"                                                      \
	"je 45f\n\t"                                                                               \
	"44:\n\t"                                                                                  \
	"ic " ARCH_OP(data) ", 0(" ARCH_OP(from) ")\n\t"                                           \
	"stc " ARCH_OP(data) ", 0(" ARCH_B ")\n\t"                                                 \
	"aghi " ARCH_OP(from) ", 1\n\t"                                                            \
	"aghi " ARCH_B ", 1\n\t"                                                                   \
	"clg " ruler ", " ARCH_OP(end) "\n\t"                                                      \
	"jne 44b\n\t"                                                                              \
	"45:\n\t"

/* A pause that changes nothing but its counter; and of a long at an offset in a structure, which may
 * be 0 (PERCPU_INJECT): found through B, so that where B is in use there is none. */
#define ARCH_DELAY(n)                                                                              \
	"46:\n\t"                                                                                  \
	"brctg " n ", 46b\n\t"
#define ARCH_CLOBBER_DELAY
#define ARCH_C_DELAYS(structure) "m"(structure)
#define ARCH_DELAY_OF(structure, offset)                                                           \
	"lay " ARCH_B ", " structure "\n\t"                                                        \
	"ltg " ARCH_DATA ", " offset "(" ARCH_B ")\n\t"                                            \
	"je 47f\n\t" ARCH_DELAY(ARCH_DATA) "47:\n\t"
#define ARCH_DELAY_OF_KEEPING_B(structure, offset)

/* Commits of transactions. */
#define ARCH_FIND_DESCRIPTOR(cs) "larl " ARCH_A ", " cs "\n\t"
#define ARCH_TELL_DESCRIPTOR(dst) "lgr " ARCH_OP(dst) ", " ARCH_A "\n\t"
#define ARCH_LEAVE_UNLESS_ARMED(label)                                                             \
	"clg " ARCH_A ", 8(%[rseq])\n\t"                                                     \
	"jgne " label "\n\t"
#define ARCH_POINT_A(p) "lgr " ARCH_A ", " p "\n\t"
#define ARCH_POINT_B(p) "lgr " ARCH_B ", " p "\n\t"

/* Outside the range. */
#define ARCH_JUMP(label) "jg " label "\n\t"
#define ARCH_ANSWER(reg, code) "lhi " ARCH_OP(reg) ", " code "\n\t"
#define ARCH_RETRY(again)                                                                          \
	"ahi %[left], -1\n\t"                                                            \
	"jgne " again "\n\t"

/*
 * Where glibc's thread control block can stand in for an rseq area before the start: cpu_id is the
 * lower half of the random stack guard, and rseq_cs a word unused since 2.34.
 */
#define ARCH_GLIBC_STAND_IN 0x28

#define ARCH_THREAD_POINTER() ((char *)__builtin_thread_pointer())
#define ARCH_LOAD_CPU_ID(result, offset)                                                           \
	__asm__ volatile("l %0, 4(%1)" : "=r"(result) : "a"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_SET_CS(offset, cs)                                                                    \
	__asm__ volatile("stg %0, 8(%1)" : : "r"(cs), "a"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_LOAD_CS(result, offset)                                                               \
	__asm__ volatile("lg %0, 8(%1)" : "=r"(result) : "a"(ARCH_THREAD_POINTER() + (offset)))
#define ARCH_CLEAR_CS(offset)                                                                      \
	__asm__ volatile("mvghi 8(%0), 0" : : "a"(ARCH_THREAD_POINTER() + (offset)) : "memory")

/* clang-format on */

/* The baseline of every counter bench: one bare add of 1 to a 64-bit word. */
#define ARCH_PLAIN_INC(ptr) __asm__ volatile("agsi %0, 1" : "+S"(*(ptr)) : : "cc")

#endif

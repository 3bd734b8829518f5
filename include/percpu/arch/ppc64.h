/* SPDX-License-Identifier: MIT */
/*
 * 64-bit PowerPC, both byte orders and both ABIs (with function descriptors and without): the assembly
 * snippets that sequences are made of. Most of them are in powerpc_common.h.
 *
 * The descriptor's address is formed from the table of contents, whose pointer, r2, is valid in every
 * function that uses one: of those that contain a sequence, all, because they load from percpu__rt.
 * Code for CPUs with addresses relative to the program counter has no such pointer.
 */
#ifndef PERCPU_ARCH_PPC64_H
#define PERCPU_ARCH_PPC64_H

#define ARCH_NAME "ppc64"
#define ARCH_HAVE_SEQ_8 1
#define ARCH_ATOMIC_64 1
#define ARCH_INLINE_COUNTER 1

/* Assembly text, an instruction a line: */
/* clang-format off */

/* A pointer in a 64-bit field, as descriptors hold them. */
#define ARCH_PTR64(x) ".quad " x "\n\t"

#define ARCH_TP "13"
#define ARCH_P_LOAD "ld"
#define ARCH_P_LOADX "ldx"
#define ARCH_P_STORE "std"
#define ARCH_P_STOREX "stdx"
#define ARCH_P_COMPARE "cmpld"
#define ARCH_P_COMPARE_I "cmpldi"
#define ARCH_P_MULTIPLY "mulld"
#define ARCH_P_1 "8"
#define ARCH_P_2 "16"
#define ARCH_CS 8
#define ARCH_CLOBBER_LINK
#define ARCH_CLOBBER_RMW_8

#if defined(__PCREL__)
#define ARCH_ADDRESS_A(cs) "paddi " ARCH_A ",0," cs "@pcrel,1\n\t"
#else
#define ARCH_ADDRESS_A(cs)                                                                         \
	"addis " ARCH_A ",2," cs "@toc@ha\n\t"                                                     \
	"addi " ARCH_A "," ARCH_A "," cs "@toc@l\n\t"
#endif

/*
 * One compare for both: the base is above the distance of the number from the last one, if there are
 * both a base and such a CPU. The distance is below 0, and so above any base, if there is no such CPU,
 * and no base is NULL. Accesses form the sum with the base.
 */
#define ARCH_FIND_COUNTER_OR_LEAVE(label)                                                          \
	"ld " ARCH_B ",0(%[handle])\n\t"                                                           \
	"subf 0," ARCH_A ",%[last]\n\t"                                                           \
	"cmpld " ARCH_B ",0\n\t"                                                                  \
	ARCH_STAY_IF("gt", label)                                                                  \
	ARCH_SCALE_A
#define ARCH_ADD_TO_COUNTER(w)                                                                     \
	"ldx 0," ARCH_A "," ARCH_B "\n\t"                                                          \
	"add 0,0,%[value]\n\t"                                                                    \
	"stdx 0," ARCH_A "," ARCH_B "\n\t"

#define ARCH_C_VALUE_8 "r"
#define ARCH_C_IN_8 "r"
#define ARCH_C_OUT_8 "=&r"
#define ARCH_HANDLE_LOCALS(v) (void)(v)
#define ARCH_C_HANDLE_VALUE(v) [value] "r"(v), [last] "r"((long)rt.bound - 1)

/* clang-format on */

/*
 * Where glibc's thread control block, which ends 0x7000 below the thread pointer, can stand in for an
 * rseq area before the start: rseq_cs is the second of two words that it reserves for a tool of which
 * there is none. cpu_id is half of the first and reads 0; there is no word for it that reads as no
 * CPU. So a loop that keeps the offset over the start, in a function of .preinit_array, must not keep
 * it apart from the bound, which is 0 then.
 */
#define ARCH_GLIBC_STAND_IN (-0x7000 - 88)

#include <percpu/arch/powerpc_common.h>

#endif

/* SPDX-License-Identifier: MIT */
/*
 * 32-bit PowerPC, big-endian: the assembly snippets that sequences are made of. Most of them are in
 * powerpc_common.h.
 *
 * Pointers in 64-bit fields are their second half; the first is zero, and that of rseq_cs is never
 * written. In position-independent code the descriptor's address is found from the program counter,
 * before the range begins, by the one branch-and-link that CPUs do not take for a call. No instruction
 * of general registers stores 8 bytes, and the floating-point unit's need not be one access where
 * the CPU has 32 bits: cells of counters are narrow (ARCH_ADD_NEAR).
 */
#ifndef PERCPU_ARCH_PPC32_H
#define PERCPU_ARCH_PPC32_H

#define ARCH_NAME "ppc32"
#define ARCH_HAVE_SEQ_8 0
#define ARCH_ATOMIC_64 0
#define ARCH_INLINE_COUNTER 0

/* Assembly text, an instruction a line: */
/* clang-format off */

/* A pointer in a 64-bit field, as descriptors hold them. */
#define ARCH_PTR64(x) ".long 0, " x "\n\t"

#define ARCH_TP "2"
#define ARCH_P_LOAD "lwz"
#define ARCH_P_LOADX "lwzx"
#define ARCH_P_STORE "stw"
#define ARCH_P_STOREX "stwx"
#define ARCH_P_COMPARE "cmplw"
#define ARCH_P_COMPARE_I "cmplwi"
#define ARCH_P_MULTIPLY "mullw"
#define ARCH_P_1 "4"
#define ARCH_P_2 "8"
#define ARCH_CS 12

#if defined(__PIC__)
#define ARCH_CLOBBER_LINK "lr",
#define ARCH_ADDRESS_A(cs)                                                                         \
	"bcl 20,31,41f\n\t"                                                                        \
	"41:\n\t"                                                                                  \
	"mflr " ARCH_A "\n\t"                                                                      \
	"addis " ARCH_A "," ARCH_A ",(" cs "-41b)@ha\n\t"                                          \
	"addi " ARCH_A "," ARCH_A ",(" cs "-41b)@l\n\t"
#else
#define ARCH_CLOBBER_LINK
#define ARCH_ADDRESS_A(cs)                                                                         \
	"lis " ARCH_A "," cs "@ha\n\t"                                                             \
	"addi " ARCH_A "," ARCH_A "," cs "@l\n\t"
#endif

/* From 2^29 below the second word to less than that above it. */
#define ARCH_ADD_NEAR(label)                                                                       \
	"lwz 0,0(" ARCH_A ")\n\t"                                                                  \
	"lwz 12,4(" ARCH_A ")\n\t"                                                                 \
	"add 0,0,%[value]\n\t"                                                                     \
	"subf 12,12,0\n\t"                                                                         \
	"addis 12,12,0x2000\n\t"                                                                   \
	"srwi. 12,12,30\n\t"                                                                       \
	ARCH_STAY_IF("eq", label)                                                                  \
	"stw 0,0(" ARCH_A ")\n\t"

/* clang-format on */

/*
 * Where glibc's thread control block, which ends 0x7000 below the thread pointer, can stand in for an
 * rseq area before the start: cpu_id is the CPU's features, whose highest bit says that it is a
 * PowerPC, above any number of CPUs, and the half of rseq_cs that is stored is padding.
 */
#define ARCH_GLIBC_STAND_IN (-0x7000 - 68)

#include <percpu/arch/powerpc_common.h>

#endif

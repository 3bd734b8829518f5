/* SPDX-License-Identifier: MIT */
/* What a debugger must know about x86-64. */
#ifndef PERCPU_TEST_ARCH_X86_64_H
#define PERCPU_TEST_ARCH_X86_64_H

#include <sys/user.h>

/* The general registers as ptrace hands them over, and which member is the program counter. */
typedef struct user_regs_struct test_arch_registers;
#define TEST_ARCH_PC rip

/* An instruction that traps, and how far behind it the program counter is then. */
#define TEST_ARCH_BREAKPOINT                                                                       \
	{                                                                                          \
		0xcc                                                                               \
	}
#define TEST_ARCH_PC_AFTER_TRAP 1

/* Bytes of the longest instruction. */
#define TEST_ARCH_INSTRUCTION_MAX 15

#endif

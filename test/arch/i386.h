/* SPDX-License-Identifier: MIT */
/* What a debugger must know about i386. */
#ifndef PERCPU_TEST_ARCH_I386_H
#define PERCPU_TEST_ARCH_I386_H

#include <stddef.h>
#include <sys/user.h>

/* Where the program counter is in the kernel's user area. */
#define TEST_ARCH_PC offsetof(struct user, regs.eip)

/* An instruction that traps, and how far behind it the program counter is then. */
#define TEST_ARCH_BREAKPOINT                                                                       \
	{                                                                                          \
		0xcc                                                                               \
	}
#define TEST_ARCH_BREAKPOINT_SIZE 1
#define TEST_ARCH_PC_AFTER_TRAP 1

/* Bytes of the longest instruction. */
#define TEST_ARCH_INSTRUCTION_MAX 15

#endif

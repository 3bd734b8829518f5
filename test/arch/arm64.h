/* SPDX-License-Identifier: MIT */
/* What a debugger must know about arm64. */
#ifndef PERCPU_TEST_ARCH_ARM64_H
#define PERCPU_TEST_ARCH_ARM64_H

#include <sys/user.h>

/* The general registers as ptrace hands them over, and which member is the program counter. */
typedef struct user_regs_struct test_arch_registers;
#define TEST_ARCH_PC pc

/* An instruction that traps, brk #0, and how far behind it the program counter is then. */
#define TEST_ARCH_BREAKPOINT                                                                       \
	{                                                                                          \
		0x00, 0x00, 0x20, 0xd4                                                             \
	}
#define TEST_ARCH_PC_AFTER_TRAP 0

/* Bytes of the longest instruction. */
#define TEST_ARCH_INSTRUCTION_MAX 4

/* The same on both byte orders: code is little-endian. */
static inline uint32_t test_arch_instruction(test_arch_read_function *read, void *thread,
					     uint64_t address)
{
	unsigned char byte[4];

	read(thread, address, byte, sizeof(byte));
	return (uint32_t)byte[0] | (uint32_t)byte[1] << 8 | (uint32_t)byte[2] << 16 |
	       (uint32_t)byte[3] << 24;
}

/* ldxr and ldaxr, of all widths. */
static inline bool test_arch_loads_exclusive(uint32_t code)
{
	return (code & 0x3fe00000) == 0x08400000;
}

/* stxr and stlxr. */
static inline bool test_arch_stores_exclusive(uint32_t code)
{
	return (code & 0x3fe00000) == 0x08000000;
}

/* b.cond, cbz and cbnz: an offset of 19 bits. */
static inline bool test_arch_branches(uint32_t code)
{
	return (code & 0xff000010) == 0x54000000 || (code & 0x7e000000) == 0x34000000;
}

#define TEST_ARCH_EXCLUSIVE_MAX 16

/*
 * Stops take the exclusive access away: such a pair that is stepped through starts again for ever.
 * Next is what follows the store, or where a branch in between leads.
 */
static inline void test_arch_next(const test_arch_registers *registers,
				  test_arch_read_function *read, void *thread,
				  struct test_arch_next *next)
{
	uint64_t pc = registers->pc;
	uint32_t code = test_arch_instruction(read, thread, pc);

	next->count = 0;
	if (!test_arch_loads_exclusive(code))
		return;
	for (int i = 0; i < TEST_ARCH_EXCLUSIVE_MAX && !test_arch_stores_exclusive(code); i++) {
		pc += 4;
		code = test_arch_instruction(read, thread, pc);
		if (test_arch_branches(code) && next->count < TEST_ARCH_NEXT_MAX - 1)
			next->address[next->count++] =
				pc + (uint64_t)((int64_t)((int32_t)(code << 8) >> 13) * 4);
	}
	next->address[next->count++] = pc + 4;
}
#define TEST_ARCH_NEXT test_arch_next

#endif

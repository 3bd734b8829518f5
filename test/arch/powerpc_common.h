/* SPDX-License-Identifier: MIT */
/* What a debugger must know about PowerPC of either size. */
#ifndef PERCPU_TEST_ARCH_POWERPC_COMMON_H
#define PERCPU_TEST_ARCH_POWERPC_COMMON_H

#include <string.h>

/* Which of the general registers is the program counter. */
#define TEST_ARCH_PC nip

/* An instruction that traps, trap, and how far behind it the program counter is then. */
#if defined(__LITTLE_ENDIAN__)
#define TEST_ARCH_BREAKPOINT                                                                       \
	{                                                                                          \
		0x08, 0x00, 0xe0, 0x7f                                                             \
	}
#else
#define TEST_ARCH_BREAKPOINT                                                                       \
	{                                                                                          \
		0x7f, 0xe0, 0x00, 0x08                                                             \
	}
#endif
#define TEST_ARCH_PC_AFTER_TRAP 0

/* Bytes of the longest instruction. */
#define TEST_ARCH_INSTRUCTION_MAX 4

#define TEST_ARCH_RESERVED_MAX 16

static inline uint32_t test_arch_instruction(test_arch_read_function *read, void *thread,
					     uint64_t address)
{
	unsigned char byte[sizeof(long)];
	uint32_t code;

	read(thread, address, byte, sizeof(code));
	memcpy(&code, byte, sizeof(code));
	return code;
}

/* lbarx, lharx, lwarx and ldarx. */
static inline bool test_arch_reserves(uint32_t code)
{
	uint32_t kind = code & 0xfc0007fe;

	return kind == 0x7c000068 || kind == 0x7c0000e8 || kind == 0x7c000028 || kind == 0x7c0000a8;
}

/* stbcx., sthcx., stwcx. and stdcx. */
static inline bool test_arch_stores_reserved(uint32_t code)
{
	uint32_t kind = code & 0xfc0007ff;

	return kind == 0x7c00056d || kind == 0x7c0005ad || kind == 0x7c00012d || kind == 0x7c0001ad;
}

/*
 * Stops take the reservation away: such a pair that is stepped through starts again for ever. Next is
 * what follows the store, or where a conditional branch in between leads (16 bits of offset).
 */
static inline void test_arch_next(const test_arch_registers *registers,
				  test_arch_read_function *read, void *thread,
				  struct test_arch_next *next)
{
	uint64_t pc = registers->TEST_ARCH_PC;
	uint32_t code = test_arch_instruction(read, thread, pc);

	next->count = 0;
	if (!test_arch_reserves(code))
		return;
	for (int i = 0; i < TEST_ARCH_RESERVED_MAX && !test_arch_stores_reserved(code); i++) {
		pc += 4;
		code = test_arch_instruction(read, thread, pc);
		if ((code & 0xfc000003) == 0x40000000 && next->count < TEST_ARCH_NEXT_MAX - 1)
			next->address[next->count++] =
				pc + (uint64_t)(int64_t)(int16_t)(code & 0xfffc);
	}
	next->address[next->count++] = pc + 4;
}
#define TEST_ARCH_NEXT test_arch_next

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What a debugger must know about riscv64. The kernel has no single steps here, so the next
 * instruction is found by decoding.
 */
#ifndef PERCPU_TEST_ARCH_RISCV64_H
#define PERCPU_TEST_ARCH_RISCV64_H

#include <asm/ptrace.h>
#include <string.h>

/* The general registers as ptrace hands them over, and which member is the program counter. */
typedef struct user_regs_struct test_arch_registers;
#define TEST_ARCH_PC pc

/* An instruction that traps, c.ebreak, and how far behind it the program counter is then. */
#define TEST_ARCH_BREAKPOINT                                                                       \
	{                                                                                          \
		0x02, 0x90                                                                         \
	}
#define TEST_ARCH_PC_AFTER_TRAP 0

/* Bytes of the longest instruction. */
#define TEST_ARCH_INSTRUCTION_MAX 4

/* Of 2 bytes or 4; those behind the shorter ones mean nothing. */
static inline uint32_t test_arch_instruction(test_arch_read_function *read, void *thread,
					     uint64_t address)
{
	uint32_t code;

	read(thread, address, &code, sizeof(code));
	return (code & 3) == 3 ? code : code & 0xffff;
}

static inline uint64_t test_arch_length(uint32_t code)
{
	return (code & 3) == 3 ? 4 : 2;
}

/* In place of x0 there is the program counter. */
static inline uint64_t test_arch_register(const test_arch_registers *registers, uint32_t n)
{
	unsigned long all[32];

	memcpy(all, registers, sizeof(all));
	return n == 0 ? 0 : all[n];
}

/* count bits of an instruction from bit "from" on, to be bits of an offset from bit "to" on. */
static inline uint64_t test_arch_bits(uint32_t code, unsigned from, unsigned count, unsigned to)
{
	return (uint64_t)(code >> from & ((1u << count) - 1)) << to;
}

/* With the sign in bit n. */
static inline uint64_t test_arch_signed(uint64_t offset, unsigned n)
{
	return (offset ^ UINT64_C(1) << n) - (UINT64_C(1) << n);
}

static inline uint64_t test_arch_branch_offset(uint32_t code)
{
	return test_arch_signed(test_arch_bits(code, 8, 4, 1) | test_arch_bits(code, 25, 6, 5) |
					test_arch_bits(code, 7, 1, 11) |
					test_arch_bits(code, 31, 1, 12),
				12);
}

static inline uint64_t test_arch_jal_offset(uint32_t code)
{
	return test_arch_signed(test_arch_bits(code, 21, 10, 1) | test_arch_bits(code, 20, 1, 11) |
					test_arch_bits(code, 12, 8, 12) |
					test_arch_bits(code, 31, 1, 20),
				20);
}

static inline uint64_t test_arch_short_branch_offset(uint32_t code)
{
	return test_arch_signed(test_arch_bits(code, 3, 2, 1) | test_arch_bits(code, 10, 2, 3) |
					test_arch_bits(code, 2, 1, 5) |
					test_arch_bits(code, 5, 2, 6) |
					test_arch_bits(code, 12, 1, 8),
				8);
}

static inline uint64_t test_arch_short_jump_offset(uint32_t code)
{
	return test_arch_signed(
		test_arch_bits(code, 3, 3, 1) | test_arch_bits(code, 11, 1, 4) |
			test_arch_bits(code, 2, 1, 5) | test_arch_bits(code, 7, 1, 6) |
			test_arch_bits(code, 6, 1, 7) | test_arch_bits(code, 9, 2, 8) |
			test_arch_bits(code, 8, 1, 10) | test_arch_bits(code, 12, 1, 11),
		11);
}

static inline void test_arch_add_next(struct test_arch_next *next, uint64_t address)
{
	if (next->count < TEST_ARCH_NEXT_MAX)
		next->address[next->count++] = address;
}

/* Where a jump at an address leads, if it is one; it falls through unless this says true. */
static inline bool test_arch_short_jump(const test_arch_registers *registers, uint32_t code,
					uint64_t at, struct test_arch_next *next)
{
	switch (code & 0xe003) {
	case 0xa001: /* c.j */
		test_arch_add_next(next, at + test_arch_short_jump_offset(code));
		return true;
	case 0xc001: /* c.beqz, c.bnez */
	case 0xe001:
		test_arch_add_next(next, at + test_arch_short_branch_offset(code));
		return false;
	case 0x8002: /* c.jr, c.jalr; with a second register it is another instruction */
		if ((code & 0x7c) != 0 || (code & 0xf80) == 0)
			return false;
		test_arch_add_next(next, test_arch_register(registers, code >> 7 & 31));
		return true;
	default:
		return false;
	}
}

static inline bool test_arch_jump(const test_arch_registers *registers, uint32_t code, uint64_t at,
				  struct test_arch_next *next)
{
	uint64_t base = test_arch_register(registers, code >> 15 & 31);

	switch (code & 0x7f) {
	case 0x6f: /* jal */
		test_arch_add_next(next, at + test_arch_jal_offset(code));
		return true;
	case 0x67: /* jalr */
		test_arch_add_next(next, base + test_arch_signed(code >> 20, 11));
		return true;
	case 0x63: /* branches */
		test_arch_add_next(next, at + test_arch_branch_offset(code));
		return false;
	default:
		return test_arch_short_jump(registers, code, at, next);
	}
}

static inline bool test_arch_reserves(uint32_t code)
{
	return (code & 0xf800007f) == 0x1000002f; /* lr */
}

static inline bool test_arch_stores_conditionally(uint32_t code)
{
	return (code & 0xf800007f) == 0x1800002f; /* sc */
}

#define TEST_ARCH_RESERVED_MAX 16

/*
 * Stops take a reservation away: such a pair that is stepped through starts again for ever. Next is
 * what follows the store, or where a branch in between leads.
 */
static inline void test_arch_next(const test_arch_registers *registers,
				  test_arch_read_function *read, void *thread,
				  struct test_arch_next *next)
{
	uint64_t at = registers->pc;
	uint32_t code = test_arch_instruction(read, thread, at);

	next->count = 0;
	if (test_arch_reserves(code))
		for (int i = 0; i < TEST_ARCH_RESERVED_MAX && !test_arch_stores_conditionally(code);
		     i++) {
			at += test_arch_length(code);
			code = test_arch_instruction(read, thread, at);
			(void)test_arch_jump(registers, code, at, next);
		}
	if (!test_arch_jump(registers, code, at, next))
		test_arch_add_next(next, at + test_arch_length(code));
}
#define TEST_ARCH_NEXT test_arch_next

#endif

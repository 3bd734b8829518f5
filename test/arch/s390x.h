/* SPDX-License-Identifier: MIT */
/* What a debugger must know about s390x. */
#ifndef PERCPU_TEST_ARCH_S390X_H
#define PERCPU_TEST_ARCH_S390X_H

#include <string.h>
#include <sys/user.h>

/* The general registers as ptrace hands them over, and which member is the program counter. */
typedef struct _user_regs_struct test_arch_registers;
#define TEST_ARCH_PC psw.addr

/* An instruction that traps, and how far behind it the program counter is then. */
#define TEST_ARCH_BREAKPOINT                                                                       \
	{                                                                                          \
		0x00, 0x01                                                                         \
	}
#define TEST_ARCH_PC_AFTER_TRAP 2

/* Bytes of the longest instruction. */
#define TEST_ARCH_INSTRUCTION_MAX 6

static inline bool test_arch_is_relative_branch(const unsigned char *code)
{
	switch (code[0]) {
	case 0xa7: /* brc, bras, brct, brctg */
		return (code[1] & 15) >= 4 && (code[1] & 15) <= 7;
	case 0x84: /* brxh, brxle */
	case 0x85:
		return true;
	case 0xec: /* compare and branch, and those of 64-bit indices */
		return code[5] == 0x44 || code[5] == 0x45 || code[5] == 0x64 || code[5] == 0x65 ||
		       code[5] == 0x76 || code[5] == 0x77 || code[5] >= 0x7c;
	default:
		return false;
	}
}

/* Single steps of the kernel go wrong in an emulator (qemu 7.2): a branch to the address in a
 * register is not taken. */
#define TEST_ARCH_NEXT test_arch_next
static inline void test_arch_next(const test_arch_registers *registers,
				  test_arch_read_function *read, void *thread,
				  struct test_arch_next *next)
{
	uint64_t pc = registers->psw.addr, *target = &next->address[1];
	unsigned char code[6];
	int32_t distance;
	int16_t near;

	read(thread, pc, code, sizeof(code));
	memcpy(&near, code + 2, sizeof(near));
	memcpy(&distance, code + 2, sizeof(distance));
	next->address[0] = pc + (code[0] < 0x40 ? 2u : code[0] < 0xc0 ? 4u : 6u);
	next->count = 2;
	/* basr; bcr, but for those that never branch */
	if ((code[0] == 0x0d || (code[0] == 0x07 && code[1] >= 0x10)) && (code[1] & 15) != 0)
		*target = registers->gprs[code[1] & 15];
	else if (code[0] == 0xc0 && ((code[1] & 15) == 4 || (code[1] & 15) == 5)) /* brcl, brasl */
		*target = pc + 2 * (uint64_t)(int64_t)distance;
	else if (test_arch_is_relative_branch(code))
		*target = pc + 2 * (uint64_t)(int64_t)near;
	else
		next->count = 1;
}

#endif

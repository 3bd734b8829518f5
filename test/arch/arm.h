/* SPDX-License-Identifier: MIT */
/*
 * What a debugger must know about 32-bit ARM, little-endian. The kernel has no single steps here, so
 * the next instruction is found by decoding. Addresses are even; bit 0 marks one whose code is of the
 * other instruction set than this file was compiled for.
 */
#ifndef PERCPU_TEST_ARCH_ARM_H
#define PERCPU_TEST_ARCH_ARM_H

#include <sys/user.h>

/* The general registers as ptrace hands them over, and which member is the program counter. */
typedef struct user_regs test_arch_registers;
#define TEST_ARCH_PC uregs[15]

/* Instructions that trap, and how far behind them the program counter is then. */
#define TEST_ARCH_BREAKPOINT_ARM                                                                   \
	{                                                                                          \
		0xf0, 0x01, 0xf0, 0xe7                                                             \
	}
#define TEST_ARCH_BREAKPOINT_THUMB                                                                 \
	{                                                                                          \
		0x01, 0xde                                                                         \
	}
#if defined(__thumb__)
#define TEST_ARCH_IS_THUMB 1
#define TEST_ARCH_BREAKPOINT TEST_ARCH_BREAKPOINT_THUMB
#define TEST_ARCH_OTHER_BREAKPOINT TEST_ARCH_BREAKPOINT_ARM
#else
#define TEST_ARCH_IS_THUMB 0
#define TEST_ARCH_BREAKPOINT TEST_ARCH_BREAKPOINT_ARM
#define TEST_ARCH_OTHER_BREAKPOINT TEST_ARCH_BREAKPOINT_THUMB
#endif
#define TEST_ARCH_PC_AFTER_TRAP 0

/* Bytes of the longest instruction. */
#define TEST_ARCH_INSTRUCTION_MAX 4

/* A stopped thread, or NULL for its registers if nobody asks for them. */
struct test_arch_thread {
	const test_arch_registers *registers;
	test_arch_read_function *read;
	void *thread;
};

/* An instruction, and where it is. */
struct test_arch_code {
	struct test_arch_thread of;
	bool thumb;
	uint32_t at, word, length;
};

static inline uint32_t test_arch_peek(const struct test_arch_thread *of, uint32_t address)
{
	uint32_t word;

	of->read(of->thread, address, &word, sizeof(word));
	return word;
}

/* As an instruction reads it. */
static inline uint32_t test_arch_register(const struct test_arch_code *c, uint32_t n)
{
	if (n == 15)
		return c->at + (c->thumb ? 4 : 8);
	return (uint32_t)c->of.registers->uregs[n];
}

/* Of Thumb, the first halfword is the upper half of the word, and a short instruction is alone. */
static inline struct test_arch_code test_arch_code_at(const struct test_arch_thread *of, bool thumb,
						      uint32_t at)
{
	struct test_arch_code c = {*of, thumb, at, test_arch_peek(of, at), 4};

	if (thumb && (c.word & 0xf800) < 0xe800) {
		c.word &= 0xffff;
		c.length = 2;
	} else if (thumb) {
		c.word = c.word << 16 | c.word >> 16;
	}
	return c;
}

static inline struct test_arch_code test_arch_behind(const struct test_arch_code *c)
{
	return test_arch_code_at(&c->of, c->thumb, c->at + c->length);
}

static inline uint32_t test_arch_sign(uint32_t value, unsigned bits)
{
	return (value ^ 1u << (bits - 1)) - (1u << (bits - 1));
}

/* Where a register or a word of memory sends: bit 0 of it says Thumb. */
static inline uint64_t test_arch_interworking(uint32_t value)
{
	bool other = (value & 1) != TEST_ARCH_IS_THUMB;

	return (value & ~1u) | other;
}

static inline uint64_t test_arch_same_set(const struct test_arch_code *c, uint32_t target)
{
	return (target & ~1u) | (c->thumb != TEST_ARCH_IS_THUMB);
}

static inline bool test_arch_arm_target(const struct test_arch_code *c, uint64_t *target)
{
	uint32_t w = c->word, n = w >> 16 & 15, from;

	if ((w & 0x0e000000) == 0x0a000000) { /* b, bl, blx */
		from = c->at + 8 + test_arch_sign((w & 0xffffff) << 2, 26);
		*target = w >> 28 == 15 ? test_arch_interworking((from + (w >> 23 & 2)) | 1)
					: test_arch_same_set(c, from);
	} else if ((w & 0x0fffffd0) == 0x012fff10) { /* bx, blx */
		*target = test_arch_interworking(test_arch_register(c, w & 15));
	} else if ((w & 0x0e508000) == 0x08108000) { /* ldm with pc, upwards */
		from = test_arch_register(c, n) + 4 * (uint32_t)__builtin_popcount(w & 0x7fff);
		*target = test_arch_interworking(test_arch_peek(&c->of, from));
	} else if ((w & 0x0f7ff000) == 0x051ff000 || (w & 0x0e50f000) == 0x0410f000) { /* ldr pc */
		from = test_arch_register(c, n);
		if (w & 1u << 24)
			from += w & 1u << 23 ? w & 0xfff : 0u - (w & 0xfff);
		*target = test_arch_interworking(test_arch_peek(&c->of, from));
	} else if ((w & 0x0ff0f070) == 0x0790f000 || (w & 0x0ff0f070) == 0x0080f000) { /* tables */
		from = test_arch_register(c, n) + (test_arch_register(c, w & 15) << (w >> 7 & 31));
		if ((w & 0x0f000000) == 0x07000000)
			from = test_arch_peek(&c->of, from);
		*target = test_arch_same_set(c, from);
	} else {
		return false;
	}
	return true;
}

static inline bool test_arch_short_target(const struct test_arch_code *c, uint64_t *target)
{
	uint32_t w = c->word, from;

	if ((w & 0xf000) == 0xd000 && (w & 0x0f00) < 0x0e00) /* b<c> */
		*target = test_arch_same_set(c, c->at + 4 + test_arch_sign((w & 0xff) << 1, 9));
	else if ((w & 0xf800) == 0xe000) /* b */
		*target = test_arch_same_set(c, c->at + 4 + test_arch_sign((w & 0x7ff) << 1, 12));
	else if ((w & 0xf500) == 0xb100) /* cbz, cbnz */
		*target = test_arch_same_set(c, c->at + 4 + ((w >> 3 & 31) << 1 | (w >> 3 & 64)));
	else if ((w & 0xff00) == 0x4700) /* bx, blx */
		*target = test_arch_interworking(test_arch_register(c, w >> 3 & 15));
	else if ((w & 0xff87) == 0x4687) /* mov pc */
		*target = test_arch_same_set(c, test_arch_register(c, w >> 3 & 15));
	else if ((w & 0xff00) == 0xbd00) { /* pop with pc */
		from = test_arch_register(c, 13) + 4 * (uint32_t)__builtin_popcount(w & 0xff);
		*target = test_arch_interworking(test_arch_peek(&c->of, from));
	} else {
		return false;
	}
	return true;
}

static inline bool test_arch_long_target(const struct test_arch_code *c, uint64_t *target)
{
	uint32_t w = c->word, n = w >> 16 & 15, from;
	uint32_t s = w >> 26 & 1, j1 = w >> 13 & 1, j2 = w >> 11 & 1;

	if ((w & 0xf800d000) == 0xf0008000 && (w & 0x03800000) != 0x03800000) { /* b<c> */
		from = s << 20 | j2 << 19 | j1 << 18 | (w >> 16 & 0x3f) << 12 | (w & 0x7ff) << 1;
		*target = test_arch_same_set(c, c->at + 4 + test_arch_sign(from, 21));
	} else if ((w & 0xf8008000) == 0xf0008000 && (w & 0x5000) != 0) { /* b, bl, blx */
		from = s << 24 | (1 ^ j1 ^ s) << 23 | (1 ^ j2 ^ s) << 22 | (w >> 16 & 0x3ff) << 12 |
		       (w & 0x7ff) << 1;
		from = c->at + 4 + test_arch_sign(from, 25);
		*target = w & 0x1000 ? test_arch_same_set(c, from)
				     : test_arch_interworking(from & ~3u);
	} else if ((w & 0xffd08000) == 0xe8908000) { /* ldm with pc */
		from = test_arch_register(c, n) + 4 * (uint32_t)__builtin_popcount(w & 0x7fff);
		*target = test_arch_interworking(test_arch_peek(&c->of, from));
	} else if ((w & 0xfffff000) == 0xf8d0f000 || (w & 0xff70f800) == 0xf850f800) { /* ldr pc */
		from = test_arch_register(c, n);
		if (w & 0x00800000)
			from += w & 0xfff;
		else if (w & 0x400)
			from += w & 0x200 ? w & 0xff : 0u - (w & 0xff);
		*target = test_arch_interworking(test_arch_peek(&c->of, from));
	} else if ((w & 0xfff0ffe0) == 0xe8d0f000) { /* tbb, tbh */
		from = test_arch_register(c, n) + (test_arch_register(c, w & 15) << (w >> 4 & 1));
		from = test_arch_peek(&c->of, from) & (w & 0x10 ? 0xffff : 0xff);
		*target = test_arch_same_set(c, c->at + 4 + 2 * from);
	} else {
		return false;
	}
	return true;
}

static inline bool test_arch_target(const struct test_arch_code *c, uint64_t *target)
{
	if (!c->thumb)
		return test_arch_arm_target(c, target);
	return c->length == 2 ? test_arch_short_target(c, target)
			      : test_arch_long_target(c, target);
}

/* Loads (or stores) exclusively: what comes between both kinds is not interrupted by a step. */
static inline bool test_arch_is_exclusive(const struct test_arch_code *c, bool store)
{
	uint32_t kind = c->word & 0xf0, bit = store ? 0 : 0x100000;

	if (!c->thumb)
		return (c->word & 0x0f900ff0) == (0x01800f90 | bit);
	return c->length == 4 && ((c->word & 0xfff00000) == (0xe8400000 | bit) ||
				  ((c->word & 0xfff00000) == (0xe8c00000 | bit) &&
				   (kind == 0x40 || kind == 0x50 || kind == 0x70)));
}

/* How many instructions from c on are one step: an IT block, or from an exclusive load to its store. */
static inline unsigned test_arch_group(struct test_arch_code c)
{
	unsigned count = 1;

	if (c.thumb && (c.word & 0xffffff00) == 0xbf00 && (c.word & 15) != 0)
		return 5u - (unsigned)__builtin_ctz(c.word & 15);
	if (!test_arch_is_exclusive(&c, false))
		return 1;
	for (; count < 16 && !test_arch_is_exclusive(&c, true); count++)
		c = test_arch_behind(&c);
	return count;
}

#define TEST_ARCH_NEXT test_arch_next
static inline void test_arch_next(const test_arch_registers *registers,
				  test_arch_read_function *read, void *thread,
				  struct test_arch_next *next)
{
	const struct test_arch_thread of = {registers, read, thread};
	bool thumb = registers->uregs[16] & 0x20;
	struct test_arch_code c = test_arch_code_at(&of, thumb, (uint32_t)registers->TEST_ARCH_PC);

	next->count = 1;
	for (unsigned left = test_arch_group(c); left; left--) {
		if (next->count < TEST_ARCH_NEXT_MAX &&
		    test_arch_target(&c, &next->address[next->count]))
			next->count++;
		next->address[0] = test_arch_same_set(&c, c.at + c.length);
		c = test_arch_behind(&c);
	}
}

/* What a step over an exclusive load leaves out, up to the store. */
#define TEST_ARCH_SKIPPED test_arch_skipped
static inline uint64_t test_arch_skipped(test_arch_read_function *read, void *thread, uint64_t pc,
					 uint64_t address)
{
	const struct test_arch_thread of = {NULL, read, thread};
	struct test_arch_code c = test_arch_code_at(&of, TEST_ARCH_IS_THUMB, (uint32_t)pc);
	unsigned count = test_arch_group(c);

	for (; count > 1 && c.at <= address; count--)
		c = test_arch_behind(&c);
	return c.at > address ? c.at : 0;
}

#endif

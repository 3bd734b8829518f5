/* SPDX-License-Identifier: MIT */
/*
 * x86, 32 and 64 bits: the CPU number from the segment limit that Linux keeps for this purpose
 * (lsl), from the register behind rdtscp and rdpid, and the cost of a read through %gs, which is
 * where the fastest proposals of old would have kept the number. Cycles are those of the time-stamp
 * counter, which runs at the CPU's nominal rate whatever its clock is.
 */
#include <cpuid.h>
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "arch/arch.h"

/* The selectors of Linux's CPU number segment: of a 64-bit kernel, and of a 32-bit one. */
#define SELECTOR_64 0x7b
#define SELECTOR_32 0xdb
/* Both limit and register hold the node above the CPU number. */
#define CPU_MASK 0xfff
#define SET_GS 0x1001

static unsigned long selector = SELECTOR_64;

static inline unsigned long read_lsl(void)
{
	unsigned long limit = ~0ul;

	__asm__ volatile("lsl %1, %0" : "+r"(limit) : "r"(selector) : "cc");
	return limit;
}

static inline unsigned read_rdpid(void)
{
	unsigned long value;

	__asm__ volatile("rdpid %0" : "=r"(value));
	return (unsigned)value;
}

static inline unsigned read_rdtscp(void)
{
	unsigned low, high, aux;

	__asm__ volatile("rdtscp" : "=a"(low), "=d"(high), "=c"(aux));
	return aux;
}

static inline unsigned long read_gs(void)
{
	unsigned long value;

	__asm__ volatile("mov %%gs:0, %0" : "=r"(value));
	return value;
}

/* 64-bit programs have no %gs base until they set one; 32-bit ones keep the thread's own there. */
static void set_gs(void)
{
	static unsigned long word[8];

	if (sizeof(void *) == 8)
		syscall(SYS_arch_prctl, SET_GS, word);
}

BENCH_LOOP(loop_lsl, , BENCH_USE(read_lsl()), )
BENCH_LOOP(loop_rdpid, , BENCH_USE(read_rdpid()), )
BENCH_LOOP(loop_rdtscp, , BENCH_USE(read_rdtscp()), )
BENCH_LOOP(loop_gs, set_gs(), BENCH_USE(read_gs()), )

/* Does a way give the number that the kernel gives? Tried a few times: the thread may move. */
static int agrees(unsigned long (*read_cpu)(void))
{
	int tries;

	for (tries = 0; tries < 100; tries++)
		if ((read_cpu() & CPU_MASK) == (unsigned long)sched_getcpu())
			return 1;
	return 0;
}

static int open_lsl(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "this kernel has no segment with the CPU number";
	selector = SELECTOR_64;
	if (agrees(read_lsl))
		return 0;
	selector = SELECTOR_32;
	return agrees(read_lsl) ? 0 : -ENOTSUP;
}

static int open_rdpid(const struct bench_method *m, const char **why)
{
	unsigned a, b, c = 0, d;

	(void)m;
	*why = "this CPU does not have it";
	return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & (1u << 22)) ? 0 : -ENOTSUP;
}

static int open_rdtscp(const struct bench_method *m, const char **why)
{
	unsigned a, b, c, d = 0;

	(void)m;
	*why = "this CPU does not have it";
	return __get_cpuid(0x80000001, &a, &b, &c, &d) && (d & (1u << 27)) ? 0 : -ENOTSUP;
}

uint64_t bench_arch_cycles(void)
{
	unsigned low, high;

	__asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(low), "=d"(high) : : "memory");
	return (uint64_t)high << 32 | low;
}

/* prefetchw; CPUs with 64 bits that do not have it take it for a nop. */
int bench_arch_takes_lines(void)
{
	unsigned a, b, c = 0, d;

	return __get_cpuid(0x80000001, &a, &b, &c, &d) && (c & (1u << 8));
}

const struct bench_method bench_arch_getcpu[] = {
	{.name = "lsl", .param = "", .loop = loop_lsl, .open = open_lsl},
	{.name = "rdpid", .param = "", .loop = loop_rdpid, .open = open_rdpid},
	{.name = "rdtscp", .param = "", .loop = loop_rdtscp, .open = open_rdtscp},
	{.name = "gs-addressed read", .param = "", .loop = loop_gs},
	{.name = NULL},
};

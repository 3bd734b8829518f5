/* SPDX-License-Identifier: MIT */
/* No ways of its own to read the CPU number, and no cycle counter. */
#include "arch/arch.h"

const struct bench_method bench_arch_getcpu[] = {{.name = NULL}};

uint64_t bench_arch_cycles(void)
{
	return 0;
}

/* Compilers have it in __builtin_prefetch(). */
int bench_arch_takes_lines(void)
{
	return 1;
}

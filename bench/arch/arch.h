/* SPDX-License-Identifier: MIT */
/*
 * What one CPU can measure and others cannot. bench/CMakeLists.txt chooses the file that defines
 * it: x86.c, or none.c for every CPU that has nothing of its own to show.
 */
#ifndef PERCPU_BENCH_ARCH_H
#define PERCPU_BENCH_ARCH_H

#include "bench.h"

/* Ways to learn the CPU number; a name of NULL ends the list. */
extern const struct bench_method bench_arch_getcpu[];

/* A counter that runs at a constant rate, read after everything before it is done; 0: there is
 * none that programs may read. */
uint64_t bench_arch_cycles(void);
/* Has this CPU an instruction that takes a line for writing before it is written? */
int bench_arch_takes_lines(void);

#endif

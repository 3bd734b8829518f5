/* SPDX-License-Identifier: MIT */
/*
 * Going from CPU to CPU. A hint that anybody may undo at any time (D8): what a test checks must be
 * right wherever its threads really are.
 */
#ifndef PERCPU_TEST_CPUS_H
#define PERCPU_TEST_CPUS_H

#include "test.h"

static cpu_set_t cpus_of_process;

__attribute__((constructor)) static void cpus__find(void)
{
	if (sched_getaffinity(0, sizeof(cpus_of_process), &cpus_of_process) != 0)
		CPU_SET(0, &cpus_of_process);
}

/* The n-th CPU that this process could use at its start; wraps. */
static inline unsigned nth_cpu(unsigned n)
{
	unsigned cpu = 0;

	n %= (unsigned)CPU_COUNT(&cpus_of_process);
	while (!CPU_ISSET(cpu, &cpus_of_process) || n-- != 0)
		cpu++;
	return cpu;
}

static inline void go_to_nth_cpu(unsigned n)
{
	(void)test_pin(nth_cpu(n));
}

#endif

/* SPDX-License-Identifier: MIT */
/* Arrays to walk over: their memory, their order, and the check of what walks left behind. */
#include <errno.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "harness.h"
#include "walk.h"

static size_t common_divisor(size_t a, size_t b)
{
	while (b) {
		size_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

void walk_size(struct walk_array *array, size_t variables)
{
	while (common_divisor(variables, WALK_STRIDE) != 1)
		variables--;
	array->variables = variables;
	array->step = WALK_STRIDE % variables;
	array->warm = variables * sizeof(long) <= bench_last_level_cache();
}

static size_t array_bytes(const struct walk_array *array)
{
	return array->variables * WALK_VALUES * sizeof(long);
}

/*
 * Small pages, as kernel modules and most programs have: large ones come and go with the state of
 * the system and would change the figures from run to run. A bench is no reason to push other
 * programs out of memory.
 */
int walk_open(struct walk_array *array, const char **why)
{
	size_t bytes = array_bytes(array), page = (size_t)sysconf(_SC_PAGESIZE), i;
	void *memory;

	if (array->users++)
		return 0;
	*why = "it would take more than half of the memory that is free";
	memory = MAP_FAILED;
	if ((double)bytes < bench_memory_available() / 2)
		memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			      0);
	if (memory == MAP_FAILED) {
		array->users = 0;
		return -ENOMEM;
	}
	(void)madvise(memory, bytes, MADV_NOHUGEPAGE);
	array->memory = memory;
	for (i = 0; i < bytes; i += page)
		((volatile char *)memory)[i] = 0;
	return 0;
}

void walk_close(struct walk_array *array)
{
	if (--array->users)
		return;
	munmap(array->memory, array_bytes(array));
	array->memory = NULL;
}

void walk_warm(const struct walk_array *array, unsigned values)
{
	size_t i, words = array->variables * values;

	for (i = 0; array->warm && i < words; i += BENCH_CACHE_LINE / sizeof(long))
		BENCH_USE(array->memory[i]);
}

/* The variable holds `expected` in its first value and 0 in the others; cleared. */
static int take(unsigned long *variable, unsigned values, unsigned long expected)
{
	int right = *variable == expected;
	unsigned i;

	*variable = 0;
	for (i = 1; i < values; i++) {
		right &= !variable[i];
		variable[i] = 0;
	}
	return right;
}

/*
 * A walk of whole rounds and a part of one: the part's additions are taken off in the same order,
 * which leaves all variables alike.
 */
unsigned long walk_check(struct walk_array *array, unsigned values, unsigned long each,
			 unsigned long ops)
{
	size_t n = array->variables, at = array->at, part = ops % n, i;
	unsigned long rounds = ops / n, wrong = 0;
	unsigned long *variable;

	if (!array->restarts)
		array->at = (size_t)((at + (uint64_t)ops * array->step) % n);
	if (!each)
		return ops;
	for (i = 0; i < part; i++) {
		variable = &array->memory[at * values];
		*variable -= each;
		if (!rounds)
			wrong += !take(variable, values, 0);
		at += array->step;
		at -= at >= n ? n : 0;
	}
	for (i = 0; rounds && i < n; i++)
		wrong += !take(&array->memory[i * values], values, rounds * each);
	return ops - wrong;
}

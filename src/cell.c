/* SPDX-License-Identifier: MIT */
/*
 * 64-bit cells on CPUs without a 64-bit atomic: a lock around plain ones, for a few instructions.
 */
#include "cell.h"

#if !ARCH_ATOMIC_64

static uint32_t held;

static void lock(sigset_t *saved)
{
	percpu__signals_block(saved);
	while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE) != 0)
		percpu__yield();
}

static void unlock(const sigset_t *saved)
{
	__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
	percpu__signals_restore(saved);
}

/* A child of fork: the thread that held it may not exist there. */
void percpu__cells_after_fork(void)
{
	__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
}

int64_t percpu__cell_read(const percpu__cell *cell)
{
	sigset_t saved;
	int64_t value;

	lock(&saved);
	value = *cell;
	unlock(&saved);
	return value;
}

int64_t percpu__cell_add_return(percpu__cell *cell, int64_t n)
{
	sigset_t saved;
	int64_t sum;

	lock(&saved);
	*cell = percpu__plus(*cell, n);
	sum = *cell;
	unlock(&saved);
	return sum;
}

void percpu__cell_write(percpu__cell *cell, int64_t value)
{
	sigset_t saved;

	lock(&saved);
	*cell = value;
	unlock(&saved);
}

bool percpu__cell_replace(percpu__cell *cell, int64_t *expect, int64_t value)
{
	sigset_t saved;
	bool equal;

	lock(&saved);
	equal = *cell == *expect;
	*expect = *cell;
	if (equal)
		*cell = value;
	unlock(&saved);
	return equal;
}

#endif

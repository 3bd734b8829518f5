/* SPDX-License-Identifier: MIT */
/*
 * 64-bit cells on CPUs without a 64-bit atomic: a lock around plain ones, for a few instructions.
 */
#include "cell.h"

#if !ARCH_ATOMIC_64

static uint32_t held;

void percpu__cells_hold(void)
{
	while (__atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE) != 0)
		percpu__yield();
}

void percpu__cells_release(void)
{
	__atomic_store_n(&held, 0, __ATOMIC_RELEASE);
}

static void lock(sigset_t *saved)
{
	percpu__signals_block(saved);
	percpu__cells_hold();
}

static void unlock(const sigset_t *saved)
{
	percpu__cells_release();
	percpu__signals_restore(saved);
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

#if PERCPU__NARROW_CELLS

struct narrow {
	uint32_t low, near;
	percpu__cell known;
};

static int32_t moved(const struct narrow *cell, uint32_t low)
{
	return (int32_t)(low - __atomic_load_n(&cell->near, __ATOMIC_RELAXED));
}

/* W1. A slot that nobody has added to is not written to, and stays unpopulated. */
int64_t percpu__cpu_cell_read(const void *p)
{
	struct narrow *cell = (struct narrow *)(uintptr_t)p;
	sigset_t saved;
	int64_t count;
	uint32_t low;

	lock(&saved);
	low = __atomic_load_n(&cell->low, __ATOMIC_RELAXED);
	count = percpu__plus(cell->known, moved(cell, low));
	if (count != cell->known) {
		cell->known = count;
		__atomic_store_n(&cell->near, low, __ATOMIC_RELAXED);
	}
	unlock(&saved);
	return count;
}

/* W2, on the CPU that this thread is on. */
void percpu__cpu_cell_make_room(void *base)
{
	uint32_t cpu = (uint32_t)percpu_cpu_raw();
	const struct narrow *cell;
	int32_t distance;

	if (cpu >= percpu__rt_writable.bound)
		return;
	cell = percpu__slot(base, cpu);
	distance = moved(cell, __atomic_load_n(&cell->low, __ATOMIC_RELAXED));
	if (distance >= PERCPU__NEAR / 2 || distance <= -PERCPU__NEAR / 2)
		(void)percpu__cpu_cell_read(cell);
}

#endif

#endif

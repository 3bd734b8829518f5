/* SPDX-License-Identifier: MIT */
/*
 * 64-bit cells that several threads add to: real atomics, on every CPU.
 *
 * A 32-bit CPU without a 64-bit atomic takes a lock of its own for them, with signals held off. It
 * is the last lock taken: cells are used under the library's.
 */
#ifndef PERCPU_CELL_H
#define PERCPU_CELL_H

#include "internal.h"

#include <percpu/counter.h>

#if ARCH_ATOMIC_64

static inline void percpu__cells_after_fork(void)
{
}

static inline int64_t percpu__cell_read(const percpu__cell *cell)
{
	return __atomic_load_n(cell, __ATOMIC_RELAXED);
}

static inline int64_t percpu__cell_add_return(percpu__cell *cell, int64_t n)
{
	return __atomic_add_fetch(cell, n, __ATOMIC_RELAXED);
}

static inline int64_t percpu__cell_read_acquire(const percpu__cell *cell)
{
	return __atomic_load_n(cell, __ATOMIC_ACQUIRE);
}

static inline int64_t percpu__cell_add_return_acq_rel(percpu__cell *cell, int64_t n)
{
	return __atomic_add_fetch(cell, n, __ATOMIC_ACQ_REL);
}

static inline void percpu__cell_write(percpu__cell *cell, int64_t value)
{
	__atomic_store_n(cell, value, __ATOMIC_RELAXED);
}

/* False: it was not *expect, which now holds what it was. */
static inline bool percpu__cell_replace(percpu__cell *cell, int64_t *expect, int64_t value)
{
	return __atomic_compare_exchange_n(cell, expect, value, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
}

#else

HIDDEN int64_t percpu__cell_read(const percpu__cell *cell);
HIDDEN int64_t percpu__cell_add_return(percpu__cell *cell, int64_t n);
HIDDEN void percpu__cell_write(percpu__cell *cell, int64_t value);
HIDDEN bool percpu__cell_replace(percpu__cell *cell, int64_t *expect, int64_t value);
HIDDEN void percpu__cells_after_fork(void);

/* The lock orders. */
#define percpu__cell_read_acquire percpu__cell_read
#define percpu__cell_add_return_acq_rel percpu__cell_add_return

#endif

/* Adds to the calling thread's shared slot, which must be chosen already. */
static inline void percpu__shared_cell_add(void *base, int64_t n)
{
	percpu__cell *cell = percpu__shared_copy(base);

	(void)percpu__cell_add_return(cell, n);
}

/* The same with the modular sum spelled out, so that wrapping is defined. */
static inline int64_t percpu__plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline int64_t percpu__minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * 64-bit cells that several threads add to: real atomics, on every CPU.
 *
 * A 32-bit CPU without a 64-bit atomic takes a lock of its own for them, with signals held off. It
 * is the last lock taken: cells are used under the library's.
 *
 * Cells that sequences add to, in CPU slots, are the same words where the CPU stores 64 bits with one
 * instruction. Where it does not, they are narrow:
 *
 *	low    the low half of the count                       written by sequences, one store
 *	near   the low half of known                           written under the lock
 *	known  the count, as it was when somebody looked       written under the lock
 *
 *   W1  The count is known + (low - near), the difference taken as signed: it is below 2^31 either
 *       way. A sequence stores only what is within 2^29 (PERCPU__NEAR) of the near that it reads.
 *       That near may be old, as stores may be seen late, but then all lows since were near to that
 *       one or an older one, the low that the last near was made of among them: so they are within
 *       2^30 of the last near. While a sequence runs, low does not change, and steps are below
 *       2^28: who looks meanwhile makes near the low that it started from.
 *   W2  Who finds no room is sent to a shared slot, where any amount is exact, and moves near on for
 *       those who come after.
 */
#ifndef PERCPU_CELL_H
#define PERCPU_CELL_H

#include "internal.h"

#include <percpu/counter.h>

#if ARCH_ATOMIC_64

static inline void percpu__cells_hold(void)
{
}

static inline void percpu__cells_release(void)
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
/* Over a fork: so that no child finds one half written. Signals are held off. */
HIDDEN void percpu__cells_hold(void);
HIDDEN void percpu__cells_release(void);

/* The lock orders. */
#define percpu__cell_read_acquire percpu__cell_read
#define percpu__cell_add_return_acq_rel percpu__cell_add_return

#endif

/* Bytes of a counter's cell; what sequences have added to the one of a CPU slot; and before the next
 * attempt to add there (W2). */
#if PERCPU__NARROW_CELLS
#define PERCPU__CELL_SIZE (2 * sizeof(percpu__cell))
HIDDEN int64_t percpu__cpu_cell_read(const void *cell);
HIDDEN void percpu__cpu_cell_make_room(void *base);
#else
#define PERCPU__CELL_SIZE sizeof(percpu__cell)
static inline int64_t percpu__cpu_cell_read(const void *cell)
{
	return percpu__cell_read((const percpu__cell *)cell);
}

static inline void percpu__cpu_cell_make_room(void *base)
{
	(void)base;
}
#endif

/* What is in the cell of a slot of either kind. */
static inline int64_t percpu__slot_cell_read(const void *base, unsigned slot)
{
	const void *cell = percpu__slot(base, slot);

	return slot < percpu__rt_writable.ncpus ? percpu__cpu_cell_read(cell)
						: percpu__cell_read((const percpu__cell *)cell);
}

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

/* SPDX-License-Identifier: MIT */
/*
 * A limited counter by ceilings. Per slot:
 *
 *	count    what was added there; never moved
 *	ceiling  a sequence adds on this CPU only while count + n <= ceiling
 *	granted  what the ceiling is when the slot is open; CLOSED tells them apart
 *
 * L1  pool + sum of granted (CPU slots) + sum of counts (shared slots) = limit, whenever the lock
 *     is free and no call is between two of its steps; until then the left side is smaller, never
 *     larger. So with L2 the sum of counts never passes the limit.
 * L2  count <= granted in every CPU slot: the one sequence that raises a count compares count and
 *     ceiling with what it was computed from (compare two words and store one).
 * L3  ceiling and granted are written under the library's lock alone. A ceiling is lowered in
 *     three steps: close it, fence, take back what the count has not used. After the fence no
 *     sequence that saw the open ceiling can commit. Raising needs no fence.
 * L4  Without a fence there are no CPU slots in use (I9): everything takes from the pool.
 */
#include "internal.h"

#include <percpu/limit.h>

#include "cell.h"

#define CLOSED INT64_MIN
/* Attempts to add on a CPU slot: each lost one was a migration or a handler in between. */
#define FAST_TRIES 16

struct cells {
	percpu__cell count, ceiling, granted;
};

static struct cells *cells_of(const struct percpu_limit *limit, unsigned slot)
{
	return percpu__slot(limit->handle.base, slot);
}

static percpu__cell *pool_of(const struct percpu_limit *limit)
{
	return (percpu__cell *)(uintptr_t)&limit->pool;
}

int percpu_limit_init(struct percpu_limit *limit, int64_t value)
{
	void *base;
	int result;

	if (!limit)
		return -EINVAL;
	*limit = (struct percpu_limit){0};
	if (value < 0)
		return -EINVAL;
	result = percpu_alloc(&base, sizeof(struct cells), sizeof(percpu__cell));
	if (result != 0)
		return result;
	limit->limit = value;
	limit->pool = value;
	limit->handle.base = base;
	limit->handle.bound =
		PERCPU__WORD_MAX == 8 && percpu__has_fence() ? percpu__rt_writable.bound : 0;
	return 0;
}

int percpu_limit_destroy(struct percpu_limit *limit)
{
	void *base;

	if (!limit || !limit->handle.base)
		return -EINVAL;
	base = limit->handle.base;
	limit->handle.bound = 0;
	limit->handle.base = NULL;
	return percpu_free(base);
}

#if PERCPU__WORD_MAX == 8
/* L2. True: added on a CPU slot. */
static bool add_below_ceiling(struct percpu_limit *limit, int64_t n)
{
	for (int tries = 0; tries < FAST_TRIES; tries++) {
		uint32_t slot = (uint32_t)percpu_cpu_raw();
		int64_t count, ceiling, room;
		struct cells *cells;
		int answer;

		if (slot >= limit->handle.bound)
			return false;
		cells = cells_of(limit, slot);
		count = percpu__cell_read(&cells->count);
		ceiling = percpu__cell_read(&cells->ceiling);
		if (ceiling == CLOSED || __builtin_sub_overflow(ceiling, count, &room) || room < n)
			return false;
		cells = limit->handle.base;
		answer = percpu__seq_cmpxchg2_8(&cells->count, (uint64_t)count,
						(uint64_t)(count + n), &cells->ceiling,
						(uint64_t)ceiling, &slot);
		if (answer > 0)
			return true;
		if (answer != PERCPU__REFUSED)
			return false;
	}
	return false;
}

static bool sub_on_cpu(struct percpu_limit *limit, int64_t n)
{
	struct cells *cells = limit->handle.base;

	return limit->handle.bound != 0 && percpu__seq_add_8(&cells->count, 0 - (uint64_t)n);
}
#else
static bool add_below_ceiling(struct percpu_limit *limit, int64_t n)
{
	(void)limit, (void)n;
	return false;
}

static bool sub_on_cpu(struct percpu_limit *limit, int64_t n)
{
	(void)limit, (void)n;
	return false;
}
#endif

static bool take_from_pool(struct percpu_limit *limit, int64_t n)
{
	int64_t pool = percpu__cell_read(pool_of(limit));

	do {
		if (pool < n)
			return false;
	} while (!percpu__cell_replace(pool_of(limit), &pool, pool - n));
	return true;
}

/* Counts what was taken from the pool, on a shared slot (L1: taken first, counted after). */
static bool add_from_pool(struct percpu_limit *limit, int64_t n)
{
	if (!take_from_pool(limit, n))
		return false;
	(void)percpu__thread_ready();
	percpu__shared_cell_add(limit->handle.base, n);
	return true;
}

/* Raises this CPU's ceiling by its share of the pool, if the lock is free: for the next adds. */
static void grant(struct percpu_limit *limit)
{
	uint32_t slot = (uint32_t)percpu_cpu_raw();
	struct cells *cells;
	int64_t share = percpu__cell_read(pool_of(limit)) / (2 * (int64_t)percpu_ncpus());
	sigset_t saved;

	if (slot >= limit->handle.bound || share == 0 || !percpu__trylock(&saved))
		return;
	cells = cells_of(limit, slot);
	/* A ceiling that a failed fence left closed takes nothing more. */
	if (percpu__cell_read(&cells->ceiling) != CLOSED && take_from_pool(limit, share)) {
		int64_t granted = percpu__cell_read(&cells->granted) + share;

		percpu__cell_write(&cells->granted, granted);
		percpu__cell_write(&cells->ceiling, granted);
	}
	percpu__unlock(&saved);
}

/* What others' ceilings leave unused, as far as a look without a fence can tell. */
static int64_t unused(struct percpu_limit *limit)
{
	int64_t sum = 0;

	for (unsigned slot = 0; slot < limit->handle.bound; slot++) {
		struct cells *cells = cells_of(limit, slot);

		sum = percpu__plus(sum, percpu__minus(percpu__cell_read(&cells->granted),
						      percpu__cell_read(&cells->count)));
	}
	return sum;
}

/* L3, for every CPU slot. The lock is held. */
static int reclaim(struct percpu_limit *limit)
{
	for (unsigned slot = 0; slot < limit->handle.bound; slot++)
		percpu__cell_write(&cells_of(limit, slot)->ceiling, CLOSED);
	if (percpu_fence() != 0)
		return -EPERM;
	for (unsigned slot = 0; slot < limit->handle.bound; slot++) {
		struct cells *cells = cells_of(limit, slot);
		/* A sub may lower the count after this read: that leaves room below the ceiling. */
		int64_t count = percpu__cell_read(&cells->count);
		int64_t back = percpu__minus(percpu__cell_read(&cells->granted), count);

		INVARIANT("L2", back >= 0);
		percpu__cell_write(&cells->granted, count);
		percpu__cell_write(&cells->ceiling, count);
		(void)percpu__cell_add_return(pool_of(limit), back);
	}
	return 0;
}

static COLD int add_slow(struct percpu_limit *limit, int64_t n)
{
	sigset_t saved;
	int result = -EAGAIN;

	(void)percpu__thread_ready();
	if (add_from_pool(limit, n)) {
		grant(limit);
		return 0;
	}
	if (limit->handle.bound == 0 ||
	    percpu__plus(unused(limit), percpu__cell_read(pool_of(limit))) < n)
		return -EAGAIN;
	percpu__lock(&saved);
	if (add_from_pool(limit, n))
		result = 0;
	else if (reclaim(limit) != 0)
		result = -EPERM;
	else if (add_from_pool(limit, n))
		result = 0;
	percpu__unlock(&saved);
	return result;
}

int percpu_limit_add(struct percpu_limit *limit, int64_t n)
{
	if (UNLIKELY(!limit || n < 0 || !limit->handle.base))
		return -EINVAL;
	if (__builtin_expect(add_below_ceiling(limit, n), 1))
		return 0;
	return add_slow(limit, n);
}

int percpu_limit_sub(struct percpu_limit *limit, int64_t n)
{
	if (UNLIKELY(!limit || n < 0 || !limit->handle.base))
		return -EINVAL;
	if (__builtin_expect(sub_on_cpu(limit, n), 1))
		return 0;
	(void)percpu__thread_ready();
	/* Counted first, given to the pool after (L1). */
	percpu__shared_cell_add(limit->handle.base, percpu__minus(0, n));
	(void)percpu__cell_add_return(pool_of(limit), n);
	return 0;
}

int64_t percpu_limit_sum(const struct percpu_limit *limit)
{
	int64_t sum = 0;

	if (!limit || !limit->handle.base)
		return 0;
	for (unsigned slot = 0; slot < percpu__rt_writable.nslots; slot++)
		sum = percpu__plus(sum, percpu__cell_read(&cells_of(limit, slot)->count));
	/* One slot read before a sub and another after an add that it made room for: the words
	 * read add up to what never was. */
	return sum > limit->limit ? limit->limit : sum;
}

int percpu_limit_compare(const struct percpu_limit *limit, int64_t value)
{
	int64_t sum;

	if (!limit || !limit->handle.base)
		return (value < 0) - (value > 0);
	if (value > limit->limit - percpu__cell_read(pool_of(limit)))
		return -1;
	sum = percpu_limit_sum(limit);
	return (sum > value) - (sum < value);
}

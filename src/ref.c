/* SPDX-License-Identifier: MIT */
/*
 * Reference counts. A reference lies in one of these words:
 *
 *	cell in every CPU slot  added to by sequences, while cpu_base is not NULL
 *	count, in the object    added to by atomics: by threads without a CPU slot, and by all once
 *	                        cpu_base is NULL; BIAS more than that until the kill
 *
 * States:
 *
 *	LIVE -> KILLING -> DYING        kill: claimed; and its last step
 *	        KILLING -> LIVE         where the fence failed; cpu_base stays NULL
 *	LIVE, DYING -> DESTROYED
 *
 *   R1  cells + count = references + BIAS before the kill's last step, and count = references
 *       after it. The kill sets cpu_base to NULL and fences: what was added to a cell before is
 *       visible then, and nothing is added to one afterwards, as sequences read that word inside.
 *       So the sum of the cells is what it stays, and the one atomic that adds it to count and
 *       takes BIAS and the maker's reference away loses nothing and counts nothing twice.
 *   R2  count is 0 at one moment only, and one call makes it so. Before the last step it is at
 *       least BIAS less the references in cells, which is far from 0. From then on a reference is
 *       added by who has one, or by compare-exchange from a count that is not 0.
 *   R3  Killed once; no get or put when there is no reference. Debug builds stop.
 *   R4  What was done under a reference happens before release runs: puts on count are acquire
 *       and release; a put on a cell is before the barrier that the kill's fence made on its CPU,
 *       or before a change of threads, and the kill's atomic releases it to the last put.
 */
#include "internal.h"

#include <percpu/ref.h>

#include "cell.h"

#define BIAS (INT64_C(1) << 62)

enum { EMPTY, LIVE, KILLING, DYING, DESTROYED };

static percpu__cell *count_of(const struct percpu_ref *ref)
{
	return (percpu__cell *)(uintptr_t)&ref->count;
}

static int64_t read_count(const struct percpu_ref *ref)
{
	return percpu__cell_read_acquire(count_of(ref));
}

static int64_t add_return(struct percpu_ref *ref, int64_t n)
{
	return percpu__cell_add_return_acq_rel(count_of(ref), n);
}

/* Signed distance to the bias: cells may have taken and given any number of references. */
static bool biased(int64_t count)
{
	return count > BIAS / 2;
}

static uint32_t state_of(const struct percpu_ref *ref)
{
	return __atomic_load_n(&ref->state, __ATOMIC_ACQUIRE);
}

int percpu_ref_init(struct percpu_ref *ref, percpu_ref_release *release)
{
	void *base = NULL;
	int result;

	if (!ref)
		return -EINVAL;
	*ref = (struct percpu_ref){0};
	percpu__start();
	/* Without a fence there would be no kill: one word from the start (I9). */
	if (percpu__has_fence() && percpu__rt_writable.bound != 0) {
		result = percpu_alloc(&base, PERCPU__CELL_SIZE, sizeof(percpu__cell));
		if (result != 0)
			return result;
	}
	ref->release = release;
	percpu__cell_write(count_of(ref), BIAS + 1);
	ref->cpu_base = ref->base = base;
	ref->state = LIVE;
	return 0;
}

/* R1: what the CPUs have. Nothing is added any more. */
static int64_t sum_of_cells(const struct percpu_ref *ref)
{
	int64_t sum = 0;

	if (!ref->base)
		return 0;
	for (unsigned slot = 0; slot < percpu__rt_writable.ncpus; slot++)
		sum = percpu__plus(sum, percpu__slot_cell_read(ref->base, slot));
	return sum;
}

static bool reached(struct percpu_ref *ref, int64_t count)
{
	if (count != 0)
		return false;
	if (ref->release)
		ref->release(ref);
	return true;
}

/* Under the library's lock, which fork() takes: a child finds a kill not begun, or done. */
static int kill_locked(struct percpu_ref *ref, int64_t *count)
{
	uint32_t live = LIVE;
	int64_t sum;

	if (!__atomic_compare_exchange_n(&ref->state, &live, KILLING, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_RELAXED))
		return -EALREADY;
	__atomic_store_n(&ref->cpu_base, NULL, __ATOMIC_RELAXED);
	if (ref->base && percpu_fence() != 0) {
		__atomic_store_n(&ref->state, LIVE, __ATOMIC_RELEASE);
		return -EPERM;
	}
	sum = sum_of_cells(ref);
	if (ref->base)
		(void)percpu__free_locked(ref->base);
	ref->base = NULL;
	/* Before the last step, after which the object may be gone. */
	__atomic_store_n(&ref->state, DYING, __ATOMIC_RELEASE);
	*count = add_return(ref, percpu__minus(sum, BIAS + 1));
	return 0;
}

int percpu_ref_kill(struct percpu_ref *ref)
{
	int64_t count = 0;
	sigset_t saved;
	int result;

	if (!ref || state_of(ref) == EMPTY || state_of(ref) == DESTROYED)
		return -EINVAL;
	percpu__lock(&saved);
	result = kill_locked(ref, &count);
	percpu__unlock(&saved);
	INVARIANT("R3", result != -EALREADY);
	if (result == 0)
		(void)reached(ref, count);
	return result;
}

COLD void percpu__ref_get_cold(struct percpu_ref *ref)
{
	int64_t count;

	(void)percpu__thread_ready();
	count = add_return(ref, 1);
	INVARIANT("R3", count > 1);
	(void)count;
}

COLD bool percpu__ref_tryget_cold(struct percpu_ref *ref, bool live)
{
	int64_t count;

	(void)percpu__thread_ready();
	count = read_count(ref);
	do {
		if (live ? !biased(count) : count == 0)
			return false;
	} while (!percpu__cell_replace(count_of(ref), &count, count + 1));
	return true;
}

COLD bool percpu__ref_put_cold(struct percpu_ref *ref)
{
	int64_t count;

	(void)percpu__thread_ready();
	count = add_return(ref, -1);
	INVARIANT("R3", count >= 0);
	return reached(ref, count);
}

void percpu__ref_get_outline(struct percpu_ref *ref)
{
	if (!percpu__ref_add(ref, 1))
		percpu__ref_get_cold(ref);
}

bool percpu__ref_tryget_outline(struct percpu_ref *ref, bool live)
{
	return percpu__ref_add(ref, 1) || percpu__ref_tryget_cold(ref, live);
}

bool percpu__ref_put_outline(struct percpu_ref *ref)
{
	return !percpu__ref_add(ref, -1) && percpu__ref_put_cold(ref);
}

bool percpu_ref_is_zero(const struct percpu_ref *ref)
{
	return ref && state_of(ref) != EMPTY && read_count(ref) == 0;
}

bool percpu_ref_is_dying(const struct percpu_ref *ref)
{
	return ref && state_of(ref) != EMPTY && !biased(read_count(ref));
}

int percpu_ref_destroy(struct percpu_ref *ref)
{
	void *base;

	if (!ref || state_of(ref) == EMPTY || state_of(ref) == DESTROYED)
		return -EINVAL;
	base = ref->base;
	ref->cpu_base = NULL;
	ref->base = NULL;
	__atomic_store_n(&ref->state, DESTROYED, __ATOMIC_RELEASE);
	return percpu_free(base);
}

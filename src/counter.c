/* SPDX-License-Identifier: MIT */
/*
 * Counters. A count lies in one of these words, and the sum is over all of them:
 *
 *	cell in every CPU slot     added to by sequences
 *	cell in every shared slot  added to by atomics
 *	aside, in the object       added to by atomics: adds before there are slots, after they are
 *	                           gone, and the difference that set() and reset() make
 *
 * States of an object, by handle.base and handle.flags:
 *
 *	EMPTY (base NULL)  -> READY (base set, bound set or still 0)  -> DESTROYED (base NULL)
 *
 * C1  No count moves from one word to another while readers may add up; destroy, during which
 *     there are none, moves the slots' total aside.
 * C2  EMPTY to READY is done under the library's lock, by the first slow add of a static counter.
 *     Whoever does not get the lock at once counts aside.
 */
#include "internal.h"

#include <percpu/counter.h>

#include "cell.h"

#define EMPTY 0
#define READY 1
#define DESTROYED 2

/* No array is larger. */
#define COUNT_MAX (PTRDIFF_MAX / sizeof(struct percpu_counter))

static inline percpu__cell *aside(const struct percpu_counter *counter)
{
	return (percpu__cell *)(uintptr_t)&counter->aside;
}

static inline void *base_of(const struct percpu_counter *counter)
{
	return __atomic_load_n(&counter->handle.base, __ATOMIC_ACQUIRE);
}

/* A static counter's first slow add: gives it slots, if the lock can be had without waiting. */
static COLD void become_ready(struct percpu_counter *counter)
{
	sigset_t saved;
	void *base;

	if (!percpu__trylock(&saved))
		return;
	if (counter->handle.flags == EMPTY &&
	    percpu__alloc_locked(&base, sizeof(percpu__cell), sizeof(percpu__cell)) == 0) {
		__atomic_store_n(&counter->handle.flags, READY, __ATOMIC_RELAXED);
		percpu__cell_write(percpu__note(base), percpu__cell_read(aside(counter)));
		percpu__handle_publish(&counter->handle, base);
	}
	percpu__unlock(&saved);
}

static COLD void add_aside(struct percpu_counter *counter, int64_t n)
{
	int saved = errno;

	(void)percpu__cell_add_return(aside(counter), n);
	if (percpu__thread_ready() &&
	    __atomic_load_n(&counter->handle.flags, __ATOMIC_RELAXED) == EMPTY)
		become_ready(counter);
	errno = saved;
}

/* The counter has no slots yet or any more, or the thread must look after its shared one. */
void percpu__counter_first(struct percpu_counter *counter, int64_t n)
{
	void *base = base_of(counter);

	if (!base || !percpu__thread_ready()) {
		add_aside(counter, n);
		return;
	}
	if (!percpu__shared_valid())
		percpu__shared_look_around(base);
	percpu__shared_cell_add(base, n);
}

void percpu__counter_outline(struct percpu_counter *counter, int64_t n)
{
	void *base;

	if (UNLIKELY(!counter) ||
	    __builtin_expect(percpu__seq_add_handle_8(&counter->handle, n), 1))
		return;
	base = base_of(counter);
	if (__builtin_expect(base && percpu__shared_valid(), 1))
		percpu__shared_cell_add(base, n);
	else
		percpu__counter_first(counter, n);
}

static int64_t sum_slots(const char *base)
{
	uint64_t sum = 0;

	/* Inlined adds are no barriers, but keep their order with this one. */
	PERCPU__BARRIER();
	for (unsigned left = percpu__rt_writable.nslots; left; left--) {
		sum += (uint64_t)percpu__cell_read((const percpu__cell *)(const void *)base);
		base += PERCPU_STRIDE;
	}
	return (int64_t)sum;
}

int64_t percpu_counter_sum(const struct percpu_counter *counter)
{
	int64_t sum;
	char *base;

	if (!counter)
		return 0;
	base = base_of(counter);
	sum = percpu__cell_read(aside(counter));
	if (!base)
		return sum;
	sum = percpu__plus(sum, sum_slots(base));
	percpu__cell_write(percpu__note(base), sum);
	percpu__shared_new_epoch();
	return sum;
}

int64_t percpu_counter_sum_positive(const struct percpu_counter *counter)
{
	int64_t sum = percpu_counter_sum(counter);

	return sum < 0 ? 0 : sum;
}

int64_t percpu_counter_read(const struct percpu_counter *counter)
{
	void *base;

	if (!counter)
		return 0;
	base = base_of(counter);
	return base ? percpu__cell_read(percpu__note(base)) : percpu__cell_read(aside(counter));
}

int percpu_counter_compare(const struct percpu_counter *counter, int64_t limit)
{
	int64_t sum = percpu_counter_sum(counter);

	return (sum > limit) - (sum < limit);
}

int percpu_counter_set(struct percpu_counter *counter, int64_t value)
{
	if (!counter)
		return -EINVAL;
	(void)percpu__cell_add_return(aside(counter),
				      percpu__minus(value, percpu_counter_sum(counter)));
	(void)percpu_counter_sum(counter);
	return 0;
}

int percpu_counter_reset(struct percpu_counter *counter)
{
	return percpu_counter_set(counter, 0);
}

int percpu_counter_init(struct percpu_counter *counter)
{
	return percpu_counter_init_many(counter, 1);
}

/* Takes the slots of the first n away again; nobody has used them. */
static void give_back(struct percpu_counter *counters, size_t n)
{
	while (n--) {
		(void)percpu__free_locked(counters[n].handle.base);
		counters[n] = (struct percpu_counter)PERCPU_COUNTER_INIT;
	}
}

/* The objects are not shared yet, so bound needs no fence before it. */
int percpu_counter_init_many(struct percpu_counter *counters, size_t n)
{
	sigset_t saved;
	int result = 0;
	size_t done;

	if (!counters || n == 0 || n > COUNT_MAX)
		return -EINVAL;
	percpu__start();
	percpu__lock(&saved);
	for (done = 0; done < n; done++) {
		struct percpu_counter *counter = &counters[done];

		*counter = (struct percpu_counter)PERCPU_COUNTER_INIT;
		result = percpu__alloc_locked(&counter->handle.base, sizeof(percpu__cell),
					      sizeof(percpu__cell));
		if (result != 0)
			break;
		counter->handle.flags = READY;
		counter->handle.bound = percpu__rt_writable.bound;
	}
	if (result != 0)
		give_back(counters, done);
	percpu__unlock(&saved);
	return result;
}

int percpu_counter_destroy(struct percpu_counter *counter)
{
	return percpu_counter_destroy_many(counter, 1);
}

static int close_counter(struct percpu_counter *counter)
{
	uint32_t flags = counter->handle.flags;

	__atomic_store_n(&counter->handle.bound, 0, __ATOMIC_RELAXED);
	__atomic_store_n(&counter->handle.flags, DESTROYED, __ATOMIC_RELAXED);
	return flags == DESTROYED ? -EINVAL : 0;
}

static void free_slots(struct percpu_counter *counter)
{
	char *base = counter->handle.base;

	if (!base)
		return;
	(void)percpu__cell_add_return(aside(counter), sum_slots(base));
	__atomic_store_n(&counter->handle.base, NULL, __ATOMIC_RELEASE);
	(void)percpu__free_locked(base);
}

int percpu_counter_destroy_many(struct percpu_counter *counters, size_t n)
{
	sigset_t saved;
	int result = 0;

	if (!counters || n == 0 || n > COUNT_MAX)
		return -EINVAL;
	percpu__start();
	percpu__lock(&saved);
	for (size_t i = 0; i < n; i++)
		if (close_counter(&counters[i]) != 0)
			result = -EINVAL;
	/* What was under way on a CPU slot commits before this or counts aside afterwards. */
	(void)percpu_fence();
	for (size_t i = 0; i < n; i++)
		free_slots(&counters[i]);
	percpu__unlock(&saved);
	return result;
}

/* A number made of one word's value, when there are no slots. */
static uint64_t id_aside(struct percpu_id *id)
{
	uint64_t value;

	value = (uint64_t)percpu__cell_add_return(aside(&id->counter), 1);
	return value | (1ull << 63);
}

uint64_t percpu_id_next(struct percpu_id *id)
{
	uint32_t slot;
	uint64_t value;
	void *base;

	if (!id)
		return 0;
	base = base_of(&id->counter);
	if (UNLIKELY(!base)) {
		add_aside(&id->counter, 0); /* gives it slots, if they can be had at once */
		base = base_of(&id->counter);
	}
	if (UNLIKELY(!base || !percpu__thread_ready()))
		return id_aside(id);
#if PERCPU__WORD_MAX == 8
	value = percpu__word_add_return(base, 1, 8, &slot);
#else
	slot = percpu__self.shared;
	value = (uint64_t)percpu__cell_add_return(percpu__slot(base, slot), 1);
#endif
	return value * percpu__rt_writable.nslots + slot;
}

int percpu_id_destroy(struct percpu_id *id)
{
	return id ? percpu_counter_destroy(&id->counter) : -EINVAL;
}

/* SPDX-License-Identifier: MIT */
/*
 * Counters. A count lies in one of these words, and the sum is over all of them:
 *
 *	cell in every CPU slot     added to by sequences
 *	cell in every shared slot  added to by atomics
 *	aside, in the object       added to by atomics: adds before there are slots, after they are
 *	                           gone, and the difference that set() and reset() make
 *
 * States of an object:
 *
 *	EMPTY (base NULL)  -> READY (base set)  -> DESTROYED (base NULL)
 *
 * C1  No count moves from one word to another while readers may add up; destroy, during which
 *     there are none, moves the slots' total aside.
 * C2  EMPTY to READY is done under the library's lock, by the first slow add of a static counter.
 *     Whoever does not get the lock at once counts aside.
 * C3  cpu_base is base or NULL, and sequences read it once, in their range: one that adds to a cell
 *     found the object ready. Making it ready needs no fence; taking the slots away does.
 * C4  The note, behind the shared slots, is what a walk over the slots added up to. What is known
 *     without one is aside and note: no baseline is in a note, so a walk that a reset overtakes
 *     leaves nothing old behind.
 * C5  Cells of an add-only counter never go down. So a note, and the sum of some slots, is never more
 *     than what all slots have from then on.
 */
#include "internal.h"

#include <percpu/counter.h>

#include "cell.h"

enum { EMPTY, READY, DESTROYED };

/* Of an add-only counter: a larger one may be a negative one that has wrapped. */
#define BASELINE_MAX (INT64_C(1) << 62)

/* No array is larger. */
#define COUNT_MAX (PTRDIFF_MAX / sizeof(struct percpu_counter))

static inline percpu__cell *aside(const struct percpu_counter *counter)
{
	return (percpu__cell *)(uintptr_t)&counter->aside;
}

static inline void *base_of(const struct percpu_counter *counter)
{
	return __atomic_load_n(&counter->base, __ATOMIC_ACQUIRE);
}

/* C3. NULL where this process has no sequences, like a counter without slots. */
static void publish(struct percpu_counter *counter, void *base)
{
	void *cpu_base = percpu__rt_writable.bound != 0 ? base : NULL;

	__atomic_store_n(&counter->state, READY, __ATOMIC_RELAXED);
	__atomic_store_n(&counter->base, base, __ATOMIC_RELEASE);
	__atomic_store_n(&counter->cpu_base, cpu_base, __ATOMIC_RELEASE);
}

/* A static counter's first slow add: gives it slots, if the lock can be had without waiting. */
static COLD void become_ready(struct percpu_counter *counter)
{
	sigset_t saved;
	void *base;

	if (!percpu__trylock(&saved))
		return;
	if (counter->state == EMPTY &&
	    percpu__alloc_locked(&base, PERCPU__CELL_SIZE, sizeof(percpu__cell)) == 0)
		publish(counter, base);
	percpu__unlock(&saved);
}

static COLD void add_aside(struct percpu_counter *counter, int64_t n)
{
	int saved = errno;

	(void)percpu__cell_add_return(aside(counter), n);
	if (percpu__thread_ready() && __atomic_load_n(&counter->state, __ATOMIC_RELAXED) == EMPTY)
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

	INVARIANT("C5", !counter || !counter->add_only || n >= 0);
	if (UNLIKELY(!counter) ||
	    __builtin_expect(percpu__seq_add_handle_8(&counter->cpu_base, n), 1))
		return;
	base = base_of(counter);
	if (base)
		percpu__cpu_cell_make_room(base);
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
	for (unsigned slot = 0; slot < percpu__rt_writable.nslots; slot++)
		sum += (uint64_t)percpu__slot_cell_read(base, slot);
	return (int64_t)sum;
}

int64_t percpu_counter_sum(const struct percpu_counter *counter)
{
	int64_t baseline, sum;
	char *base;

	if (!counter)
		return 0;
	base = base_of(counter);
	baseline = percpu__cell_read(aside(counter));
	if (!base)
		return baseline;
	sum = sum_slots(base);
	percpu__cell_write(percpu__note(base), sum);
	percpu__shared_new_epoch();
	return percpu__plus(baseline, sum);
}

int64_t percpu_counter_sum_positive(const struct percpu_counter *counter)
{
	int64_t sum = percpu_counter_sum(counter);

	return sum < 0 ? 0 : sum;
}

int64_t percpu_counter_read(const struct percpu_counter *counter)
{
	int64_t baseline;
	void *base;

	if (!counter)
		return 0;
	base = base_of(counter);
	baseline = percpu__cell_read(aside(counter));
	return base ? percpu__plus(baseline, percpu__cell_read(percpu__note(base))) : baseline;
}

/* The sum of the first slots that have more than enough; if there are none, of all. */
static int64_t sum_until(const char *base, int64_t enough)
{
	int64_t sum = 0;

	PERCPU__BARRIER(); /* as in sum_slots() */
	for (unsigned slot = 0; slot < percpu__rt_writable.nslots && sum <= enough; slot++)
		sum = percpu__plus(sum, percpu__slot_cell_read(base, slot));
	return sum;
}

/* C5. The slots against what the limit leaves to them. */
static int compare_slots(char *base, int64_t rest)
{
	int64_t known = percpu__cell_read(percpu__note(base));
	int64_t sum;

	if (known > rest)
		return 1;
	sum = sum_until(base, rest);
	if (sum > known)
		percpu__cell_write(percpu__note(base), sum);
	percpu__shared_new_epoch();
	return (sum > rest) - (sum < rest);
}

int percpu_counter_compare(const struct percpu_counter *counter, int64_t limit)
{
	char *base = counter ? base_of(counter) : NULL;
	int64_t sum, rest;

	if (base && counter->add_only) {
		int64_t baseline = percpu__cell_read(aside(counter));

		if (baseline <= BASELINE_MAX && !__builtin_sub_overflow(limit, baseline, &rest))
			return compare_slots(base, rest);
	}
	sum = percpu_counter_sum(counter);
	return (sum > limit) - (sum < limit);
}

int percpu_counter_set(struct percpu_counter *counter, int64_t value)
{
	if (!counter)
		return -EINVAL;
	(void)percpu__cell_add_return(aside(counter),
				      percpu__minus(value, percpu_counter_sum(counter)));
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
	while (n--)
		(void)percpu__free_locked(counters[n].base);
}

static void empty(struct percpu_counter *counters, size_t n, uint32_t add_only)
{
	for (size_t i = 0; i < n; i++) {
		counters[i] = (struct percpu_counter)PERCPU_COUNTER_INIT;
		counters[i].add_only = add_only;
	}
}

static int init_many(struct percpu_counter *counters, size_t n, uint32_t add_only)
{
	sigset_t saved;
	int result = 0;
	size_t done;

	if (!counters || n == 0 || n > COUNT_MAX)
		return -EINVAL;
	percpu__start();
	empty(counters, n, add_only);
	percpu__lock(&saved);
	for (done = 0; done < n; done++) {
		void *base;

		result = percpu__alloc_locked(&base, PERCPU__CELL_SIZE, sizeof(percpu__cell));
		if (result != 0)
			break;
		publish(&counters[done], base);
	}
	if (result != 0) {
		give_back(counters, done);
		empty(counters, done, add_only);
	}
	percpu__unlock(&saved);
	return result;
}

int percpu_counter_init_many(struct percpu_counter *counters, size_t n)
{
	return init_many(counters, n, 0);
}

int percpu_counter_init_add_only(struct percpu_counter *counters, size_t n)
{
	return init_many(counters, n, 1);
}

int percpu_counter_destroy(struct percpu_counter *counter)
{
	return percpu_counter_destroy_many(counter, 1);
}

static int close_counter(struct percpu_counter *counter)
{
	uint32_t state = counter->state;

	__atomic_store_n(&counter->cpu_base, NULL, __ATOMIC_RELAXED);
	__atomic_store_n(&counter->state, DESTROYED, __ATOMIC_RELAXED);
	return state == DESTROYED ? -EINVAL : 0;
}

static void free_slots(struct percpu_counter *counter)
{
	char *base = counter->base;

	if (!base)
		return;
	(void)percpu__cell_add_return(aside(counter), sum_slots(base));
	__atomic_store_n(&counter->base, NULL, __ATOMIC_RELEASE);
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

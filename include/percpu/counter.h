/* SPDX-License-Identifier: MIT */
/*
 * Counters: one plain addition to the CPU's own memory, exact sums from anywhere.
 *
 * Promises: no add is ever lost: not by preemption, migration, signals, threads without rseq, a
 * failed allocation, use before init of a static counter, or use after destroy. A sum is exact
 * when no add is under way; for a counter that is only added to, sums that follow each other never
 * go backwards while others add. Adds and sums wrap at 64 bits, two's complement.
 *
 * Does not promise: a snapshot. A sum reads one slot after the other, so while a counter goes up
 * and down it may show a value it never had: each pair of a matched up and down that overlaps the
 * sum can be seen half, so the error is at most the number of pairs under way, either way, and
 * the sum can be negative for a moment; percpu_counter_sum_positive() cuts that off. No order to
 * other memory, and adds are no compiler barriers.
 *
 * A counter is 32 bytes and costs 8 bytes per slot that counted (16 where a 32-bit CPU does
 * not store 64 bits at once), densely packed. It may not be copied or moved. Amounts have the unit you give them.
 *
 *	call                          thread   signal handler   other process   after fork
 *	add, sub, inc, dec, id_next   yes      yes              no              yes, child's copy
 *	sum, sum_positive, read       yes      yes              no              yes
 *	compare, set, reset           yes      yes              no              yes
 *	init*, destroy*, id_destroy   yes      no               no              yes
 *	set and reset of one counter: one at a time
 *
 * A counter that is declared to be only added to (PERCPU_COUNTER_ADD_ONLY, or made by
 * percpu_counter_init_add_only()) is compared with a limit that it has passed without visiting every
 * slot. The price is a promise: no amount is below 0, and what is added stays below 2^62. Debug
 * builds (PERCPU_DEBUG) stop at an amount below 0; otherwise such a comparison can be wrong, and
 * nothing else.
 */
#ifndef PERCPU_COUNTER_H
#define PERCPU_COUNTER_H

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct percpu_counter {
	void *cpu_base; /* as base, if sequences add to its CPU slots, otherwise NULL */
	void *base;     /* cell of slot 0; NULL before there are slots, and after they are gone */
	uint32_t state;
	uint32_t add_only;
	/* Counts without a slot, and what set() and reset() add to make the sum come out. */
	int64_t aside __attribute__((aligned(8)));
};

/* A counter that works before any init call: static PERCPU_COUNTER(hits); */
#define PERCPU_COUNTER_INIT                                                                        \
	{                                                                                          \
		NULL, NULL, 0, 0, 0                                                                \
	}
#define PERCPU_COUNTER(name) struct percpu_counter name = PERCPU_COUNTER_INIT
/* The same, only added to: set and reset are allowed all the same. */
#define PERCPU_COUNTER_ADD_ONLY_INIT                                                               \
	{                                                                                          \
		NULL, NULL, 0, 1, 0                                                                \
	}
#define PERCPU_COUNTER_ADD_ONLY(name) struct percpu_counter name = PERCPU_COUNTER_ADD_ONLY_INIT

/* 0; -EINVAL for NULL, or an n of 0 or larger than any array; -ENOMEM, and then none of them is
 * initialised. */
int percpu_counter_init(struct percpu_counter *counter);
int percpu_counter_init_many(struct percpu_counter *counters, size_t n);
int percpu_counter_init_add_only(struct percpu_counter *counters, size_t n);

/*
 * Gives the slots back. The caller makes sure that no add is under way. The total stays: sums go
 * on returning it, and an add that comes too late is counted on one shared word. 0; -EINVAL for
 * NULL, n == 0, or one that was destroyed before (the others are destroyed all the same).
 */
int percpu_counter_destroy(struct percpu_counter *counter);
int percpu_counter_destroy_many(struct percpu_counter *counters, size_t n);

/* NULL gives 0. */
int64_t percpu_counter_sum(const struct percpu_counter *counter);
int64_t percpu_counter_sum_positive(const struct percpu_counter *counter);
/* What is known without a look at the slots: the last sum, by whoever took it, 0 before the first,
 * or the total itself while a counter has no slots. Of a counter that is only added to, a
 * comparison may know better than the last sum. */
int64_t percpu_counter_read(const struct percpu_counter *counter);

/*
 * Sum against limit: -1, 0, 1. Below it, equal, above. Exact as the sum is, and takes one, unless
 * the counter is only added to: then what is known is never more than the total, "above" is
 * answered without a look at the slots where it is known, and without the rest of them where some
 * are enough. Any other answer needs every slot, as nothing bounds what may be in one:
 * percpu/limit.h bounds it from above and says "below" at once, percpu/zone.h both ways.
 */
int percpu_counter_compare(const struct percpu_counter *counter, int64_t limit);

/* The sum becomes value (or 0) by a reader's baseline; no slot is written. -EINVAL for NULL. */
int percpu_counter_set(struct percpu_counter *counter, int64_t value);
int percpu_counter_reset(struct percpu_counter *counter);

typedef int64_t percpu__cell __attribute__((aligned(8)));
void percpu__counter_first(struct percpu_counter *counter, int64_t n);
void percpu__counter_outline(struct percpu_counter *counter, int64_t n);

#if ARCH_INLINE_COUNTER && !defined(PERCPU_OUTLINE)
/* Inline, and without the atomic's result: a call, or a branch on the result, makes the next
 * atomic wait (measured: 3 ns on 7.6). */
PERCPU__INLINE void percpu__counter_shared(struct percpu_counter *counter, int64_t n)
{
	char *base;

	if (!counter)
		return;
	base = (char *)__atomic_load_n(&counter->base, __ATOMIC_ACQUIRE);
	if (__builtin_expect(!base || !percpu__shared_valid(), 0))
		percpu__counter_first(counter, n);
	else
		(void)__atomic_fetch_add((percpu__cell *)(void *)(base + percpu__shared.offset), n,
					 __ATOMIC_RELAXED);
}

/* For NULL another word is chosen instead of a branch taken: a load under a branch stays in the loop
 * (measured: half as much again). */
PERCPU__INLINE void percpu__counter_add(struct percpu_counter *counter, int64_t n)
{
#if defined(PERCPU_DEBUG)
	/* To where it is checked. */
	if (counter && counter->add_only && n < 0) {
		percpu__counter_outline(counter, n);
		return;
	}
#endif
	void *const *cells = counter ? &counter->cpu_base : &percpu__rt.none;

	if (__builtin_expect(!percpu__seq_add_handle_8(cells, n), 0))
		percpu__counter_shared(counter, n);
}
#else
#define percpu__counter_add percpu__counter_outline
#endif

/* Adds n. A NULL counter is ignored. */
PERCPU__INLINE void percpu_counter_add(struct percpu_counter *counter, int64_t n)
{
	percpu__counter_add(counter, n);
}

PERCPU__INLINE void percpu_counter_sub(struct percpu_counter *counter, int64_t n)
{
	percpu_counter_add(counter, (int64_t)(0 - (uint64_t)n));
}

PERCPU__INLINE void percpu_counter_inc(struct percpu_counter *counter)
{
	percpu_counter_add(counter, 1);
}

PERCPU__INLINE void percpu_counter_dec(struct percpu_counter *counter)
{
	percpu_counter_add(counter, -1);
}

/*
 * Unique numbers without a shared line: value * slots + slot, where value counts in each slot.
 * Never the same twice in one process (a forked child repeats its parent's), not consecutive, and
 * in no order. Where no memory is to be had, or not at once, and after destroy, they come from one
 * atomic word, with the top bit set.
 */
struct percpu_id {
	struct percpu_counter counter;
};
#define PERCPU_ID_INIT                                                                             \
	{                                                                                          \
		PERCPU_COUNTER_INIT                                                                \
	}
#define PERCPU_ID(name) struct percpu_id name = PERCPU_ID_INIT

/* Any thread or signal handler. 0 is returned for NULL only. */
uint64_t percpu_id_next(struct percpu_id *id);
/* Gives the slots back; numbers stay unique afterwards. 0, or -EINVAL. */
int percpu_id_destroy(struct percpu_id *id);

#ifdef __cplusplus
}
#endif

#endif

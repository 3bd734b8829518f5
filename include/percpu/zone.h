/* SPDX-License-Identifier: MIT */
/*
 * Zoned counters: a small difference per CPU, folded into one shared word at a threshold, so that
 * a total that is polled costs its reader one load (the kernel's zoned VM counters).
 *
 * Promises: nothing is lost. percpu_zone_read() is off by at most percpu_zone_error(), plus what
 * calls that are under way at that moment carry (one fold a thread). percpu_zone_sum() is exact
 * when no call is under way.
 * Does not promise: that totals never go backwards; order to other memory.
 *
 *	call                       thread   signal handler   other process   after fork
 *	add, sub, inc, dec         yes      yes              no              yes, child's copy
 *	read, sum, error, compare  yes      yes              no              yes
 *	init, destroy              yes      no               no              yes
 */
#ifndef PERCPU_ZONE_H
#define PERCPU_ZONE_H

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct percpu_zone {
	void *base;          /* the differences */
	uint32_t bytes;      /* of one difference: 1 or 2 */
	uint32_t threshold;  /* largest difference that stays on its CPU */
	char pad_before[64]; /* the shared word has a line of its own, wherever the object lies */
	int64_t total __attribute__((aligned(8)));
	char pad_after[64];
};

/* bits: 8 or 16. threshold: 1 to 127 or 32767. 0; -EINVAL; -ENOMEM. After a failure every amount
 * goes to the shared word. */
int percpu_zone_init(struct percpu_zone *zone, unsigned bits, unsigned threshold);
/* The caller makes sure that no call is under way. The total stays. 0; -EINVAL for NULL or one
 * that was destroyed. */
int percpu_zone_destroy(struct percpu_zone *zone);

/* NULL is ignored. After destroy every amount goes to the shared word. */
void percpu_zone_add(struct percpu_zone *zone, int64_t n);

PERCPU__INLINE void percpu_zone_sub(struct percpu_zone *zone, int64_t n)
{
	percpu_zone_add(zone, (int64_t)(0 - (uint64_t)n));
}

PERCPU__INLINE void percpu_zone_inc(struct percpu_zone *zone)
{
	percpu_zone_add(zone, 1);
}

PERCPU__INLINE void percpu_zone_dec(struct percpu_zone *zone)
{
	percpu_zone_add(zone, -1);
}

/* The shared word: one load. NULL gives 0, here and below. */
int64_t percpu_zone_read(const struct percpu_zone *zone);
/* The shared word and all differences. */
int64_t percpu_zone_sum(const struct percpu_zone *zone);
/* How far read can be off: threshold * slots. */
int64_t percpu_zone_error(const struct percpu_zone *zone);
/* Total against limit: -1, 0, 1. One load when it is further away than the error. Both must be
 * further than the error from the ends of 64 bits. */
int percpu_zone_compare(const struct percpu_zone *zone, int64_t limit);

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the parts of events share.
 */
#ifndef PERCPU_EVENTS_STATE_H
#define PERCPU_EVENTS_STATE_H

#include "cell.h"
#include "segment.h"

/* A histogram of a set, or what the histograms of a family have in common. */
struct percpu__histogram {
	struct percpu__handle
		plane; /* base: the first word of slot 0's copy; flags as an event's */
	uint32_t shift, precision, last;
	char *block; /* journal, sum, buckets, in slot 0; of a family those of its overflow series */
};

/* What an open set has besides its cells. One mapping of its own; of a set that was closed it stays
 * for those who look at it late. */
struct percpu__events_state {
	char *map; /* the segment */
	size_t size;
	int fd; /* holds the lock; -1 when private */
	int error;
	bool shared;
	char path[512];
	char why[256];
	size_t own_size;                       /* of this mapping */
	struct percpu__histogram histograms[]; /* by entry */
};

/* flags of a handle. */
#define EVENT_CPUS(flags) ((flags) >> 8)
#define EVENT_SHARED(flags) ((flags)&0xff)

static inline struct percpu__events_state *events_state(const struct percpu_events *set)
{
	return __atomic_load_n(&set->state, __ATOMIC_ACQUIRE);
}

/* The copy of a word in the calling thread's shared slot; the thread must be ready. */
static inline void *events_shared_copy(void *base, uint32_t flags)
{
	uint32_t k = *(volatile uint32_t *)&percpu__self.shared - percpu__rt_writable.ncpus;

	return percpu__slot(base, EVENT_CPUS(flags) + k % EVENT_SHARED(flags));
}

/* One observation, of a value that is no larger than SEGMENT_VALUE_MAX. */
HIDDEN void percpu__histogram_add(const struct percpu__histogram *histogram,
				  const struct percpu__handle *plane, char *block, uint64_t value);
/*
 * The cells of one slot, as they belong together: buckets are added to those that are there; the
 * sum is returned, with the number of observations in it.
 */
HIDDEN uint64_t percpu__histogram_collect(const struct percpu__histogram *histogram,
					  const void *block, uint64_t *buckets, uint64_t *count);

#endif

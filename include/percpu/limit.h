/* SPDX-License-Identifier: MIT */
/*
 * A counter that never passes its limit, added to without a shared line.
 *
 * Promises: the sum is at most the limit at every moment, in every mode. An add that is refused
 * changed nothing; when no other call is under way it is refused only if it would pass the limit.
 * While others add and take away, an add near the limit may be refused although a moment later
 * there is room. Amounts never move between slots; what moves are the CPUs' ceilings.
 *
 * Does not promise: a lower bound (the sum goes below 0 when more is taken away than was added;
 * the limit less the sum must stay below 2^63);
 * speed close to the limit, where adds take from one shared word and, when that is empty, from
 * other CPUs' ceilings, which costs a fence.
 *
 *	call            thread   signal handler   other process   after fork
 *	add, sub        yes      yes              no              yes, child's copy
 *	sum, compare    yes      yes              no              yes
 *	init, destroy   yes      no               no              yes
 */
#ifndef PERCPU_LIMIT_H
#define PERCPU_LIMIT_H

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct percpu_limit {
	struct percpu__handle handle;
	int64_t limit;
	/* What no CPU's ceiling and no shared slot's count has taken yet. */
	char pad_before[64]; /* a line of its own, wherever the object lies */
	int64_t pool __attribute__((aligned(8)));
	char pad_after[64];
};

/* 0; -EINVAL for NULL or a limit below 0; -ENOMEM. After a failure other calls answer -EINVAL. */
int percpu_limit_init(struct percpu_limit *limit, int64_t value);
/* The caller makes sure that no call is under way. 0; -EINVAL for NULL or one not initialised. */
int percpu_limit_destroy(struct percpu_limit *limit);

/* Adds n if the sum stays at or below the limit: 0. -EAGAIN: it would not, nothing was added.
 * -EINVAL: n below 0, NULL, destroyed. -EPERM: the fence failed; others' ceilings stay closed. */
int percpu_limit_add(struct percpu_limit *limit, int64_t n);
/* Takes n away: 0. -EINVAL as above. */
int percpu_limit_sub(struct percpu_limit *limit, int64_t n);

/* Exact when no call is under way; never above the limit. NULL: 0. */
int64_t percpu_limit_sum(const struct percpu_limit *limit);
/* The sum against a value: -1, 0, 1. One load when the value is above everything handed out. */
int percpu_limit_compare(const struct percpu_limit *limit, int64_t value);

#ifdef __cplusplus
}
#endif

#endif

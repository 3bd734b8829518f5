/* SPDX-License-Identifier: MIT */
/*
 * limit: adding up to a limit that is never passed, far from it and at it.
 */
#include <errno.h>

#include <percpu/percpu.h>

#include "bench.h"

#define FAR 1000000000l

static _Alignas(BENCH_CACHE_LINE) long shared;
static struct percpu_limit far_limit, near_limit;

static inline int atomic_limited_add(long *p, long limit)
{
	long old = __atomic_load_n(p, __ATOMIC_RELAXED);

	do
		if (old + 1 > limit)
			return -EAGAIN;
	while (!__atomic_compare_exchange_n(p, &old, old + 1, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	return 0;
}

/* Added and taken back, as a pool of permits is used. */
static inline void atomic_pair(void)
{
	if (!atomic_limited_add(&shared, FAR))
		__atomic_fetch_sub(&shared, 1, __ATOMIC_RELAXED);
}

static inline void limit_pair(struct percpu_limit *limit)
{
	if (!percpu_limit_add(limit, 1))
		percpu_limit_sub(limit, 1);
}

BENCH_LOOP(loop_atomic, , atomic_pair(), )
BENCH_LOOP(loop_far, , limit_pair(&far_limit), )
BENCH_LOOP(loop_near, , limit_pair(&near_limit), )

static int open_limit(const struct bench_method *m, const char **why)
{
	*why = "no memory for a limit";
	return percpu_limit_init(m->arg ? &far_limit : &near_limit, m->arg ? FAR : 2);
}

static void close_limit(const struct bench_method *m)
{
	percpu_limit_destroy(m->arg ? &far_limit : &near_limit);
}

static const struct bench_method methods[] = {
	{.name = "atomic limited add + sub", .param = "far from the limit", .loop = loop_atomic},
	{.name = "percpu limit_add + sub",
	 .param = "far from the limit",
	 .loop = loop_far,
	 .open = open_limit,
	 .close = close_limit,
	 .arg = 1},
	{.name = "percpu limit_add + sub",
	 .param = "limit of 2",
	 .loop = loop_near,
	 .open = open_limit,
	 .close = close_limit,
	 .arg = 0},
};

static void fill_limit(struct bench_plan *plan)
{
	size_t i;

	bench_add(plan, &methods[0]);
	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add_threads(plan, &methods[i], NULL);
}

const struct bench_table bench_limit = {
	.name = "limit",
	.title = "one permit taken and given back; baseline: a compare-exchange loop, 1 thread",
	.fill = fill_limit};

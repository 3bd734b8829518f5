/* SPDX-License-Identifier: MIT */
/* percpu add on a static counter, through the public header, as any user's file would have it. */
#include <percpu/percpu.h>

#include "link.h"

static PERCPU_COUNTER(hits);

BENCH_LOOP(loop_add, , percpu_counter_add(&hits, 1), )

static long hits_total(void)
{
	return (long)percpu_counter_sum(&hits);
}

const struct link_loop *percpu_bench_link_loop(void)
{
	static const struct link_loop loop = {loop_add, hits_total};

	return &loop;
}

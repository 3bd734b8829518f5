/* SPDX-License-Identifier: MIT */
/*
 * zone: counters that are read all the time: small differences per CPU, folded into one shared
 * word, beside an atomic on that word.
 */
#include <errno.h>

#include <percpu/percpu.h>

#include "bench.h"

static _Alignas(BENCH_CACHE_LINE) long shared;
static struct percpu_zone zone8, zone16;

BENCH_LOOP(loop_atomic, , __atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED), )
BENCH_LOOP(loop_zone8, , percpu_zone_add(&zone8, 1), )
BENCH_LOOP(loop_zone16, , percpu_zone_add(&zone16, 1), )
BENCH_LOOP(loop_load, , BENCH_USE(__atomic_load_n(&shared, __ATOMIC_RELAXED)), )
BENCH_LOOP(loop_read, , BENCH_USE((long)percpu_zone_read(&zone16)), )
BENCH_LOOP(loop_sum, , BENCH_USE((long)percpu_zone_sum(&zone16)), )

static long shared_total(void)
{
	return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}

static long zone8_total(void)
{
	return (long)percpu_zone_sum(&zone8);
}

static long zone16_total(void)
{
	return (long)percpu_zone_sum(&zone16);
}

static int open_zone(const struct bench_method *m, const char **why)
{
	*why = "no memory for a zone counter";
	return m->arg == 8 ? percpu_zone_init(&zone8, 8, 100)
			   : percpu_zone_init(&zone16, 16, 10000);
}

static void close_zone(const struct bench_method *m)
{
	percpu_zone_destroy(m->arg == 8 ? &zone8 : &zone16);
}

static const struct bench_method adds[] = {
	{.name = "atomic fetch-add shared",
	 .param = "",
	 .loop = loop_atomic,
	 .total = shared_total},
	{.name = "percpu zone_add",
	 .param = "8 bits, threshold 100",
	 .loop = loop_zone8,
	 .total = zone8_total,
	 .open = open_zone,
	 .close = close_zone,
	 .arg = 8},
	{.name = "percpu zone_add",
	 .param = "16 bits, threshold 10000",
	 .loop = loop_zone16,
	 .total = zone16_total,
	 .open = open_zone,
	 .close = close_zone,
	 .arg = 16},
};

static const struct bench_method reads[] = {
	{.name = "plain read", .param = "", .loop = loop_load},
	{.name = "percpu zone_read", .param = "", .loop = loop_read},
	{.name = "percpu zone_sum", .param = "", .loop = loop_sum},
};

static void fill_zone(struct bench_plan *plan)
{
	size_t i;

	bench_add(plan, &adds[0]);
	for (i = 0; i < sizeof(adds) / sizeof(adds[0]); i++)
		bench_add_threads(plan, &adds[i], NULL);
	for (i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
		bench_add(plan, &reads[i]);
}

const struct bench_table bench_zone = {
	.name = "zone",
	.title = "one increment of a counter that is polled; baseline: an atomic add, 1 thread",
	.fill = fill_zone};

/* SPDX-License-Identifier: MIT */
/*
 * area: getting and giving back percpu memory, and walking over the copies of a word.
 */
#include <errno.h>
#include <stdlib.h>

#include <percpu/percpu.h>

#include "bench.h"

static inline void malloc_free(size_t size)
{
	void *p = malloc(size);

	BENCH_HIDE(p);
	free(p);
}

static inline void alloc_free(size_t size)
{
	void *p;

	if (!percpu_alloc(&p, size, 8))
		percpu_free(p);
}

/* A counter's life. */
static inline void init_destroy(void)
{
	struct percpu_counter counter;

	if (!percpu_counter_init(&counter))
		percpu_counter_destroy(&counter);
}

#define MANY 64

static inline void init_destroy_many(void)
{
	static struct percpu_counter counters[MANY];

	if (!percpu_counter_init_many(counters, MANY))
		percpu_counter_destroy_many(counters, MANY);
}

BENCH_LOOP(loop_malloc, size_t size_ = (size_t)w->method->arg, malloc_free(size_), )
BENCH_LOOP(loop_alloc, size_t size_ = (size_t)w->method->arg, alloc_free(size_), )
BENCH_LOOP(loop_init, , init_destroy(), )
BENCH_LOOP(loop_init_many, , init_destroy_many(), )

/* Walks: 256 longs, each on a line of its own, in one array or in 256 slots. */
#define SLOTS 256

static struct line {
	_Alignas(BENCH_CACHE_LINE) volatile long n;
} lines[SLOTS];
static long *word;

static inline long walk_lines(void)
{
	long sum = 0;
	unsigned k;

	for (k = 0; k < SLOTS; k++)
		sum += lines[k].n;
	return sum;
}

static inline long walk_slots(const long *p)
{
	long sum = 0;
	unsigned k;

	for (k = 0; k < SLOTS; k++)
		sum += *(const volatile long *)percpu_ptr(p, k);
	return sum;
}

BENCH_LOOP(loop_walk_lines, , BENCH_USE(walk_lines()), )
BENCH_LOOP(loop_walk_slots, , BENCH_USE(walk_slots(word)), )

/* Only in the child with so many slots. */
static int open_walk(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "the process does not have 256 slots";
	if (percpu_nslots() != SLOTS)
		return -ENOTSUP;
	*why = "no percpu memory";
	word = percpu_new(long);
	return word ? 0 : -ENOMEM;
}

static const struct bench_method methods[] = {
	{.name = "malloc + free", .param = "8 bytes", .loop = loop_malloc, .arg = 8},
	{.name = "malloc + free", .param = "1024 bytes", .loop = loop_malloc, .arg = 1024},
	{.name = "percpu alloc + free", .param = "8 bytes", .loop = loop_alloc, .arg = 8},
	{.name = "percpu alloc + free", .param = "1024 bytes", .loop = loop_alloc, .arg = 1024},
	{.name = "percpu counter init + destroy", .param = "1 counter", .loop = loop_init},
	{.name = "percpu counter init + destroy",
	 .param = "64 at once",
	 .loop = loop_init_many,
	 .parts = MANY,
	 .unit = "ns/counter"},
};

static const struct bench_method walks[] = {
	{.name = "walk over an array",
	 .param = "256 lines",
	 .loop = loop_walk_lines,
	 .parts = SLOTS,
	 .unit = "ns/slot"},
	{.name = "walk over slots",
	 .param = "256 slots",
	 .loop = loop_walk_slots,
	 .open = open_walk,
	 .parts = SLOTS,
	 .unit = "ns/slot"},
};

static void fill_area(struct bench_plan *plan)
{
	struct bench_row *base;
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add(plan, &methods[i]);
	base = bench_add(plan, &walks[0]);
	bench_set_base(base, base);
	bench_set_base(bench_add_at(plan, &walks[1], 1, bench_many_slots(SLOTS)), base);
}

const struct bench_table bench_area = {
	.name = "area",
	.title = "percpu memory; baseline: malloc + free of 8 bytes, of walks: an array",
	.fill = fill_area};

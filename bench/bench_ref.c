/* SPDX-License-Identifier: MIT */
/*
 * refs: a reference taken and given back.
 */
#include <percpu/percpu.h>

#include "bench.h"

static struct {
	_Alignas(2 * BENCH_CACHE_LINE) long n;
} own[BENCH_MAX_THREADS], shared = {.n = 1};

static struct percpu_ref got, tried; /* one for each method */

static inline void atomic_pair(long *n)
{
	__atomic_fetch_add(n, 1, __ATOMIC_RELAXED);
	if (__atomic_sub_fetch(n, 1, __ATOMIC_ACQ_REL) == 0)
		__builtin_trap();
}

static inline void plain_pair(long *n)
{
	ARCH_PLAIN_INC(n);
	BENCH_FORGET();
	if (--*n < 0)
		__builtin_trap();
	BENCH_FORGET();
}

static inline void percpu_pair(void)
{
	percpu_ref_get(&got);
	percpu_ref_put(&got);
}

static inline void tryget_pair(void)
{
	if (percpu_ref_tryget_live(&tried))
		percpu_ref_put(&tried);
}

BENCH_LOOP(loop_plain, long *n_ = &own[w->index].n, plain_pair(n_), )
BENCH_LOOP(loop_atomic, , atomic_pair(&shared.n), )
BENCH_LOOP(loop_percpu, , percpu_pair(), )
BENCH_LOOP(loop_tryget, , tryget_pair(), )

static int open_ref(const struct bench_method *m, const char **why)
{
	*why = "no memory for a reference count";
	return percpu_ref_init(m->arg ? &tried : &got, NULL);
}

static void close_ref(const struct bench_method *m)
{
	percpu_ref_kill(m->arg ? &tried : &got);
}

static const struct bench_method methods[] = {
	{.name = "plain get + put", .param = "private data", .loop = loop_plain},
	{.name = "percpu ref_get + put",
	 .param = "",
	 .loop = loop_percpu,
	 .open = open_ref,
	 .close = close_ref},
	{.name = "percpu ref_tryget_live + put",
	 .param = "",
	 .loop = loop_tryget,
	 .open = open_ref,
	 .close = close_ref,
	 .arg = 1},
	{.name = "atomic get + put shared", .param = "", .loop = loop_atomic},
};

static void fill_refs(struct bench_plan *plan)
{
	size_t i;

	bench_add(plan, &methods[0]);
	for (i = 1; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add_threads(plan, &methods[i], NULL);
}

const struct bench_table bench_refs = {
	.name = "refs",
	.title = "a reference taken and given back; baseline: the same in plain C on private data",
	.fill = fill_refs};

/* SPDX-License-Identifier: MIT */
/*
 * this_cpu: each operation on the calling CPU's copy of a word, beside the same operation in
 * plain C (the baseline of its row) and as an atomic on one word that nobody else touches.
 */
#include <errno.h>
#include <stdint.h>

#include <percpu/percpu.h>

#include "bench.h"

/* One word of each width, in percpu memory and in ordinary memory. */
struct words {
	uint8_t w1;
	uint16_t w2;
	uint32_t w4;
	unsigned long w;
	unsigned long other;
};

static struct words *mine;
static _Alignas(BENCH_CACHE_LINE) struct words plain;
static unsigned users;

static int open_words(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "no percpu memory";
	if (!mine)
		mine = percpu_new(struct words);
	users += mine != NULL;
	return mine ? 0 : -ENOMEM;
}

static void close_words(const struct bench_method *m)
{
	(void)m;
	if (--users)
		return;
	percpu_free(mine);
	mine = NULL;
}

/* The pointers are hidden once, so that loops take them from registers and words from memory. */
#define THREE_LOOPS(name, type, field, plain_op, atomic_op, percpu_op)                             \
	BENCH_LOOP(loop_plain_##name, volatile type *p = &plain.field; BENCH_HIDE(p), plain_op, )  \
	BENCH_LOOP(loop_atomic_##name, type *p = &plain.field; BENCH_HIDE(p), atomic_op, )         \
	BENCH_LOOP(loop_percpu_##name, type *p = &mine->field; BENCH_HIDE(p), percpu_op, )

#define RELAXED __ATOMIC_RELAXED

static inline unsigned long plain_xchg(volatile unsigned long *p, unsigned long value)
{
	unsigned long old = *p;

	*p = value;
	return old;
}

static inline unsigned long plain_cmpxchg(volatile unsigned long *p, unsigned long expect,
					  unsigned long value)
{
	unsigned long old = *p;

	if (old == expect)
		*p = value;
	return old;
}

static inline unsigned long atomic_cmpxchg(unsigned long *p, unsigned long expect,
					   unsigned long value)
{
	__atomic_compare_exchange_n(p, &expect, value, 0, RELAXED, RELAXED);
	return expect;
}

static inline int plain_cmpxchg2(volatile unsigned long *p, unsigned long value)
{
	if (*p != value || *(volatile unsigned long *)&plain.other != 0)
		return 0;
	*p = value;
	return 1;
}

THREE_LOOPS(read, unsigned long, w, BENCH_USE(*p), BENCH_USE(__atomic_load_n(p, RELAXED)),
	    BENCH_USE(percpu_this_read(p)))
THREE_LOOPS(write, unsigned long, w, *p = left_, __atomic_store_n(p, left_, RELAXED),
	    percpu_this_write(p, left_))
THREE_LOOPS(add1, uint8_t, w1, ARCH_PLAIN_INC(p), __atomic_fetch_add(p, 1, RELAXED),
	    percpu_this_add(p, 1))
THREE_LOOPS(add2, uint16_t, w2, ARCH_PLAIN_INC(p), __atomic_fetch_add(p, 1, RELAXED),
	    percpu_this_add(p, 1))
THREE_LOOPS(add4, uint32_t, w4, ARCH_PLAIN_INC(p), __atomic_fetch_add(p, 1, RELAXED),
	    percpu_this_add(p, 1))
THREE_LOOPS(add, unsigned long, w, ARCH_PLAIN_INC(p), __atomic_fetch_add(p, 1, RELAXED),
	    percpu_this_add(p, 1))
THREE_LOOPS(sub, unsigned long, w, *p -= 1, __atomic_fetch_sub(p, 1, RELAXED),
	    percpu_this_sub(p, 1))
THREE_LOOPS(inc, unsigned long, w, ARCH_PLAIN_INC(p), __atomic_fetch_add(p, 1, RELAXED),
	    percpu_this_inc(p))
THREE_LOOPS(dec, unsigned long, w, *p -= 1, __atomic_fetch_sub(p, 1, RELAXED), percpu_this_dec(p))
THREE_LOOPS(and, unsigned long, w, *p &= 255, __atomic_fetch_and(p, 255, RELAXED),
	    percpu_this_and(p, 255))
THREE_LOOPS(or, unsigned long, w, *p |= 1, __atomic_fetch_or(p, 1, RELAXED), percpu_this_or(p, 1))
THREE_LOOPS(add_return, unsigned long, w, BENCH_USE(*p += 1),
	    BENCH_USE(__atomic_add_fetch(p, 1, RELAXED)), BENCH_USE(percpu_this_add_return(p, 1)))
THREE_LOOPS(xchg, unsigned long, w, BENCH_USE(plain_xchg(p, left_)),
	    BENCH_USE(__atomic_exchange_n(p, left_, RELAXED)),
	    BENCH_USE(percpu_this_xchg(p, left_)))
/* Compared with 0 and replaced by 0, so that each one stores. */
THREE_LOOPS(cmpxchg, unsigned long, other, BENCH_USE(plain_cmpxchg(p, 0, 0)),
	    BENCH_USE(atomic_cmpxchg(p, 0, 0)), BENCH_USE(percpu_this_cmpxchg(p, 0, 0)))
BENCH_LOOP(loop_plain_cmpxchg2, volatile unsigned long *p = &plain.other;
	   BENCH_HIDE(p), BENCH_USE(plain_cmpxchg2(p, 0)), )
BENCH_LOOP(loop_percpu_cmpxchg2, unsigned long *p = &mine->other;
	   BENCH_HIDE(p), BENCH_USE((int)percpu_this_cmpxchg2(p, 0, 0, p, 0)), )

#undef THREE_LOOPS

#define THREE(op, size, loops)                                                                     \
	{                                                                                          \
		{.name = "plain " op, .param = size, .loop = loop_plain_##loops},                  \
			{.name = "atomic " op, .param = size, .loop = loop_atomic_##loops},        \
			{.name = "percpu this_" op,                                                \
			 .param = size,                                                            \
			 .loop = loop_percpu_##loops,                                              \
			 .open = open_words,                                                       \
			 .close = close_words},                                                    \
	}

static const struct bench_method methods[][3] = {
	THREE("add", "word", add),
	THREE("add", "1 byte", add1),
	THREE("add", "2 bytes", add2),
	THREE("add", "4 bytes", add4),
	THREE("read", "word", read),
	THREE("write", "word", write),
	THREE("sub", "word", sub),
	THREE("inc", "word", inc),
	THREE("dec", "word", dec),
	THREE("and", "word", and),
	THREE("or", "word", or),
	THREE("add_return", "word", add_return),
	THREE("xchg", "word", xchg),
	THREE("cmpxchg", "word", cmpxchg),
	{
		{.name = "plain cmpxchg2", .param = "word", .loop = loop_plain_cmpxchg2},
		{.name = NULL},
		{.name = "percpu this_cmpxchg2",
		 .param = "word",
		 .loop = loop_percpu_cmpxchg2,
		 .open = open_words,
		 .close = close_words},
	},
};

#undef THREE

static void fill_this_cpu(struct bench_plan *plan)
{
	struct bench_row *base;
	size_t i, k;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		base = bench_add(plan, &methods[i][0]);
		bench_set_base(base, base);
		for (k = 1; k < 3; k++)
			if (methods[i][k].name)
				bench_set_base(bench_add(plan, &methods[i][k]), base);
	}
}

const struct bench_table bench_this_cpu = {
	.name = "this_cpu",
	.title = "one operation on a word; baseline of each: the same in plain C",
	.fill = fill_this_cpu};

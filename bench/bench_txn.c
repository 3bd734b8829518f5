/* SPDX-License-Identifier: MIT */
/*
 * txn: transactions that each count one, by the commits there are, beside one addition to the same
 * memory by a sequence (the baseline), in plain C, as an atomic and under a mutex.
 */
#include <errno.h>
#include <pthread.h>
#include <stdint.h>

#include <percpu/percpu.h>

#include "bench.h"

/* Each method counts in a word of its own; what has two copies holds the count in the live one. */
struct counts {
	unsigned long added, txn, released, cancelled;
	uint32_t narrow;
	uintptr_t two, idle[2];
	uintptr_t turn;
	unsigned long copy[2][64 / sizeof(long)];
};

static struct counts *mine;
static unsigned users;
static _Alignas(BENCH_CACHE_LINE) long plain;
static _Alignas(BENCH_CACHE_LINE) long shared;
static _Alignas(BENCH_CACHE_LINE) long locked;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* ---- One operation ---- */

static inline void mutex_add(void)
{
	pthread_mutex_lock(&mutex);
	locked++;
	pthread_mutex_unlock(&mutex);
}

#define ADD_IN_TXN(field, commit)                                                                  \
	PERCPU_TXN(txn)                                                                            \
	{                                                                                          \
		const struct counts *here = percpu_txn_ptr(&txn, mine);                            \
                                                                                                   \
		(void)commit(&txn, &here->field, here->field + 1);                                 \
	}

static inline void txn_add(void)
{
	ADD_IN_TXN(txn, percpu_txn_commit)
}

static inline void txn_add_narrow(void)
{
	ADD_IN_TXN(narrow, percpu_txn_commit)
}

static inline void txn_add_release(void)
{
	ADD_IN_TXN(released, percpu_txn_commit_release)
}

#undef ADD_IN_TXN

static inline void txn_cancel(void)
{
	PERCPU_TXN(txn)
	{
		BENCH_USE(percpu_txn_ptr(&txn, mine)->cancelled);
		percpu_txn_cancel(&txn);
	}
}

static inline void txn_add_two(void)
{
	PERCPU_TXN(txn)
	{
		const struct counts *here = percpu_txn_ptr(&txn, mine);
		uintptr_t next = here->two + 1;

		(void)percpu_txn_commit2(&txn, &here->two, next, &here->idle[next & 1],
					 here->idle[here->two & 1] + 1);
	}
}

static inline void txn_add_copy(void)
{
	PERCPU_TXN(txn)
	{
		const struct counts *here = percpu_txn_ptr(&txn, mine);
		uintptr_t next = here->turn + 1;
		unsigned long copy[64 / sizeof(long)];

		__builtin_memcpy(copy, here->copy[here->turn & 1], sizeof(copy));
		copy[0]++;
		(void)percpu_txn_commit_copy(&txn, &here->turn, next, here->copy[next & 1], copy,
					     sizeof(copy));
	}
}

BENCH_LOOP(loop_percpu, unsigned long *p = &mine->added; BENCH_HIDE(p), percpu_this_add(p, 1), )
BENCH_LOOP(loop_plain, , ARCH_PLAIN_INC(&plain), )
BENCH_LOOP(loop_atomic, , __atomic_fetch_add(&shared, 1, __ATOMIC_RELAXED), )
BENCH_LOOP(loop_mutex, , mutex_add(), )
BENCH_LOOP(loop_txn, , txn_add(), )
BENCH_LOOP(loop_narrow, , txn_add_narrow(), )
BENCH_LOOP(loop_release, , txn_add_release(), )
BENCH_LOOP(loop_cancel, , txn_cancel(), )
BENCH_LOOP(loop_two, , txn_add_two(), )
BENCH_LOOP(loop_copy, , txn_add_copy(), )

/* ---- Totals: what was counted in all slots ---- */

#define DEFINE_TOTAL(name, count)                                                                  \
	static long total_##name(void)                                                             \
	{                                                                                          \
		unsigned long sum = 0;                                                             \
                                                                                                   \
		for (unsigned slot = 0; slot < percpu_nslots(); slot++) {                          \
			const struct counts *here = percpu_ptr(mine, slot);                        \
                                                                                                   \
			sum += (count);                                                            \
		}                                                                                  \
		return (long)sum;                                                                  \
	}
DEFINE_TOTAL(added, here->added)
DEFINE_TOTAL(txn, here->txn)
DEFINE_TOTAL(released, here->released)
DEFINE_TOTAL(two, here->idle[here->two & 1])
DEFINE_TOTAL(copy, here->copy[here->turn & 1][0])
#undef DEFINE_TOTAL

static long total_atomic(void)
{
	return __atomic_load_n(&shared, __ATOMIC_RELAXED);
}

static long total_locked(void)
{
	return locked;
}

static int open_counts(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "no percpu memory";
	if (!mine)
		mine = percpu_new(struct counts);
	users += mine != NULL;
	return mine ? 0 : -ENOMEM;
}

static void close_counts(const struct bench_method *m)
{
	(void)m;
	if (--users)
		return;
	percpu_free(mine);
	mine = NULL;
}

/* ---- The table ---- */

#define COUNTS .open = open_counts, .close = close_counts
static const struct bench_method base = {
	.name = "percpu add", .param = "", .loop = loop_percpu, .total = total_added, COUNTS};
static const struct bench_method others[] = {
	{.name = "plain add", .param = "", .loop = loop_plain},
	{.name = "atomic add", .param = "", .loop = loop_atomic, .total = total_atomic},
	{.name = "mutex", .param = "", .loop = loop_mutex, .total = total_locked},
	{.name = "percpu transaction add",
	 .param = "",
	 .loop = loop_txn,
	 .total = total_txn,
	 COUNTS},
};
static const struct bench_method commits[] = {
	{.name = "percpu transaction add",
	 .param = "release",
	 .loop = loop_release,
	 .total = total_released,
	 COUNTS},
	{.name = "percpu transaction add",
	 .param = "4-byte word",
	 .loop = loop_narrow, /* 4 bytes wrap, so no total */
	 COUNTS},
	{.name = "percpu transaction add",
	 .param = "2 words",
	 .loop = loop_two,
	 .total = total_two,
	 COUNTS},
	{.name = "percpu transaction add",
	 .param = "copy 64 bytes",
	 .loop = loop_copy,
	 .total = total_copy,
	 COUNTS},
	{.name = "percpu transaction cancel", .param = "", .loop = loop_cancel, COUNTS},
};
#undef COUNTS

static void fill_txn(struct bench_plan *plan)
{
	size_t i;

	bench_add(plan, &base);
	bench_add_threads(plan, &base, NULL);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		bench_add(plan, &others[i]);
		if (i)
			bench_add_threads(plan, &others[i], NULL);
	}
	for (i = 0; i < sizeof(commits) / sizeof(commits[0]); i++)
		bench_add(plan, &commits[i]);
}

const struct bench_table bench_txn = {
	.name = "txn",
	.title = "transactions that count one, by kind of commit; baseline: percpu add, 1 thread",
	.fill = fill_txn};

/* SPDX-License-Identifier: MIT */
/*
 * contended: the questions of 2006, asked of one thread, of two on a line each, and of two on one
 * line. Does it matter whether an atomic addition's result is used? Which order it asks for, among
 * stores that have nothing to do with it? What do unprotected counts save, what does taking the
 * line for writing before the load save, and how many counts does each of them lose?
 *
 * Lines are two apart: some CPUs fetch them in pairs.
 */
#include <errno.h>

#include <percpu/percpu.h>

#include "arch/arch.h"
#include "harness.h"

#define THREADS 2
#define STORES 16

static struct {
	_Alignas(2 * BENCH_CACHE_LINE) long n;
} lines[THREADS];
static struct {
	_Alignas(2 * BENCH_CACHE_LINE) long word[STORES];
} stores[THREADS];

enum place { ONE_LINE, TWO_LINES };

static long *counter(const struct bench_worker *w)
{
	return &lines[w->method->arg == TWO_LINES ? w->index : 0].n;
}

static long total(void)
{
	return __atomic_load_n(&lines[0].n, __ATOMIC_RELAXED) +
	       __atomic_load_n(&lines[1].n, __ATOMIC_RELAXED);
}

/* Three steps on every CPU, whatever the compiler would make of them. */
static inline void load_add_store(long *p)
{
	long n = __atomic_load_n(p, __ATOMIC_RELAXED);

	BENCH_HIDE(n);
	n++;
	BENCH_HIDE(n);
	__atomic_store_n(p, n, __ATOMIC_RELAXED);
}

static inline void prefetch_load_add_store(long *p)
{
	__builtin_prefetch(p, 1);
	load_add_store(p);
}

/* Two stores to the thread's own lines around each addition. */
static inline void store(long *mine, unsigned long left)
{
	__atomic_store_n(&mine[left % STORES], (long)left, __ATOMIC_RELAXED);
}

#define COUNTING_LOOP(name, op) BENCH_LOOP(name, long *p = counter(w); BENCH_HIDE(p), op, )
#define ORDERED_LOOP(name, order)                                                                  \
	BENCH_LOOP(name, long *p = counter(w); long *mine_ = stores[w->index].word; BENCH_HIDE(p); \
		   BENCH_HIDE(mine_), store(mine_, left_); __atomic_fetch_add(p, 1, order);        \
		   store(mine_, left_ + 1), )

COUNTING_LOOP(loop_plain, load_add_store(p))
COUNTING_LOOP(loop_prefetch, prefetch_load_add_store(p))
#if ARCH_HAVE_LOCAL
COUNTING_LOOP(loop_instruction, ARCH_PLAIN_INC(p))
#endif
COUNTING_LOOP(loop_unused, __atomic_fetch_add(p, 1, __ATOMIC_RELAXED))
COUNTING_LOOP(loop_used, BENCH_USE(__atomic_fetch_add(p, 1, __ATOMIC_RELAXED)))
ORDERED_LOOP(loop_relaxed, __ATOMIC_RELAXED)
ORDERED_LOOP(loop_acquire, __ATOMIC_ACQUIRE)
ORDERED_LOOP(loop_release, __ATOMIC_RELEASE)
ORDERED_LOOP(loop_seq_cst, __ATOMIC_SEQ_CST)

#undef ORDERED_LOOP
#undef COUNTING_LOOP

static int open_prefetch(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "this CPU has no prefetch for writing";
	return bench_arch_takes_lines() ? 0 : -ENOTSUP;
}

#define LOSES 1

/* One way to count: on one line and on two. */
#define METHOD(title, function, loses, opens)                                                      \
	{                                                                                          \
		{.name = (title),                                                                  \
		 .param = "one line",                                                              \
		 .loop = (function),                                                               \
		 .total = total,                                                                   \
		 .open = (opens),                                                                  \
		 .arg = ONE_LINE,                                                                  \
		 .may_lose = (loses)},                                                             \
			{.name = (title),                                                          \
			 .param = "two lines",                                                     \
			 .loop = (function),                                                       \
			 .total = total,                                                           \
			 .open = (opens),                                                          \
			 .arg = TWO_LINES,                                                         \
			 .may_lose = (loses)},                                                     \
	}

static const struct bench_method methods[][2] = {
	METHOD("load, add, store", loop_plain, LOSES, NULL),
	METHOD("prefetch for writing, load, add, store", loop_prefetch, LOSES, open_prefetch),
#if ARCH_HAVE_LOCAL
	METHOD("unlocked add", loop_instruction, LOSES, NULL),
#endif
	METHOD("atomic add, result unused", loop_unused, 0, NULL),
	METHOD("atomic add, result used", loop_used, 0, NULL),
	METHOD("atomic add among stores, relaxed", loop_relaxed, 0, NULL),
	METHOD("atomic add among stores, acquire", loop_acquire, 0, NULL),
	METHOD("atomic add among stores, release", loop_release, 0, NULL),
	METHOD("atomic add among stores, seq_cst", loop_seq_cst, 0, NULL),
};

#undef METHOD

static void fill_contended(struct bench_plan *plan)
{
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add_at(plan, &methods[i][ONE_LINE], 1, NULL);
	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
		bench_add_at(plan, &methods[i][TWO_LINES], THREADS, NULL);
		bench_add_at(plan, &methods[i][ONE_LINE], THREADS, NULL);
	}
	if (bench_cpus() < THREADS)
		bench_note(plan, "there is one CPU only: the threads do not meet");
	bench_note(plan, "lost/million: of a million counts so many are not in the total. What "
			 "two threads lose on one line depends on how often they meet, which is "
			 "another matter on every run.");
}

const struct bench_table bench_contended = {
	.name = "contended",
	.title = "two threads on a line; baseline: load, add, store, alone",
	.fill = fill_contended,
	.seconds = 10,
	.losses = 1};

/* SPDX-License-Identifier: MIT */
/*
 * cmpxchg: one compare-exchange against holding handlers off, which is what made kernel people
 * leave the second for the first. 20000 repetitions a round, in ns and in cycles.
 */
#include <signal.h>

#include <percpu/local.h>

#include "bench.h"

#define REPETITIONS 20000

static _Alignas(BENCH_CACHE_LINE) struct {
	long value[1];
} word;

/* The thread's own count of soft masks, to take back what only half of a pair has done. */
#define SOFT_MASKS (*(volatile unsigned *)&percpu__context.mask)

/* Each one finds what the one before left, and stores. */
#define CMPXCHG_LOOP(name, way)                                                                    \
	BENCH_LOOP(name, long n_ = word.value[0],                                                  \
		   BENCH_USE(PERCPU__LOCAL_CMPXCHG(way, long, &word, n_, n_ + 1));                 \
		   n_++, )

#if ARCH_HAVE_LOCAL
CMPXCHG_LOOP(loop_unlocked, local)
#endif
CMPXCHG_LOOP(loop_locked, atomic)

#undef CMPXCHG_LOOP

/* A save leaves all signals blocked for the rest of the loop, a restore finds them open. */
static inline void save(sigset_t *saved)
{
	sigset_t all;

	sigfillset(&all);
	(void)pthread_sigmask(SIG_BLOCK, &all, saved);
}

static inline void restore(const sigset_t *saved)
{
	(void)pthread_sigmask(SIG_SETMASK, saved, NULL);
}

BENCH_LOOP(loop_save, sigset_t saved_; sigset_t outer_;
	   save(&outer_), save(&saved_), restore(&outer_))
BENCH_LOOP(loop_restore, sigset_t saved_;
	   (void)pthread_sigmask(SIG_SETMASK, NULL, &saved_), restore(&saved_), )
BENCH_LOOP(loop_both, sigset_t saved_, save(&saved_); restore(&saved_), )

BENCH_LOOP(loop_on, , percpu_soft_mask(), SOFT_MASKS -= (unsigned)w->ops; percpu__signals_resume())
BENCH_LOOP(loop_off, SOFT_MASKS += (unsigned)w->ops, percpu_soft_unmask(), )
BENCH_LOOP(loop_on_off, , percpu_soft_mask(); percpu_soft_unmask(), )

static long word_total(void)
{
	return word.value[0];
}

#define METHOD(title, function)                                                                    \
	{                                                                                          \
		.name = (title), .param = "", .loop = (function), .ops = REPETITIONS               \
	}

static const struct bench_method methods[] = {
#if ARCH_HAVE_LOCAL
	{.name = "unlocked cmpxchg",
	 .param = "",
	 .loop = loop_unlocked,
	 .total = word_total,
	 .ops = REPETITIONS},
#endif
	{.name = "locked cmpxchg",
	 .param = "",
	 .loop = loop_locked,
	 .total = word_total,
	 .ops = REPETITIONS},
	METHOD("signal mask save", loop_save),
	METHOD("signal mask restore", loop_restore),
	METHOD("signal mask save and restore", loop_both),
	METHOD("soft mask on", loop_on),
	METHOD("soft mask off", loop_off),
	METHOD("soft mask on and off", loop_on_off),
};

#undef METHOD

static void fill_cmpxchg(struct bench_plan *plan)
{
	size_t i;

	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add_cycles(plan, bench_add(plan, &methods[i]));
	bench_note(plan,
		   "cycles are those of a counter that runs at a constant rate, not of the "
		   "CPU's clock of the moment; %d repetitions a round",
		   REPETITIONS);
}

const struct bench_table bench_cmpxchg = {
	.name = "cmpxchg",
	.title = "compare-exchange against holding handlers off; baseline: the first row",
	.fill = fill_cmpxchg,
	.seconds = 4};

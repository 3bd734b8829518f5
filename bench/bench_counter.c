/* SPDX-License-Identifier: MIT */
/*
 * counters: what one increment costs, in every way a program could count.
 * reads: what looking at counters costs.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include <percpu/percpu.h>

#include "bench.h"

struct padded {
	_Alignas(BENCH_CACHE_LINE) long n;
};

static struct padded plain, shared, slots[BENCH_MAX_THREADS], tls_total;
static __thread long tls_count;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct padded locked;
static const long step = 1;

BENCH_LOOP(loop_plain, , ARCH_PLAIN_INC(&plain.n), )
BENCH_LOOP(loop_tls, long before_ = tls_count, ARCH_PLAIN_INC(&tls_count),
	   __atomic_fetch_add(&tls_total.n, tls_count - before_, __ATOMIC_RELAXED))
BENCH_LOOP(loop_atomic, , __atomic_fetch_add(&shared.n, step, __ATOMIC_RELAXED), )
BENCH_LOOP(loop_slot, long *slot_ = &slots[w->index].n,
	   __atomic_fetch_add(slot_, step, __ATOMIC_RELAXED), )

static inline void compare_exchange_add(long *p)
{
	long old = __atomic_load_n(p, __ATOMIC_RELAXED);

	while (!__atomic_compare_exchange_n(p, &old, old + 1, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

BENCH_LOOP(loop_compare_exchange, , compare_exchange_add(&shared.n), )

/* What a program without sequences does: the CPU is a guess, so the slot needs an atomic. */
BENCH_LOOP(loop_getcpu, ,
	   __atomic_fetch_add(&slots[(unsigned)sched_getcpu() % BENCH_MAX_THREADS].n, step,
			      __ATOMIC_RELAXED), )

static inline void mutex_add(void)
{
	pthread_mutex_lock(&mutex);
	locked.n++;
	pthread_mutex_unlock(&mutex);
}

BENCH_LOOP(loop_mutex, , mutex_add(), )

static long plain_total(void)
{
	return plain.n;
}

static long tls_sum(void)
{
	return __atomic_load_n(&tls_total.n, __ATOMIC_RELAXED);
}

static long shared_total(void)
{
	return __atomic_load_n(&shared.n, __ATOMIC_RELAXED);
}

static long slots_total(void)
{
	long sum = 0;
	int i;

	for (i = 0; i < BENCH_MAX_THREADS; i++)
		sum += __atomic_load_n(&slots[i].n, __ATOMIC_RELAXED);
	return sum;
}

static long locked_total(void)
{
	return locked.n;
}

/* The library's counter, as a program would use it. */
static PERCPU_COUNTER(hits);
static struct percpu_counter made;
static long *word;

BENCH_LOOP(loop_static, , percpu_counter_add(&hits, 1), )
BENCH_LOOP(loop_pointer, struct percpu_counter *counter_ = &made;
	   BENCH_HIDE(counter_), percpu_counter_add(counter_, 1), )
/* A program that does other work between two adds finds nothing in registers. */
BENCH_LOOP(loop_memory, , percpu_counter_add(&hits, 1); BENCH_FORGET(), )
BENCH_LOOP(loop_this_cpu, long *word_ = word, percpu_this_add(word_, 1), )

/* The way of 2016: a lock per CPU around the addition. */
static PERCPU_LOCK(lock);

static inline void lock_add(long *p)
{
	int slot = percpu_lock(&lock);

	(*percpu_locked_ptr(p, slot))++;
	percpu_unlock(&lock, slot);
}

BENCH_LOOP(loop_spinlock, long *word_ = word, lock_add(word_), )

static long hits_total(void)
{
	return (long)percpu_counter_sum(&hits);
}

static long made_total(void)
{
	return (long)percpu_counter_sum(&made);
}

static long word_total(void)
{
	unsigned k, n = percpu_nslots();
	long sum = 0;

	for (k = 0; k < n; k++)
		sum += *percpu_ptr(word, k);
	return sum;
}

static int open_made(const struct bench_method *m, const char **why)
{
	int err = percpu_counter_init(&made);

	(void)m;
	*why = "no memory for a counter";
	return err;
}

static void close_made(const struct bench_method *m)
{
	(void)m;
	percpu_counter_destroy(&made);
}

static int open_word(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "no percpu memory";
	word = percpu_new(long);
	return word ? 0 : -ENOMEM;
}

static void close_word(const struct bench_method *m)
{
	(void)m;
	percpu_free(word);
	word = NULL;
}

/*
 * A sum in a process with 256 slots: warm, with every slot populated as on a machine whose CPUs all
 * counted, and with this machine's own slots populated only.
 */
#define SUM_SLOTS 256

static struct percpu_counter sparse, full;

static int check_slots(const char **why)
{
	*why = "the process does not have 256 slots";
	return percpu_nslots() == SUM_SLOTS ? 0 : -ENOTSUP;
}

static int open_sparse(const struct bench_method *m, const char **why)
{
	int err = check_slots(why);

	(void)m;
	if (!err)
		err = percpu_counter_init(&sparse);
	percpu_counter_inc(&sparse);
	return err;
}

/*
 * No CPU counts in most of these slots, so a plain store of what is there already can stand for
 * its first count. It needs the slots' addresses, which are the library's business otherwise.
 */
static int open_full(const struct bench_method *m, const char **why)
{
	int err = check_slots(why);
	volatile int64_t *copy;
	unsigned k;

	(void)m;
	if (!err)
		err = percpu_counter_init(&full);
	for (k = 0; !err && k < SUM_SLOTS; k++) {
		copy = (int64_t *)(uintptr_t)percpu_ptr((int64_t *)full.base, k);
		*copy = 0;
	}
	return err;
}

BENCH_LOOP(loop_sum_sparse, , BENCH_USE((long)percpu_counter_sum(&sparse)), )
BENCH_LOOP(loop_sum_full, , BENCH_USE((long)percpu_counter_sum(&full)), )

/* Reads: one counter, nobody else at work. */
static int open_hits(const struct bench_method *m, const char **why)
{
	(void)m, (void)why;
	percpu_counter_add(&hits, 0); /* it has slots from here on */
	return 0;
}

BENCH_LOOP(loop_load, , BENCH_USE(__atomic_load_n(&shared.n, __ATOMIC_RELAXED)), )
BENCH_LOOP(loop_read, , BENCH_USE((long)percpu_counter_read(&hits)), )
BENCH_LOOP(loop_sum, , BENCH_USE((long)percpu_counter_sum(&hits)), )
BENCH_LOOP(loop_sum_positive, , BENCH_USE((long)percpu_counter_sum_positive(&hits)), )
BENCH_LOOP(loop_compare, , BENCH_USE(percpu_counter_compare(&hits, 0)), )

static PERCPU_COUNTER_ADD_ONLY(events);

static int open_events(const struct bench_method *m, const char **why)
{
	(void)m, (void)why;
	percpu_counter_add(&events, 1000000);
	(void)percpu_counter_sum(&events);
	return 0;
}

BENCH_LOOP(loop_compare_above, , BENCH_USE(percpu_counter_compare(&events, 1000)), )
BENCH_LOOP(loop_compare_below, , BENCH_USE(percpu_counter_compare(&events, INT64_MAX)), )

static PERCPU_ID(ids);

BENCH_LOOP(loop_id_atomic, , BENCH_USE(__atomic_add_fetch(&shared.n, step, __ATOMIC_RELAXED)), )
BENCH_LOOP(loop_id, , BENCH_USE((long)percpu_id_next(&ids)), )

static const struct bench_method methods[] = {
	{.name = "plain ++", .param = "", .loop = loop_plain, .total = plain_total},
	{.name = "thread-local ++", .param = "", .loop = loop_tls, .total = tls_sum},
	{.name = "atomic fetch-add shared",
	 .param = "",
	 .loop = loop_atomic,
	 .total = shared_total},
	{.name = "atomic compare-exchange shared",
	 .param = "",
	 .loop = loop_compare_exchange,
	 .total = shared_total},
	{.name = "atomic per-thread slot", .param = "", .loop = loop_slot, .total = slots_total},
	{.name = "getcpu + atomic per-cpu slot",
	 .param = "",
	 .loop = loop_getcpu,
	 .total = slots_total},
	{.name = "pthread mutex", .param = "", .loop = loop_mutex, .total = locked_total},
};

static const struct bench_method percpu_methods[] = {
	{.name = "percpu add", .param = "static object", .loop = loop_static, .total = hits_total},
	{.name = "percpu add",
	 .param = "through pointer",
	 .loop = loop_pointer,
	 .total = made_total,
	 .open = open_made,
	 .close = close_made},
	{.name = "percpu add",
	 .param = "nothing in registers",
	 .loop = loop_memory,
	 .total = hits_total},
	{.name = "percpu add",
	 .param = "this_cpu",
	 .loop = loop_this_cpu,
	 .total = word_total,
	 .open = open_word,
	 .close = close_word},
};

static const struct bench_method spinlock_method = {.name = "percpu spinlock",
						    .param = "",
						    .loop = loop_spinlock,
						    .total = word_total,
						    .open = open_word,
						    .close = close_word};

static const struct bench_method linked[] = {
	{.name = "percpu add", .param = "shared library"},
	{.name = "percpu add", .param = "archive"},
	{.name = "percpu add", .param = "plugin"},
};

static const struct bench_peer linked_peers[] = {
	{.program = "percpu-bench-shared"},
	{.program = "percpu-bench-archive"},
	{.program = "percpu-bench-shared", .argument = "plugin"},
};

static const struct bench_method off_method = {
	.name = "percpu add, shared slots", .param = "", .loop = loop_static, .total = hits_total};
static const struct bench_peer off_peer = {.environment = {"PERCPU_RSEQ=off"}};

static const struct bench_method sums[] = {
	{.name = "percpu sum",
	 .param = "256 slots, all populated",
	 .loop = loop_sum_full,
	 .open = open_full,
	 .parts = SUM_SLOTS,
	 .unit = "ns/slot"},
	{.name = "percpu sum",
	 .param = "256 slots, few populated",
	 .loop = loop_sum_sparse,
	 .open = open_sparse,
	 .parts = SUM_SLOTS,
	 .unit = "ns/slot"},
};

static void fill_counters(struct bench_plan *plan)
{
	size_t i;

	bench_add(plan, &methods[0]);
	bench_add_threads(plan, &methods[1], NULL);
	for (i = 0; i < sizeof(percpu_methods) / sizeof(percpu_methods[0]); i++)
		bench_add_threads(plan, &percpu_methods[i], NULL);
	for (i = 0; i < sizeof(linked) / sizeof(linked[0]); i++)
		bench_add_threads(plan, &linked[i], &linked_peers[i]);
	bench_add_threads(plan, &spinlock_method, NULL);
	for (i = 2; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add_threads(plan, &methods[i], NULL);
	bench_add_threads(plan, &off_method, &off_peer);
	for (i = 0; i < sizeof(sums) / sizeof(sums[0]); i++)
		bench_add_at(plan, &sums[i], 1, bench_many_slots(SUM_SLOTS));
}

const struct bench_table bench_counters = {
	.name = "counters",
	.title = "one increment; baseline: plain ++, one bare add instruction",
	.fill = fill_counters,
	.seconds = 20};

static const struct bench_method reads[] = {
	{.name = "plain read", .param = "", .loop = loop_load},
	{.name = "percpu read", .param = "", .loop = loop_read, .open = open_hits},
	{.name = "percpu sum", .param = "", .loop = loop_sum, .open = open_hits},
	{.name = "percpu sum_positive", .param = "", .loop = loop_sum_positive, .open = open_hits},
	{.name = "percpu compare", .param = "", .loop = loop_compare, .open = open_hits},
	{.name = "percpu compare",
	 .param = "add-only, above",
	 .loop = loop_compare_above,
	 .open = open_events},
	{.name = "percpu compare",
	 .param = "add-only, below",
	 .loop = loop_compare_below,
	 .open = open_events},
	{.name = "atomic add-return", .param = "", .loop = loop_id_atomic},
	{.name = "percpu id_next", .param = "", .loop = loop_id},
};

static void fill_reads(struct bench_plan *plan)
{
	size_t i;

	for (i = 0; i < sizeof(reads) / sizeof(reads[0]); i++)
		bench_add(plan, &reads[i]);
}

const struct bench_table bench_reads = {
	.name = "reads",
	.title = "one look at a counter, and unique numbers; baseline: a load",
	.fill = fill_reads};

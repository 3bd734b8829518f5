/* SPDX-License-Identifier: MIT */
/*
 * locks: taking a lock, adding to a word under it, and giving it back.
 *
 * The historic figures of such locks come from two settings: barriers for acquire and release on
 * both sides, and compiler barriers with a system call on the rare side. A row with explicit
 * barriers stands for the first one; on CPUs where they take no instruction it costs the same.
 */
#include <errno.h>
#include <pthread.h>

#include <percpu/percpu.h>

#include "bench.h"

/* A lock and what it protects, on a line of their own; the last one is everybody's. */
struct padded {
	_Alignas(2 * BENCH_CACHE_LINE) long held;
	long n;
	pthread_mutex_t mutex;
	pthread_spinlock_t spin;
};

static struct padded places[BENCH_MAX_THREADS + 1];

enum place { OWN, COMMON };

static struct padded *place(const struct bench_worker *w)
{
	return &places[w->method->arg == COMMON ? BENCH_MAX_THREADS : w->index];
}

static long places_total(void)
{
	long sum = 0;
	int i;

	for (i = 0; i <= BENCH_MAX_THREADS; i++)
		sum += __atomic_load_n(&places[i].n, __ATOMIC_RELAXED);
	return sum;
}

/* What a lock is when nobody else can come: each step in memory, none of them atomic. */
static inline void plain_inc(struct padded *p)
{
	if (__atomic_load_n(&p->held, __ATOMIC_RELAXED) != 0)
		return;
	__atomic_store_n(&p->held, 1, __ATOMIC_RELAXED);
	BENCH_FORGET();
	p->n++;
	BENCH_FORGET();
	__atomic_store_n(&p->held, 0, __ATOMIC_RELAXED);
	BENCH_FORGET();
}

static inline void atomic_inc(struct padded *p)
{
	while (__atomic_exchange_n(&p->held, 1, __ATOMIC_ACQUIRE) != 0)
		while (__atomic_load_n(&p->held, __ATOMIC_RELAXED) != 0)
			;
	p->n++;
	__atomic_store_n(&p->held, 0, __ATOMIC_RELEASE);
}

static inline void mutex_inc(struct padded *p)
{
	pthread_mutex_lock(&p->mutex);
	p->n++;
	pthread_mutex_unlock(&p->mutex);
}

static inline void spin_inc(struct padded *p)
{
	pthread_spin_lock(&p->spin);
	p->n++;
	pthread_spin_unlock(&p->spin);
}

#define PLACE_LOOP(name, op) BENCH_LOOP(name, struct padded *p_ = place(w); BENCH_HIDE(p_), op, )
PLACE_LOOP(loop_plain, plain_inc(p_))
PLACE_LOOP(loop_atomic, atomic_inc(p_))
PLACE_LOOP(loop_mutex, mutex_inc(p_))
PLACE_LOOP(loop_spin, spin_inc(p_))
#undef PLACE_LOOP

static int open_places(const struct bench_method *m, const char **why)
{
	int i;

	(void)m;
	*why = "no memory for locks";
	for (i = 0; i <= BENCH_MAX_THREADS; i++)
		if (pthread_mutex_init(&places[i].mutex, NULL) ||
		    pthread_spin_init(&places[i].spin, PTHREAD_PROCESS_PRIVATE))
			return -ENOMEM;
	return 0;
}

/* The library's lock, and a word in every slot. */
static struct percpu_lock lock;
static long *word;

static int open_lock(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "no percpu memory";
	word = percpu_new(long);
	return word ? percpu_lock_init(&lock) : -ENOMEM;
}

static void close_lock(const struct bench_method *m)
{
	(void)m;
	percpu_lock_destroy(&lock);
	percpu_free(word);
	word = NULL;
}

static long word_total(void)
{
	unsigned k, n = percpu_nslots();
	long sum = 0;

	for (k = 0; k < n; k++)
		sum += *percpu_ptr(word, k);
	return sum;
}

static inline void lock_inc(long *p)
{
	int slot = percpu_lock(&lock);

	(*percpu_locked_ptr(p, slot))++;
	percpu_unlock(&lock, slot);
}

static inline void trylock_inc(long *p)
{
	int slot = percpu_trylock(&lock);

	if (slot < 0)
		return;
	(*percpu_locked_ptr(p, slot))++;
	percpu_unlock(&lock, slot);
}

static inline void lock_inc_barriers(long *p)
{
	int slot = percpu_lock(&lock);

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	(*percpu_locked_ptr(p, slot))++;
	__atomic_thread_fence(__ATOMIC_RELEASE);
	percpu_unlock(&lock, slot);
}

static inline void remote_inc(long *p, int slot)
{
	if (percpu_lock_remote(&lock, slot))
		return;
	(*percpu_locked_ptr(p, slot))++;
	percpu_unlock_remote(&lock, slot);
}

BENCH_LOOP(loop_lock, long *word_ = word, lock_inc(word_), )
BENCH_LOOP(loop_trylock, long *word_ = word, trylock_inc(word_), )
BENCH_LOOP(loop_barriers, long *word_ = word, lock_inc_barriers(word_), )
BENCH_LOOP(loop_remote_cpu, long *word_ = word, remote_inc(word_, 0), )
BENCH_LOOP(loop_remote_shared, long *word_ = word;
	   int slot_ = (int)percpu_ncpus(), remote_inc(word_, slot_), )

#define PERCPU_METHOD(title, case, function)                                                       \
	{                                                                                          \
		.name = (title), .param = (case), .loop = (function), .total = word_total,         \
		.open = open_lock, .close = close_lock                                             \
	}
#define PLACE_METHOD(title, case, where, function)                                                 \
	{                                                                                          \
		.name = (title), .param = (case), .loop = (function), .total = places_total,       \
		.open = open_places, .arg = (where)                                                \
	}

static const struct bench_method plain =
	PLACE_METHOD("plain lock+inc+unlock", "private data", OWN, loop_plain);

static const struct bench_method methods[] = {
	PERCPU_METHOD("percpu lock+inc+unlock", "", loop_lock),
	PERCPU_METHOD("percpu lock+inc+unlock", "acquire and release barriers", loop_barriers),
	PERCPU_METHOD("percpu trylock+inc+unlock", "", loop_trylock),
	PLACE_METHOD("atomic lock+inc+unlock", "a lock per thread", OWN, loop_atomic),
	PLACE_METHOD("atomic lock+inc+unlock", "one lock", COMMON, loop_atomic),
	PLACE_METHOD("pthread mutex", "a lock per thread", OWN, loop_mutex),
	PLACE_METHOD("pthread mutex", "one lock", COMMON, loop_mutex),
	PLACE_METHOD("pthread spinlock", "a lock per thread", OWN, loop_spin),
	PLACE_METHOD("pthread spinlock", "one lock", COMMON, loop_spin),
};

static const struct bench_method off_method =
	PERCPU_METHOD("percpu lock+inc+unlock, shared slots", "", loop_lock);
static const struct bench_peer off_peer = {.environment = {"PERCPU_RSEQ=off"}};

static const struct bench_method remote[] = {
	PERCPU_METHOD("percpu lock_remote+inc+unlock_remote", "CPU slot", loop_remote_cpu),
	PERCPU_METHOD("percpu lock_remote+inc+unlock_remote", "shared slot", loop_remote_shared),
};

#undef PERCPU_METHOD
#undef PLACE_METHOD

static void fill_locks(struct bench_plan *plan)
{
	size_t i;

	bench_add(plan, &plain);
	for (i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add_threads(plan, &methods[i], NULL);
	bench_add_threads(plan, &off_method, &off_peer);
	for (i = 0; i < sizeof(remote) / sizeof(remote[0]); i++)
		bench_add(plan, &remote[i]);
}

const struct bench_table bench_locks = {
	.name = "locks",
	.title =
		"a lock taken, a word added to, the lock given back; baseline: the same in plain C "
		"on private data",
	.fill = fill_locks,
	.seconds = 15};

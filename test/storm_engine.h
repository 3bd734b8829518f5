/* SPDX-License-Identifier: MIT */
/*
 * The storm: threads that all do the same few things to the same objects while everything that
 * can come between two instructions comes between them, and exact accounts of what was done.
 *
 *	workers     run batches of calls; before each batch a worker sets two timers of its own,
 *	            whose handlers run the same calls on the same object on top of it (nested)
 *	            some workers are not registered with rseq, some change sides at every batch
 *	disturber   moves workers from CPU to CPU and fences
 *	watcher     looks at sums meanwhile
 *	allocator   makes objects and gives them back
 *	forker      forks; the child goes on with its copy and checks that
 *
 * A plan is an operation with its accounts. Each context (a worker, or one level of handlers on
 * it) writes down for itself what it did; when all have come to rest, the objects must say the
 * same. The amount of work is a number of batches, never a time; STORM_SCALE multiplies it.
 * STORM_BATCH makes each batch so many times as long, and everything beside it as much rarer: under an
 * emulator, a timer takes longer to arrive than a batch.
 */
#ifndef PERCPU_TEST_STORM_ENGINE_H
#define PERCPU_TEST_STORM_ENGINE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

#include <percpu/percpu.h>

/* DEFINE(w, type) for every width of words on this CPU. */
#if PERCPU__WORD_MAX == 8
#define STORM_WIDTHS(DEFINE)                                                                       \
	DEFINE(1, uint8_t) DEFINE(2, uint16_t) DEFINE(4, uint32_t) DEFINE(8, uint64_t)
#else
#define STORM_WIDTHS(DEFINE) DEFINE(1, uint8_t) DEFINE(2, uint16_t) DEFINE(4, uint32_t)
#endif

/* A worker and the handlers that can be on top of it. */
#define STORM_LEVELS 4
#define STORM_WORKERS 8u
/* Calls that a handler makes, and those that a forked child makes of each plan. */
#define STORM_HANDLER_CALLS 48u
#define STORM_CHILD_CALLS 1000u

/* What a context did in one slot, of calls that say which slot it was. */
struct storm_slot {
	uint64_t calls;
	uint64_t sum;  /* of the amounts */
	uint64_t seen; /* storm_mix() of what each call found there, added up */
};

struct storm_plan;

struct storm_context {
	struct storm_plan *plan;
	unsigned worker, level;
	uint64_t random;
	unsigned long *job; /* number of the worker's next job, counted by its handlers too */
	uint64_t calls, aborts;
	uint64_t total; /* of the amounts */
	struct storm_slot *slots;
	void *held; /* by plans that take things */
};

struct storm_plan {
	const char *name;
	void (*run)(struct storm_context *context, unsigned calls);
	unsigned batch; /* calls: some 20 microseconds of them */
	size_t size;    /* of the percpu object that the engine makes, zeroed; 0: none */
	unsigned width; /* of the words in it */
	/* What the slot holds, comparable with amounts under mask. NULL: only check() knows. */
	uint64_t (*measure)(const struct storm_plan *plan, unsigned slot);
	uint64_t mask;
	bool by_slot;   /* calls say which slot: each must hold what was put there */
	bool each_once; /* and saw its count before: 0, 1, 2, ... under mask, each once */
	bool aborts;    /* calls find out about aborts: there must be some */
	bool fenced;    /* but not where there is no fence: no CPU slots then (I9) */
	void (*prepare)(struct storm_plan *plan);
	void (*watch)(struct storm_plan *plan);
	/* When all is at rest. contexts: count of them. */
	void (*check)(struct storm_plan *plan, const struct storm_context *contexts,
		      unsigned count);
	void (*finish)(struct storm_plan *plan);
	void *object;
	uint64_t seen; /* by watch() */
};

/* Every plan of a file; a width that this CPU does not have is left out. */
struct storm_list {
	struct storm_plan *plans;
	unsigned count;
};
extern const struct storm_list storm_words;     /* storm_words.c: this_cpu.h */
extern const struct storm_list storm_bits;      /* storm_bits.c: and, or */
extern const struct storm_list storm_sequences; /* storm_sequences.c: those without a user yet */
extern const struct storm_list storm_products;  /* storm_products.c: counters and their kin */
extern const struct storm_list storm_txn;       /* storm_txn.c: transactions */
extern const struct storm_list storm_locks;     /* storm_locks.c: lock.h */
extern const struct storm_list storm_lists;     /* storm_lists.c: lists, stacks */

struct storm_settings {
	unsigned batches; /* of each worker, before scaling; 0: the default */
	unsigned forks;
	/* Not NULL: workers go on until it is set (by another process). */
	const uint32_t *stop;
};

/*
 * One storm for each plan whose name is the prefix, or the prefix and "_width"; again and again
 * until aborts were seen, where they can be seen. Returns how many plans there were.
 */
unsigned storm_each(const struct storm_list *list, const char *prefix);
/* One storm over everything. */
unsigned storm_all(const struct storm_settings *settings);

/* For messages of the engine. */
void storm_set_name(const char *test);
#define STORM(list, prefix)                                                                        \
	do {                                                                                       \
		storm_set_name(test__name);                                                        \
		CHECK(storm_each(list, prefix) > 0);                                               \
	} while (0)
#define STORM_ALL(settings)                                                                        \
	do {                                                                                       \
		storm_set_name(test__name);                                                        \
		CHECK(storm_all(settings) > 0);                                                    \
	} while (0)

/* STORM_SCALE times n, at least 1. */
static inline unsigned storm_scaled(unsigned n)
{
	const char *text = getenv("STORM_SCALE");
	double scaled = text ? strtod(text, NULL) * n : n;

	return scaled < 1 ? 1 : (unsigned)scaled;
}

/* True where a signal can be sent into a sequence of this thread and the answer be seen. */
bool storm_can_abort(void);

static inline uint64_t storm_random(struct storm_context *context)
{
	uint64_t x = context->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	context->random = x;
	return x * 0x2545f4914f6cdd1du >> 16;
}

/* Numbers that are added up so that two wrong ones do not make a right one. 0 stays 0. */
static inline uint64_t storm_mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 29;
	return x;
}

static inline void storm_count(struct storm_context *context, uint64_t amount)
{
	context->calls++;
	context->total += amount;
}

static inline void storm_count_slot(struct storm_context *context, uint32_t slot, uint64_t amount,
				    uint64_t seen)
{
	storm_count(context, amount);
	context->slots[slot].calls++;
	context->slots[slot].sum += amount;
	context->slots[slot].seen += storm_mix(seen);
}

/* A sequence's answer: true when it was done. Counts how often it was aborted on its way. */
static inline bool storm_done(struct storm_context *context, int answer)
{
	if (answer >= 0)
		context->aborts += (uint64_t)(PERCPU__ATTEMPTS - answer);
	return answer > 0;
}

/* The same for those that only say whether they were done. */
static inline bool storm_done_at_once(struct storm_context *context, bool done)
{
	if (!done && (uint32_t)percpu_cpu_raw() < percpu__rt.bound)
		context->aborts++;
	return done;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * percpu stress: what the engine and the kinds share.
 *
 * A kind is a structure of the library, an operation on it, and the accounts that the operation
 * keeps. The engine runs the operation in many threads and in signal handlers on top of them, and
 * disturbs them; when all have come to rest the kind compares the structure with the accounts.
 * Each context (a thread, or the handler on it) keeps its own, so that accounts need no atomics.
 */
#ifndef PERCPU_STRESS_H
#define PERCPU_STRESS_H

#include <percpu/percpu.h>

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

#define STRESS_MAX_THREADS 1024
/* Delay points of a build with PERCPU_INJECT, 1 to this. */
#define STRESS_POINTS 5
/* Longer ones could not be told from a call that never ends. */
#define STRESS_MAX_DELAY 10000000
/* A thread, and the handler on it. */
#define STRESS_LEVELS 2
/* Items that a context can have in its hands. */
#define STRESS_HELD 8
/* Operations of a forked child. */
#define STRESS_CHILD_OPS 500

struct stress_options {
	unsigned threads;
	uint64_t ops;   /* of each thread; 0: as many as there is time for */
	double seconds; /* 0: until ops are done */
	/* Once in so many operations, on the average; 0: never. */
	unsigned long yield, signal, sleep;
	bool affinity_storm, fork_storm, no_rseq, mixed, json;
	unsigned long delay[STRESS_POINTS + 1]; /* loops at each point; none at 0 */
};

/* Numbers that a slot gave: it must have given 0, 1, 2, ... once each. */
struct stress_numbers {
	uint64_t count, sum, squares;
};

struct stress_run;

struct stress_context {
	struct stress_run *run;
	unsigned index; /* of all contexts of the run */
	bool in_handler;
	uint64_t random;
	uint64_t operations;
	uint64_t aborts;    /* attempts that were interrupted, as far as calls tell */
	uint64_t retries;   /* attempts that were made again, for whatever reason */
	uint64_t fallbacks; /* operations that were done on a shared slot, as far as calls tell */
	uint64_t amount;    /* by which the kind's total has grown */
	uint64_t kept[4];   /* other sums, as the kind likes */
	struct stress_numbers *numbers; /* [series * slots + slot] */
	/* Items that it has taken out of the structure. */
	unsigned held[STRESS_HELD], holding;
};

struct stress_kind {
	const char *name;
	const char *title;
	unsigned series; /* of numbers */
	/* Makes run->object, and what else it needs. 0 or -errno. */
	int (*prepare)(struct stress_run *run);
	void (*operate)(struct stress_context *context);
	/* What context->amount counts, as the structure has it; also in a forked child, where all
	 * other threads have stopped somewhere. */
	uint64_t (*total)(struct stress_run *run);
	/* Everything is at rest: beyond total and numbers, which the engine checks. May be NULL. */
	void (*check)(struct stress_run *run);
	/* The last number that a series gave in a slot, plus 1. NULL without series. */
	unsigned long (*given)(struct stress_run *run, unsigned series, unsigned slot);
	void (*finish)(struct stress_run *run);
};

extern const struct stress_kind *const stress_kinds[]; /* NULL at the end */

struct stress_run {
	const struct stress_kind *kind;
	const struct stress_options *options;
	void *object; /* the kind's */
	struct stress_context *contexts;
	unsigned count; /* of contexts: those of threads, handlers, and one for a child */
	struct stress_numbers *numbers;
	uint64_t moves, forks, signals;
	unsigned unregistered; /* threads that are without rseq, always or at times */
	double elapsed;
	bool in_child; /* a forked one */
	bool dealing;  /* to the child's context, of what is found */
	/* Items, for kinds that have them (stress_items.c). */
	unsigned items, found;
	unsigned *holder, *seen; /* [item] */
	unsigned mistakes;
	char why[160]; /* the first one */
};

/* One kind, from start to verdict. 0; -errno if it could not be run. */
int stress_run(struct stress_run *run);

/* Something is not as it must be. From any thread or handler. */
void stress_wrong(struct stress_run *run, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Makes items and gives them to the contexts of threads, who put them in. 0 or -ENOMEM. */
int stress_deal(struct stress_run *run);
/* Is it this context's turn to take one, or to give one? */
bool stress_wants_to_take(struct stress_context *context);
/* An item came out of the structure, or could not be put in. */
void stress_take(struct stress_context *context, unsigned long item);
/* One that the context has: goes into the structure now. */
unsigned stress_give(struct stress_context *context);
/* An item was in the structure when that was emptied, by the kind's total. */
void stress_found(struct stress_run *run, unsigned long item);
/* The kind's check. */
void stress_check_items(struct stress_run *run);

static inline uint64_t stress_random(struct stress_context *context)
{
	uint64_t x = context->random;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	context->random = x;
	return x * 0x2545f4914f6cdd1du >> 16;
}

/* Numbers that are added up so that two wrong ones do not make a right one. 0 stays 0. */
static inline uint64_t stress_mix(uint64_t x)
{
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 32;
	x *= 0xd6e8feb86659fd93u;
	x ^= x >> 29;
	return x;
}

static inline void stress_used_slot(struct stress_context *context, unsigned slot)
{
	if (slot >= percpu_ncpus())
		context->fallbacks++;
}

static inline void stress_number(struct stress_context *context, unsigned series, unsigned slot,
				 uint64_t number)
{
	struct stress_numbers *numbers = &context->numbers[series * percpu_nslots() + slot];

	numbers->count++;
	numbers->sum += number;
	numbers->squares += number * number;
	stress_used_slot(context, slot);
}

/*
 * The mistakes of a test-only build: what it does wrong at a place of each kind, seldom. Its test
 * sees to it that every one is found. PERCPU_STRESS_MISTAKE in the environment says which place.
 */
#if defined(STRESS_MISTAKES)
bool stress_mistake(struct stress_context *context, unsigned place);
#else
#define stress_mistake(context, place) ((void)(context), false)
#endif

#endif

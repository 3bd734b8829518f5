/* SPDX-License-Identifier: MIT */
/*
 * percpu stress add: counters, and the operations on words of percpu/this_cpu.h.
 *
 *	counter     += n     the sum is all n
 *	added       += 1     the slots' sum is the number of additions
 *	returned    + 1      each sum that is returned was returned once in its slot
 *	compared    + 1      by compare-exchange from the value before: each value once
 *	compared2   + 1      the same while a second word, fixed, is compared with what it is
 *	token       = new    each token that was put in was taken out once, or is still there
 */
#include "stress.h"

#include <errno.h>
#include <stdlib.h>

struct words {
	unsigned long added, returned, compared, compared2, fixed, token;
};

struct add {
	bool sequences; /* of threads with rseq */
	struct percpu_counter counter;
	struct words *words; /* a percpu pointer */
};

enum { RETURNED, COMPARED, COMPARED2, SERIES };
enum { OPERATIONS = 6 };
/* What a context keeps. */
enum { TURN, OUTSIDE, PUT, GOT };

static int prepare(struct stress_run *run)
{
	struct add *add = calloc(1, sizeof(*add));
	struct percpu_mode_info mode;
	int result;

	if (!add)
		return -ENOMEM;
	run->object = add;
	(void)percpu_mode(&mode);
	add->sequences = mode.sequences != 0;
	result = percpu_counter_init(&add->counter);
	if (result)
		return result;
	add->words = percpu_new(struct words);
	return add->words ? 0 : -ENOMEM;
}

static void add_to_counter(struct stress_context *context, struct add *add)
{
	int64_t n = (int64_t)(stress_random(context) % 8 + 1);

	if (!stress_mistake(context, 1))
		percpu_counter_add(&add->counter, n);
	context->amount += (uint64_t)n;
}

/* The call does not say where it counted. A thread that has a CPU slot goes to a shared one only
 * after an abort. */
static void add_to_word(struct stress_context *context, struct add *add)
{
	if (!add->sequences || (unsigned)percpu_cpu_raw() >= percpu_ncpus())
		context->kept[OUTSIDE]++;
	if (!stress_mistake(context, 2))
		percpu_this_inc(&add->words->added);
	context->amount++;
}

static void add_and_return(struct stress_context *context, struct words *words)
{
	unsigned slot;
	unsigned long sum = percpu_this_add_return_slot(&words->returned, 1, &slot);

	if (stress_mistake(context, 3))
		sum = 1;
	stress_number(context, RETURNED, slot, sum - 1);
	context->amount++;
}

static void compare_and_exchange(struct stress_context *context, struct words *words)
{
	unsigned long expected = percpu_this_read(&words->compared), seen;
	unsigned slot;

	for (;;) {
		seen = percpu_this_cmpxchg_slot(&words->compared, expected, expected + 1, &slot);
		if (seen == expected)
			break;
		context->retries++;
		expected = seen;
	}
	if (!stress_mistake(context, 4))
		stress_number(context, COMPARED, slot, seen);
	context->amount++;
}

static void compare_two(struct stress_context *context, struct words *words)
{
	unsigned long expected = percpu_this_read(&words->compared2);
	unsigned slot;

	while (!percpu_this_cmpxchg2_slot(&words->compared2, expected, expected + 1, &words->fixed,
					  0, &slot)) {
		context->retries++;
		expected = percpu_this_read(&words->compared2);
	}
	if (stress_mistake(context, 5))
		expected++;
	stress_number(context, COMPARED2, slot, expected);
	context->amount++;
}

static void exchange_token(struct stress_context *context, struct words *words)
{
	unsigned long token =
		(unsigned long)(context->operations * context->run->count + context->index + 1);
	unsigned slot;
	unsigned long previous = percpu_this_xchg_slot(&words->token, token, &slot);

	context->kept[PUT] += stress_mix(token);
	if (!stress_mistake(context, 6))
		context->kept[GOT] += stress_mix(previous);
	stress_used_slot(context, slot);
}

static void operate(struct stress_context *context)
{
	struct add *add = context->run->object;

	switch (context->kept[TURN]++ % OPERATIONS) {
	case 0:
		add_to_counter(context, add);
		break;
	case 1:
		add_to_word(context, add);
		break;
	case 2:
		add_and_return(context, add->words);
		break;
	case 3:
		compare_and_exchange(context, add->words);
		break;
	case 4:
		compare_two(context, add->words);
		break;
	default:
		exchange_token(context, add->words);
		break;
	}
}

static uint64_t total(struct stress_run *run)
{
	struct add *add = run->object;
	uint64_t sum = (uint64_t)percpu_counter_sum(&add->counter);

	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const struct words *words = percpu_ptr(add->words, slot);

		sum += __atomic_load_n(&words->added, __ATOMIC_RELAXED);
		sum += __atomic_load_n(&words->returned, __ATOMIC_RELAXED);
		sum += __atomic_load_n(&words->compared, __ATOMIC_RELAXED);
		sum += __atomic_load_n(&words->compared2, __ATOMIC_RELAXED);
	}
	return sum;
}

static unsigned long given(struct stress_run *run, unsigned series, unsigned slot)
{
	const struct words *words = percpu_ptr(((struct add *)run->object)->words, slot);

	return series == RETURNED   ? words->returned
	       : series == COMPARED ? words->compared
				    : words->compared2;
}

static void check_tokens(struct stress_run *run)
{
	struct add *add = run->object;
	uint64_t missing = 0;

	for (unsigned i = 0; i < run->count; i++)
		missing += run->contexts[i].kept[PUT] - run->contexts[i].kept[GOT];
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		missing -= stress_mix(percpu_ptr(add->words, slot)->token);
	if (missing)
		stress_wrong(run, "a token was taken out twice, or never");
}

/* Also finds the aborts of the additions: what is in shared slots, less what was meant for them. */
static void check(struct stress_run *run)
{
	struct add *add = run->object;
	uint64_t shared = 0, outside = 0;

	check_tokens(run);
	for (unsigned slot = percpu_ncpus(); slot < percpu_nslots(); slot++)
		shared += percpu_ptr(add->words, slot)->added;
	for (unsigned i = 0; i < run->count; i++)
		outside += run->contexts[i].kept[OUTSIDE];
	run->contexts[0].fallbacks += shared;
	run->contexts[0].aborts += shared > outside ? shared - outside : 0;
}

static void finish(struct stress_run *run)
{
	struct add *add = run->object;

	if (!add)
		return;
	(void)percpu_counter_destroy(&add->counter);
	(void)percpu_free(add->words);
	free(add);
}

const struct stress_kind stress_add = {
	.name = "add",
	.title = "counters and words: each amount once, each value once",
	.series = SERIES,
	.prepare = prepare,
	.operate = operate,
	.total = total,
	.check = check,
	.given = given,
	.finish = finish,
};

/* SPDX-License-Identifier: MIT */
/*
 * percpu stress spinlock: locks per CPU (percpu/lock.h). Whoever holds a slot adds 1 to two words in
 * it, one after the other: they are equal at every lock, and each number is found once. Handlers
 * try. percpu stress remote: the same, and once in a while a slot is taken from outside.
 */
#include "stress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Once in so many operations of percpu stress remote. */
#define REMOTE_OPS 16

struct words {
	unsigned long first, second;
};

struct locked {
	struct percpu_lock lock;
	struct words *words; /* a percpu pointer */
};

static int prepare(struct stress_run *run)
{
	struct locked *locked = calloc(1, sizeof(*locked));
	int result;

	if (!locked)
		return -ENOMEM;
	run->object = locked;
	result = percpu_lock_init(&locked->lock);
	if (result)
		return result;
	locked->words = percpu_new(struct words);
	return locked->words ? 0 : -ENOMEM;
}

/* With the slot held. */
static void count_up(struct stress_context *context, struct locked *locked, int slot)
{
	volatile struct words *words = percpu_locked_ptr(locked->words, slot);
	unsigned long number = words->first;

	if (words->second != number)
		stress_wrong(context->run, "slot %d was held by two at once", slot);
	words->first = number + 1;
	if (!stress_mistake(context, 1))
		words->second = number + 1;
	if (!stress_mistake(context, 2))
		stress_number(context, 0, (unsigned)slot, number);
	context->amount++;
}

static void failed(struct stress_context *context, const char *what, int result)
{
	if (result)
		stress_wrong(context->run, "%s: %s", what, strerror(-result));
}

static void operate(struct stress_context *context)
{
	struct locked *locked = context->run->object;
	int slot = context->in_handler ? percpu_trylock(&locked->lock) : percpu_lock(&locked->lock);

	/* What the handler interrupted, and others, hold all slots that it may have. */
	if (slot == -EBUSY && context->in_handler) {
		context->retries++;
		return;
	}
	if (slot < 0) {
		failed(context, "lock", slot);
		return;
	}
	count_up(context, locked, slot);
	failed(context, "unlock", percpu_unlock(&locked->lock, slot));
}

static void operate_remotely(struct stress_context *context)
{
	struct locked *locked = context->run->object;
	int slot = (int)(stress_random(context) % percpu_nslots());
	int result;

	if (context->in_handler || stress_random(context) % REMOTE_OPS != 0) {
		operate(context);
		return;
	}
	result = percpu_lock_remote(&locked->lock, slot);
	failed(context, "lock_remote", result);
	if (result)
		return;
	count_up(context, locked, slot);
	failed(context, "unlock_remote", percpu_unlock_remote(&locked->lock, slot));
}

/* A forked child finds what others were about to do half done, and does the rest. */
static void repair(struct locked *locked, unsigned slot)
{
	struct words *words = percpu_locked_ptr(locked->words, slot);

	if (percpu_lock_remote(&locked->lock, (int)slot))
		return;
	words->second = words->first;
	(void)percpu_unlock_remote(&locked->lock, (int)slot);
}

static uint64_t total(struct stress_run *run)
{
	struct locked *locked = run->object;
	uint64_t sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		if (run->in_child)
			repair(locked, slot);
		sum += percpu_ptr(locked->words, slot)->first;
	}
	return sum;
}

static unsigned long given(struct stress_run *run, unsigned series, unsigned slot)
{
	const struct locked *locked = run->object;

	(void)series;
	return percpu_ptr(locked->words, slot)->first;
}

static void check(struct stress_run *run)
{
	struct locked *locked = run->object;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const struct words *words = percpu_ptr(locked->words, slot);

		if (words->first != words->second)
			stress_wrong(run, "slot %u was left half done", slot);
	}
	/* It says so itself when a slot is still held. */
	if (percpu_lock_destroy(&locked->lock))
		stress_wrong(run, "a slot is held by nobody");
}

static void finish(struct stress_run *run)
{
	struct locked *locked = run->object;

	if (!locked)
		return;
	(void)percpu_lock_destroy(&locked->lock);
	(void)percpu_free(locked->words);
	free(locked);
}

const struct stress_kind stress_spinlock = {
	.name = "spinlock",
	.title = "locks per CPU: a slot has one holder at a time",
	.series = 1,
	.prepare = prepare,
	.operate = operate,
	.total = total,
	.check = check,
	.given = given,
	.finish = finish,
};

const struct stress_kind stress_remote = {
	.name = "remote",
	.title = "the same, and slots are taken from other CPUs",
	.series = 1,
	.prepare = prepare,
	.operate = operate_remotely,
	.total = total,
	.check = check,
	.given = given,
	.finish = finish,
};

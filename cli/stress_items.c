/* SPDX-License-Identifier: MIT */
/*
 * percpu stress: items that go in and out of a structure, and who has them.
 *
 *	holder[item]     0: it is in the structure, or on its way into it or out of it
 *	                 n: the context n - 1 has it, and it is in context.held
 *
 * Whoever gets an item out of the structure writes himself down as its holder, and must find 0
 * there. At the end each item must be held once or found once, not both and not neither.
 */
#include <errno.h>
#include <stdlib.h>

#include "stress.h"

/* Of each thread, at the start. */
#define DEALT 4

/* False: somebody has it. */
static bool hold(struct stress_context *context, unsigned item)
{
	context->held[context->holding++] = item;
	return __atomic_exchange_n(&context->run->holder[item], context->index + 1,
				   __ATOMIC_ACQ_REL) == 0;
}

int stress_deal(struct stress_run *run)
{
	run->items = run->options->threads * DEALT;
	run->holder = calloc(run->items, sizeof(*run->holder));
	run->seen = calloc(run->items, sizeof(*run->seen));
	if (!run->holder || !run->seen)
		return -ENOMEM;
	for (unsigned item = 0; item < run->items; item++)
		(void)hold(&run->contexts[(size_t)(item / DEALT) * STRESS_LEVELS], item);
	return 0;
}

bool stress_wants_to_take(struct stress_context *context)
{
	if (context->holding == 0)
		return true;
	return context->holding < STRESS_HELD && stress_random(context) % 2 == 0;
}

void stress_take(struct stress_context *context, unsigned long item)
{
	struct stress_run *run = context->run;

	if (item >= run->items || context->holding == STRESS_HELD) {
		stress_wrong(run, "an item %lu came out, and %u had gone in", item, run->items);
		return;
	}
	if (!hold(context, (unsigned)item))
		stress_wrong(run, "item %lu was handed out twice", item);
	context->amount--;
}

unsigned stress_give(struct stress_context *context)
{
	unsigned item = context->held[--context->holding];

	__atomic_store_n(&context->run->holder[item], 0, __ATOMIC_RELEASE);
	context->amount++;
	return item;
}

/* A child gets some in its hands, or it would find nothing to do. */
void stress_found(struct stress_run *run, unsigned long item)
{
	struct stress_context *child = &run->contexts[run->count - 1];

	if (item >= run->items || run->holder[item] != 0) {
		stress_wrong(run, "item %lu is in the structure, and should not be", item);
		return;
	}
	if (run->dealing && child->holding < STRESS_HELD / 2) {
		(void)hold(child, (unsigned)item);
		return;
	}
	run->seen[item]++;
	run->found++;
}

void stress_check_items(struct stress_run *run)
{
	for (unsigned i = 0; i < run->count; i++)
		for (unsigned k = 0; k < run->contexts[i].holding; k++)
			run->seen[run->contexts[i].held[k]]++;
	for (unsigned item = 0; item < run->items; item++)
		if (run->seen[item] != 1)
			stress_wrong(run, "item %u is %s", item,
				     run->seen[item] ? "in two places" : "lost");
}

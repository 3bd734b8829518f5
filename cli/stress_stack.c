/* SPDX-License-Identifier: MIT */
/*
 * percpu stress stack, and percpu stress values: bounded arrays per CPU (percpu/stack.h), of pointers
 * and of values of 16 bytes that carry their own check. Contexts push and pop one or several, and
 * seldom take what is in all slots.
 */
#include "stress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAPACITY 8
#define BATCH 3
#define DRAIN_OPS 1024

struct value {
	uint64_t item, check;
};

struct arrays {
	bool of_values;
	struct percpu_stack stack;
	struct percpu_values values;
	char *places; /* one for each item: a pointer to its place stands for it */
};

static int prepare_arrays(struct stress_run *run, bool of_values)
{
	struct arrays *arrays = calloc(1, sizeof(*arrays));
	int result;

	if (!arrays)
		return -ENOMEM;
	run->object = arrays;
	arrays->of_values = of_values;
	result = stress_deal(run);
	if (result)
		return result;
	arrays->places = calloc(run->items, 1);
	if (!arrays->places)
		return -ENOMEM;
	return of_values ? percpu_values_init(&arrays->values, CAPACITY, sizeof(struct value))
			 : percpu_stack_init(&arrays->stack, CAPACITY);
}

static int prepare_stack(struct stress_run *run)
{
	return prepare_arrays(run, false);
}

static int prepare_values(struct stress_run *run)
{
	return prepare_arrays(run, true);
}

/* ---- The calls of both kinds, on numbers of items ---- */

static int push_items(struct arrays *arrays, const unsigned *items, unsigned n)
{
	struct value values[BATCH];
	void *pointers[BATCH];

	for (unsigned i = 0; i < n; i++) {
		values[i].item = items[i];
		values[i].check = stress_mix(items[i] + 1);
		pointers[i] = arrays->places + items[i];
	}
	if (arrays->of_values)
		return n == 1 ? percpu_values_push(&arrays->values, values)
			      : percpu_values_push_n(&arrays->values, values, n);
	return n == 1 ? percpu_stack_push(&arrays->stack, pointers[0])
		      : percpu_stack_push_n(&arrays->stack, pointers, n);
}

/* From a value: one that is not whole is no item at all. */
static unsigned long item_of(const struct value *value)
{
	return value->check == stress_mix(value->item + 1) ? (unsigned long)value->item : ~0ul;
}

static int pop_values(struct arrays *arrays, unsigned long *items, unsigned n, bool drain)
{
	struct value values[BATCH];
	int result;

	memset(values, 0, sizeof(values));
	if (drain)
		result = percpu_values_drain(&arrays->values, values, n);
	else if (n > 1)
		result = percpu_values_pop_n(&arrays->values, values, n);
	else
		result = percpu_values_pop(&arrays->values, values) ?: 1;
	for (int i = 0; i < result; i++)
		items[i] = item_of(&values[i]);
	return result;
}

static int pop_pointers(struct arrays *arrays, unsigned long *items, unsigned n, bool drain)
{
	void *pointers[BATCH];
	int result;

	memset(pointers, 0, sizeof(pointers));
	if (drain)
		result = percpu_stack_drain(&arrays->stack, pointers, n);
	else if (n > 1)
		result = percpu_stack_pop_n(&arrays->stack, pointers, n);
	else
		result = percpu_stack_pop(&arrays->stack, pointers) ?: 1;
	for (int i = 0; i < result; i++)
		items[i] = (unsigned long)((char *)pointers[i] - arrays->places);
	return result;
}

/* How many items, 1 to n; -errno. */
static int pop_items(struct arrays *arrays, unsigned long *items, unsigned n, bool drain)
{
	return arrays->of_values ? pop_values(arrays, items, n, drain)
				 : pop_pointers(arrays, items, n, drain);
}

/* ---- The operation ---- */

static void pop(struct stress_context *context, struct arrays *arrays)
{
	unsigned long items[BATCH];
	unsigned n = (unsigned)(stress_random(context) % BATCH + 1);
	bool drain = !context->in_handler && stress_random(context) % DRAIN_OPS == 0;
	int result;

	if (n > STRESS_HELD - context->holding)
		n = STRESS_HELD - context->holding;
	result = pop_items(arrays, items, n, drain);
	if (result < 0) {
		context->retries++;
		if (result != -ENOENT && result != -EAGAIN)
			stress_wrong(context->run, "a pop answered %s", strerror(-result));
		return;
	}
	for (int i = 0; i < result; i++)
		stress_take(context, items[i]);
	if (stress_mistake(context, 1)) {
		stress_take(context, items[0]);
		(void)stress_give(context);
	}
}

static void push(struct stress_context *context, struct arrays *arrays)
{
	unsigned items[BATCH];
	unsigned n = (unsigned)(stress_random(context) % BATCH + 1);
	int result;

	if (n > context->holding)
		n = context->holding;
	for (unsigned i = 0; i < n; i++)
		items[i] = stress_give(context);
	if (stress_mistake(context, 2))
		return;
	result = push_items(arrays, items, n);
	if (!result)
		return;
	context->retries++;
	if (result != -ENOSPC)
		stress_wrong(context->run, "a push answered %s", strerror(-result));
	for (unsigned i = 0; i < n; i++)
		stress_take(context, items[i]);
}

static void operate(struct stress_context *context)
{
	if (stress_wants_to_take(context))
		pop(context, context->run->object);
	else
		push(context, context->run->object);
}

/* Empties them. */
static uint64_t total(struct stress_run *run)
{
	unsigned long items[BATCH];
	unsigned count = 0;
	int result;

	while ((result = pop_items(run->object, items, BATCH, true)) > 0 && count <= run->items) {
		for (int i = 0; i < result; i++)
			stress_found(run, items[i]);
		count += (unsigned)result;
	}
	if (result != -ENOENT)
		stress_wrong(run, result < 0 ? "a drain failed" : "there is no end of items");
	return run->found;
}

static void finish(struct stress_run *run)
{
	struct arrays *arrays = run->object;
	int result;

	if (!arrays)
		return;
	result = arrays->of_values ? percpu_values_destroy(&arrays->values)
				   : percpu_stack_destroy(&arrays->stack);
	if (result == -EBUSY)
		stress_wrong(run, "items are left in arrays that were emptied");
	free(arrays->places);
	free(arrays);
}

const struct stress_kind stress_stack = {
	.name = "stack",
	.title = "arrays of pointers per CPU: each pointer in one place",
	.prepare = prepare_stack,
	.operate = operate,
	.total = total,
	.check = stress_check_items,
	.finish = finish,
};

const struct stress_kind stress_values = {
	.name = "values",
	.title = "arrays of 16-byte values per CPU: each value whole, in one place",
	.prepare = prepare_values,
	.operate = operate,
	.total = total,
	.check = stress_check_items,
	.finish = finish,
};

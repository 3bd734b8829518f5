/* SPDX-License-Identifier: MIT */
/*
 * percpu stress list: lists of nodes per CPU (percpu/list.h). Contexts pop and push nodes, once in a
 * while a whole list, and seldom the lists of all slots.
 */
#include "stress.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALL_OPS 64
#define DRAIN_OPS 1024

struct lists {
	struct percpu_list list;
	struct percpu_list_node *nodes; /* one for each item */
};

static int prepare(struct stress_run *run)
{
	struct lists *lists = calloc(1, sizeof(*lists));
	int result;

	if (!lists)
		return -ENOMEM;
	run->object = lists;
	result = stress_deal(run);
	if (result)
		return result;
	lists->nodes = calloc(run->items, sizeof(*lists->nodes));
	if (!lists->nodes)
		return -ENOMEM;
	for (unsigned item = 0; item < run->items; item++)
		percpu_list_node_init(&lists->nodes[item]);
	return percpu_list_init(&lists->list);
}

static unsigned long item_of(const struct lists *lists, const struct percpu_list_node *node)
{
	return (unsigned long)(node - lists->nodes);
}

/* What a call answers when it found nothing; other answers are mistakes. */
static void nothing(struct stress_context *context, int result)
{
	context->retries++;
	if (result != -ENOENT && result != -EAGAIN)
		stress_wrong(context->run, "a pop answered %s", strerror(-result));
}

static void pop(struct stress_context *context, struct lists *lists)
{
	struct percpu_list_node *node;
	int result = percpu_list_pop(&lists->list, &node);

	if (result) {
		nothing(context, result);
		return;
	}
	stress_take(context, item_of(lists, node));
	if (stress_mistake(context, 1)) {
		stress_take(context, item_of(lists, node));
		(void)stress_give(context);
	}
}

static void push(struct stress_context *context, struct lists *lists)
{
	unsigned item = stress_give(context);
	int result;

	if (stress_mistake(context, 2))
		return;
	result = percpu_list_push(&lists->list, &lists->nodes[item]);
	if (result)
		stress_wrong(context->run, "a push answered %s", strerror(-result));
}

/* A chain is in nobody's hands but this context's, though its nodes have no holder. */
static void push_chain(struct stress_context *context, struct lists *lists,
		       struct percpu_list_node *first)
{
	struct percpu_list_node *last = first;
	unsigned nodes = 1;
	int result;

	while (last->next && nodes <= context->run->items) {
		last = last->next;
		nodes++;
	}
	if (nodes > context->run->items) {
		stress_wrong(context->run, "a list is longer than there are nodes");
		return;
	}
	result = percpu_list_splice(&lists->list, first, last);
	if (result)
		stress_wrong(context->run, "a splice answered %s", strerror(-result));
}

static void move_chain(struct stress_context *context, struct lists *lists, bool all_slots)
{
	struct percpu_list_node *first = NULL;
	int result = all_slots ? percpu_list_drain(&lists->list, &first)
			       : percpu_list_pop_all(&lists->list, &first);

	if (result)
		nothing(context, result);
	else
		push_chain(context, lists, first);
}

static void operate(struct stress_context *context)
{
	struct lists *lists = context->run->object;

	if (stress_random(context) % ALL_OPS == 0)
		move_chain(context, lists,
			   !context->in_handler &&
				   stress_random(context) % (DRAIN_OPS / ALL_OPS) == 0);
	else if (stress_wants_to_take(context))
		pop(context, lists);
	else
		push(context, lists);
}

/* Empties it. */
static uint64_t total(struct stress_run *run)
{
	struct lists *lists = run->object;
	struct percpu_list_node *first = NULL, *node;
	unsigned nodes = 0;
	int result = percpu_list_drain(&lists->list, &first);

	if (result && result != -ENOENT)
		stress_wrong(run, "a drain answered %s", strerror(-result));
	while ((node = percpu_list_chain_pop(&first)) && nodes++ < run->items)
		stress_found(run, item_of(lists, node));
	if (node)
		stress_wrong(run, "a list is longer than there are nodes");
	return run->found;
}

static void finish(struct stress_run *run)
{
	struct lists *lists = run->object;

	if (!lists)
		return;
	if (percpu_list_destroy(&lists->list) == -EBUSY)
		stress_wrong(run, "nodes are left in a list that was emptied");
	free(lists->nodes);
	free(lists);
}

const struct stress_kind stress_list = {
	.name = "list",
	.title = "lists of nodes per CPU: each node in one place",
	.prepare = prepare,
	.operate = operate,
	.total = total,
	.check = stress_check_items,
	.finish = finish,
};

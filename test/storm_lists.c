/* SPDX-License-Identifier: MIT */
/*
 * Lists and stacks, with a drainer at work.
 *
 *	list     each node is in one list or in one context's hands, whatever came between
 *	stack    the same with pointers, one by one and several at once
 *	values   the same with values, each whole
 */
#include "test.h"

#include "storm_engine.h"

#define NODES 64u

struct node {
	struct percpu_list_node link;
	uint32_t taken;
};

static struct percpu_list list;
static struct node nodes[NODES];

static void prepare_list(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_list_init(&list));
	for (unsigned i = 0; i < NODES; i++) {
		nodes[i].taken = 0;
		percpu_list_node_init(&nodes[i].link);
		CHECK_OK(percpu_list_push(&list, &nodes[i].link));
	}
}

static void finish_list(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_list_destroy(&list));
}

static struct node *own(struct percpu_list_node *link)
{
	struct node *node = percpu_list_entry(link, struct node, link);

	if (__atomic_exchange_n(&node->taken, 1, __ATOMIC_RELAXED) != 0)
		test_fail(__FILE__, __LINE__, "list: a node was handed out twice");
	return node;
}

/* Every other call by the sequence itself, which tells of aborts. */
static void push_node(struct storm_context *c, struct node *node)
{
	__atomic_store_n(&node->taken, 0, __ATOMIC_RELAXED);
	if (c->calls % 4 != 0 ||
	    !storm_done(c, percpu__seq_list_push(&list.handle, &node->link, &node->link)))
		CHECK_OK(percpu_list_push(&list, &node->link));
}

static struct node *pop_node(struct storm_context *c)
{
	struct percpu_list_node *link = NULL;
	void *head = NULL;

	if (c->calls % 4 == 1 && storm_done(c, percpu__seq_list_pop(&list.handle, &head))) {
		link = head;
		percpu_list_node_init(link);
	} else if (percpu_list_pop(&list, &link) != 0) {
		return NULL;
	}
	return own(link);
}

static void take_all(struct storm_context *c)
{
	struct percpu_list_node *first, *link;

	if (percpu_list_pop_all(&list, &first) != 0)
		return;
	while ((link = percpu_list_chain_pop(&first)))
		push_node(c, own(link));
}

static void list_push_pop(struct storm_context *c, unsigned calls)
{
	while (calls--) {
		if (c->held) {
			push_node(c, c->held);
			c->held = NULL;
		} else if (storm_random(c) % 256 == 0) {
			take_all(c);
		} else {
			c->held = pop_node(c);
		}
		storm_count(c, 0);
	}
}

/* From everywhere, and back as one chain. */
static void drain_list(struct storm_plan *plan)
{
	struct percpu_list_node *first, *last = NULL;

	(void)plan;
	if (percpu_list_drain(&list, &first) != 0)
		return;
	PERCPU_LIST_WALK(link, first)
	{
		struct node *node = own(link);

		__atomic_store_n(&node->taken, 0, __ATOMIC_RELAXED);
		last = link;
	}
	CHECK_OK(percpu_list_splice(&list, first, last));
}

static void check_list(struct storm_plan *plan, const struct storm_context *contexts,
		       unsigned count)
{
	struct percpu_list_node *first, *link;
	unsigned found = 0;

	(void)plan;
	(void)percpu_list_drain(&list, &first);
	while ((link = percpu_list_chain_pop(&first))) {
		(void)own(link);
		found++;
	}
	for (unsigned i = 0; i < count; i++)
		found += contexts[i].held != NULL;
	CHECK_EQ(found, NODES);
	CHECK_EQ(percpu_list_drain(&list, &first), -ENOENT);
}

/* ---- Stacks: items are numbers, as pointers and as values that say theirs in each word ---- */

#define VALUE_WORDS 3u
#define BATCH 4u

struct value {
	uint64_t word[VALUE_WORDS];
};

static struct percpu_stack stack;
static struct percpu_values values;
static uint32_t pointer_taken[NODES + 1], value_taken[NODES + 1];

static void own_number(uint32_t *taken, uintptr_t number)
{
	if (number == 0 || number > NODES ||
	    __atomic_exchange_n(&taken[number], 1, __ATOMIC_RELAXED) != 0)
		test_fail(__FILE__, __LINE__, "item %lu was handed out twice",
			  (unsigned long)number);
}

static void disown_number(uint32_t *taken, uintptr_t number)
{
	__atomic_store_n(&taken[number], 0, __ATOMIC_RELAXED);
}

static struct value value_of(uintptr_t number)
{
	struct value value;

	for (unsigned i = 0; i < VALUE_WORDS; i++)
		value.word[i] = number * (i + 1);
	return value;
}

static uintptr_t number_of(const struct value *value)
{
	for (unsigned i = 0; i < VALUE_WORDS; i++)
		if (value->word[i] != value->word[0] * (i + 1))
			test_fail(__FILE__, __LINE__, "values: a value was torn");
	return (uintptr_t)value->word[0];
}

static void push_item(uintptr_t number)
{
	disown_number(pointer_taken, number);
	CHECK_OK(percpu_stack_push(&stack, (void *)number));
}

static void push_value(uintptr_t number)
{
	struct value value = value_of(number);

	disown_number(value_taken, number);
	CHECK_OK(percpu_values_push(&values, &value));
}

/* Room for all of them in each array: a storm must not meet a full one. */
static void prepare_stack(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_stack_init(&stack, NODES));
	for (uintptr_t i = 1; i <= NODES; i++)
		push_item(i);
}

static void prepare_values(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_values_init(&values, NODES, sizeof(struct value)));
	for (uintptr_t i = 1; i <= NODES; i++)
		push_value(i);
}

static void several_items(unsigned n)
{
	void *items[BATCH];
	int got = percpu_stack_pop_n(&stack, items, n);

	for (int i = 0; i < got; i++)
		own_number(pointer_taken, (uintptr_t)items[i]);
	for (int i = 0; i < got; i++)
		disown_number(pointer_taken, (uintptr_t)items[i]);
	if (got > 0)
		CHECK_OK(percpu_stack_push_n(&stack, items, (unsigned)got));
}

static void several_values(unsigned n)
{
	struct value some[BATCH];
	int got = percpu_values_pop_n(&values, some, n);

	for (int i = 0; i < got; i++)
		own_number(value_taken, number_of(&some[i]));
	for (int i = 0; i < got; i++)
		disown_number(value_taken, number_of(&some[i]));
	if (got > 0)
		CHECK_OK(percpu_values_push_n(&values, some, (unsigned)got));
}

/* Every other call by the sequence itself, which tells of aborts. */
static void *pop_item(struct storm_context *c)
{
	void *item = NULL;
	uintptr_t next;

	if ((c->calls % 4 == 1 &&
	     storm_done(c, percpu__seq_stack_pop(&stack.items.handle, &item, &next))) ||
	    percpu_stack_pop(&stack, &item) == 0) {
		own_number(pointer_taken, (uintptr_t)item);
		return item;
	}
	return NULL;
}

static void stack_push_pop(struct storm_context *c, unsigned calls)
{
	while (calls--) {
		unsigned n = (unsigned)storm_random(c) % 16;

		if (c->held) {
			push_item((uintptr_t)c->held);
			c->held = NULL;
		} else if (n < BATCH) {
			several_items(n + 1);
		} else {
			c->held = pop_item(c);
		}
		storm_count(c, 0);
	}
}

static void *pop_value(struct storm_context *c)
{
	struct value value;
	uintptr_t next;

	if ((c->calls % 4 == 1 &&
	     storm_done(c, percpu__seq_values_pop(&values.items.handle, &value, sizeof(value),
						  sizeof(value), &next))) ||
	    percpu_values_pop(&values, &value) == 0) {
		own_number(value_taken, number_of(&value));
		return (void *)number_of(&value);
	}
	return NULL;
}

static void values_push_pop(struct storm_context *c, unsigned calls)
{
	while (calls--) {
		unsigned n = (unsigned)storm_random(c) % 16;

		if (c->held) {
			push_value((uintptr_t)c->held);
			c->held = NULL;
		} else if (n < BATCH) {
			several_values(n + 1);
		} else {
			c->held = pop_value(c);
		}
		storm_count(c, 0);
	}
}

static void drain_stack(struct storm_plan *plan)
{
	void *items[NODES];
	int got = percpu_stack_drain(&stack, items, 1 + ++plan->seen % NODES);

	for (int i = 0; i < got; i++)
		own_number(pointer_taken, (uintptr_t)items[i]);
	for (int i = 0; i < got; i++)
		push_item((uintptr_t)items[i]);
}

static void drain_values(struct storm_plan *plan)
{
	struct value some[NODES];
	int got = percpu_values_drain(&values, some, 1 + ++plan->seen % NODES);

	for (int i = 0; i < got; i++)
		own_number(value_taken, number_of(&some[i]));
	for (int i = 0; i < got; i++)
		push_value(number_of(&some[i]));
}

static unsigned held_by(const struct storm_context *contexts, unsigned count)
{
	unsigned held = 0;

	for (unsigned i = 0; i < count; i++)
		held += contexts[i].held != NULL;
	return held;
}

static void check_stack(struct storm_plan *plan, const struct storm_context *contexts,
			unsigned count)
{
	void *items[NODES + 1];
	int got = percpu_stack_drain(&stack, items, NODES + 1);

	(void)plan;
	for (int i = 0; i < got; i++)
		own_number(pointer_taken, (uintptr_t)items[i]);
	CHECK_EQ((unsigned)(got > 0 ? got : 0) + held_by(contexts, count), NODES);
}

static void check_values(struct storm_plan *plan, const struct storm_context *contexts,
			 unsigned count)
{
	struct value some[NODES + 1];
	int got = percpu_values_drain(&values, some, NODES + 1);

	(void)plan;
	for (int i = 0; i < got; i++)
		own_number(value_taken, number_of(&some[i]));
	CHECK_EQ((unsigned)(got > 0 ? got : 0) + held_by(contexts, count), NODES);
}

static void finish_stack(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_stack_destroy(&stack));
}

static void finish_values(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_values_destroy(&values));
}

static struct storm_plan plans[] = {
	{.name = "list",
	 .run = list_push_pop,
	 .batch = 4000,
	 .aborts = true,
	 .fenced = true,
	 .prepare = prepare_list,
	 .watch = drain_list,
	 .check = check_list,
	 .finish = finish_list},
	{.name = "stack",
	 .run = stack_push_pop,
	 .batch = 3000,
	 .aborts = true,
	 .fenced = true,
	 .prepare = prepare_stack,
	 .watch = drain_stack,
	 .check = check_stack,
	 .finish = finish_stack},
	{.name = "values",
	 .run = values_push_pop,
	 .batch = 2000,
	 .aborts = true,
	 .fenced = true,
	 .prepare = prepare_values,
	 .watch = drain_values,
	 .check = check_values,
	 .finish = finish_values},
};
const struct storm_list storm_lists = {plans, sizeof(plans) / sizeof(plans[0])};

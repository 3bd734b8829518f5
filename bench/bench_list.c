/* SPDX-License-Identifier: MIT */
/*
 * lists: one thing taken out and put back, by each of the structures that hold things.
 *
 * Where a thread finds nothing to take (it came to another CPU) it puts one more in, so that the
 * next turns find it. The plain ways are private to a thread. In them memory is forgotten between
 * the two halves, as in a program where other code runs there; else the compiler would keep the
 * first node in a register. The shared ways are one list for all threads.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <percpu/percpu.h>

#include "bench.h"

struct node {
	struct percpu_list_node link;
	char pad[BENCH_CACHE_LINE - sizeof(struct percpu_list_node)];
};

/* ---- Plain C, private to the thread ---- */

static __thread _Alignas(BENCH_CACHE_LINE) struct percpu_list_node *plain_list;
static __thread struct node plain_nodes[8];

static inline struct percpu_list_node *plain_list_pop(void)
{
	struct percpu_list_node *node = plain_list;

	if (node)
		plain_list = node->next;
	return node;
}

static inline void plain_list_push(struct percpu_list_node *node)
{
	node->next = plain_list;
	plain_list = node;
}

static void fill_plain_list(struct bench_worker *w)
{
	(void)w;
	plain_list = NULL;
	for (unsigned i = 0; i < sizeof(plain_nodes) / sizeof(plain_nodes[0]); i++)
		plain_list_push(&plain_nodes[i].link);
}

static inline void plain_list_pair(void)
{
	struct percpu_list_node *node = plain_list_pop();

	BENCH_FORGET();
	if (node)
		plain_list_push(node);
	BENCH_FORGET();
}

BENCH_LOOP(loop_plain_list, , plain_list_pair(), )

/* ---- percpu ---- */

static struct percpu_list list;

static __attribute__((noinline, cold)) void add_to_list(void)
{
	struct node *node = aligned_alloc(BENCH_CACHE_LINE, sizeof(*node));

	if (!node)
		return;
	percpu_list_node_init(&node->link);
	(void)percpu_list_push(&list, &node->link);
}

static inline void list_pair(void)
{
	struct percpu_list_node *node;

	if (__builtin_expect(percpu_list_pop(&list, &node) == 0, 1))
		(void)percpu_list_push(&list, node);
	else
		add_to_list();
}

BENCH_LOOP(loop_list, , list_pair(), )

static int open_list(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "no memory for a list";
	return percpu_list_init(&list);
}

static void close_list(const struct bench_method *m)
{
	struct percpu_list_node *first, *node;

	(void)m;
	(void)percpu_list_drain(&list, &first);
	while ((node = percpu_list_chain_pop(&first)))
		free(percpu_list_entry(node, struct node, link));
	(void)percpu_list_destroy(&list);
}

/* ---- Stacks of pointers, and of values of 16 bytes ---- */

#define CAPACITY 64u
#define VALUE_SIZE 16u

struct value {
	uint64_t word[VALUE_SIZE / 8];
};

/* The same layout and checks as the library's; the size of a value is a constant here. */
struct plain_stack {
	size_t top, limit;
	unsigned char items[CAPACITY * VALUE_SIZE];
};

static __thread _Alignas(BENCH_CACHE_LINE) struct plain_stack plain_stack;

static inline int plain_stack_push(void *item)
{
	size_t top = plain_stack.top;

	if (top >= plain_stack.limit)
		return -ENOSPC;
	memcpy(plain_stack.items + top, &item, sizeof(item));
	plain_stack.top = top + sizeof(item);
	return 0;
}

static inline int plain_stack_pop(void **item)
{
	size_t next = plain_stack.top - sizeof(*item);

	if (next >= plain_stack.limit)
		return -ENOENT;
	memcpy(item, plain_stack.items + next, sizeof(*item));
	plain_stack.top = next;
	return 0;
}

static inline int plain_values_push(const void *value)
{
	size_t next = plain_stack.top + VALUE_SIZE;

	if (next > plain_stack.limit)
		return -ENOSPC;
	memcpy(plain_stack.items + plain_stack.top, value, VALUE_SIZE);
	plain_stack.top = next;
	return 0;
}

static inline int plain_values_pop(void *value)
{
	size_t next = plain_stack.top - VALUE_SIZE;

	if (next >= plain_stack.limit)
		return -ENOENT;
	memcpy(value, plain_stack.items + next, VALUE_SIZE);
	plain_stack.top = next;
	return 0;
}

static void fill_plain_stack(struct bench_worker *w)
{
	plain_stack.limit = CAPACITY * (w->method->arg ? VALUE_SIZE : sizeof(void *));
	plain_stack.top = plain_stack.limit / 2;
}

static inline void plain_stack_pair(void)
{
	void *item;
	int result = plain_stack_pop(&item);

	BENCH_FORGET();
	if (result == 0)
		(void)plain_stack_push(item);
	BENCH_FORGET();
}

static inline void plain_values_pair(void)
{
	struct value value;
	int result = plain_values_pop(&value);

	BENCH_FORGET();
	if (result == 0)
		(void)plain_values_push(&value);
	BENCH_FORGET();
}

BENCH_LOOP(loop_plain_stack, , plain_stack_pair(), )
BENCH_LOOP(loop_plain_values, , plain_values_pair(), )

static struct percpu_stack stack;
static struct percpu_values values;

static inline void stack_pair(void)
{
	void *item;

	if (__builtin_expect(percpu_stack_pop(&stack, &item) != 0, 0))
		item = &stack;
	(void)percpu_stack_push(&stack, item);
}

static inline void values_pair(struct value *value)
{
	(void)percpu_values_pop(&values, value);
	(void)percpu_values_push(&values, value);
}

BENCH_LOOP(loop_stack, , stack_pair(), )
BENCH_LOOP(loop_values, struct value value = {{0}}, values_pair(&value), )

static int open_stack(const struct bench_method *m, const char **why)
{
	*why = "no memory for a stack";
	return m->arg ? percpu_values_init(&values, CAPACITY, VALUE_SIZE)
		      : percpu_stack_init(&stack, CAPACITY);
}

static void close_stack(const struct bench_method *m)
{
	struct value value;
	void *item;

	while (!m->arg && percpu_stack_drain(&stack, &item, 1) > 0) {
	}
	while (m->arg && percpu_values_drain(&values, &value, 1) > 0) {
	}
	if (m->arg)
		(void)percpu_values_destroy(&values);
	else
		(void)percpu_stack_destroy(&stack);
}

/* ---- One list for all ---- */

#define SHARED_NODES (BENCH_MAX_THREADS + 8)

static struct node *shared_nodes;
static unsigned shared_users;
static _Alignas(BENCH_CACHE_LINE) struct percpu_list_node *shared_list;
static _Alignas(BENCH_CACHE_LINE) uint32_t spinlock;
static _Alignas(BENCH_CACHE_LINE) pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Nodes by number, from 1 on; the upper half counts what happened, so that one that came back is
 * not taken for one that stayed. */
static _Alignas(BENCH_CACHE_LINE) uint64_t atomic_list;
static uint32_t atomic_next[SHARED_NODES + 1];

static inline uint32_t atomic_list_pop(void)
{
	uint64_t old = __atomic_load_n(&atomic_list, __ATOMIC_ACQUIRE), new;

	do {
		if (!(uint32_t)old)
			return 0;
		new = ((old >> 32) + 1) << 32 |
		      __atomic_load_n(&atomic_next[(uint32_t)old], __ATOMIC_RELAXED);
	} while (!__atomic_compare_exchange_n(&atomic_list, &old, new, 1, __ATOMIC_ACQUIRE,
					      __ATOMIC_ACQUIRE));
	return (uint32_t)old;
}

static inline void atomic_list_push(uint32_t node)
{
	uint64_t old = __atomic_load_n(&atomic_list, __ATOMIC_RELAXED), new;

	do {
		__atomic_store_n(&atomic_next[node], (uint32_t)old, __ATOMIC_RELAXED);
		new = ((old >> 32) + 1) << 32 | node;
	} while (!__atomic_compare_exchange_n(&atomic_list, &old, new, 1, __ATOMIC_RELEASE,
					      __ATOMIC_RELAXED));
}

static inline void atomic_list_pair(void)
{
	uint32_t node = atomic_list_pop();

	if (node)
		atomic_list_push(node);
}

BENCH_LOOP(loop_atomic_list, , atomic_list_pair(), )

static inline void spin_lock(void)
{
	unsigned turns = 0;

	while (__atomic_exchange_n(&spinlock, 1, __ATOMIC_ACQUIRE))
		while (__atomic_load_n(&spinlock, __ATOMIC_RELAXED))
			if (++turns % 128 == 0)
				sched_yield();
}

static inline void spin_unlock(void)
{
	__atomic_store_n(&spinlock, 0, __ATOMIC_RELEASE);
}

static inline void mutex_lock(void)
{
	(void)pthread_mutex_lock(&mutex);
}

static inline void mutex_unlock(void)
{
	(void)pthread_mutex_unlock(&mutex);
}

static inline struct percpu_list_node *shared_list_pop(void)
{
	struct percpu_list_node *node = shared_list;

	if (node)
		shared_list = node->next;
	return node;
}

static inline void shared_list_push(struct percpu_list_node *node)
{
	node->next = shared_list;
	shared_list = node;
}

/* There are more items than threads: they never run out. */
static void *shared_stack[SHARED_NODES];
static struct value shared_values[SHARED_NODES];
static _Alignas(BENCH_CACHE_LINE) size_t shared_top = SHARED_NODES;
static size_t shared_value_top = SHARED_NODES;

/* Taken and put back in two sections, as it is everywhere else. */
#define LOCKED_PAIR(kind)                                                                          \
	static inline void kind##_list_pair(void)                                                  \
	{                                                                                          \
		struct percpu_list_node *node;                                                     \
                                                                                                   \
		kind##_lock();                                                                     \
		node = shared_list_pop();                                                          \
		kind##_unlock();                                                                   \
		if (!node)                                                                         \
			return;                                                                    \
		kind##_lock();                                                                     \
		shared_list_push(node);                                                            \
		kind##_unlock();                                                                   \
	}                                                                                          \
	BENCH_LOOP(loop_##kind##_list, , kind##_list_pair(), )                                     \
	static inline void kind##_stack_pair(void)                                                 \
	{                                                                                          \
		void *item;                                                                        \
                                                                                                   \
		kind##_lock();                                                                     \
		item = shared_stack[--shared_top];                                                 \
		kind##_unlock();                                                                   \
		kind##_lock();                                                                     \
		shared_stack[shared_top++] = item;                                                 \
		kind##_unlock();                                                                   \
	}                                                                                          \
	BENCH_LOOP(loop_##kind##_stack, , kind##_stack_pair(), )                                   \
	static inline void kind##_value_pair(void)                                                 \
	{                                                                                          \
		struct value value;                                                                \
                                                                                                   \
		kind##_lock();                                                                     \
		value = shared_values[--shared_value_top];                                         \
		kind##_unlock();                                                                   \
		BENCH_USE(value.word[0]);                                                          \
		kind##_lock();                                                                     \
		shared_values[shared_value_top++] = value;                                         \
		kind##_unlock();                                                                   \
	}                                                                                          \
	BENCH_LOOP(loop_##kind##_value, , kind##_value_pair(), )
LOCKED_PAIR(spin)
LOCKED_PAIR(mutex)

static int open_shared(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "no memory for nodes";
	if (shared_nodes) {
		shared_users++;
		return 0;
	}
	shared_nodes = aligned_alloc(BENCH_CACHE_LINE, SHARED_NODES * sizeof(*shared_nodes));
	if (!shared_nodes)
		return -ENOMEM;
	shared_users = 1;
	shared_list = NULL;
	atomic_list = 0;
	for (uint32_t i = 0; i < SHARED_NODES; i++) {
		shared_list_push(&shared_nodes[i].link);
		atomic_list_push(i + 1);
	}
	return 0;
}

static void close_shared(const struct bench_method *m)
{
	(void)m;
	if (--shared_users == 0) {
		free(shared_nodes);
		shared_nodes = NULL;
	}
}

/* ---- The table ---- */

static const struct bench_method list_methods[] = {
	{.name = "plain list pop+push",
	 .param = "",
	 .loop = loop_plain_list,
	 .before = fill_plain_list},
	{.name = "percpu list pop+push",
	 .param = "",
	 .loop = loop_list,
	 .open = open_list,
	 .close = close_list},
	{.name = "atomic list pop+push",
	 .param = "",
	 .loop = loop_atomic_list,
	 .open = open_shared,
	 .close = close_shared},
	{.name = "spinlock list pop+push",
	 .param = "",
	 .loop = loop_spin_list,
	 .open = open_shared,
	 .close = close_shared},
	{.name = "mutex list pop+push",
	 .param = "",
	 .loop = loop_mutex_list,
	 .open = open_shared,
	 .close = close_shared},
};

static const struct bench_method stack_methods[] = {
	{.name = "plain stack pop+push",
	 .param = "",
	 .loop = loop_plain_stack,
	 .before = fill_plain_stack},
	{.name = "percpu stack pop+push",
	 .param = "",
	 .loop = loop_stack,
	 .open = open_stack,
	 .close = close_stack},
	{.name = "spinlock stack pop+push", .param = "", .loop = loop_spin_stack},
	{.name = "mutex stack pop+push", .param = "", .loop = loop_mutex_stack},
};

#define VALUE_PARAM "16 bytes"
static const struct bench_method value_methods[] = {
	{.name = "plain value pop+push",
	 .param = VALUE_PARAM,
	 .loop = loop_plain_values,
	 .before = fill_plain_stack,
	 .arg = 1},
	{.name = "percpu value pop+push",
	 .param = VALUE_PARAM,
	 .loop = loop_values,
	 .open = open_stack,
	 .close = close_stack,
	 .arg = 1},
	{.name = "spinlock value pop+push", .param = VALUE_PARAM, .loop = loop_spin_value},
	{.name = "mutex value pop+push", .param = VALUE_PARAM, .loop = loop_mutex_value},
};

/* The first of them alone is the baseline of all. */
static void add_group(struct bench_plan *plan, const struct bench_method *methods, size_t count)
{
	const struct bench_options *options = bench_plan_options(plan);
	struct bench_row *base = bench_add(plan, &methods[0]);

	bench_set_base(base, base);
	for (size_t i = 0; i < count; i++)
		for (unsigned n = 0; n < options->nthreads; n++) {
			struct bench_row *row =
				bench_add_at(plan, &methods[i], options->threads[n], NULL);

			if (!row)
				break;
			bench_set_base(row, base);
		}
}

static void fill_lists(struct bench_plan *plan)
{
	add_group(plan, list_methods, sizeof(list_methods) / sizeof(list_methods[0]));
	add_group(plan, stack_methods, sizeof(stack_methods) / sizeof(stack_methods[0]));
	add_group(plan, value_methods, sizeof(value_methods) / sizeof(value_methods[0]));
}

const struct bench_table bench_lists = {
	.name = "lists",
	.title =
		"one thing taken and put back; baseline of each: plain C on private data, 1 thread",
	.fill = fill_lists};

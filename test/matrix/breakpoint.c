/* SPDX-License-Identifier: MIT */
/*
 * A program for a debugger that has a breakpoint in each of its sequences, of counters, words, locks,
 * lists and stacks, and in the bodies of its transactions, and steps through some of it: every attempt is aborted, and still every call ends
 * and counts. See breakpoint.sh.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include <percpu/percpu.h>

#define TIMES 15

struct descriptor {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

extern const uint64_t first_pointer[] __asm__("__start___rseq_cs_ptr_array");
extern const uint64_t last_pointer[] __asm__("__stop___rseq_cs_ptr_array");

/* Read by the debugger. */
uintptr_t sequence_starts[256];
int sequence_count;

__attribute__((noinline)) void set_breakpoints_now(void)
{
	__asm__ volatile("" : : : "memory");
}

__attribute__((noinline)) void step_from_here(void)
{
	__asm__ volatile("" : : : "memory");
}

static struct percpu_counter hits;

/* Every kind of commit adds one to the count. */
struct counted {
	uintptr_t count;
	uint16_t half;
	uintptr_t idle[2];
};
static struct counted *counted;

__attribute__((noinline)) void in_body(void)
{
	__asm__ volatile("" : : : "memory");
}

static void count_in_transactions(void)
{
	PERCPU_TXN(txn)
	{
		const struct counted *here = percpu_txn_ptr(&txn, counted);
		uintptr_t seen = here->count;

		in_body();
		(void)percpu_txn_commit(&txn, &here->count, seen + 1);
	}
	PERCPU_TXN(txn)
	{
		const struct counted *here = percpu_txn_ptr(&txn, counted);

		(void)percpu_txn_commit(&txn, &here->half, (uint16_t)(here->half + 1));
	}
	PERCPU_TXN(txn)
	{
		const struct counted *here = percpu_txn_ptr(&txn, counted);
		uintptr_t next = here->count + 1;

		(void)percpu_txn_commit2(&txn, &here->count, next, &here->idle[next & 1], next);
	}
	PERCPU_TXN(txn)
	{
		const struct counted *here = percpu_txn_ptr(&txn, counted);
		uintptr_t next = here->count + 1;

		(void)percpu_txn_commit_copy(&txn, &here->count, next, &here->idle[next & 1], &next,
					     sizeof(next));
	}
}

/* Each time a node, a pointer and a value more go in, one of each goes out and in again, and a word
 * is added to under a lock. */
static struct percpu_list list;
static struct percpu_stack stack;
static struct percpu_values values;
static struct percpu_lock lock;
static struct percpu_list_node nodes[TIMES + 1];
static unsigned long *locked;

static bool make_structures(void)
{
	locked = percpu_new(unsigned long);
	return locked && percpu_list_init(&list) == 0 &&
	       percpu_stack_init(&stack, 4 * TIMES) == 0 &&
	       percpu_values_init(&values, 2 * sizeof(long), 4 * TIMES) == 0 &&
	       percpu_lock_init(&lock) == 0;
}

static void use_structures(int i)
{
	struct percpu_list_node *node;
	long value[2] = {i, ~(long)i};
	void *item;
	int slot;

	percpu_list_node_init(&nodes[i]);
	(void)percpu_list_push(&list, &nodes[i]);
	(void)percpu_stack_push(&stack, &nodes[i]);
	(void)percpu_values_push(&values, value);
	if (percpu_list_pop(&list, &node) == 0)
		(void)percpu_list_push(&list, node);
	if (percpu_stack_pop(&stack, &item) == 0)
		(void)percpu_stack_push(&stack, item);
	if (percpu_values_pop(&values, value) == 0)
		(void)percpu_values_push(&values, value);
	slot = percpu_lock(&lock);
	++*percpu_locked_ptr(locked, slot);
	(void)percpu_unlock(&lock, slot);
}

static int bits(const void *set, size_t size)
{
	int n = 0;

	for (size_t i = 0; i < size; i++)
		n += __builtin_popcount(((const unsigned char *)set)[i]);
	return n;
}

/* How many of all that went in come out again, each of them once. */
static int in_structures(void)
{
	unsigned found[3] = {0, 0, 0};
	struct percpu_list_node *node;
	long value[2];
	void *item;
	int n = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		n += (int)*percpu_ptr(locked, slot);
	if (percpu_list_drain(&list, &node) == 0)
		while (node)
			found[0] ^= 1u << (percpu_list_chain_pop(&node) - nodes);
	while (percpu_stack_drain(&stack, &item, 1) == 1)
		found[1] ^= 1u << ((struct percpu_list_node *)item - nodes);
	while (percpu_values_drain(&values, value, 1) == 1)
		found[2] ^= value[1] == ~value[0] ? 1u << value[0] : 0;
	return n + bits(found, sizeof(found));
}

static unsigned long in_all_slots(void)
{
	unsigned long sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += percpu_ptr(counted, slot)->count + percpu_ptr(counted, slot)->half;
	return sum;
}

int main(void)
{
	unsigned long *word = percpu_new(unsigned long);
	unsigned long sum = 0;
	int kept;

	counted = percpu_new(struct counted);
	for (const uint64_t *p = first_pointer; p < last_pointer && sequence_count < 256; p++)
		sequence_starts[sequence_count++] =
			(uintptr_t)((const struct descriptor *)(uintptr_t)*p)->start;
	if (!word || !counted || percpu_counter_init(&hits) != 0 || !make_structures())
		return 1;
	set_breakpoints_now();
	for (int i = 0; i < TIMES; i++) {
		percpu_counter_inc(&hits);
		percpu_this_inc(word);
		(void)percpu_this_add_return(word, 1);
		count_in_transactions();
		use_structures(i);
	}
	step_from_here();
	count_in_transactions();
	use_structures(TIMES);
	kept = in_structures();
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	printf("hits %lld sum %lu transactions %lu kept %d\n", (long long)percpu_counter_sum(&hits),
	       sum, in_all_slots(), kept);
	return percpu_counter_sum(&hits) != TIMES || sum != 2 * TIMES ||
	       in_all_slots() != 4 * (TIMES + 1) || kept != 4 * (TIMES + 1);
}

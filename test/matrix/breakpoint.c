/* SPDX-License-Identifier: MIT */
/*
 * A program for a debugger that has a breakpoint in each of its sequences, and in the bodies of its
 * transactions, and steps through some of it: every attempt is aborted, and still every call ends
 * and counts. See breakpoint.sh.
 */
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

	counted = percpu_new(struct counted);
	for (const uint64_t *p = first_pointer; p < last_pointer && sequence_count < 256; p++)
		sequence_starts[sequence_count++] =
			(uintptr_t)((const struct descriptor *)(uintptr_t)*p)->start;
	if (!word || !counted || percpu_counter_init(&hits) != 0)
		return 1;
	set_breakpoints_now();
	for (int i = 0; i < TIMES; i++) {
		percpu_counter_inc(&hits);
		percpu_this_inc(word);
		(void)percpu_this_add_return(word, 1);
		count_in_transactions();
	}
	step_from_here();
	count_in_transactions();
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	printf("hits %lld sum %lu transactions %lu\n", (long long)percpu_counter_sum(&hits), sum,
	       in_all_slots());
	return percpu_counter_sum(&hits) != TIMES || sum != 2 * TIMES ||
	       in_all_slots() != 4 * (TIMES + 1);
}

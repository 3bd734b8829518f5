/* SPDX-License-Identifier: MIT */
/*
 * A program for a debugger that has a breakpoint in each of its sequences: every attempt is
 * aborted, and still every call ends and counts. See breakpoint.sh.
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
uintptr_t sequence_starts[64];
int sequence_count;

__attribute__((noinline)) void set_breakpoints_now(void)
{
	__asm__ volatile("" : : : "memory");
}

static struct percpu_counter hits;

int main(void)
{
	unsigned long *word = percpu_new(unsigned long);
	unsigned long sum = 0;

	for (const uint64_t *p = first_pointer; p < last_pointer && sequence_count < 64; p++)
		sequence_starts[sequence_count++] =
			(uintptr_t)((const struct descriptor *)(uintptr_t)*p)->start;
	if (!word || percpu_counter_init(&hits) != 0)
		return 1;
	set_breakpoints_now();
	for (int i = 0; i < TIMES; i++) {
		percpu_counter_inc(&hits);
		percpu_this_inc(word);
		(void)percpu_this_add_return(word, 1);
	}
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	printf("hits %lld sum %lu\n", (long long)percpu_counter_sum(&hits), sum);
	return percpu_counter_sum(&hits) != TIMES || sum != 2 * TIMES;
}

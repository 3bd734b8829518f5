/* SPDX-License-Identifier: MIT */
/* A sequence whose cold label lies 4 MiB away in the same function. */
#include <percpu/percpu.h>

long failures;

void add_far(uint32_t *word);
void add_far(uint32_t *word)
{
	if (percpu__seq_add_4(word, 1)) {
		__asm__ volatile("nop\n\t.space 0x400000");
		return;
	}
	failures++;
}

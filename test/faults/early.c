/* SPDX-License-Identifier: MIT */
#include "early.h"

struct percpu_counter early_hits = PERCPU_COUNTER_INIT;
struct percpu_id early_ids = PERCPU_ID_INIT;
uint64_t early_id;
unsigned early_slots = ~0u;

static __thread int large[20000] __attribute__((tls_model("global-dynamic")));

int *early_thread_local(void)
{
	return large;
}

__attribute__((constructor(101))) static void count_early(void)
{
	early_slots = percpu__rt.nslots;
	for (int i = 0; i < EARLY_ADDS; i++)
		percpu_counter_inc(&early_hits);
	early_id = percpu_id_next(&early_ids);
}

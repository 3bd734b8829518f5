/* SPDX-License-Identifier: MIT */
/* A plugin that has the archive inside: it must be position-independent. */
#include <percpu/percpu.h>

PERCPU_COUNTER(plugin_hits);

long long plugin_count(int rounds);

long long plugin_count(int rounds)
{
	for (int i = 0; i < rounds; i++)
		percpu_counter_inc(&plugin_hits);
	return percpu_counter_sum(&plugin_hits);
}

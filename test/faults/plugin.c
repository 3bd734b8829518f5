/* SPDX-License-Identifier: MIT */
#include "plugin.h"

static PERCPU_COUNTER(own);

/* The last sequence that the thread runs is one of the plugin's. */
static void count(struct percpu_counter *counter, uint32_t *word, int times)
{
	for (int i = 0; i < times; i++) {
		percpu_counter_inc(&own);
		if (word)
			(void)percpu_this_add_return(word, 1u);
		percpu_counter_inc(counter);
	}
}

static void *alloc(size_t size)
{
	void *p;

	return percpu_alloc(&p, size, 8) == 0 ? p : NULL;
}

void plugin_describe(struct plugin *plugin)
{
	plugin->count = count;
	plugin->sum = percpu_counter_sum;
	plugin->mode = percpu_mode;
	plugin->alloc = alloc;
	plugin->own = &own;
}

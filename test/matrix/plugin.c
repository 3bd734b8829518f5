/* SPDX-License-Identifier: MIT */
/* A plugin with sequences of its own, inlined. See test_plugins.c. */
#include <percpu/percpu.h>

#include "plugin.h"

void plugin_count(struct percpu_counter *counter, unsigned long *word, unsigned times)
{
	while (times--) {
		percpu_counter_inc(counter);
		percpu_this_inc(word);
	}
}

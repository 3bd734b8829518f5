/* SPDX-License-Identifier: MIT */
/* A plugin that counts: it has its own copy of every inlined sequence. */
#ifndef PERCPU_TEST_PLUGIN_H
#define PERCPU_TEST_PLUGIN_H

#include <percpu/percpu.h>

struct plugin {
	void (*count)(struct percpu_counter *counter, uint32_t *word, int times);
	int64_t (*sum)(const struct percpu_counter *counter);
	int (*mode)(struct percpu_mode_info *mode);
	void *(*alloc)(size_t size);
	/* The ids and hits of the plugin itself. */
	struct percpu_counter *own;
};

typedef void plugin_entry(struct plugin *plugin);
void plugin_describe(struct plugin *plugin);

#endif

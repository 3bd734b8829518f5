/* SPDX-License-Identifier: MIT */
#ifndef PERCPU_TEST_MATRIX_PLUGIN_H
#define PERCPU_TEST_MATRIX_PLUGIN_H

#include <percpu/percpu.h>

/* Counts in both, so many times. */
typedef void plugin_count_fn(struct percpu_counter *counter, unsigned long *word, unsigned times);
plugin_count_fn plugin_count;

#endif

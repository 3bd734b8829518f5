/* SPDX-License-Identifier: MIT */
/*
 * One loop, compiled once for each way of linking the library: into a program that links the
 * shared library, into one that links the archive, and into a shared library of its own.
 */
#ifndef PERCPU_BENCH_LINK_H
#define PERCPU_BENCH_LINK_H

#include "bench.h"

struct link_loop {
	void (*loop)(struct bench_worker *w);
	long (*total)(void);
};

/* What a plugin is asked for by name. */
#define LINK_LOOP_NAME "percpu_bench_link_loop"
const struct link_loop *percpu_bench_link_loop(void);

#endif

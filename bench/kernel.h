/* SPDX-License-Identifier: MIT */
/*
 * The rows of the kernel module percpu_local: JSON lines with the bench's keys, one object per
 * line, in debugfs or in a file that was copied from there.
 */
#ifndef PERCPU_BENCH_KERNEL_H
#define PERCPU_BENCH_KERNEL_H

#include <stddef.h>

#include "harness.h"

#define KERNEL_FILE "/sys/kernel/debug/percpu_local/json"

struct kernel_row {
	struct bench_result result; /* its texts point into what follows */
	char table[32], method[48], param[48], unit[24];
	char *line;
};

/* What the module says of the kernel and of its own checks; "" where it says nothing. */
struct kernel_machine {
	char kernel[96], preemption[32];
	double checked, wrong; /* totals */
};

/* Rows and their number; or NULL and why there are none. */
struct kernel_row *kernel_read(const char *path, size_t *n, struct kernel_machine *machine,
			       const char **why);
void kernel_free(struct kernel_row *rows, size_t n);

#endif

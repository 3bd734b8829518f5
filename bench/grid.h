/* SPDX-License-Identifier: MIT */
/*
 * The classic layout: a table for each size, a line for each method, a column for each operation.
 * A row's param says which: "OPERATION, SIZE" with a word after the number, if any, and with
 * brackets behind an operation that is not what it is called ("add_return (...), 262144 longs");
 * the kernel module's rows say "OPERATION SIZE" and "OPERATION* SIZE".
 */
#ifndef PERCPU_BENCH_GRID_H
#define PERCPU_BENCH_GRID_H

#include <stddef.h>

#define GRID_FIELD 24

struct bench_plan;
struct kernel_row;

void grid_print(const struct bench_plan *plan);
/* Does grid_print() show this row of the kernel module? */
int grid_has(const struct bench_plan *plan, const struct kernel_row *row);
void grid_reference(const struct bench_plan *plan);
/* The sizes that were measured in this process, in order; at most `most`. */
size_t grid_sizes(const struct bench_plan *plan, char (*sizes)[GRID_FIELD], size_t most);
/* The median of a row of ours, or NaN. */
double grid_figure(const struct bench_plan *plan, const char *method, const char *column,
		   const char *size);

#endif

/* SPDX-License-Identifier: MIT */
/* The list of tables, in the order in which `percpu bench` runs them. */
#include <string.h>

#include "bench.h"

/* clang-format off */
#define TABLES(x) \
	x(bench_local) \
	x(bench_cmpxchg) \
	x(bench_contended) \
	x(bench_counters) \
	x(bench_getcpu) \
	x(bench_switch) \
	x(bench_start) \
	x(bench_reads) \
	x(bench_events) \
	x(bench_snapshots) \
	x(bench_this_cpu) \
	x(bench_thread) \
	x(bench_area) \
	x(bench_limit) \
	x(bench_lists) \
	x(bench_txn) \
	x(bench_zone) \
	x(bench_locks) \
	x(bench_refs)
/* clang-format on */

#define DECLARE(table) extern const struct bench_table table;
TABLES(DECLARE)

#define ADDRESS(table) &table,
const struct bench_table *const bench_tables[] = {TABLES(ADDRESS) NULL};

#undef DECLARE
#undef ADDRESS
#undef TABLES

const struct bench_table *bench_find_table(const char *name)
{
	const struct bench_table *const *table;

	for (table = bench_tables; *table; table++)
		if (!strcmp((*table)->name, name))
			return *table;
	return NULL;
}

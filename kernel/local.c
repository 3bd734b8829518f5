// SPDX-License-Identifier: GPL-2.0
/*
 * The table of 2008: ways (ways.h) by columns, over arrays of several sizes and one hot variable.
 *
 * An array is walked with stride 514001, wrapping at its end, so that no two neighbours follow
 * each other and a pass visits every element once. A measurement is
 *	1 pass	warming, not timed
 *	32	timed passes: 32 operations per element
 * with the memory set before and every element checked after. An array that is longer than those
 * of 2008 gets fewer passes (walk_ops). On the hot variable a pass is as many operations on the one
 * element. cpu_local_inc increments 16 hot per-CPU variables in turns.
 *
 * One stretch of memory serves all ways; trivalue needs three longs per element. this_cpu changes
 * the same memory as if it were this CPU's copy of a per-CPU array: no per-CPU allocation is that
 * large. Its pointer is made anew for every pass, for the CPU that the task is pinned to.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/gcd.h>
#include <linux/mm.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "percpu_local.h"
#include "ways.h"

#define STRIDE 514001
#define PASSES 32 /* at most */
#define HOT_VARIABLES 16
#define MAX_CELLS (1UL << 26)
#define CHUNK (1UL << 20) /* operations before others may run: a fraction of a second */
#define LOOP noinline __aligned(64)

enum column {
	COLUMN_INC,
	COLUMN_ADD,
	COLUMN_ADD_RETURN,
	COLUMN_CPU_LOCAL_INC,
	COLUMN_READ,
	COLUMNS
};

/* The variables, and which of them is next. */
struct walk {
	void *base;
	unsigned long cells, at;
};

/* n operations; returns the sum of what they returned, modulo the size of a long. */
typedef unsigned long pass_fn(struct walk *walk, unsigned long n);

static DEFINE_PER_CPU_ALIGNED(long[HOT_VARIABLES], hot_long);
static DEFINE_PER_CPU_ALIGNED(atomic_long_t[HOT_VARIABLES], hot_atomic);
static DEFINE_PER_CPU_ALIGNED(local_t[HOT_VARIABLES], hot_local);
static DEFINE_PER_CPU_ALIGNED(struct trivalue[HOT_VARIABLES], hot_trivalue);

#define WALK_AND_HOT(way, type, op)                                                                \
	static LOOP unsigned long way##_##op##_walk(struct walk *walk, unsigned long n)            \
	{                                                                                          \
		unsigned long cells = walk->cells, at = walk->at, step = STRIDE % cells, sum = 0;  \
		type *base = walk->base;                                                           \
                                                                                                   \
		do {                                                                               \
			sum += way##_##op(&base[at]);                                              \
			at += step;                                                                \
			if (at >= cells)                                                           \
				at -= cells;                                                       \
		} while (--n);                                                                     \
		walk->at = at;                                                                     \
		return sum;                                                                        \
	}                                                                                          \
                                                                                                   \
	static LOOP unsigned long way##_##op##_hot(struct walk *walk, unsigned long n)             \
	{                                                                                          \
		unsigned long sum = 0;                                                             \
		type *cell = walk->base;                                                           \
                                                                                                   \
		do {                                                                               \
			sum += way##_##op(cell);                                                   \
		} while (--n);                                                                     \
		return sum;                                                                        \
	}

#define CPU_LOCAL_INC(way, statement)                                                              \
	static LOOP unsigned long way##_cpu_local_inc(struct walk *unused, unsigned long n)        \
	{                                                                                          \
		n /= HOT_VARIABLES;                                                                \
		do {                                                                               \
			statement(0);                                                              \
			statement(1);                                                              \
			statement(2);                                                              \
			statement(3);                                                              \
			statement(4);                                                              \
			statement(5);                                                              \
			statement(6);                                                              \
			statement(7);                                                              \
			statement(8);                                                              \
			statement(9);                                                              \
			statement(10);                                                             \
			statement(11);                                                             \
			statement(12);                                                             \
			statement(13);                                                             \
			statement(14);                                                             \
			statement(15);                                                             \
		} while (--n);                                                                     \
		return 0;                                                                          \
	}

#define LOOPS(way, type, statement)                                                                \
	WALK_AND_HOT(way, type, inc)                                                               \
	WALK_AND_HOT(way, type, add)                                                               \
	WALK_AND_HOT(way, type, add_return)                                                        \
	WALK_AND_HOT(way, type, read)                                                              \
	CPU_LOCAL_INC(way, statement)

/* How each way finds this CPU's copy and increments it; the loops run pinned. */
#define PLAIN(i) plain_inc(raw_cpu_ptr(&hot_long[i]))
#define ATOMIC_LONG(i) atomic_long_way_inc(raw_cpu_ptr(&hot_atomic[i]))
#define IRQSAVE(i)                                                                                 \
	do {                                                                                       \
		unsigned long flags;                                                               \
                                                                                                   \
		local_irq_save(flags);                                                             \
		plain_inc(this_cpu_ptr(&hot_long[i]));                                             \
		local_irq_restore(flags);                                                          \
	} while (0)
#define TRIVALUE(i) trivalue_inc(raw_cpu_ptr(&hot_trivalue[i]))
#define LOCAL_T(i) local_t_inc(raw_cpu_ptr(&hot_local[i]))
#define OFF(statement)                                                                             \
	do {                                                                                       \
		preempt_disable();                                                                 \
		statement;                                                                         \
		preempt_enable();                                                                  \
	} while (0)
#define TRIVALUE_OFF(i) OFF(TRIVALUE(i))
#define LOCAL_T_OFF(i) OFF(LOCAL_T(i))
#define THIS_CPU(i) this_cpu_inc(hot_long[i])

LOOPS(plain, long, PLAIN)
LOOPS(atomic_long_way, atomic_long_t, ATOMIC_LONG)
LOOPS(irqsave, long, IRQSAVE)
LOOPS(trivalue, struct trivalue, TRIVALUE)
LOOPS(trivalue_off, struct trivalue, TRIVALUE_OFF)
LOOPS(local_t, local_t, LOCAL_T)
LOOPS(local_t_off, local_t, LOCAL_T_OFF)
LOOPS(this_cpu_way, long, THIS_CPU)

#undef LOOPS
#undef CPU_LOCAL_INC
#undef WALK_AND_HOT
#undef PLAIN
#undef ATOMIC_LONG
#undef IRQSAVE
#undef TRIVALUE
#undef LOCAL_T
#undef OFF
#undef TRIVALUE_OFF
#undef LOCAL_T_OFF
#undef THIS_CPU

struct way {
	const char *name;
	unsigned int words;     /* longs per variable */
	bool relative;          /* base is this CPU's copy, seen from CPU 0's */
	bool sums;              /* add_return is made of two */
	pass_fn *walk[COLUMNS]; /* cpu_local_inc has one loop for both */
	pass_fn *hot[COLUMNS];
};

#define PASS_FUNCTIONS(way)                                                                        \
	.walk = {way##_inc_walk, way##_add_walk, way##_add_return_walk, way##_cpu_local_inc,       \
		 way##_read_walk},                                                                 \
	.hot = {way##_inc_hot, way##_add_hot, way##_add_return_hot, way##_cpu_local_inc,           \
		way##_read_hot}

static const struct way ways[] = {
	{.name = "plain", .words = 1, PASS_FUNCTIONS(plain)},
	{.name = "atomic_long", .words = 1, PASS_FUNCTIONS(atomic_long_way)},
	{.name = "irqsave", .words = 1, PASS_FUNCTIONS(irqsave)},
	{.name = "trivalue", .words = 3, .sums = true, PASS_FUNCTIONS(trivalue)},
	{.name = "trivalue preempt-off", .words = 3, .sums = true, PASS_FUNCTIONS(trivalue_off)},
	{.name = "local_t", .words = 1, PASS_FUNCTIONS(local_t)},
	{.name = "local_t preempt-off", .words = 1, PASS_FUNCTIONS(local_t_off)},
	{.name = "this_cpu", .words = 1, .relative = true, PASS_FUNCTIONS(this_cpu_way)},
};

static const char *const columns[COLUMNS] = {"inc", "add", "add_return", "cpu_local_inc", "read"};

/* trivalue has the largest variables. */
static size_t bed_bytes(unsigned long cells)
{
	return array3_size(cells, 3, sizeof(long));
}

/* What is measured: so many variables, and so many operations in a pass. */
struct bed {
	long *memory;
	unsigned long cells, ops;
	unsigned int passes; /* that are timed, after the warming one */
	bool hot;
};

/* Four times the last-level cache, unless that is no more than a size of 2008. */
static void add_uncached_size(void)
{
	unsigned long cells = 4 * last_level_cache() / sizeof(long);

	cells = min(cells, MAX_CELLS);
	if (cells <= sizes[nsizes - 1])
		return;
	while (gcd(STRIDE, cells) != 1)
		cells--;
	if (bed_bytes(cells) >> PAGE_SHIFT > (unsigned long)si_mem_available() / 2) {
		pr_info("no array of %lu longs: it would take half of the memory that is free\n",
			cells);
		return;
	}
	sizes[nsizes++] = cells;
}

int local_set_sizes(void)
{
	static const unsigned long of_2008[] = {262144, 1048576, 2097152};
	unsigned int i;

	if (!nsizes) {
		nsizes = ARRAY_SIZE(of_2008);
		memcpy(sizes, of_2008, sizeof(of_2008));
		add_uncached_size();
	}
	for (i = 0; i < nsizes; i++) {
		if (sizes[i] < HOT_VARIABLES || sizes[i] > MAX_CELLS) {
			pr_err("size %lu is not within %d .. %lu\n", sizes[i], HOT_VARIABLES,
			       MAX_CELLS);
			return -EINVAL;
		}
		if (gcd(STRIDE, sizes[i]) != 1) {
			pr_err("size %lu: stride %d would not visit every element\n", sizes[i],
			       STRIDE);
			return -EINVAL;
		}
	}
	return 0;
}

unsigned int local_passes(unsigned long cells)
{
	return clamp(walk_ops / cells, 1UL, (unsigned long)PASSES);
}

unsigned int local_rows(void)
{
	return (nsizes + 1) * COLUMNS * ARRAY_SIZE(ways);
}

/* Element i is read as i + 1, and of three values none is 0. */
static void bed_fill(const struct bed *bed, const struct way *way, enum column column)
{
	unsigned long i;

	memset(bed->memory, 0, bed->cells * way->words * sizeof(long));
	if (column != COLUMN_READ)
		return;
	for (i = 0; i < bed->cells; i++) {
		long *cell = &bed->memory[i * way->words];

		cell[0] = (long)(i + 1);
		if (way->words == 3) {
			cell[0] -= 5;
			cell[1] = 2;
			cell[2] = 3;
		}
	}
}

/* All elements have to be right; of one that is not, its value is returned. */
static unsigned long bed_element(const struct bed *bed, const struct way *way,
				 unsigned long expected, bool numbered)
{
	unsigned long i, value;
	unsigned int k;

	for (i = 0; i < bed->cells; i++) {
		value = 0;
		for (k = 0; k < way->words; k++)
			value += (unsigned long)bed->memory[i * way->words + k];
		if (value != expected + (numbered ? i : 0))
			return value - (numbered ? i : 0);
	}
	return expected;
}

/* 1 + 2 + .. + n, modulo the size of a long. */
static unsigned long triangle(unsigned long n)
{
	return n % 2 ? (n + 1) / 2 * n : n / 2 * (n + 1);
}

/* sum: of all that the operations returned. */
static void bed_check(const struct bed *bed, const struct way *way, enum column column,
		      unsigned long sum, struct row *row)
{
	static const unsigned long amounts[COLUMNS] = {1, ADD_AMOUNT, ADD_RETURN_AMOUNT, 0, 0};
	unsigned long each = (bed->passes + 1) * bed->ops / bed->cells, amount = amounts[column];

	bed->memory[0] += planted;
	if (column == COLUMN_READ) {
		results_check(row, 1, bed_element(bed, way, 1, true));
		results_check(row, each * triangle(bed->cells), sum);
		return;
	}
	results_check(row, each * amount, bed_element(bed, way, each * amount, false));
	if (column == COLUMN_ADD_RETURN)
		results_check(row, bed->cells * amount * triangle(each), sum);
}

static void hot_zero(void)
{
	int cpu;

	for_each_possible_cpu(cpu)
	{
		memset(per_cpu_ptr(&hot_long, cpu), 0, sizeof(hot_long));
		memset(per_cpu_ptr(&hot_atomic, cpu), 0, sizeof(hot_atomic));
		memset(per_cpu_ptr(&hot_local, cpu), 0, sizeof(hot_local));
		memset(per_cpu_ptr(&hot_trivalue, cpu), 0, sizeof(hot_trivalue));
	}
}

static unsigned long hot_sum(void)
{
	unsigned long sum = 0;
	int cpu, i;

	for_each_possible_cpu(cpu) for (i = 0; i < HOT_VARIABLES; i++) sum +=
		plain_read(per_cpu_ptr(&hot_long[i], cpu)) +
		atomic_long_way_read(per_cpu_ptr(&hot_atomic[i], cpu)) +
		local_t_read(per_cpu_ptr(&hot_local[i], cpu)) +
		trivalue_read(per_cpu_ptr(&hot_trivalue[i], cpu));
	return sum;
}

/* Where per-CPU pointers have to point to mean `memory` on this CPU. */
static void *relative_to_this_cpu(void *memory)
{
	unsigned long here = (unsigned long)raw_cpu_ptr(&hot_long[0]);

	return memory - (here - (__force unsigned long)&hot_long[0]);
}

/* At most CHUNK operations, pinned. */
static unsigned long run_chunk(const struct bed *bed, const struct way *way, pass_fn *pass,
			       struct walk *walk, unsigned long n, struct spell *spell)
{
	unsigned long sum;
	cycles_t cycles;
	u64 start;

	pin();
	walk->base = way->relative ? relative_to_this_cpu(bed->memory) : bed->memory;
	start = ktime_get_ns();
	cycles = get_cycles();
	sum = pass(walk, n);
	spell->cycles += get_cycles() - cycles;
	spell->ns += ktime_get_ns() - start;
	unpin();
	spell->ops += n;
	return sum;
}

static int run_ops(const struct bed *bed, const struct way *way, pass_fn *pass, struct walk *walk,
		   unsigned long ops, unsigned long *sum, struct spell *spell)
{
	u64 start = ktime_get_ns();
	unsigned long n;
	int err;

	memset(spell, 0, sizeof(*spell));
	for (; ops; ops -= n) {
		err = breathe();
		if (err)
			return err;
		n = min(ops, CHUNK);
		*sum += run_chunk(bed, way, pass, walk, n, spell);
	}
	spell->wall_ns = ktime_get_ns() - start;
	return 0;
}

static int measure(const struct bed *bed, const struct way *way, enum column column,
		   unsigned int round, struct row *row)
{
	pass_fn *pass = bed->hot ? way->hot[column] : way->walk[column];
	struct walk walk = {.cells = bed->cells};
	struct spell spell;
	unsigned long sum = 0;
	int err;

	bed_fill(bed, way, column);
	if (column == COLUMN_CPU_LOCAL_INC)
		hot_zero();
	err = run_ops(bed, way, pass, &walk, bed->ops, &sum, &spell);
	if (!err)
		err = run_ops(bed, way, pass, &walk, bed->passes * bed->ops, &sum, &spell);
	if (err)
		return err;
	if (column == COLUMN_CPU_LOCAL_INC)
		results_check(row, (bed->passes + 1) * bed->ops,
			      hot_sum() + (unsigned long)planted);
	else
		bed_check(bed, way, column, sum, row);
	results_record(row, round, &spell);
	return 0;
}

/* The rows of one size stand column by column, the ways of a column together, plain first. */
static unsigned int add_rows(struct results *r, const char *size)
{
	unsigned int first = r->nrows, column, w;

	for (column = 0; column < COLUMNS; column++) {
		for (w = 0; w < ARRAY_SIZE(ways); w++) {
			bool marked = column == COLUMN_ADD_RETURN && ways[w].sums;
			struct row *row =
				results_add(r, "kernel_local", ways[w].name, NULL, r->nrows - w);

			snprintf(row->text, sizeof(row->text), "%s%s %s", columns[column],
				 marked ? "*" : "", size);
			row->param = row->text;
		}
	}
	return first;
}

/* Each round starts at another way. */
static int run_rounds(struct results *r, struct bed *bed, unsigned int first)
{
	unsigned long ops = bed->ops, small;
	unsigned int round, column, i;

	small = hot_ops / bed->passes / HOT_VARIABLES * HOT_VARIABLES;
	for (round = 0; round < r->rounds; round++) {
		for (column = 0; column < COLUMNS; column++) {
			for (i = 0; i < ARRAY_SIZE(ways); i++) {
				unsigned int w = (i + round) % ARRAY_SIZE(ways);
				struct row *row = &r->rows[first + column * ARRAY_SIZE(ways) + w];
				int err;

				bed->ops = column == COLUMN_CPU_LOCAL_INC ? small : ops;
				err = measure(bed, &ways[w], column, round, row);
				if (err)
					return err;
			}
		}
	}
	return 0;
}

/* cells 0: the hot variable. */
static int run_size(struct results *r, unsigned long cells)
{
	struct bed bed = {.hot = !cells, .cells = cells ?: 1};
	char size[24];
	int err;

	snprintf(size, sizeof(size), cells ? "%lu" : "hot", cells);
	bed.passes = bed.hot ? PASSES : local_passes(cells);
	bed.ops = bed.hot ? hot_ops / PASSES : cells;
	bed.memory = __vmalloc(bed_bytes(bed.cells), GFP_KERNEL | __GFP_NOWARN);
	if (!bed.memory)
		return -ENOMEM;
	err = run_rounds(r, &bed, add_rows(r, size));
	vfree(bed.memory);
	return err;
}

int local_run(struct results *r)
{
	unsigned int i;
	int err = run_size(r, 0);

	BUILD_BUG_ON(sizeof(atomic_long_t) != sizeof(long));
	BUILD_BUG_ON(sizeof(local_t) != sizeof(long));
	for (i = 0; !err && i < nsizes; i++)
		err = run_size(r, sizes[i]);
	return err;
}

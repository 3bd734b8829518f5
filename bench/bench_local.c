/* SPDX-License-Identifier: MIT */
/*
 * local: the table of 2008. Rows are the ways to change a variable that its thread's handlers
 * change too, columns are operations, and there is a table for each size of an array of variables,
 * because the question was: is the data in the cache or not?
 *
 * An array is walked (walk.h) 32 times, a part in every round; ways that make two system calls
 * walk a part only, and so do all on the largest array, which no cache can hold. "hot" is one
 * variable. cpu_local_inc has 16 in turn, as programs have: an operation on one variable only waits
 * for its predecessor's store, which hides what it costs itself.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <percpu/local.h>

#include "harness.h"
#include "verdict.h"
#include "walk.h"

#define PER_VARIABLE 32
#define ROUNDS 8
#define RING 16
#define HOT_OPS (ROUNDS * 1048576.0)
/* Parts of the time of others that are enough for two system calls an operation, and for an array
 * that no cache holds, where one operation is like the other. */
#define MASKED_PART 32
#define UNCACHED_PART 16
#define ADDED 1234
#define RETURNED 7

/* A method and what its loop works on. */
struct cell {
	struct bench_method method; /* first: a worker knows its method */
	struct walk_array *array;
	unsigned values;    /* that a variable consists of */
	unsigned long each; /* added by an operation; 0: it changes nothing */
	int masked;         /* holds signals off */
	char param[64];
};

static const struct cell *cell_of(const struct bench_worker *w)
{
	return (const struct cell *)w->method;
}

/* The loops: over an array, and on one variable. op has the variable as p. */
/* clang-format off */
#define WALK(name, type, op)                                                                       \
	BENCH_HOT static void name(struct bench_worker *w)                                         \
	{                                                                                          \
		const struct walk_array *array_ = cell_of(w)->array;                               \
		size_t at_ = array_->at, step_ = array_->step, n_ = array_->variables;             \
		type *all_ = (type *)(void *)array_->memory;                                       \
		unsigned long left_ = w->ops;                                                      \
		_Pragma("GCC unroll 1")                                                            \
		do {                                                                               \
			type *p = &all_[at_];                                                      \
			op;                                                                        \
			at_ += step_;                                                              \
			at_ -= at_ >= n_ ? n_ : 0;                                                 \
			__asm__ volatile("" : : "r"(left_));                                       \
		} while (--left_);                                                                 \
	}
/* clang-format on */
#define HOT(name, type, op)                                                                        \
	BENCH_LOOP(name, type *p = (type *)(void *)cell_of(w)->array->memory; BENCH_HIDE(p), op, )
/* On RING variables in turn: one after the other in the code, as in a program. */
/* clang-format off */
#define AT(i, op)                                                                                  \
			p = &all_[i];                                                              \
			op;
#define FOUR(i, op) AT(i, op) AT((i) + 1, op) AT((i) + 2, op) AT((i) + 3, op)
#define IN_TURN(name, type, first, op)                                                             \
	BENCH_HOT static void name(struct bench_worker *w)                                         \
	{                                                                                          \
		type *all_ = (type *)(void *)(first), *p;                                          \
		unsigned long left_ = w->ops;                                                      \
		for (; left_ >= RING; left_ -= RING) {                                             \
			BENCH_HIDE(all_);                                                          \
			FOUR(0, op) FOUR(4, op) FOUR(8, op) FOUR(12, op)                           \
			__asm__ volatile("" : : "r"(left_));                                       \
		}                                                                                  \
		_Pragma("GCC unroll 1")                                                            \
		for (p = all_; left_; left_--, p++) {                                              \
			op;                                                                        \
		}                                                                                  \
	}
/* clang-format on */

#define WAY(way, type, inc, add, add_return, read)                                                 \
	WALK(walk_##way##_inc, type, inc)                                                          \
	WALK(walk_##way##_add, type, add)                                                          \
	WALK(walk_##way##_add_return, type, add_return)                                            \
	WALK(walk_##way##_read, type, read)                                                        \
	IN_TURN(ring_##way##_inc, type, cell_of(w)->array->memory, inc)                            \
	HOT(hot_##way##_inc, type, inc)                                                            \
	HOT(hot_##way##_add, type, add)                                                            \
	HOT(hot_##way##_add_return, type, add_return)                                              \
	HOT(hot_##way##_read, type, read)

#define ADD(way, n) PERCPU__LOCAL_ADD(way, long, p, n)
#define ADD_RETURN(way) BENCH_USE(PERCPU__LOCAL_ADD_RETURN(way, long, p, RETURNED))
#define READ(way) BENCH_USE(PERCPU__LOCAL_READ(way, long, p))
/* What stood in for an add_return of ways that have none: an addition with interrupts held off,
 * and then a sum. */
#define ADD_AND_SUM(way)                                                                           \
	do {                                                                                       \
		struct percpu__sigset saved_;                                                      \
		percpu__sigmask_begin(&saved_);                                                    \
		ADD(way, RETURNED);                                                                \
		percpu__sigmask_end(&saved_);                                                      \
		READ(way);                                                                         \
	} while (0)

#define RETURNING_WAY(way)                                                                         \
	typedef PERCPU__LOCAL_DECLARE(way, long, way##_long);                                      \
	WAY(way, way##_long, ADD(way, 1), ADD(way, ADDED), ADD_RETURN(way), READ(way))
#define COUNTING_WAY(way)                                                                          \
	typedef PERCPU__LOCAL_DECLARE(way, long, way##_long);                                      \
	WAY(way, way##_long, ADD(way, 1), ADD(way, ADDED), ADD_AND_SUM(way), READ(way))

/* An addition in plain C that the compiler must do in memory. */
#define PLAIN_ADD(n)                                                                               \
	do {                                                                                       \
		*p += (n);                                                                         \
		__asm__ volatile("" : "+m"(*p));                                                   \
	} while (0)

WAY(plain, long, ARCH_PLAIN_INC(p), PLAIN_ADD(ADDED), PLAIN_ADD(RETURNED);
    BENCH_USE(*p), BENCH_USE(*(volatile long *)p))
#if ARCH_HAVE_LOCAL
RETURNING_WAY(local)
#endif
RETURNING_WAY(atomic)
RETURNING_WAY(softmask)
COUNTING_WAY(trivalue)
COUNTING_WAY(twovalue)
RETURNING_WAY(sigmask)

#undef PLAIN_ADD
#undef COUNTING_WAY
#undef RETURNING_WAY
#undef ADD_AND_SUM
#undef READ
#undef ADD_RETURN
#undef ADD
#undef WAY
#undef HOT

enum op { INC, ADD, ADD_RETURN, READ, OPS };

static const char *const op_names[OPS] = {"inc", "add", "add_return", "read"};
static const unsigned long op_each[OPS] = {1, ADDED, RETURNED, 0};

typedef void loop(struct bench_worker *w);

struct way {
	const char *name;
	loop *walk[OPS], *hot[OPS], *ring;
	unsigned values;
	int masks;  /* two system calls in each operation that writes */
	int counts; /* has no add_return of its own */
};

#define WAY(title, way, values_, masks_, counts_)                                                  \
	{                                                                                          \
		.name = (title),                                                                   \
		.walk = {walk_##way##_inc, walk_##way##_add, walk_##way##_add_return,              \
			 walk_##way##_read},                                                       \
		.hot = {hot_##way##_inc, hot_##way##_add, hot_##way##_add_return,                  \
			hot_##way##_read},                                                         \
		.ring = ring_##way##_inc, .values = (values_), .masks = (masks_),                  \
		.counts = (counts_),                                                               \
	}

static const struct way ways[] = {
	WAY("plain add", plain, 1, 0, 0),
#if ARCH_HAVE_LOCAL
	WAY("local", local, 1, 0, 0),
#endif
	WAY("atomic", atomic, 1, 0, 0),
	WAY("softmask", softmask, 1, 0, 0),
	WAY("trivalue", trivalue, PERCPU__VALUES_trivalue, 0, 1),
	WAY("twovalue", twovalue, PERCPU__VALUES_twovalue, 0, 1),
	WAY("sigmask", sigmask, 1, 1, 0),
};

#undef WAY

#define WAYS (sizeof(ways) / sizeof(ways[0]))

/* The sizes of 2008, one that no cache holds, and the hot ones. */
enum size { ONE, SMALL, MIDDLE, LARGE, UNCACHED, SIZES };

static struct walk_array arrays[SIZES], ring;
static struct cell cells[SIZES][OPS][WAYS], ring_cells[WAYS], percpu_cell;

static int open_cell(const struct bench_method *m, const char **why)
{
	return walk_open(((const struct cell *)m)->array, why);
}

static void close_cell(const struct bench_method *m)
{
	walk_close(((const struct cell *)m)->array);
}

static void warm_cell(struct bench_worker *w)
{
	walk_warm(cell_of(w)->array, cell_of(w)->values);
}

static void check_cell(struct bench_worker *w)
{
	const struct cell *cell = cell_of(w);

	w->counted = walk_check(cell->array, cell->values, cell->each, w->ops);
}

/* The per-CPU form, on the same number of variables. */
static long *percpu_ring;

IN_TURN(ring_percpu, long, percpu_ring, percpu_cpu_local_inc(p))

#undef IN_TURN
#undef FOUR
#undef AT
#undef WALK

static long percpu_total(void)
{
	unsigned slot, i, slots = percpu_nslots();
	long sum = 0;

	for (slot = 0; slot < slots; slot++)
		for (i = 0; i < RING; i++)
			sum += percpu_ptr(percpu_ring, slot)[i];
	return sum;
}

static int open_percpu(const struct bench_method *m, const char **why)
{
	void *memory;
	int err = walk_open(((const struct cell *)m)->array, why);

	if (err)
		return err;
	*why = "no percpu memory";
	err = percpu_alloc(&memory, RING * sizeof(long), sizeof(long));
	if (err)
		walk_close(((const struct cell *)m)->array);
	else
		percpu_ring = memory;
	return err;
}

static void close_percpu(const struct bench_method *m)
{
	percpu_free(percpu_ring);
	percpu_ring = NULL;
	walk_close(((const struct cell *)m)->array);
}

static void set_sizes(void)
{
	size_t last = 4 * bench_last_level_cache() / sizeof(long);

	walk_size(&arrays[ONE], 1);
	walk_size(&arrays[SMALL], 262144);
	walk_size(&arrays[MIDDLE], 1048576);
	walk_size(&arrays[LARGE], 2097152);
	walk_size(&arrays[UNCACHED], last);
	walk_size(&ring, RING);
	ring.restarts = 1;
}

/* "inc, 1048576 longs"; what an operation is instead of what it is called is in brackets. */
static void name_cell(struct cell *cell, const char *op, int instead)
{
	const char *how = instead ? " (protected add + sum)" : "";

	if (cell->array->variables <= RING)
		snprintf(cell->param, sizeof(cell->param), "%s%s, hot", op, how);
	else
		snprintf(cell->param, sizeof(cell->param), "%s%s, %zu longs", op, how,
			 cell->array->variables);
}

static struct bench_row *add_cell(struct bench_plan *plan, struct cell *cell, const struct way *way,
				  struct walk_array *array, enum op op)
{
	size_t n = array->variables;

	cell->masked = op != READ && (way->masks || (way->counts && op == ADD_RETURN));
	cell->array = array;
	cell->values = way->values;
	cell->each = op_each[op];
	cell->method = (struct bench_method){
		.name = way->name,
		.param = cell->param,
		.loop = n == 1     ? way->hot[op]
			: n > RING ? way->walk[op]
				   : way->ring,
		.open = open_cell,
		.close = close_cell,
		.before = warm_cell,
		.after = check_cell,
		.work = n <= RING ? HOT_OPS : (double)n * PER_VARIABLE,
		.cheap = cell->masked  ? MASKED_PART
			 : array->warm ? 0
				       : UNCACHED_PART,
	};
	return bench_add(plan, &cell->method);
}

static void add_column(struct bench_plan *plan, enum size size, enum op op)
{
	struct bench_row *base = NULL, *row;
	struct cell *cell;
	size_t i;

	for (i = 0; i < WAYS; i++) {
		cell = &cells[size][op][i];
		cell->array = &arrays[size];
		name_cell(cell, op_names[op], ways[i].counts && op == ADD_RETURN);
		row = add_cell(plan, cell, &ways[i], &arrays[size], op);
		base = i ? base : row;
		bench_set_base(row, base);
	}
}

static void add_ring(struct bench_plan *plan)
{
	struct bench_row *base = NULL, *row;
	size_t i;

	for (i = 0; i < WAYS; i++) {
		ring_cells[i].array = &ring;
		name_cell(&ring_cells[i], "cpu_local_inc", 0);
		row = add_cell(plan, &ring_cells[i], &ways[i], &ring, INC);
		base = i ? base : row;
		bench_set_base(row, base);
	}
	percpu_cell = ring_cells[0];
	percpu_cell.method.name = "percpu";
	percpu_cell.method.param = percpu_cell.param;
	percpu_cell.method.loop = ring_percpu;
	percpu_cell.method.before = NULL;
	percpu_cell.method.after = NULL;
	percpu_cell.method.total = percpu_total;
	percpu_cell.method.open = open_percpu;
	percpu_cell.method.close = close_percpu;
	bench_set_base(bench_add(plan, &percpu_cell.method), base);
}

static void fill_local(struct bench_plan *plan)
{
	unsigned size, op;

	set_sizes();
	for (size = 0; size < SIZES; size++) {
		/* A cache may be so small that four of it are a size of 2008. */
		if (size == UNCACHED && arrays[size].variables <= arrays[LARGE].variables)
			continue;
		for (op = 0; op < OPS; op++)
			add_column(plan, size, op);
		if (size == ONE)
			add_ring(plan);
	}
	if (!ARCH_HAVE_LOCAL)
		bench_note(plan, "local not measured: this build has no unlocked instructions");
	bench_note(plan,
		   "%zu longs are four times the last-level cache. Arrays are walked with stride "
		   "%d in pages of 4 KiB, after a warming pass where they fit into that cache; "
		   "every long is checked afterwards.",
		   arrays[UNCACHED].variables, WALK_STRIDE);
	bench_note(plan,
		   "hot: inc, add, add_return and read have one variable, and each waits for "
		   "the store before it; cpu_local_inc has %d in turn, which do not wait.",
		   RING);
	bench_note(plan, "trivalue and twovalue have no add_return: measured as in 2008, as an "
			 "addition with signals held off and then a sum.");
}

static double walked(const struct bench_plan *plan, const struct cell *cell)
{
	size_t i;

	for (i = 0; i < plan->nrows; i++)
		if (plan->rows[i]->method == &cell->method)
			return plan->rows[i]->done / (double)cell->array->variables;
	return 0;
}

/* How much of the 32 operations per long the time allowed, at least. */
static void say_walked(const struct bench_plan *plan, enum size size)
{
	double least[2] = {PER_VARIABLE, PER_VARIABLE}, n;
	size_t longs = arrays[size].variables;
	const struct cell *cell;
	unsigned op, way;
	char text[200];

	for (op = 0; op < OPS; op++) {
		for (way = 0; way < WAYS; way++) {
			cell = &cells[size][op][way];
			n = walked(plan, cell);
			if (n < least[cell->masked])
				least[cell->masked] = n;
		}
	}
	snprintf(text, sizeof(text),
		 "%zu longs: at least %.3g operations per long; a part of the array where signals "
		 "are held "
		 "off: %.0f operations.",
		 longs, least[0], least[1] * (double)longs);
	bench_remark(plan, text);
}

static int conclude_local(const struct bench_plan *plan)
{
	unsigned size;

	for (size = SMALL; size < SIZES; size++)
		if (cells[size][INC][0].array)
			say_walked(plan, size);
	return local_verdict(plan);
}

const struct bench_table bench_local = {
	.name = "local",
	.title = "a variable that handlers change too, in every way; baseline: plain add",
	.fill = fill_local,
	.conclude = conclude_local,
	.seconds = 80,
	.rounds = ROUNDS,
	.grid = 1,
	.kernel = 1};

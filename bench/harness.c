/* SPDX-License-Identifier: MIT */
/*
 * Rounds: every row of a table once per round, in short slices, so that all of them see the same
 * machine at nearly the same time.
 *
 * Within a round the rows go by number of threads. A group runs its rows and the baselines they
 * are compared with one after another, starting one further in each round; the ratio of a row is
 * formed with the slice that its baseline had in the same group.
 *
 * The length of a slice follows from the time allowed: a table is to have WANTED_ROUNDS rounds,
 * and at least FEWEST_ROUNDS however little time there is. A slice's operations are set from one
 * trial at the beginning and adjusted after each slice.
 */
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "arch/arch.h"
#include "harness.h"
#include "kernel.h"

#define WANTED_ROUNDS 25
#define FEWEST_ROUNDS 3
#define SHORTEST_SLICE 0.0005
#define LONGEST_SLICE 0.02
#define DEFAULT_SECONDS 6

static double now_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

double bench_seconds(const struct bench_plan *plan)
{
	double own = plan->table->seconds > 0 ? plan->table->seconds : DEFAULT_SECONDS;

	return plan->options->seconds > 0 ? plan->options->seconds : own;
}

void *bench_grow(void *array, size_t count, size_t size)
{
	void *grown = array;

	if (!(count & (count - 1))) /* full at 0, 1, 2, 4, 8 ... elements */
		grown = realloc(array, (count ? 2 * count : 1) * size);
	if (!grown)
		bench_die("out of memory");
	return grown;
}

const struct bench_options *bench_plan_options(const struct bench_plan *plan)
{
	return plan->options;
}

void bench_note(struct bench_plan *plan, const char *text, ...)
{
	va_list args;
	char *note;
	int n;

	va_start(args, text);
	n = vasprintf(&note, text, args);
	va_end(args);
	if (n < 0)
		bench_die("out of memory");
	plan->notes = bench_grow(plan->notes, plan->nnotes, sizeof(*plan->notes));
	plan->notes[plan->nnotes++] = note;
}

static void note_row(struct bench_plan *plan, const struct bench_method *m, const char *why)
{
	bench_note(plan, "%s%s%s%s not measured: %s", m->name, *m->param ? " (" : "", m->param,
		   *m->param ? ")" : "", why);
}

/* The first row is the baseline of those that name none. */
static struct bench_row *add_row(struct bench_plan *plan, const struct bench_method *m,
				 unsigned threads)
{
	struct bench_row *row = calloc(1, sizeof(*row));

	if (!row)
		bench_die("out of memory");
	row->method = m;
	row->param = m->param;
	row->threads = threads;
	row->base = plan->nrows ? plan->rows[0] : row;
	plan->rows = bench_grow(plan->rows, plan->nrows, sizeof(struct bench_row *));
	plan->rows[plan->nrows++] = row;
	return row;
}

/* Opens a method once, however many rows it has. */
static int open_method(struct bench_plan *plan, const struct bench_method *m, const char **why)
{
	size_t i;
	int err;

	for (i = 0; i < plan->nopen; i++)
		if (plan->open[i] == m)
			return 0;
	err = m->open ? m->open(m, why) : 0;
	if (err)
		return err;
	plan->open = bench_grow(plan->open, plan->nopen, sizeof(const struct bench_method *));
	plan->open[plan->nopen++] = m;
	return 0;
}

static struct bench_row *find_row(const struct bench_plan *plan, const struct bench_method *m,
				  unsigned threads)
{
	size_t i;

	for (i = 0; i < plan->nrows; i++)
		if (plan->rows[i]->method == m && plan->rows[i]->threads == threads)
			return plan->rows[i];
	return NULL;
}

struct bench_row *bench_add_at(struct bench_plan *plan, const struct bench_method *m,
			       unsigned threads, const struct bench_peer *peer)
{
	struct bench_child *child = NULL;
	struct bench_row *row;
	const char *why = "cannot be set up";

	if (plan->serving)
		return add_row(plan, m, threads);
	row = find_row(plan, m, threads);
	if (row)
		return row;
	if (peer)
		child = bench_child_get(peer, plan->table->name, &why);
	if (peer ? !child : open_method(plan, m, &why)) {
		note_row(plan, m, why);
		return NULL;
	}
	row = add_row(plan, m, threads);
	row->child = child;
	return row;
}

struct bench_row *bench_add(struct bench_plan *plan, const struct bench_method *m)
{
	return bench_add_at(plan, m, 1, NULL);
}

void bench_add_threads(struct bench_plan *plan, const struct bench_method *m,
		       const struct bench_peer *peer)
{
	unsigned i;

	for (i = 0; i < plan->options->nthreads; i++)
		if (!bench_add_at(plan, m, plan->options->threads[i], peer))
			return;
}

void bench_set_base(struct bench_row *row, struct bench_row *base)
{
	if (row && base)
		row->base = base;
}

void bench_add_less(struct bench_plan *plan, struct bench_row *row, struct bench_row *less,
		    struct bench_row *unit, const char *param)
{
	struct bench_row *computed;

	if (!row || !less)
		return;
	computed = add_row(plan, row->method, row->threads);
	computed->param = param;
	computed->minuend = row;
	computed->less = less;
	computed->unit_row = unit;
}

void bench_add_cycles(struct bench_plan *plan, struct bench_row *row)
{
	struct bench_row *computed;

	if (!row || (!plan->serving && !bench_arch_cycles()))
		return;
	computed = add_row(plan, row->method, row->threads);
	computed->param = row->param;
	computed->cycles_of = row;
	computed->base = row->base;
}

static void measure(struct bench_row *row, struct bench_slice *out)
{
	if (row->child)
		bench_child_slice(row->child, row->method, row->threads, row->ops, out);
	else
		bench_slice(row->method, row->threads, row->ops, out);
}

/* What a slice has cost one thread: its CPU time, or its share of the wall time where it waits. */
static double slice_cost(const struct bench_row *row, const struct bench_slice *slice)
{
	unsigned cpus = bench_cpus();
	double parts = row->method->parts ? row->method->parts : 1;
	double cpu = slice->cpu_ns * 1e-9 * (double)row->ops * parts, wall = slice->seconds;

	if (row->threads > cpus)
		wall *= (double)cpus / row->threads;
	return cpu > wall ? cpu : wall;
}

static void set_ops(struct bench_row *row, double factor)
{
	double ops = (double)row->ops * factor;

	row->ops = ops < 1 ? 1 : ops > 2e9 ? 2000000000ul : (unsigned long)ops;
}

static void row_failed(struct bench_plan *plan, struct bench_row *row, const char *why)
{
	row->failed = 1;
	plan->status = 1;
	bench_progress_end();
	fprintf(stderr, "percpu bench: %s: %s%s%s, %u threads: %s\n", plan->table->name,
		row->method->name, *row->param ? ", " : "", row->param, row->threads, why);
}

/* A row that cannot run here (a peer finds out late) becomes a note; a wrong total is an error. */
static void calibrate_row(struct bench_plan *plan, struct bench_row *row, double slice)
{
	struct bench_slice out;
	double cost = 0;
	int tries;

	row->ops = row->method->ops ? row->method->ops : 1;
	for (tries = 0; tries < 12 && cost < slice / 8; tries++) {
		if (tries && row->method->ops)
			break;
		if (tries)
			set_ops(row, cost * 64 < slice ? 64 : slice / cost);
		measure(row, &out);
		if (out.status == -EIO || out.status == -EPIPE) {
			row_failed(plan, row, out.why);
			return;
		}
		if (out.status) {
			row->failed = 1;
			if (row->threads == plan->options->threads[0] || row->threads == 1)
				note_row(plan, row->method, out.why);
			return;
		}
		row->cost = out.cpu_ns * 1e-9;
		cost = row->method->work > 0 ? row->cost * (double)row->ops : slice_cost(row, &out);
	}
	if (!row->method->ops)
		set_ops(row, cost > 0 ? slice / cost : 1);
}

static void keep(struct bench_row *row, double ratio)
{
	if (row->count == row->room) {
		row->room = row->room ? 2 * row->room : 64;
		row->ns = realloc(row->ns, row->room * sizeof(*row->ns));
		row->wall = realloc(row->wall, row->room * sizeof(*row->wall));
		row->ratio = realloc(row->ratio, row->room * sizeof(*row->ratio));
		if (!row->ns || !row->wall || !row->ratio)
			bench_die("out of memory");
	}
	row->ns[row->count] = row->now;
	row->wall[row->count] = row->now_wall;
	row->ratio[row->count++] = ratio;
}

static int in_list(struct bench_row *const *list, size_t n, const struct bench_row *row)
{
	while (n)
		if (list[--n] == row)
			return 1;
	return 0;
}

/* The measured rows of one number of threads and the baselines they need. */
static size_t group_rows(const struct bench_plan *plan, unsigned threads, struct bench_row **list)
{
	struct bench_row *row;
	size_t i, n = 0;

	for (i = 0; i < plan->nrows; i++) {
		row = plan->rows[i];
		if (row->threads != threads || bench_is_computed(row) || row->failed)
			continue;
		if (!in_list(list, n, row->base) && !row->base->failed)
			list[n++] = row->base;
		if (!in_list(list, n, row))
			list[n++] = row;
	}
	return n;
}

static void run_slice(struct bench_plan *plan, struct bench_row *row, double slice)
{
	struct bench_slice out;
	double cost;

	measure(row, &out);
	if (out.status) {
		row_failed(plan, row, out.why);
		return;
	}
	row->now = out.cpu_ns;
	row->now_wall = out.wall_ns;
	row->now_cycles = out.cycles;
	row->done += (double)row->ops * row->threads;
	row->lost += out.lost;
	cost = slice_cost(row, &out);
	if (!row->method->ops && !plan->table->rounds && (cost < slice / 2 || cost > slice * 2))
		set_ops(row, cost * 4 < slice ? 4 : slice / cost);
}

static void run_group(struct bench_plan *plan, unsigned threads, unsigned round, double slice)
{
	struct bench_row **list = calloc(2 * plan->nrows, sizeof(struct bench_row *));
	size_t i, n;

	if (!list)
		bench_die("out of memory");
	n = group_rows(plan, threads, list);
	for (i = 0; i < n; i++)
		run_slice(plan, list[(i + round) % n], slice);
	for (i = 0; i < n; i++)
		if (!list[i]->failed)
			keep(list[i],
			     list[i]->base->failed ? NAN : list[i]->now / list[i]->base->now);
	free(list);
}

static void compute_cycles(struct bench_row *row)
{
	struct bench_row *of = row->cycles_of;

	row->failed = of->failed;
	row->now = of->now_cycles;
	row->now_wall = NAN;
	if (!row->failed)
		keep(row, of->base->failed ? NAN : of->now_cycles / of->base->now_cycles);
}

/*
 * Where what is left of the unit is lost in the noise of the loop itself, a tenth of the loop
 * stands for it, so that the ratio is a lower bound and not a division by chance.
 */
static void compute_rows(struct bench_plan *plan)
{
	struct bench_row *row;
	double unit;
	size_t i;

	for (i = 0; i < plan->nrows; i++) {
		row = plan->rows[i];
		if (row->cycles_of)
			compute_cycles(row);
		if (!row->minuend || row->failed)
			continue;
		row->failed = row->minuend->failed || row->less->failed ||
			      (row->unit_row && row->unit_row->failed);
		if (row->failed)
			continue;
		unit = row->unit_row ? row->unit_row->now - row->less->now : NAN;
		if (unit < row->less->now / 10)
			unit = row->less->now / 10;
		row->now = row->minuend->now - row->less->now;
		row->now_wall = row->minuend->now_wall - row->less->now_wall;
		keep(row, row->now / unit);
	}
}

static unsigned next_threads(const struct bench_plan *plan, unsigned above)
{
	unsigned next = 0;
	size_t i;

	for (i = 0; i < plan->nrows; i++)
		if (plan->rows[i]->threads > above && (!next || plan->rows[i]->threads < next))
			next = plan->rows[i]->threads;
	return next;
}

/* A slice so long that the wanted rounds take the time allowed. */
static double slice_length(const struct bench_plan *plan)
{
	double each, sum = 0, slice;
	unsigned cpus = bench_cpus();
	size_t i;

	for (i = 0; i < plan->nrows; i++) {
		each = (double)plan->rows[i]->threads / cpus;
		sum += bench_is_computed(plan->rows[i]) ? 0 : each > 1 ? each : 1;
	}
	slice = bench_seconds(plan) / (WANTED_ROUNDS * (sum > 0 ? sum : 1));
	return slice < SHORTEST_SLICE  ? SHORTEST_SLICE
	       : slice > LONGEST_SLICE ? LONGEST_SLICE
				       : slice;
}

/* The operations of a row's slices, where none is to take longer than `most` seconds. */
static double work_ops(const struct bench_plan *plan, const struct bench_row *row, double most)
{
	double all = row->method->work / plan->table->rounds;

	most /= row->method->cheap ? row->method->cheap : 1;
	most = most < SHORTEST_SLICE ? SHORTEST_SLICE : most;
	return all * row->cost < most ? all : most / row->cost;
}

static double work_seconds(const struct bench_plan *plan, double most)
{
	double sum = 0;
	size_t i;

	for (i = 0; i < plan->nrows; i++)
		if (!bench_is_computed(plan->rows[i]) && !plan->rows[i]->failed)
			sum += work_ops(plan, plan->rows[i], most) * plan->rows[i]->cost;
	return sum * plan->table->rounds;
}

/*
 * In a table with a number of rounds each row does its work, an equal part in every round; where
 * that takes longer than the time allowed, the longest slices are cut to one length.
 */
static void share_work(struct bench_plan *plan)
{
	double low = 0, high = bench_seconds(plan), middle;
	size_t i;
	int step;

	for (step = 0; step < 50; step++) {
		middle = (low + high) / 2;
		if (work_seconds(plan, middle) > bench_seconds(plan))
			high = middle;
		else
			low = middle;
	}
	for (i = 0; i < plan->nrows; i++) {
		plan->rows[i]->ops = 1;
		set_ops(plan->rows[i], work_ops(plan, plan->rows[i], high));
	}
}

/* Other work on the machine may make the rounds longer than the trial runs said. */
static int more_rounds(const struct bench_plan *plan, unsigned round, double elapsed)
{
	unsigned rounds = plan->table->rounds;

	if (rounds && round > rounds)
		return 0;
	return round <= FEWEST_ROUNDS || elapsed < bench_seconds(plan) * (rounds ? 2 : 1);
}

static void run_rounds(struct bench_plan *plan)
{
	double start = now_seconds(), slice = slice_length(plan), elapsed = 0;
	unsigned round, threads;
	size_t i;

	for (i = 0; i < plan->nrows; i++) {
		bench_progress(plan, 0, now_seconds() - start);
		if (!bench_is_computed(plan->rows[i]))
			calibrate_row(plan, plan->rows[i], slice);
	}
	if (plan->table->rounds)
		share_work(plan);
	for (round = 1; more_rounds(plan, round, elapsed); round++) {
		bench_progress(plan, round, elapsed);
		for (threads = next_threads(plan, 0); threads;
		     threads = next_threads(plan, threads))
			run_group(plan, threads, round, slice);
		compute_rows(plan);
		elapsed = now_seconds() - start;
	}
	bench_progress_end();
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

double bench_median(const double *values, size_t n)
{
	double *sorted = malloc((n ? n : 1) * sizeof(*sorted)), median;

	if (!sorted)
		bench_die("out of memory");
	if (n)
		memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_doubles);
	median = n ? (sorted[(n - 1) / 2] + sorted[n / 2]) / 2 : NAN;
	free(sorted);
	return median;
}

static double least(const struct bench_row *row)
{
	double min = row->count ? row->ns[0] : NAN;
	size_t i;

	for (i = 1; i < row->count; i++)
		min = row->ns[i] < min ? row->ns[i] : min;
	return min;
}

struct bench_result bench_row_result(const struct bench_plan *plan, const struct bench_row *row)
{
	struct bench_result result = {
		.table = plan->table->name,
		.method = row->method->name,
		.param = row->param,
		.unit = row->cycles_of      ? "cycles/op"
			: row->method->unit ? row->method->unit
					    : "ns/op",
		.threads = row->threads,
		.ns_min = row->minuend ? least(row->minuend) - least(row->less) : least(row),
		.ns_median = bench_median(row->ns, row->count),
		.wall_ns_median = bench_median(row->wall, row->count),
		.ratio = bench_median(row->ratio, row->count),
		.lost = plan->table->losses && row->done > 0 ? row->lost / row->done * 1e6 : NAN,
	};

	return result;
}

static void free_plan(struct bench_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nopen; i++)
		if (plan->open[i]->close)
			plan->open[i]->close(plan->open[i]);
	for (i = 0; i < plan->nrows; i++) {
		free(plan->rows[i]->ns);
		free(plan->rows[i]->wall);
		free(plan->rows[i]->ratio);
		free(plan->rows[i]);
	}
	for (i = 0; i < plan->nnotes; i++)
		free(plan->notes[i]);
	kernel_free(plan->kernel, plan->nkernel);
	free(plan->rows);
	free(plan->notes);
	free(plan->open);
}

static void read_kernel(struct bench_plan *plan)
{
	const char *path = plan->options->kernel_file, *why;
	struct kernel_machine machine;

	path = path ? path : KERNEL_FILE;
	plan->kernel = kernel_read(path, &plan->nkernel, &machine, &why);
	if (!plan->kernel)
		bench_note(plan, "no rows of the kernel: %s: %s", path, why);
	if (*machine.kernel)
		bench_note(plan,
			   "rows of the kernel are from %s, preemption %s; of its %.0f totals "
			   "%.0f are wrong",
			   machine.kernel, machine.preemption, machine.checked, machine.wrong);
	plan->status |= machine.wrong > 0;
}

int bench_run(const struct bench_table *table, const struct bench_options *options)
{
	struct bench_plan plan = {.table = table, .options = options};

	table->fill(&plan);
	if (plan.nrows)
		run_rounds(&plan);
	bench_children_end();
	if (options->kernel && table->kernel)
		read_kernel(&plan);
	bench_print(&plan);
	plan.status |= bench_conclude(&plan);
	if (options->svg)
		bench_picture(&plan);
	free_plan(&plan);
	return plan.status;
}

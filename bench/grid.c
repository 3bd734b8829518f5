/* SPDX-License-Identifier: MIT */
/* Rows of a table as text in the classic layout, with those of the kernel module among them. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "grid.h"
#include "harness.h"
#include "kernel.h"

#define CELL 18
#define NAME 28
#define MOST_SIZES 16
#define MOST_COLUMNS 8

struct cell {
	const char *method;
	int kernel, marked;
	char column[GRID_FIELD], size[GRID_FIELD];
	double ns, ratio;
};

struct grid {
	struct cell *cells;
	size_t n;
	char sizes[MOST_SIZES][GRID_FIELD], columns[MOST_COLUMNS][GRID_FIELD];
	size_t nsizes, ncolumns;
};

static void copy(char *out, const char *text, size_t len)
{
	size_t n = strnlen(text, len < GRID_FIELD ? len : GRID_FIELD - 1);

	memcpy(out, text, n);
	out[n] = '\0';
}

static void split(const char *param, struct cell *cell)
{
	const char *size = strrchr(param, ',');

	if (!size)
		size = strrchr(param, ' ');
	size = size ? size + 1 : param + strlen(param);
	size += strspn(size, " ");
	copy(cell->size, size, strcspn(size, " "));
	copy(cell->column, param, strcspn(param, ",*( "));
	cell->marked = strpbrk(param, "*(") != NULL;
}

/* Adds a text unless it is there or there is no room. */
static size_t collect(char (*list)[GRID_FIELD], size_t n, size_t most, const char *text)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (!strcmp(list[i], text))
			return n;
	if (n == most)
		return n;
	copy(list[n], text, GRID_FIELD);
	return n + 1;
}

static void add(struct grid *grid, const struct bench_result *r, int kernel)
{
	struct cell *cell;

	grid->cells = bench_grow(grid->cells, grid->n, sizeof(*grid->cells));
	cell = &grid->cells[grid->n++];
	*cell = (struct cell){
		.method = r->method, .kernel = kernel, .ns = r->ns_median, .ratio = r->ratio};
	split(r->param, cell);
	grid->nsizes = collect(grid->sizes, grid->nsizes, MOST_SIZES, cell->size);
	grid->ncolumns = collect(grid->columns, grid->ncolumns, MOST_COLUMNS, cell->column);
}

/* Its table is ours with "kernel_" before it. */
int grid_has(const struct bench_plan *plan, const struct kernel_row *row)
{
	return !strncmp(row->table, "kernel_", 7) && !strcmp(row->table + 7, plan->table->name) &&
	       !strcmp(row->unit, "ns/op");
}

static void fill(struct grid *grid, const struct bench_plan *plan)
{
	struct bench_result r;
	size_t i;

	memset(grid, 0, sizeof(*grid));
	for (i = 0; i < plan->nrows; i++) {
		if (!plan->rows[i]->count)
			continue;
		r = bench_row_result(plan, plan->rows[i]);
		add(grid, &r, 0);
	}
	for (i = 0; i < plan->nkernel; i++)
		if (grid_has(plan, &plan->kernel[i]))
			add(grid, &plan->kernel[i].result, 1);
}

static const struct cell *find(const struct grid *grid, const struct cell *like, const char *column)
{
	const struct cell *cell;

	for (cell = grid->cells; cell < grid->cells + grid->n; cell++)
		if (cell->kernel == like->kernel && !strcmp(cell->method, like->method) &&
		    !strcmp(cell->size, like->size) && !strcmp(cell->column, column))
			return cell;
	return NULL;
}

/* Does this size have the column at all? */
static int has_column(const struct grid *grid, const char *size, const char *column)
{
	size_t i;

	for (i = 0; i < grid->n; i++)
		if (!strcmp(grid->cells[i].size, size) && !strcmp(grid->cells[i].column, column))
			return 1;
	return 0;
}

static int decimals(double value)
{
	return value < 100 ? 2 : value < 1000 ? 1 : 0;
}

static void print_cell(const struct cell *cell)
{
	char text[64] = "-";
	int n = 0;

	if (cell)
		n = snprintf(text, sizeof(text), "%.*f%s", decimals(cell->ns), cell->ns,
			     cell->marked ? "*" : "");
	if (cell && isfinite(cell->ratio))
		snprintf(text + n, sizeof(text) - (size_t)n, " (%.*f)", decimals(cell->ratio),
			 cell->ratio);
	printf(" %*s", CELL - 1, text);
}

static void print_line(const struct grid *grid, const struct cell *first)
{
	size_t i;

	printf("%s%-*s", first->kernel ? "kernel " : "", first->kernel ? NAME - 7 : NAME,
	       first->method);
	for (i = 0; i < grid->ncolumns; i++)
		if (has_column(grid, first->size, grid->columns[i]))
			print_cell(find(grid, first, grid->columns[i]));
	printf("\n");
}

/* Is this the first cell of its method at its size? */
static int begins_line(const struct grid *grid, size_t at)
{
	const struct cell *cell = &grid->cells[at];
	size_t i;

	for (i = 0; i < at; i++)
		if (grid->cells[i].kernel == cell->kernel &&
		    !strcmp(grid->cells[i].method, cell->method) &&
		    !strcmp(grid->cells[i].size, cell->size))
			return 0;
	return 1;
}

static void print_size(const struct bench_plan *plan, const struct grid *grid, const char *size)
{
	double mib = strtod(size, NULL) * sizeof(long) / 1048576;
	size_t i;

	if (mib > 0)
		printf("\n%s: array of %s longs (%.3g MiB), ns per operation (ratio)\n",
		       plan->table->name, size, mib);
	else
		printf("\n%s: %s, ns per operation (ratio)\n", plan->table->name, size);
	printf("%-*s", NAME, "");
	for (i = 0; i < grid->ncolumns; i++)
		if (has_column(grid, size, grid->columns[i]))
			printf("%*s", CELL, grid->columns[i]);
	printf("\n");
	for (i = 0; i < grid->n; i++)
		if (!strcmp(grid->cells[i].size, size) && begins_line(grid, i))
			print_line(grid, &grid->cells[i]);
}

void grid_print(const struct bench_plan *plan)
{
	struct grid grid;
	size_t i;

	fill(&grid, plan);
	printf("\n%s: %s\n", plan->table->name, plan->table->title);
	printf("CPU time, median of the rounds; ratio: to the baseline in the same round, "
	       "median\n");
	for (i = 0; i < grid.nsizes; i++)
		print_size(plan, &grid, grid.sizes[i]);
	printf("* not an operation of this way: see the note\n\n");
	free(grid.cells);
}

size_t grid_sizes(const struct bench_plan *plan, char (*sizes)[GRID_FIELD], size_t most)
{
	struct cell cell;
	size_t i, n = 0;

	for (i = 0; i < plan->nrows; i++) {
		split(plan->rows[i]->param, &cell);
		n = collect(sizes, n, most, cell.size);
	}
	return n;
}

double grid_figure(const struct bench_plan *plan, const char *method, const char *column,
		   const char *size)
{
	struct cell cell;
	size_t i;

	for (i = 0; i < plan->nrows; i++) {
		split(plan->rows[i]->param, &cell);
		if (plan->rows[i]->count && !strcmp(plan->rows[i]->method->name, method) &&
		    !strcmp(cell.column, column) && !strcmp(cell.size, size))
			return bench_median(plan->rows[i]->ns, plan->rows[i]->count);
	}
	return NAN;
}

/*
 * Historic lines: a machine and a case, then a line per way with that machine's figures, and with
 * ours for the same way on an array of the same size.
 */
struct reference {
	const struct bench_plan *plan;
	char machine[400];
	unsigned line, column; /* where the last figure stands */
	char columns[MOST_COLUMNS][GRID_FIELD];
};

static void reference_columns(const struct bench_reference_row *row, void *arg)
{
	struct reference *reference = arg;

	if (row->column < MOST_COLUMNS)
		copy(reference->columns[row->column], row->figure, GRID_FIELD);
}

/* A line for every way, under one that names the machine and the columns. */
static void reference_line(const struct bench_reference_row *row, struct reference *reference)
{
	unsigned i;

	if (reference->line)
		printf("\n");
	if (strcmp(row->machine, reference->machine) != 0) {
		snprintf(reference->machine, sizeof(reference->machine), "%s", row->machine);
		printf("\n%s\n%-24s", row->machine, "");
		for (i = 0; i < MOST_COLUMNS; i++)
			if (*reference->columns[i])
				printf("%*s", CELL, reference->columns[i]);
		printf("\n");
	}
	printf("%-12s %-11s", row->variant, row->ours ? row->ours : "");
	reference->line = row->line;
	reference->column = 0;
}

static void reference_figure(const struct bench_reference_row *row, void *arg)
{
	struct reference *reference = arg;
	double here = NAN;
	char text[64];

	/* Its variables are hot beside every array. */
	if (row->ours)
		here = grid_figure(reference->plan, row->ours, row->figure,
				   strcmp(row->figure, "cpu_local_inc") ? row->size : "hot");
	if (row->line != reference->line)
		reference_line(row, reference);
	for (; reference->column < row->column; reference->column++)
		printf("%*s", CELL, "-");
	reference->column++;
	if (isfinite(here))
		snprintf(text, sizeof(text), "%g (%.2f)", row->value, here);
	else
		snprintf(text, sizeof(text), "%g (-)", row->value);
	printf("%*s", CELL, text);
}

void grid_reference(const struct bench_plan *plan)
{
	struct reference reference = {.plan = plan};

	printf("ns per operation then and, in brackets, here: the way of ours that is named "
	       "second, on an array\nof as many longs\n");
	bench_reference_each(plan->table->name, NULL, reference_columns, &reference);
	bench_reference_each(plan->table->name, NULL, reference_figure, &reference);
	printf("\n");
}

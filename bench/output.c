/* SPDX-License-Identifier: MIT */
/*
 * One table, three ways to print it. Names and keys are the same in all of them.
 *
 * JSON is one object per line. Rows have the keys table, method, threads, param, ns_min,
 * ns_median, wall_ns_median, ratio and unit; a figure that does not exist is null. Rows of a table
 * that counts losses have the key lost, too. Historic rows have the same keys and
 * "<table> (historic)" as their table, rows of the kernel module "kernel_<table>"; what could not
 * be measured, and whatever else is to be said, is {"table":"note","about":"<table>","text":...};
 * the machine is {"table":"machine",...}. CSV has the row keys as its columns and notes as # lines.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "grid.h"
#include "harness.h"
#include "kernel.h"

#define WIDTH 100

static int progress_shown;

void bench_progress(const struct bench_plan *plan, unsigned round, double elapsed)
{
	if (!isatty(STDERR_FILENO))
		return;
	progress_shown = 1;
	fprintf(stderr, "\r\033[K%s: ", plan->table->name);
	if (round)
		fprintf(stderr, "round %u, %.0f of %.0f s", round, elapsed, bench_seconds(plan));
	else
		fprintf(stderr, "trial runs, %.0f s", elapsed);
	fflush(stderr);
}

void bench_progress_end(void)
{
	if (progress_shown)
		fprintf(stderr, "\r\033[K");
	progress_shown = 0;
}

void bench_json_string(const char *text)
{
	putchar('"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			putchar('\\');
		if ((unsigned char)*text < 0x20)
			printf("\\u%04x", (unsigned)*text);
		else
			putchar(*text);
	}
	putchar('"');
}

static void json_number(const char *key, double value)
{
	if (isfinite(value))
		printf(",\"%s\":%.4f", key, value);
	else
		printf(",\"%s\":null", key);
}

static void json_row(const struct bench_result *r)
{
	printf("{\"table\":");
	bench_json_string(r->table);
	printf(",\"method\":");
	bench_json_string(r->method);
	printf(",\"threads\":%u,\"param\":", r->threads);
	bench_json_string(r->param);
	json_number("ns_min", r->ns_min);
	json_number("ns_median", r->ns_median);
	json_number("wall_ns_median", r->wall_ns_median);
	json_number("ratio", r->ratio);
	printf(",\"unit\":");
	bench_json_string(r->unit);
	if (isfinite(r->lost))
		json_number("lost", r->lost);
	printf("}\n");
}

static void csv_string(const char *text, char after)
{
	int quote = strpbrk(text, ",\"\n") != NULL;

	if (quote)
		putchar('"');
	for (; *text; text++) {
		if (*text == '"')
			putchar('"');
		putchar(*text);
	}
	if (quote)
		putchar('"');
	putchar(after);
}

static void csv_number(double value, char after)
{
	if (isfinite(value))
		printf("%.4f", value);
	putchar(after);
}

static void csv_row(const struct bench_result *r)
{
	csv_string(r->table, ',');
	csv_string(r->method, ',');
	printf("%u,", r->threads);
	csv_string(r->param, ',');
	csv_number(r->ns_min, ',');
	csv_number(r->ns_median, ',');
	csv_number(r->wall_ns_median, ',');
	csv_number(r->ratio, ',');
	csv_string(r->unit, ',');
	csv_number(r->lost, '\n');
}

static void text_number(double value, int width)
{
	if (fabs(value) < 0.005)
		value = 0; /* without a sign */
	if (!isfinite(value))
		printf("%*s", width, "-");
	else
		printf("%*.*f", width, fabs(value) < 100 ? 2 : fabs(value) < 1000 ? 1 : 0, value);
}

static void text_row(const struct bench_result *r, int first, int second)
{
	printf("%-*s  %-*s %7u", first, r->method, second, r->param, r->threads);
	text_number(r->ns_min, 11);
	text_number(r->ns_median, 11);
	text_number(r->wall_ns_median, 11);
	text_number(r->ratio, 11);
	if (isfinite(r->lost))
		printf("%13.0f", r->lost);
	printf("  %s\n", r->unit);
}

static void text_kernel_row(const struct bench_plan *plan, const struct kernel_row *row, int first)
{
	const struct kernel_row *before = row - 1;

	if (row == plan->kernel || strcmp(before->table, row->table) != 0)
		printf("\n%s, measured by the kernel module\n%-*s  %7s%11s%11s%11s%11s  %s\n",
		       row->table, first, "method", "threads", "CPU min", "CPU median", "wall",
		       "ratio", "unit");
	text_row(&row->result, first, 0);
}

static int longer(int width, const char *text)
{
	int len = (int)strlen(text);

	return len > width ? len : width;
}

static void text_rows(const struct bench_plan *plan)
{
	int first = longer(0, "method"), second = longer(0, "param");
	struct bench_result r;
	size_t i;

	for (i = 0; i < plan->nrows; i++) {
		first = longer(first, plan->rows[i]->method->name);
		second = longer(second, plan->rows[i]->param);
	}
	printf("\n%s: %s\n", plan->table->name, plan->table->title);
	printf("%-*s  %-*s %7s%11s%11s%11s%11s%s  %s\n", first, "method", second, "param",
	       "threads", "CPU min", "CPU median", "wall", "ratio",
	       plan->table->losses ? " lost/million" : "", "unit");
	for (i = 0; i < plan->nrows; i++) {
		r = bench_row_result(plan, plan->rows[i]);
		if (plan->rows[i]->count)
			text_row(&r, first, second);
	}
}

static void print_rows(const struct bench_plan *plan)
{
	struct bench_result r;
	size_t i;

	if (plan->options->format == BENCH_TEXT) {
		if (plan->table->grid)
			grid_print(plan);
		else
			text_rows(plan);
		return;
	}
	for (i = 0; i < plan->nrows; i++) {
		if (!plan->rows[i]->count)
			continue;
		r = bench_row_result(plan, plan->rows[i]);
		if (plan->options->format == BENCH_JSON)
			json_row(&r);
		else
			csv_row(&r);
	}
}

/* Text in lines of at most WIDTH characters, each with the same beginning. */
static void wrap(const char *text, const char *before)
{
	size_t len, room = WIDTH - strlen(before);

	while (*text) {
		len = strlen(text);
		if (len > room)
			for (len = room; len && text[len] != ' '; len--)
				;
		if (!len)
			len = strcspn(text, " ");
		printf("%s%.*s\n", before, (int)len, text);
		text += len + strspn(text + len, " ");
	}
}

/* What the kernel module measured; the text layout has its own way with most of it. */
static void print_kernel(const struct bench_plan *plan)
{
	const struct kernel_row *row;
	int first = 0;

	for (row = plan->kernel; row && row < plan->kernel + plan->nkernel; row++)
		first = longer(first, row->method);
	for (row = plan->kernel; row && row < plan->kernel + plan->nkernel; row++) {
		if (plan->options->format == BENCH_JSON)
			printf("%s\n", row->line);
		else if (plan->options->format == BENCH_CSV)
			csv_row(&row->result);
		else if (!grid_has(plan, row))
			text_kernel_row(plan, row, first);
	}
}

void bench_remark(const struct bench_plan *plan, const char *text)
{
	if (plan->options->format == BENCH_JSON) {
		printf("{\"table\":\"note\",\"about\":");
		bench_json_string(plan->table->name);
		printf(",\"text\":");
		bench_json_string(text);
		printf("}\n");
	} else {
		wrap(text, plan->options->format == BENCH_CSV ? "# note: " : "note: ");
	}
}

static void reference_comment(const char *text, void *arg)
{
	const struct bench_plan *plan = arg;

	if (plan->options->format == BENCH_TEXT)
		wrap(text, "  ");
	else
		bench_remark(plan, text);
}

/* Our ratio for the same method at the same number of threads, or NaN. */
static double our_ratio(const struct bench_plan *plan, const struct bench_reference_row *row)
{
	size_t i;

	for (i = 0; row->ours && i < plan->nrows; i++)
		if (!strcmp(plan->rows[i]->method->name, row->ours) && plan->rows[i]->count &&
		    plan->rows[i]->threads == row->threads)
			return bench_row_result(plan, plan->rows[i]).ratio;
	return NAN;
}

/* The widths of the columns of historic rows. */
struct reference {
	const struct bench_plan *plan;
	int machine, method;
};

static void reference_width(const struct bench_reference_row *row, void *arg)
{
	struct reference *reference = arg;

	reference->machine = longer(reference->machine, row->machine);
	reference->method = longer(reference->method, row->method);
}

static void reference_row(const struct bench_reference_row *row, void *arg)
{
	const struct reference *reference = arg;
	const struct bench_plan *plan = reference->plan;
	char table[64];
	struct bench_result r = {
		.table = table,
		.method = row->method,
		.param = row->machine,
		.unit = row->unit,
		.threads = row->threads,
		.ns_min = NAN,
		.ns_median = row->value,
		.wall_ns_median = NAN,
		.ratio = row->ratio,
		.lost = NAN,
	};

	snprintf(table, sizeof(table), "%s (historic)", plan->table->name);
	if (plan->options->format == BENCH_JSON) {
		json_row(&r);
	} else if (plan->options->format == BENCH_CSV) {
		csv_row(&r);
	} else {
		printf("%-*s  %-*s %7u", reference->machine, row->machine, reference->method,
		       row->method, row->threads);
		text_number(row->value, 10);
		text_number(row->ratio, 10);
		text_number(our_ratio(plan, row), 10);
		printf("  %s\n", row->unit);
	}
}

static void reference_heading(const struct bench_plan *plan)
{
	if (plan->options->format != BENCH_TEXT)
		return;
	printf("\n%s, historic figures%s\n", plan->table->name,
	       plan->table->grid ? ""
				 : " (ratio: to that machine's own baseline; here: the ratio "
				   "of\nthe same method in the table above)");
}

static void reference_columns(const struct reference *reference)
{
	if (reference->plan->options->format == BENCH_TEXT)
		printf("%-*s  %-*s %7s%10s%10s%10s  %s\n", reference->machine, "machine",
		       reference->method, "method", "threads", "figure", "ratio", "here", "unit");
}

static void print_reference(const struct bench_plan *plan)
{
	struct reference reference = {.plan = plan};
	void *arg = (void *)(uintptr_t)plan;

	if (!bench_reference_each(plan->table->name, NULL, NULL, NULL))
		return;
	reference_heading(plan);
	bench_reference_each(plan->table->name, reference_comment, NULL, arg);
	if (plan->table->grid && plan->options->format == BENCH_TEXT) {
		grid_reference(plan);
		return;
	}
	bench_reference_each(plan->table->name, NULL, reference_width, &reference);
	reference_columns(&reference);
	bench_reference_each(plan->table->name, NULL, reference_row, &reference);
}

void bench_print(const struct bench_plan *plan)
{
	size_t i;

	print_rows(plan);
	print_kernel(plan);
	for (i = 0; i < plan->nnotes; i++)
		bench_remark(plan, plan->notes[i]);
	fflush(stdout);
}

int bench_conclude(const struct bench_plan *plan)
{
	int status = plan->table->conclude ? plan->table->conclude(plan) : 0;

	if (plan->options->reference)
		print_reference(plan);
	fflush(stdout);
	return status;
}

void bench_begin_output(const struct bench_options *options)
{
	bench_print_machine(options->format);
	if (options->format == BENCH_CSV)
		printf("table,method,threads,param,ns_min,ns_median,wall_ns_median,ratio,unit,"
		       "lost\n");
	if (options->format == BENCH_TEXT)
		printf("\nCPU min, CPU median: CPU time per operation over all threads, in ns, "
		       "over the "
		       "rounds.\nwall: elapsed time per operation of one thread, median. ratio: "
		       "CPU time to that of the\nbaseline (the first row, or the row named in the "
		       "title) in the same round, median.\nCode layout moves these figures by some "
		       "percent; hot loops are aligned to %d bytes.\n",
		       BENCH_CACHE_LINE);
	fflush(stdout);
}

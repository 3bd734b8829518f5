/* SPDX-License-Identifier: MIT */
/*
 * One SVG picture per table, drawn by gnuplot: lines over the number of threads where a table has
 * several, bars where it has one. Where methods differ by decades, the time axis is logarithmic.
 */
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"

/* Sixteen colours that differ on white. */
static const char *const colours[] = {
	"000000", "1f77b4", "d62728", "2ca02c", "ff7f0e", "9467bd", "8c564b", "e377c2",
	"17becf", "bcbd22", "7f7f7f", "00429d", "93003a", "004d26", "b8860b", "5d3fd3",
};

static int have_gnuplot(void)
{
	const char *path = getenv("PATH"), *end;
	char file[4096];

	for (; path && *path; path = *end ? end + 1 : end) {
		end = path + strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/gnuplot", (int)(end - path), path);
		if (!access(file, X_OK))
			return 1;
	}
	return 0;
}

/* Rows of another unit (a sum's slots) cannot share the axis. */
static int drawn(const struct bench_plan *plan, size_t i)
{
	struct bench_result first = bench_row_result(plan, plan->rows[0]);
	struct bench_result r = bench_row_result(plan, plan->rows[i]);

	return plan->rows[i]->count && !bench_is_computed(plan->rows[i]) && r.ns_median > 0 &&
	       !strcmp(r.unit, first.unit);
}

static unsigned most_threads(const struct bench_plan *plan)
{
	unsigned most = 1;
	size_t i;

	for (i = 0; i < plan->nrows; i++)
		if (plan->rows[i]->threads > most)
			most = plan->rows[i]->threads;
	return most;
}

/* Text between double quotes of a gnuplot script. */
static void label(FILE *out, const struct bench_row *row)
{
	const char *part[] = {row->method->name, *row->param ? ": " : "", row->param};
	size_t i;
	const char *c;

	fputc('"', out);
	for (i = 0; i < 3; i++)
		for (c = part[i]; *c; c++)
			fputc(*c == '"' || *c == '\\' ? '\'' : *c, out);
	fputc('"', out);
}

/* A file name between single quotes. */
static void quoted_path(FILE *out, const struct bench_plan *plan)
{
	const char *c;

	fputc('\'', out);
	for (c = plan->options->svg; *c; c++)
		fprintf(out, "%s%c", *c == '\'' ? "'" : "", *c);
	fprintf(out, "/%s.svg'", plan->table->name);
}

static void heading(FILE *out, const struct bench_plan *plan, int height)
{
	struct bench_result first = bench_row_result(plan, plan->rows[0]);

	fprintf(out, "set terminal svg noenhanced size 1100,%d font 'sans,13' background 'white'\n",
		height);
	fprintf(out, "set output ");
	quoted_path(out, plan);
	fprintf(out, "\nset title \"%s: %s\"\n", plan->table->name, plan->table->title);
	fprintf(out, "set grid lc rgb '#d8d8d8'\n");
	fprintf(out, "axis = 'CPU time, %s (median)'\n", first.unit);
}

static int same_line(const struct bench_plan *plan, size_t i, size_t k)
{
	return plan->rows[i]->method == plan->rows[k]->method &&
	       plan->rows[i]->param == plan->rows[k]->param;
}

static int starts_line(const struct bench_plan *plan, size_t i)
{
	size_t k;

	if (!drawn(plan, i))
		return 0;
	for (k = 0; k < i; k++)
		if (drawn(plan, k) && same_line(plan, i, k))
			return 0;
	return 1;
}

static void line_data(FILE *out, const struct bench_plan *plan, size_t first)
{
	size_t k;

	for (k = first; k < plan->nrows; k++)
		if (drawn(plan, k) && same_line(plan, first, k))
			fprintf(out, "%u %.4f\n", plan->rows[k]->threads,
				bench_row_result(plan, plan->rows[k]).ns_median);
	fprintf(out, "e\n");
}

/* Measured at one number of threads only: drawn as a level. */
static int alone(const struct bench_plan *plan, size_t i)
{
	size_t k, n = 0;

	for (k = 0; k < plan->nrows; k++)
		n += drawn(plan, k) && same_line(plan, i, k);
	return n == 1;
}

static int has_threads(const struct bench_plan *plan)
{
	size_t i;

	for (i = 0; i < plan->nrows; i++)
		if (starts_line(plan, i) && !alone(plan, i))
			return 1;
	return 0;
}

static void draw_lines(FILE *out, const struct bench_plan *plan)
{
	int n = 0;
	size_t i;

	heading(out, plan, 640);
	for (i = 0; i < sizeof(colours) / sizeof(colours[0]); i++)
		fprintf(out, "set linetype %zu lc rgb '#%s' lw 2 pt %zu ps 0.7\n", i + 1,
			colours[i], 4 + i % 10);
	fprintf(out,
		"set logscale xy\nset xlabel 'threads'\nset ylabel axis\n"
		"set key outside right top reverse Left\nset xtics "
		"(1,2,4,8,16,32,64,128,256,512,1024)\n"
		"set xrange [0.9:%d]\nplot ",
		(int)(most_threads(plan) * 5 / 4));
	for (i = 0; i < plan->nrows; i++) {
		if (!starts_line(plan, i))
			continue;
		n++;
		if (alone(plan, i))
			fprintf(out, "%s%.4f with lines lw 1 lt %d title ", n > 1 ? ", " : "",
				bench_row_result(plan, plan->rows[i]).ns_median, n);
		else
			fprintf(out, "%s'-' with linespoints lt %d title ", n > 1 ? ", " : "", n);
		label(out, plan->rows[i]);
	}
	fprintf(out, "\n");
	for (i = 0; i < plan->nrows; i++)
		if (starts_line(plan, i) && !alone(plan, i))
			line_data(out, plan, i);
}

/* The rows as a gnuplot data block: position from below, figure, label. Returns their number. */
static int bar_data(FILE *out, const struct bench_plan *plan, double *low, double *high)
{
	double ns;
	int n = 0, at;
	size_t i;

	*low = INFINITY;
	*high = 0;
	for (i = 0; i < plan->nrows; i++)
		n += drawn(plan, i);
	fprintf(out, "$rows << END\n");
	for (i = 0, at = n; i < plan->nrows; i++) {
		if (!drawn(plan, i))
			continue;
		ns = bench_row_result(plan, plan->rows[i]).ns_median;
		*low = ns < *low ? ns : *low;
		*high = ns > *high ? ns : *high;
		fprintf(out, "%d %.4f ", --at, ns);
		label(out, plan->rows[i]);
		fprintf(out, "\n");
	}
	fprintf(out, "END\n");
	return n;
}

/*
 * Bars from the left end of the axis, the first row at the top, each with its figure. Methods that
 * are close to each other get an axis from 0: a logarithmic one would make much of little.
 */
static void draw_bars(FILE *out, const struct bench_plan *plan)
{
	double low, high, left;
	int n = bar_data(out, plan, &low, &high), log = high > 20 * low;

	heading(out, plan, 110 + 24 * n);
	left = log ? pow(10, floor(log10(low / 1.5))) : 0;
	fprintf(out,
		"%sset xlabel axis\nunset key\nset style fill solid 0.75\n"
		"set yrange [-0.7:%d.7]\nset xrange [%g:*]\nset offsets 0, graph 0.08, 0, 0\n"
		"plot $rows using (%g):1:(%g):2:($1-0.35):($1+0.35):ytic(3) with boxxyerror "
		"lc rgb '#3b75af', $rows using 2:1:(sprintf('%%.2f', $2)) with labels left offset "
		"0.5,0\n",
		log ? "set logscale x\n" : "", n - 1, left, left, left);
}

void bench_picture(const struct bench_plan *plan)
{
	static int said;
	FILE *out;
	int status;

	if (!plan->nrows || !plan->rows[0]->count)
		return;
	if (!have_gnuplot()) {
		if (!said++)
			fprintf(stderr, "percpu bench: no pictures: gnuplot is not installed\n");
		return;
	}
	signal(SIGPIPE, SIG_IGN);
	out = popen("gnuplot", "w");
	if (!out)
		bench_die("cannot start gnuplot");
	if (has_threads(plan))
		draw_lines(out, plan);
	else
		draw_bars(out, plan);
	status = pclose(out);
	if (status)
		fprintf(stderr, "percpu bench: gnuplot could not draw %s/%s.svg\n",
			plan->options->svg, plan->table->name);
	else
		fprintf(stderr, "percpu bench: wrote %s/%s.svg\n", plan->options->svg,
			plan->table->name);
}

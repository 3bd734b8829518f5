// SPDX-License-Identifier: GPL-2.0
/* Results as text, as JSON lines, and the verdict on every total. README.md has the formats. */
#include <linux/cpumask.h>
#include <linux/kstrtox.h>
#include <linux/math64.h>
#include <linux/seq_file.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "percpu_local.h"

/* value is in millionths (ratios: ten-thousandths), shown with `digits` decimals, rounded. */
static void put_number(char *text, size_t size, u64 value, u64 one, unsigned int digits)
{
	u64 scale = 1, whole, part;
	unsigned int i;

	for (i = 0; i < digits; i++)
		scale *= 10;
	value = div64_u64(value * scale + one / 2, one);
	whole = div64_u64_rem(value, scale, &part);
	snprintf(text, size, "%llu.%0*llu", whole, (int)digits, part);
}

static void print_header(struct seq_file *out, const struct results *r)
{
	seq_printf(out,
		   "kernel:     %s %s\n"
		   "preemption: %s\n"
		   "CPUs:       %u online\n"
		   "clock:      %s\n"
		   "figures:    median of %u rounds, the smallest in brackets\n",
		   utsname()->release, utsname()->machine, r->preemption, num_online_cpus(),
		   get_cycles() ? "cycles of the counter that get_cycles() reads"
				: "this CPU has no cycle counter",
		   r->rounds);
}

/* "36.21 (35.90)", to the right of a column. */
static void print_cell(struct seq_file *out, const struct summary *s, char mark)
{
	char median[24], min[24], text[60];

	put_number(median, sizeof(median), s->median, 1000000, 2);
	put_number(min, sizeof(min), s->min, 1000000, 2);
	snprintf(text, sizeof(text), "%s%c (%s)", median, mark, min);
	seq_printf(out, " %19s", text);
}

/* param is "COLUMN SIZE": the rows of a size are consecutive, columns outermost. */
static bool same_size(const struct row *a, const struct row *b)
{
	return !strcmp(strrchr(a->param, ' '), strrchr(b->param, ' '));
}

static bool is_local(const struct results *r, unsigned int i)
{
	return i < r->nrows && !strcmp(r->rows[i].table, "kernel_local");
}

static void print_size(struct seq_file *out, const struct results *r, unsigned int first,
		       unsigned int n)
{
	const char *size = strrchr(r->rows[first].param, ' ') + 1;
	unsigned int ways = 0, w, i;
	unsigned long longs;

	while (ways < n && r->rows[first + ways].base == first)
		ways++;
	if (kstrtoul(size, 10, &longs))
		seq_puts(out, "\none hot variable\n");
	else
		seq_printf(out, "\narray of %lu longs, stride 514001, %u operations per long\n",
			   longs, local_passes(longs));
	seq_printf(out, "%-22s", "ns per operation");
	for (i = 0; i < n; i += ways) {
		const char *column = r->rows[first + i].param;

		seq_printf(out, " %19.*s", (int)strcspn(column, "* "), column);
	}
	for (w = 0; w < ways; w++) {
		seq_printf(out, "\n%-22s", r->rows[first + w].method);
		for (i = w; i < n; i += ways) {
			const struct row *row = &r->rows[first + i];

			print_cell(out, &row->summary[FIGURE_NS],
				   strchr(row->param, '*') ? '*' : ' ');
		}
	}
	seq_puts(out, "\n");
}

static void print_probe(struct seq_file *out, const struct row *row)
{
	char ratio[24];

	seq_printf(out, "%-30s", row->method);
	if (row->absent) {
		seq_puts(out, " not to be had on this kernel\n");
		return;
	}
	print_cell(out, &row->summary[FIGURE_CYCLES], ' ');
	print_cell(out, &row->summary[FIGURE_NS], ' ');
	put_number(ratio, sizeof(ratio), row->summary[FIGURE_NS].ratio, 10000, 2);
	seq_printf(out, " %8s\n", ratio);
}

void report_table(struct seq_file *out, const struct results *r)
{
	unsigned int first, n;

	print_header(out, r);
	for (first = 0; is_local(r, first); first += n) {
		n = 1;
		while (is_local(r, first + n) && same_size(&r->rows[first], &r->rows[first + n]))
			n++;
		print_size(out, r, first, n);
	}
	if (first)
		seq_puts(
			out,
			"* not an operation of this way: an add with interrupts off, then a sum\n");
	for (; first < r->nrows; first++) {
		const struct row *row = &r->rows[first];

		if (row->base == first)
			seq_printf(out, "\n%-30s %19s %19s %8s\n", row->table, "cycles", "ns",
				   "ratio");
		print_probe(out, row);
	}
}

static void json_line(struct seq_file *out, const struct row *row, enum figure f)
{
	const struct summary *s = &row->summary[f];
	char min[24], median[24], wall[24] = "null", ratio[24] = "null";

	put_number(min, sizeof(min), s->min, 1000000, 4);
	put_number(median, sizeof(median), s->median, 1000000, 4);
	if (f == FIGURE_NS)
		put_number(wall, sizeof(wall), row->summary[FIGURE_WALL].median, 1000000, 4);
	if (s->ratio)
		put_number(ratio, sizeof(ratio), s->ratio, 10000, 4);
	seq_printf(out,
		   "{\"table\":\"%s\",\"method\":\"%s\",\"threads\":1,\"param\":\"%s\","
		   "\"ns_min\":%s,\"ns_median\":%s,\"wall_ns_median\":%s,\"ratio\":%s,"
		   "\"unit\":\"%s\"}\n",
		   row->table, row->method, row->param, min, median, wall, ratio,
		   f == FIGURE_NS ? "ns/op" : "cycles/op");
}

void report_json(struct seq_file *out, const struct results *r)
{
	unsigned int i;

	seq_printf(out,
		   "{\"table\":\"kernel_machine\",\"kernel\":\"%s %s\",\"preemption\":\"%s\","
		   "\"cpus\":%u,\"rounds\":%u,\"checked\":%lu,\"wrong\":%lu}\n",
		   utsname()->release, utsname()->machine, r->preemption, num_online_cpus(),
		   r->rounds, results_checked(r), results_wrong(r));
	for (i = 0; i < r->nrows; i++) {
		const struct row *row = &r->rows[i];

		if (row->absent)
			continue;
		json_line(out, row, FIGURE_NS);
		if (row->cycles && row->summary[FIGURE_CYCLES].median)
			json_line(out, row, FIGURE_CYCLES);
	}
}

static void status_row(struct seq_file *out, const struct row *row)
{
	seq_printf(out, "%s: %s, %s%s%s: ", row->wrong ? "WRONG" : "right", row->table, row->method,
		   *row->param ? ", " : "", row->param);
	if (row->absent)
		seq_puts(out, "not to be had on this kernel\n");
	else if (row->wrong)
		seq_printf(out, "%lu of %lu totals, the first %lu instead of %lu\n", row->wrong,
			   row->checked, row->found, row->expected);
	else
		seq_printf(out, "%lu totals\n", row->checked);
}

static void status_storm(struct seq_file *out, const struct storm_line *line)
{
	unsigned long expected = line->task + line->softirq + line->hardirq;

	seq_printf(out, "%s: storm, %s: %lu in a task, %lu in softirqs, %lu in hardirqs: ",
		   storm_wrong(line) ? "WRONG" : "right", line->way, line->task, line->softirq,
		   line->hardirq);
	if (line->calm)
		seq_puts(out, "interrupts did not come\n");
	else if (line->found == expected)
		seq_puts(out, "exact\n");
	else
		seq_printf(out, "%ld lost%s\n", (long)(expected - line->found),
			   line->exact ? "" : ", as it may");
}

void report_status(struct seq_file *out, const struct results *r)
{
	unsigned long wrong = results_wrong(r);
	unsigned int i;

	seq_printf(out, "%s: %lu totals checked, %lu wrong\n", wrong ? "WRONG" : "right",
		   results_checked(r), wrong);
	for (i = 0; i < r->nrows; i++)
		status_row(out, &r->rows[i]);
	for (i = 0; i < r->nstorm; i++)
		status_storm(out, &r->storm[i]);
}

// SPDX-License-Identifier: GPL-2.0
/* Results: rows, what was measured in each round, and what was counted. */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>

#include "percpu_local.h"

#define MILLION 1000000
#define RATIO_ONE 10000

struct results *results_new(unsigned int rows, unsigned int nrounds)
{
	struct results *r = kzalloc(sizeof(*r), GFP_KERNEL);

	if (!r)
		return NULL;
	r->room = rows;
	r->rounds = nrounds;
	r->rows = kvcalloc(rows, sizeof(*r->rows), GFP_KERNEL);
	/* The last of them is where ratios are sorted. */
	r->figures =
		kvcalloc((size_t)rows * FIGURES + 1, nrounds * sizeof(*r->figures), GFP_KERNEL);
	if (r->rows && r->figures)
		return r;
	results_free(r);
	return NULL;
}

void results_free(struct results *r)
{
	if (!r)
		return;
	kvfree(r->figures);
	kvfree(r->rows);
	kfree(r);
}

struct row *results_add(struct results *r, const char *table, const char *method, const char *param,
			unsigned int base)
{
	struct row *row;
	u64 *figures;
	unsigned int i;

	if (WARN_ON_ONCE(r->nrows == r->room))
		r->nrows--;
	row = &r->rows[r->nrows];
	figures = r->figures + (size_t)r->nrows * FIGURES * r->rounds;
	r->nrows++;
	row->table = table;
	row->method = method;
	row->param = param;
	row->base = base;
	for (i = 0; i < FIGURES; i++)
		row->figure[i] = figures + i * r->rounds;
	return row;
}

void results_record(struct row *row, unsigned int round, const struct spell *spell)
{
	row->figure[FIGURE_NS][round] = div64_u64(spell->ns * MILLION, spell->ops);
	row->figure[FIGURE_CYCLES][round] = div64_u64(spell->cycles * MILLION, spell->ops);
	row->figure[FIGURE_WALL][round] = div64_u64(spell->wall_ns * MILLION, spell->ops);
}

void results_check(struct row *row, unsigned long expected, unsigned long found)
{
	row->checked++;
	if (expected == found)
		return;
	if (!row->wrong++) {
		row->expected = expected;
		row->found = found;
	}
}

static int compare(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 median(u64 *values, unsigned int n)
{
	sort(values, n, sizeof(*values), compare, NULL);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Ratios first, round by round: the medians sort the rounds. */
static void summarise_ratio(struct results *r, struct row *row, enum figure f)
{
	const struct row *base = &r->rows[row->base];
	u64 *scratch = r->figures + (size_t)r->room * FIGURES * r->rounds;
	unsigned int i;

	for (i = 0; i < r->rounds; i++) {
		if (!base->figure[f][i])
			return;
		scratch[i] = div64_u64(row->figure[f][i] * RATIO_ONE, base->figure[f][i]);
	}
	row->summary[f].ratio = median(scratch, r->rounds);
}

void results_summarise(struct results *r)
{
	unsigned int i, f;

	for (i = 0; i < r->nrows; i++)
		for (f = 0; f < FIGURES; f++)
			summarise_ratio(r, &r->rows[i], f);
	for (i = 0; i < r->nrows; i++) {
		for (f = 0; f < FIGURES; f++) {
			struct row *row = &r->rows[i];

			row->summary[f].median = median(row->figure[f], r->rounds);
			row->summary[f].min = row->figure[f][0];
		}
	}
}

unsigned long results_checked(const struct results *r)
{
	unsigned long sum = r->nstorm;
	unsigned int i;

	for (i = 0; i < r->nrows; i++)
		sum += r->rows[i].checked;
	return sum;
}

bool storm_wrong(const struct storm_line *line)
{
	return line->calm ||
	       (line->exact && line->found != line->task + line->softirq + line->hardirq);
}

unsigned long results_wrong(const struct results *r)
{
	unsigned long sum = 0;
	unsigned int i;

	for (i = 0; i < r->nrows; i++)
		sum += r->rows[i].wrong;
	for (i = 0; i < r->nstorm; i++)
		sum += storm_wrong(&r->storm[i]);
	return sum;
}

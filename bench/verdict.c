/* SPDX-License-Identifier: MIT */
/*
 * Ways are compared over what their family is for: each operation on each size, weighed alike (the
 * geometric mean of the ratios to the default way). A way that could not be measured, or cannot do
 * an operation, takes no part.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <percpu/local.h>

#include "grid.h"
#include "harness.h"
#include "verdict.h"

#define MOST_SIZES 8
#define TOLERATED 0.2

#define TEXT2(x) #x
#define TEXT(x) TEXT2(x)

struct family {
	const char *name;
	const char *ways[7];    /* NULL at the end */
	const char *columns[5]; /* NULL at the end */
	const char *compiled;
};

static const struct family families[] = {
	{"counter",
	 {"local", "atomic", "softmask", "trivalue", "twovalue", "sigmask"},
	 {"inc", "add", "read"},
	 TEXT(PERCPU_LOCAL_COUNTER_WAY)},
	{"atomic",
	 {"local", "atomic", "softmask", "sigmask"},
	 {"inc", "add", "add_return", "read"},
	 TEXT(PERCPU_LOCAL_ATOMIC_WAY)},
};

#undef TEXT
#undef TEXT2

struct verdict {
	const struct family *family;
	const char *fastest;
	double loss; /* of the default; NaN: it was not measured */
};

/* How many times the default's time a way takes, over all sizes or (size not NULL) on one. */
static double relative(const struct bench_plan *plan, const struct family *family, const char *way,
		       const char *size)
{
	char sizes[MOST_SIZES][GRID_FIELD];
	size_t n = grid_sizes(plan, sizes, MOST_SIZES), i, k;
	double sum = 0, cells = 0, ours, its;

	for (i = 0; i < n; i++) {
		if (size && strcmp(size, sizes[i]) != 0)
			continue;
		for (k = 0; family->columns[k]; k++) {
			its = grid_figure(plan, way, family->columns[k], sizes[i]);
			ours = grid_figure(plan, family->compiled, family->columns[k], sizes[i]);
			if (!(its > 0) || !(ours > 0))
				continue;
			sum += log(its / ours);
			cells++;
		}
	}
	return cells > 0 ? exp(sum / cells) : NAN;
}

static struct verdict judge(const struct bench_plan *plan, const struct family *family,
			    const char *size)
{
	struct verdict verdict = {.family = family, .fastest = family->compiled, .loss = NAN};
	double least = relative(plan, family, family->compiled, size), its;
	size_t i;

	if (!isfinite(least))
		return verdict;
	for (i = 0; family->ways[i]; i++) {
		its = relative(plan, family, family->ways[i], size);
		if (its < least) {
			least = its;
			verdict.fastest = family->ways[i];
		}
	}
	verdict.loss = 1 / least - 1;
	return verdict;
}

static void say(const struct bench_plan *plan, const struct verdict *v, const char *size)
{
	int json = plan->options->format == BENCH_JSON;
	char loss[32];

	if (isfinite(v->loss))
		snprintf(loss, sizeof(loss), "%.1f", v->loss * 100);
	else
		snprintf(loss, sizeof(loss), "%s", json ? "null" : "?");
	if (json)
		printf("{\"table\":\"%s_verdict\",\"family\":\"%s\",\"param\":\"%s\","
		       "\"fastest\":\"%s\",\"default\":\"%s\",\"loses_percent\":%s}\n",
		       plan->table->name, v->family->name, size, v->fastest, v->family->compiled,
		       loss);
	else
		printf("%sfamily %-8s %-9s fastest here: %-9s default: %-9s the default loses: %s "
		       "%%\n",
		       plan->options->format == BENCH_CSV ? "# " : "", v->family->name, size,
		       v->fastest, v->family->compiled, loss);
}

/* Not measured is as wrong as slow: nothing was verified. */
static int complain(const struct verdict *v)
{
	if (v->loss <= TOLERATED)
		return 0;
	if (isfinite(v->loss))
		fprintf(stderr, "percpu bench: family %s: the default way %s loses %.0f %% to %s\n",
			v->family->name, v->family->compiled, v->loss * 100, v->fastest);
	else
		fprintf(stderr, "percpu bench: family %s: the default way %s was not measured\n",
			v->family->name, v->family->compiled);
	return 1;
}

int local_verdict(const struct bench_plan *plan)
{
	char sizes[MOST_SIZES][GRID_FIELD];
	size_t n = grid_sizes(plan, sizes, MOST_SIZES), i, k;
	struct verdict verdict;
	int wrong = 0;

	if (plan->options->format == BENCH_TEXT)
		printf("\n");
	for (i = 0; i < sizeof(families) / sizeof(families[0]); i++) {
		for (k = 0; k < n; k++) {
			verdict = judge(plan, &families[i], sizes[k]);
			say(plan, &verdict, sizes[k]);
		}
		verdict = judge(plan, &families[i], NULL);
		say(plan, &verdict, "all");
		if (plan->options->verify_default)
			wrong |= complain(&verdict);
	}
	return wrong;
}

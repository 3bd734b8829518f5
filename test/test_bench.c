/* SPDX-License-Identifier: MIT */
/* The bench's own arithmetic, and that it notices a method which does not do what it says. */
#include "test.h"

#include <math.h>

#include "harness.h"

static long counted;

static void count_right(struct bench_worker *w)
{
	__atomic_fetch_add(&counted, (long)w->ops, __ATOMIC_RELAXED);
}

static void lose_one(struct bench_worker *w)
{
	__atomic_fetch_add(&counted, (long)w->ops - (w->index == 0), __ATOMIC_RELAXED);
}

static long total(void)
{
	return __atomic_load_n(&counted, __ATOMIC_RELAXED);
}

static int refuse(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "not today";
	return -ENOTSUP;
}

static const struct bench_method right = {
	.name = "right", .param = "", .loop = count_right, .total = total};
static const struct bench_method wrong = {
	.name = "wrong", .param = "", .loop = lose_one, .total = total};
static const struct bench_method refused = {
	.name = "refused", .param = "", .loop = count_right, .open = refuse};
static const struct bench_peer missing = {.program = "percpu-bench-that-is-not-there"};
static const struct bench_options options = {
	.format = BENCH_CSV, .seconds = 0.01, .threads = {1, 3}, .nthreads = 2};

TEST(bench_right_total_passes)
{
	struct bench_slice slice;

	bench_slice(&right, 3, 1000, &slice);
	CHECK_EQ(slice.status, 0);
	CHECK_EQ(total(), 3000);
}

TEST(bench_total_that_is_off_by_one_is_an_error)
{
	struct bench_slice slice;

	bench_slice(&wrong, 3, 1000, &slice);
	CHECK_EQ(slice.status, -EIO);
	CHECK_STR_EQ(slice.why, "wrong total: 2999 instead of 3000");
}

static void fill_right(struct bench_plan *plan)
{
	bench_add(plan, &right);
	bench_add_threads(plan, &right, NULL);
}

static void fill_wrong(struct bench_plan *plan)
{
	bench_add(plan, &right);
	bench_add_threads(plan, &wrong, NULL);
}

static void fill_refused(struct bench_plan *plan)
{
	CHECK(bench_add(plan, &right) != NULL);
	CHECK(bench_add(plan, &refused) == NULL);
	CHECK(bench_add_at(plan, &right, 2, &missing) == NULL);
}

TEST(bench_run_with_a_wrong_total_ends_with_status_1)
{
	const struct bench_table good = {.name = "good", .title = "", .fill = fill_right};
	const struct bench_table bad = {.name = "bad", .title = "", .fill = fill_wrong};

	CHECK_EQ(bench_run(&good, &options), 0);
	CHECK_EQ(bench_run(&bad, &options), 1);
}

TEST(bench_method_that_cannot_run_here_is_left_out_and_no_error)
{
	const struct bench_table table = {.name = "some", .title = "", .fill = fill_refused};

	CHECK_EQ(bench_run(&table, &options), 0);
}

TEST(bench_median_is_the_middle_or_between_the_two_in_the_middle)
{
	static const double values[] = {9, 1, 5, 100};

	CHECK(bench_median(values, 3) == 5);
	CHECK(bench_median(values, 4) == 7);
	CHECK(isnan(bench_median(values, 0)));
}

/* What the searches below found. */
struct search {
	const char *method, *machine;
	unsigned threads;
	double value, ratio;
};

static void look(const struct bench_reference_row *row, void *arg)
{
	struct search *search = arg;

	CHECK(isfinite(row->value));
	CHECK(*row->method != '\0');
	if (strcmp(row->method, search->method) == 0 && row->threads == search->threads &&
	    strncmp(row->machine, search->machine, strlen(search->machine)) == 0) {
		search->value = row->value;
		search->ratio = row->ratio;
	}
}

static struct search find(const char *table, const char *method, unsigned threads,
			  const char *machine)
{
	struct search search = {method, machine, threads, NAN, NAN};

	CHECK(bench_reference_each(table, NULL, look, &search) > 0);
	return search;
}

TEST(bench_historic_figures_are_those_of_their_source)
{
	struct search found = find("counters", "percpu rseq increment", 8, "x86-64 Xeon");

	CHECK(found.value == 3.8);
	CHECK(fabs(found.ratio - 3.8 / 3.0) < 1e-9);
	found = find("counters", "global LOCK; inc", 8, "x86-64 Xeon");
	CHECK(found.value == 166.4);
	found = find("getcpu", "getcpu system call", 1, "ARMv7 Cubietruck");
	CHECK(found.value == 234.9);
	CHECK(fabs(found.ratio - 234.9 / 8.4) < 1e-9);
	found = find("this_cpu", "local_cmpxchg", 1, "IA32 (P4)");
	CHECK(found.value == 26);
	found = find("this_cpu", "local_t add_return", 1,
		     "x86-32 kernel, 3.0 GHz Xeon E5450, array");
	CHECK(isfinite(found.value));
}

TEST(bench_historic_figure_that_was_not_given_is_no_row)
{
	/* x86-64 Opteron: the source has no add_return. */
	CHECK(isnan(find("this_cpu", "trivalue add_return", 1, "x86-64 2.6 GHz Opteron").value));
	CHECK(isfinite(find("this_cpu", "trivalue add", 1, "x86-64 2.6 GHz Opteron").value));
}

TEST_MAIN()

/* SPDX-License-Identifier: MIT */
/* The bench's own arithmetic, and that it notices a method which does not do what it says. */
#include "test.h"

#include <math.h>

#include "harness.h"
#include "kernel.h"
#include "verdict.h"
#include "walk.h"

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
	found = find("cmpxchg", "disable_interrupts", 1, "IA32 (P4)");
	CHECK(found.value == 82);
	CHECK(fabs(found.ratio - 82.0 / 26) < 1e-9);
	found = find("local", "atomic_long add", 1,
		     "x86-32 2.13 GHz Core Duo 2, array_longs 1048576, preempt n");
	CHECK(found.value == 118);
	CHECK(fabs(found.ratio - 118.0 / 36) < 1e-9);
	found = find("contended", "fetchadd4 (atomic increment), data in L2", 1, "measured");
	CHECK(found.value == 11);
	CHECK(fabs(found.ratio - 11.0 / 7) < 1e-9);
}

TEST(bench_historic_figure_that_was_not_given_is_no_row)
{
	/* x86-64 Opteron: the source has no add_return. */
	CHECK(isnan(find("local", "trivalue add_return", 1, "x86-64 2.6 GHz Opteron").value));
	CHECK(isfinite(find("local", "trivalue add", 1, "x86-64 2.6 GHz Opteron").value));
}

static void prove_all(struct bench_worker *w)
{
	w->counted = w->ops;
}

static void prove_all_but_one(struct bench_worker *w)
{
	w->counted = w->ops - 1;
}

static void do_nothing(struct bench_worker *w)
{
	(void)w;
}

TEST(bench_operation_that_is_not_found_afterwards_is_an_error)
{
	struct bench_method method = {.name = "m", .param = "", .loop = do_nothing};
	struct bench_slice slice;

	method.after = prove_all;
	bench_slice(&method, 2, 100, &slice);
	CHECK_EQ(slice.status, 0);
	method.after = prove_all_but_one;
	bench_slice(&method, 2, 100, &slice);
	CHECK_EQ(slice.status, -EIO);
	CHECK_STR_EQ(slice.why, "wrong total: 198 instead of 200");
}

static long twice_total(void)
{
	return 2 * total();
}

TEST(bench_losses_are_a_figure_where_they_are_expected_and_gains_never_are)
{
	struct bench_method method = wrong;
	struct bench_slice slice;

	method.may_lose = 1;
	bench_slice(&method, 2, 100, &slice);
	CHECK_EQ(slice.status, 0);
	CHECK(slice.lost == 1);
	method.loop = do_nothing;
	method.total = NULL;
	method.after = prove_all;
	method.ops = 7;
	bench_slice(&method, 1, 7, &slice);
	CHECK(slice.lost == 0);
	method.loop = count_right;
	method.total = twice_total;
	method.after = NULL;
	bench_slice(&method, 1, 7, &slice);
	CHECK_EQ(slice.status, -EIO);
}

static double work_done;

/* What the rounds did; trial runs come before them. */
static int look_at_work(const struct bench_plan *plan)
{
	work_done = plan->rows[0]->done;
	return 0;
}

static void fill_work(struct bench_plan *plan)
{
	static const struct bench_method method = {
		.name = "m", .param = "", .loop = do_nothing, .after = prove_all, .work = 4000};

	bench_add(plan, &method);
}

TEST(bench_row_with_work_to_do_does_it_in_the_rounds_of_its_table)
{
	const struct bench_table table = {.name = "some",
					  .title = "",
					  .fill = fill_work,
					  .conclude = look_at_work,
					  .rounds = 4};
	struct bench_options enough = options;

	enough.seconds = 100;
	CHECK_EQ(bench_run(&table, &enough), 0);
	CHECK(work_done == 4000);
}

/* A walk as a way without mistakes does it. */
static void walk(struct walk_array *array, unsigned values, unsigned long each, unsigned long ops)
{
	size_t at = array->at;

	for (; ops; ops--) {
		array->memory[at * values] += each;
		at = (at + WALK_STRIDE) % array->variables;
	}
}

TEST(walk_reaches_every_variable_once_in_a_round)
{
	struct walk_array array = {.at = 0};
	const char *why;
	size_t i;

	walk_size(&array, 2 * 514001);
	CHECK(array.variables < 2 * 514001 && array.variables > 2 * 514001 - 8);
	CHECK_OK(walk_open(&array, &why));
	walk(&array, 1, 1, array.variables);
	for (i = 0; i < array.variables; i++)
		if (array.memory[i] != 1)
			break;
	CHECK_EQ(i, array.variables);
	walk_close(&array);
	CHECK(array.memory == NULL);
}

TEST(walk_that_changed_what_it_should_proves_all_and_leaves_nothing)
{
	struct walk_array array = {.at = 0};
	unsigned long ops;
	unsigned values;
	const char *why;

	walk_size(&array, 1000);
	CHECK_OK(walk_open(&array, &why));
	for (values = 1; values <= WALK_VALUES; values++)
		for (ops = 1; ops < 5 * array.variables; ops += 333) {
			walk(&array, values, 7, ops);
			CHECK_EQ(walk_check(&array, values, 7, ops), ops);
		}
	for (ops = 0; ops < WALK_VALUES * array.variables; ops++)
		CHECK_EQ(array.memory[ops], 0);
	walk_close(&array);
}

TEST(walk_that_lost_or_added_something_is_found)
{
	struct walk_array array = {.at = 0};
	unsigned long ops;
	const char *why;

	walk_size(&array, 1000);
	CHECK_OK(walk_open(&array, &why));
	for (ops = 1; ops < 4 * array.variables; ops += 333) {
		walk(&array, 1, 7, ops);
		array.memory[array.at] -= 7;
		CHECK_EQ(walk_check(&array, 1, 7, ops), ops - 1);
		walk(&array, 3, 7, ops);
		array.memory[array.at * 3 + 2]++;
		CHECK_EQ(walk_check(&array, 3, 7, ops), ops - 1);
	}
	walk_close(&array);
}

static struct kernel_row *read_lines(const char *lines, size_t *n)
{
	char path[] = "/tmp/percpu-bench-XXXXXX";
	struct kernel_row *rows;
	struct kernel_machine machine;
	int fd = mkstemp(path);
	const char *why;

	CHECK(fd >= 0);
	CHECK_EQ(write(fd, lines, strlen(lines)), strlen(lines));
	close(fd);
	rows = kernel_read(path, n, &machine, &why);
	unlink(path);
	return rows;
}

TEST(kernel_rows_are_lines_with_the_keys_of_the_bench_and_nothing_else)
{
	static const char lines[] =
		"not an object\n"
		"{\"table\":\"kernel_machine\",\"kernel\":\"x\",\"cpus\":2}\n"
		"{\"table\":\"kernel_local\",\"method\":\"a\",\"threads\":1,\"param\":\"inc hot\","
		"\"ns_min\":1,\"ns_median\":2.5,\"wall_ns_median\":null,\"ratio\":3,\"unit\":\"ns/"
		"op\"}\n"
		"{\"table\":\"kernel_local\",\"method\":\"a\",\"threads\":0,\"param\":\"\","
		"\"unit\":\"ns/op\"}\n"
		"{\"table\":\"kernel_local\",\"method\":\"unfinished\n";
	struct kernel_machine machine;
	struct kernel_row *rows;
	const char *why;
	size_t n;

	rows = read_lines(lines, &n);
	CHECK_EQ(n, 1);
	CHECK_STR_EQ(rows->result.method, "a");
	CHECK_STR_EQ(rows->result.param, "inc hot");
	CHECK(rows->result.ns_median == 2.5);
	CHECK(isnan(rows->result.wall_ns_median));
	kernel_free(rows, n);
	rows = read_lines("", &n);
	CHECK(rows == NULL && n == 0);
	CHECK(kernel_read("/no/such/file", &n, &machine, &why) == NULL);
}

/* A table in which each way takes the time given, on one size. */
static int verdict_of(double local, double atomic, double softmask, int verify)
{
	static const struct bench_table table = {.name = "local", .title = ""};
	struct bench_options wish = options;
	struct bench_method method[] = {
		{.name = "local"}, {.name = "atomic"}, {.name = "softmask"}};
	double ns[] = {local, atomic, softmask};
	struct bench_row row[3], *rows[] = {&row[0], &row[1], &row[2]};
	struct bench_plan plan = {.table = &table, .options = &wish, .rows = rows, .nrows = 3};
	int i;

	wish.verify_default = verify;
	memset(row, 0, sizeof(row));
	for (i = 0; i < 3; i++) {
		row[i].method = &method[i];
		row[i].param = "inc, hot";
		row[i].ns = &ns[i];
		row[i].count = ns[i] > 0;
	}
	return local_verdict(&plan);
}

TEST(verdict_is_against_a_default_that_loses_by_more_than_a_fifth)
{
	/* The default is local where there is one, and atomic elsewhere. */
	CHECK_EQ(verdict_of(1.0, 1.0, 0.9, 1), 0);
	CHECK_EQ(verdict_of(1.0, 1.0, 0.8, 1), 1);
	CHECK_EQ(verdict_of(1.0, 1.0, 0.8, 0), 0);
	CHECK_EQ(verdict_of(1.0, 1.0, 9.0, 1), 0);
	CHECK_EQ(verdict_of(0.0, 0.0, 1.0, 1), 1); /* not measured */
}

TEST_MAIN()

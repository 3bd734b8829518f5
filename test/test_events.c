/* SPDX-License-Identifier: MIT */
/* Sets of events: counting, reading in the program, and what their declarations may be. */
#include "sets.h"

#include "cpus.h"
#include "threads.h"

static const struct percpu_events_options privately = {.flags = PERCPU_EVENTS_PRIVATE};

static int64_t read_one(unsigned entry)
{
	return percpu_events_read_one(&web, entry);
}

TEST(a_private_set_counts_and_is_read)
{
	int64_t values[ENTRIES];
	struct percpu_events_info info;

	CHECK_OK(percpu_events_open(&web, &privately));
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK(info.open && !info.shared && info.error == 0 && *info.path == '\0');
	percpu_event_inc(&web, HITS);
	percpu_event_add(&web, HITS, 41);
	percpu_event_inc(&web, MISSES);
	percpu_gauge_inc(&web, ACTIVE);
	percpu_gauge_inc(&web, ACTIVE);
	percpu_gauge_dec(&web, ACTIVE);
	percpu_gauge_add(&web, ACTIVE, 10);
	percpu_gauge_add(&web, ACTIVE, -4);
	percpu_histogram_observe(&web, LATENCY, 100);
	CHECK_OK(percpu_events_read(&web, values));
	CHECK_EQ(values[HITS], 42);
	CHECK_EQ(values[MISSES], 1);
	CHECK_EQ(values[ACTIVE], 7);
	CHECK_EQ(values[LATENCY], 1);
	CHECK_EQ(values[BY_STATUS], 0);
	CHECK_EQ(read_one(HITS), 42);
	CHECK_OK(percpu_events_close(&web));
}

TEST(an_index_that_is_no_constant_counts_or_is_ignored)
{
	CHECK_OK(percpu_events_open(&web, &privately));
	for (volatile unsigned i = 0; i < 1000; i++) {
		unsigned entry = i;

		percpu_event_inc(&web, entry);
		percpu_gauge_dec(&web, entry + ENTRIES);
		percpu_gauge_add(&web, entry + ENTRIES, 1);
		percpu_histogram_observe(&web, entry + ENTRIES, 1);
	}
	CHECK_EQ(read_one(HITS), 1);
	CHECK_EQ(read_one(MISSES), 1);
	CHECK_EQ(read_one(ACTIVE), 1);
	CHECK_EQ(read_one(1000), 0);
}

TEST(counts_before_open_are_added_by_open)
{
	struct percpu_events_info info;

	percpu_event_add(&web, HITS, 5);
	percpu_gauge_inc(&web, ACTIVE);
	percpu_gauge_dec(&web, ACTIVE);
	percpu_gauge_dec(&web, ACTIVE);
	percpu_histogram_observe(&web, LATENCY, 5);
	CHECK_EQ(read_one(HITS), 5);
	CHECK_EQ(read_one(ACTIVE), -1);
	CHECK_EQ(read_one(LATENCY), 0);
	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	percpu_event_inc(&web, HITS);
	CHECK_EQ(read_one(HITS), 6);
	CHECK_EQ(read_one(ACTIVE), -1);
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK(info.shared);
	CHECK_EQ(info.missed, 1);
	{
		struct inside inside = inside_of(web_path);

		CHECK_EQ(inside_sum(&inside, segment_metrics(inside.map)[HITS].cell), 6);
	}
	sets_end();
}

static int64_t counted_aside;

static void count_while_it_opens(unsigned index, void *arg)
{
	(void)arg;
	if (index == 0) {
		CHECK_OK(percpu_events_open(&web, NULL));
		return;
	}
	for (int i = 0; i < ADDS; i++)
		percpu_event_inc(&web, HITS);
	__atomic_fetch_add(&counted_aside, ADDS, __ATOMIC_RELAXED);
}

TEST(counts_while_it_is_opened_are_all_in_the_file)
{
	sets_begin();
	test_threads(4, count_while_it_opens, NULL);
	{
		struct inside inside = inside_of(web_path);

		CHECK_EQ(inside_sum(&inside, segment_metrics(inside.map)[HITS].cell),
			 counted_aside);
	}
	sets_end();
}

TEST(a_closed_private_set_keeps_its_totals)
{
	CHECK_OK(percpu_events_open(&web, &privately));
	percpu_event_add(&web, HITS, 5);
	percpu_gauge_dec(&web, ACTIVE);
	CHECK_OK(percpu_events_close(&web));
	percpu_event_inc(&web, HITS);
	CHECK_EQ(read_one(HITS), 6);
	CHECK_EQ(read_one(ACTIVE), -1);
	CHECK_OK(percpu_events_open(&web, &privately));
	CHECK_EQ(read_one(HITS), 6);
	CHECK_EQ(read_one(ACTIVE), -1);
}

TEST(calls_in_the_wrong_order_or_with_nothing_are_refused)
{
	struct percpu_events_info info;
	struct percpu_series series;
	int64_t values[ENTRIES];
	struct percpu_histogram_sums sums;

	CHECK_EQ(percpu_events_open(NULL, NULL), -EINVAL);
	CHECK_EQ(percpu_events_close(NULL), -EINVAL);
	CHECK_EQ(percpu_events_close(&web), -EINVAL);
	CHECK_EQ(percpu_series_open(&series, &web, BY_STATUS, (const char *[]){"GET", "200"}),
		 -EINVAL);
	percpu_series_inc(&series);
	percpu_series_dec(&series);
	percpu_series_observe(&series, 1);
	CHECK_EQ(percpu_series_read(&series), 0);
	CHECK_EQ(percpu_histogram_read(&web, LATENCY, NULL, 0, &sums), -EINVAL);
	CHECK_OK(percpu_events_open(&web, &privately));
	CHECK_EQ(percpu_events_open(&web, &privately), -EALREADY);
	CHECK_EQ(percpu_series_open(NULL, &web, BY_STATUS, NULL), -EINVAL);
	CHECK_EQ(percpu_series_open(&series, &web, BY_STATUS, NULL), -EINVAL);
	CHECK_EQ(percpu_series_open(&series, &web, HITS, (const char *[]){"GET"}), -EINVAL);
	CHECK_EQ(percpu_series_open(&series, &web, ENTRIES, (const char *[]){"GET"}), -EINVAL);
	CHECK_EQ(percpu_histogram_read(&web, HITS, NULL, 0, &sums), -EINVAL);
	CHECK_EQ(percpu_histogram_read(&web, LATENCY, NULL, 0, NULL), -EINVAL);
	CHECK_EQ(percpu_events_read(NULL, values), -EINVAL);
	CHECK_EQ(percpu_events_read(&web, NULL), -EINVAL);
	CHECK_EQ(percpu_events_since(&web, NULL, values), -EINVAL);
	CHECK_EQ(percpu_events_status(NULL, &info), -EINVAL);
	CHECK_EQ(percpu_events_status(&web, NULL), -EINVAL);
	CHECK_OK(percpu_events_close(&web));
	CHECK_EQ(percpu_events_close(&web), -EINVAL);
}

static int64_t sum_over_cpus(unsigned entry)
{
	int64_t sum = 0, values[ENTRIES];

	for (unsigned cpu = 0; cpu < percpu_ncpus(); cpu++) {
		CHECK_OK(percpu_events_read_cpus(&web, &cpu, 1, values));
		sum += values[entry];
	}
	CHECK_OK(percpu_events_read_cpus(&web, (unsigned[]){PERCPU_EVENTS_SHARED}, 1, values));
	return sum + values[entry];
}

TEST(what_cpus_counted_adds_up_to_the_total)
{
	int64_t values[ENTRIES];

	CHECK_OK(percpu_events_open(&web, &privately));
	for (unsigned i = 0; i < 100; i++) {
		go_to_nth_cpu(i);
		percpu_event_inc(&web, HITS);
		percpu_gauge_dec(&web, ACTIVE);
		percpu_histogram_observe(&web, LATENCY, i);
	}
	CHECK_EQ(sum_over_cpus(HITS), 100);
	CHECK_EQ(sum_over_cpus(ACTIVE), -100);
	CHECK_EQ(sum_over_cpus(LATENCY), 100);
	CHECK_OK(percpu_events_read_cpus(&web, (unsigned[]){5000}, 1, values));
	CHECK_EQ(values[HITS], 0);
	CHECK_OK(percpu_events_read_cpus(&web, (unsigned[]){0}, 0, values));
	CHECK_EQ(values[HITS], 0);
}

TEST(what_came_since_a_reading_is_told)
{
	int64_t before[ENTRIES], values[ENTRIES];

	CHECK_OK(percpu_events_open(&web, &privately));
	percpu_event_add(&web, HITS, 7);
	CHECK_OK(percpu_events_read(&web, before));
	percpu_event_add(&web, HITS, 5);
	percpu_gauge_dec(&web, ACTIVE);
	CHECK_OK(percpu_events_since(&web, before, values));
	CHECK_EQ(values[HITS], 5);
	CHECK_EQ(values[MISSES], 0);
	CHECK_EQ(values[ACTIVE], -1);
}

static void count_some(unsigned index, void *arg)
{
	(void)index, (void)arg;
	for (int i = 0; i < ADDS; i++) {
		percpu_event_inc(&web, HITS);
		percpu_gauge_inc(&web, ACTIVE);
		percpu_histogram_observe(&web, LATENCY, (uint64_t)i);
		percpu_gauge_dec(&web, ACTIVE);
	}
}

TEST(many_threads_lose_nothing)
{
	struct percpu_histogram_sums sums;

	CHECK_OK(percpu_events_open(&web, &privately));
	test_threads(24, count_some, NULL);
	CHECK_EQ(read_one(HITS), 24 * ADDS);
	CHECK_EQ(read_one(ACTIVE), 0);
	CHECK(percpu_histogram_read(&web, LATENCY, NULL, 0, &sums) > 0);
	CHECK_EQ(sums.count, 24 * ADDS);
	CHECK_EQ(sums.sum, 24ll * ADDS * (ADDS - 1) / 2);
}

static int stop;

static void go_up_and_down(unsigned index, void *arg)
{
	(void)arg;
	if (index > 0) {
		while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
			percpu_gauge_inc(&web, ACTIVE);
			percpu_gauge_dec(&web, ACTIVE);
		}
		return;
	}
	for (int i = 0; i < 20000; i++)
		CHECK(read_one(ACTIVE) >= 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

TEST(a_gauge_of_matched_pairs_is_never_negative)
{
	CHECK_OK(percpu_events_open(&web, &privately));
	test_threads(3, go_up_and_down, NULL);
	CHECK_EQ(read_one(ACTIVE), 0);
}

/* ---- Histograms ---- */

static void check_buckets(uint64_t lowest, uint64_t highest, unsigned precision)
{
	const struct percpu_event_desc desc = {.name = "h",
					       .kind = PERCPU_HISTOGRAM,
					       .precision = precision,
					       .lowest = lowest,
					       .highest = highest};
	unsigned n = percpu_histogram_buckets(&desc);
	unsigned shift = lowest > 1 ? 63u - (unsigned)__builtin_clzll(lowest) : 0;
	uint64_t low = 0;

	CHECK_EQ(percpu_histogram_bound(&desc, n - 1), UINT64_MAX);
	for (unsigned b = 0; b + 1 < n; b++) {
		uint64_t high = percpu_histogram_bound(&desc, b);

		CHECK(high >= low);
		CHECK_EQ(segment_bucket(low, shift, precision, n - 1), b);
		CHECK_EQ(segment_bucket(high, shift, precision, n - 1), b);
		CHECK_EQ(segment_bucket(high + 1, shift, precision, n - 1), b + 1);
		/* The promised precision, above the linear part. */
		if (low >> shift >= 2ull << precision)
			CHECK((high - low + 1) << precision <= low);
		low = high + 1;
	}
	CHECK(low > highest);
	CHECK(percpu_histogram_bound(&desc, n - 2) >= highest);
}

TEST(buckets_are_without_gaps_and_as_precise_as_declared)
{
	for (unsigned precision = 0; precision <= 8; precision++)
		for (unsigned bits = 0; bits < 24; bits++)
			check_buckets(1, 1ull << bits, precision);
	check_buckets(0, 1, 0);
	check_buckets(1000, 10000000000, 3);
	check_buckets(1000, 999999999, 5);
	check_buckets(1ull << 40, 1ull << 62, 8);
	check_buckets(1, 1ull << 62, 6);
}

TEST(observations_are_in_their_buckets)
{
	static const uint64_t values[] = {0, 1, 9, 10, 100, 999999, 1000000, 1u << 21, UINT64_MAX};
	unsigned n = percpu_histogram_buckets(&descs[LATENCY]);
	uint64_t buckets[1000], sum = 0;
	struct percpu_histogram_sums sums;

	CHECK_OK(percpu_events_open(&web, &privately));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		percpu_histogram_observe(&web, LATENCY, values[i]);
		sum += values[i] == UINT64_MAX ? SEGMENT_VALUE_MAX : values[i];
	}
	CHECK(n < 1000);
	CHECK_EQ(percpu_histogram_read(&web, LATENCY, buckets, 1000, &sums), n);
	CHECK_EQ(sums.count, sizeof(values) / sizeof(values[0]));
	CHECK_EQ(sums.sum, sum);
	for (unsigned b = 0; b < n; b++) {
		uint64_t wanted = 0, low = b ? percpu_histogram_bound(&descs[LATENCY], b - 1) : 0;

		for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++)
			wanted += values[i] <= percpu_histogram_bound(&descs[LATENCY], b) &&
				  (b == 0 || values[i] > low);
		CHECK_EQ(buckets[b], wanted);
	}
}

/* What a killed process leaves, at each of the three steps; in a CPU slot and in a shared one. */
static void stop_after(unsigned step, unsigned odd, bool shared)
{
	struct inside inside;
	struct percpu_histogram_sums sums;
	unsigned last = percpu_histogram_buckets(&descs[LATENCY]);
	uint64_t buckets[1000], *cells, *bucket;
	uint32_t cell;

	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	inside = inside_of(web_path);
	cell = segment_metrics(inside.map)[LATENCY].cell;
	cells = inside_cell(&inside, cell, shared ? inside.header->ncpus : 0);
	bucket = &cells[SEGMENT_HISTOGRAM_CELLS + segment_bucket(100, 3, 3, last - 1)];
	/* Some before, then one of 100. */
	*bucket = odd;
	cells[1] = odd * 101;
	cells[0] = cells[1] << 1 | (odd & 1);
	if (step >= 1)
		cells[0] = (cells[1] + 101) << 1 | (*bucket & 1);
	if (step >= 2)
		++*bucket;
	if (step >= 3)
		cells[1] += 101;
	CHECK(percpu_histogram_read(&web, LATENCY, buckets, 1000, &sums) > 0);
	CHECK_EQ(sums.count, odd + (step >= 1));
	CHECK_EQ(sums.sum, 100 * sums.count);
	CHECK_EQ(buckets[(size_t)(bucket - cells) - SEGMENT_HISTOGRAM_CELLS], sums.count);
	/* The next ones, in all slots. */
	for (unsigned i = 0; i < 200; i++) {
		go_to_nth_cpu(i);
		percpu_histogram_observe(&web, LATENCY, i % 2 ? 100 : 5000);
	}
	CHECK(percpu_histogram_read(&web, LATENCY, buckets, 1000, &sums) > 0);
	CHECK_EQ(sums.count, odd + (step >= 1) + 200);
	CHECK_EQ(sums.sum, 100 * (odd + (step >= 1)) + 100 * 5100);
	CHECK_OK(percpu_events_close(&web));
	sets_end();
}

TEST(an_observation_that_stopped_anywhere_is_finished)
{
	for (unsigned step = 0; step <= 3; step++)
		for (unsigned odd = 0; odd <= 3; odd++) {
			stop_after(step, odd, false);
			stop_after(step, odd, true);
		}
}

/* The journals of two CPUs may be the same: a sequence that comes to another CPU than its cells were
 * read on finds out by the first word. Here it is never the right one. */
TEST(cells_of_another_cpu_are_not_written)
{
	struct inside inside;
	uint32_t cell;

	sets_begin();
	CHECK_OK(percpu_events_open(&web, NULL));
	inside = inside_of(web_path);
	cell = segment_metrics(inside.map)[LATENCY].cell;
	for (uint32_t slot = 0; slot < inside.header->ncpus; slot++)
		*inside_cell(&inside, 0, slot) = 999;
	for (unsigned i = 0; i < 100; i++) {
		go_to_nth_cpu(i);
		percpu_histogram_observe(&web, LATENCY, 100);
	}
	for (uint32_t slot = 0; slot < inside.header->ncpus; slot++)
		CHECK_EQ(*inside_cell(&inside, cell, slot), 0);
	CHECK_EQ(read_one(LATENCY), 100);
	sets_end();
}

static struct percpu_histogram_sums last_seen;

static void observe_or_look(unsigned index, void *arg)
{
	(void)arg;
	if (index > 0) {
		while (!__atomic_load_n(&stop, __ATOMIC_RELAXED))
			percpu_histogram_observe(&web, LATENCY, 1000);
		return;
	}
	for (int i = 0; i < 2000; i++) {
		struct percpu_histogram_sums sums;

		CHECK(percpu_histogram_read(&web, LATENCY, NULL, 0, &sums) > 0);
		CHECK(sums.count >= last_seen.count);
		last_seen = sums;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
}

TEST(a_histogram_that_is_read_meanwhile_never_goes_backwards)
{
	CHECK_OK(percpu_events_open(&web, &privately));
	test_threads(3, observe_or_look, NULL);
	CHECK(percpu_histogram_read(&web, LATENCY, NULL, 0, &last_seen) > 0);
	CHECK_EQ(last_seen.sum, 1000 * last_seen.count);
}

/* ---- Families ---- */

static int open_status(struct percpu_series *series, const char *method, const char *status)
{
	return percpu_series_open(series, &web, BY_STATUS, (const char *[]){method, status});
}

TEST(label_sets_are_found_again_and_overflow)
{
	struct percpu_series series[5], again;
	char longer[200];

	CHECK_OK(percpu_events_open(&web, &privately));
	CHECK_OK(open_status(&series[0], "GET", "200"));
	CHECK_OK(open_status(&series[1], "GET", "404"));
	CHECK_OK(open_status(&series[2], "GE", "T200"));
	CHECK_EQ(open_status(&series[3], "PUT", "200"), -ENOSPC);
	memset(longer, 'x', sizeof(longer));
	longer[sizeof(longer) - 1] = '\0';
	CHECK_EQ(open_status(&series[4], "GET", longer), -ENOSPC);
	for (unsigned i = 0; i < 5; i++)
		percpu_series_add(&series[i], i + 1);
	CHECK_EQ(percpu_series_read(&series[0]), 1);
	CHECK_EQ(percpu_series_read(&series[2]), 3);
	CHECK_EQ(percpu_series_read(&series[3]), 4 + 5);
	CHECK_OK(open_status(&again, "GET", "404"));
	percpu_series_inc(&again);
	CHECK_EQ(percpu_series_read(&series[1]), 3);
	/* The family itself stands for the overflow series, and is read as all of them. */
	percpu_event_inc(&web, BY_STATUS);
	CHECK_EQ(percpu_series_read(&series[4]), 10);
	CHECK_EQ(read_one(BY_STATUS), 1 + 3 + 3 + 10);
}

TEST(families_of_gauges_and_histograms_count)
{
	struct percpu_series pool, small, large;
	struct percpu_histogram_sums sums;

	CHECK_OK(percpu_events_open(&web, &privately));
	CHECK_OK(percpu_series_open(&pool, &web, IN_POOL, (const char *[]){"a"}));
	percpu_series_inc(&pool);
	percpu_series_dec(&pool);
	percpu_series_dec(&pool);
	CHECK_EQ(percpu_series_read(&pool), -1);
	CHECK_EQ(read_one(IN_POOL), -1);
	CHECK_OK(percpu_series_open(&small, &web, BY_SIZE, (const char *[]){"small"}));
	CHECK_OK(percpu_series_open(&large, &web, BY_SIZE, (const char *[]){"large"}));
	for (unsigned i = 0; i < 100; i++) {
		percpu_series_observe(&small, 10);
		percpu_series_observe(&large, 1000);
		percpu_histogram_observe(&web, BY_SIZE, 1);
	}
	CHECK_EQ(percpu_series_read(&small), 100);
	CHECK_EQ(read_one(BY_SIZE), 300);
	CHECK(percpu_histogram_read(&web, BY_SIZE, NULL, 0, &sums) > 0);
	CHECK_EQ(sums.count, 300);
	CHECK_EQ(sums.sum, 101100);
}

static void open_the_same(unsigned index, void *arg)
{
	struct percpu_series series;

	(void)arg;
	for (unsigned i = 0; i < 1000; i++) {
		CHECK_OK(open_status(&series, "GET", (i + index) % 2 ? "1" : "2"));
		percpu_series_inc(&series);
	}
}

TEST(threads_that_want_the_same_label_set_share_it)
{
	struct percpu_series series;

	CHECK_OK(percpu_events_open(&web, &privately));
	test_threads(8, open_the_same, NULL);
	CHECK_OK(open_status(&series, "GET", "3"));
	CHECK_EQ(open_status(&series, "GET", "4"), -ENOSPC);
	CHECK_EQ(read_one(BY_STATUS), 8000);
}

/* ---- Large sets ---- */

static struct percpu_events *make_set(const struct percpu_event_desc *all, unsigned n)
{
	struct percpu_events *set = (struct percpu_events *)calloc(1, PERCPU_EVENTS_SIZE(n));

	CHECK(set != NULL);
	set->name = "made";
	set->version = "1";
	set->descs = all;
	set->n = n;
	return set;
}

TEST(a_set_of_many_planes_counts_in_each)
{
	enum { MANY = 12000 };
	static struct percpu_event_desc all[MANY];
	static char names[MANY][16];
	struct percpu_events *set = make_set(all, MANY);

	for (unsigned i = 0; i < MANY; i++) {
		snprintf(names[i], sizeof(names[i]), "e%u", i);
		all[i].name = names[i];
		all[i].kind = i % 2 ? PERCPU_GAUGE : PERCPU_EVENT;
	}
	all[7].kind = PERCPU_HISTOGRAM;
	all[7].precision = 6;
	all[7].highest = 1ull << 60;
	all[7].labels[0] = "l";
	all[7].series = 20;
	CHECK_OK(percpu_events_open(set, &privately));
	for (unsigned i = 0; i < MANY; i++) {
		if (i == 7)
			continue;
		percpu_event_add(set, i, i);
		percpu_gauge_dec(set, i % 2 ? i : 1);
	}
	for (unsigned i = 8; i < MANY; i++)
		CHECK_EQ(percpu_events_read_one(set, i), i % 2 ? i - 1 : i);
	for (unsigned k = 0; k < 20; k++) {
		struct percpu_series series;
		char value[16];

		snprintf(value, sizeof(value), "%u", k);
		CHECK_OK(percpu_series_open(&series, set, 7, (const char *[]){value}));
		for (unsigned i = 0; i < 50; i++)
			percpu_series_observe(&series, 1ull << i);
		CHECK_EQ(percpu_series_read(&series), 50);
	}
	CHECK_EQ(percpu_events_read_one(set, 7), 20 * 50);
	CHECK_OK(percpu_events_close(set));
	free(set);
}

static void refused(const struct percpu_event_desc *desc)
{
	struct percpu_event_desc two[2] = {{.name = "first"}, *desc};
	struct percpu_events *set = make_set(two, 2);

	CHECK_EQ(percpu_events_open(set, &privately), -EINVAL);
	/* It counts all the same. */
	percpu_event_inc(set, 0);
	CHECK_EQ(percpu_events_read_one(set, 0), 1);
	free(set);
}

TEST(declarations_that_are_not_valid_are_refused)
{
	struct percpu_event_desc two[2] = {{.name = "first"}, {.name = "second"}};
	struct percpu_events *set = make_set(two, 2);

	refused(&(struct percpu_event_desc){.name = "first"});
	refused(&(struct percpu_event_desc){.name = ""});
	refused(&(struct percpu_event_desc){.name = NULL});
	refused(&(struct percpu_event_desc){.name = "with space"});
	refused(&(struct percpu_event_desc){.name = "1st"});
	refused(&(struct percpu_event_desc){.name = "a", .kind = (enum percpu_event_kind)7});
	refused(&(struct percpu_event_desc){.name = "a", .kind = PERCPU_HISTOGRAM});
	refused(&(struct percpu_event_desc){
		.name = "a", .kind = PERCPU_HISTOGRAM, .lowest = 9, .highest = 8});
	refused(&(struct percpu_event_desc){
		.name = "a", .kind = PERCPU_HISTOGRAM, .highest = (1ull << 62) + 1});
	refused(&(struct percpu_event_desc){
		.name = "a", .kind = PERCPU_HISTOGRAM, .highest = 8, .precision = 9});
	refused(&(struct percpu_event_desc){
		.name = "a", .kind = PERCPU_HISTOGRAM, .highest = 1ull << 62, .precision = 8});
	refused(&(struct percpu_event_desc){.name = "a", .labels = {"l"}});
	refused(&(struct percpu_event_desc){.name = "a", .labels = {"l"}, .series = 65537});
	refused(&(struct percpu_event_desc){.name = "a", .labels = {"l:"}, .series = 1});
	for (unsigned i = 0; i < 4; i++) {
		static const char *const names[] = {"../x", "a/b", "", ".hidden"};

		set->name = names[i];
		CHECK_EQ(percpu_events_open(set, &privately), -EINVAL);
	}
	set->name = "good";
	CHECK_OK(percpu_events_open(set, &privately));
	free(set);
}

TEST(field_E4_forked_child_has_a_copy_of_a_private_set)
{
	pid_t child;

	CHECK_OK(percpu_events_open(&web, &privately));
	percpu_event_add(&web, HITS, 3);
	child = fork();
	if (child == 0) {
		percpu_event_inc(&web, HITS);
		_exit(read_one(HITS) == 4 ? 0 : 1);
	}
	CHECK_EQ(test_wait(child), 0);
	CHECK_EQ(read_one(HITS), 3);
}

TEST_MAIN()

/* SPDX-License-Identifier: MIT */
/* Zoned counters: a total that is read with one load, off by no more than it says. */
#include "test.h"

#include "cpus.h"

#include <stdbool.h>
#include <sys/time.h>

#include <percpu/percpu.h>

#define THREADS 6

static struct percpu_zone zone;

/* Z1 of src/zone.c, and what read promises, at rest. */
static void check_at_rest(int64_t total)
{
	int64_t threshold = zone.threshold, off = total - percpu_zone_read(&zone);

	CHECK_EQ(percpu_zone_sum(&zone), total);
	CHECK_EQ(percpu_zone_error(&zone), threshold * percpu_nslots());
	CHECK(off <= percpu_zone_error(&zone) && off >= -percpu_zone_error(&zone));
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const void *copy = percpu_ptr((char *)zone.base, slot);
		int64_t difference =
			zone.bytes == 1 ? *(const int8_t *)copy : *(const int16_t *)copy;

		CHECK(difference <= threshold && difference >= -threshold);
		off -= difference;
	}
	CHECK_EQ(off, 0);
}

TEST(every_call_counts)
{
	CHECK_OK(percpu_zone_init(&zone, 8, 100));
	check_at_rest(0);
	percpu_zone_inc(&zone);
	check_at_rest(1);
	percpu_zone_add(&zone, 50);
	check_at_rest(51);
	percpu_zone_sub(&zone, 60);
	check_at_rest(-9);
	percpu_zone_dec(&zone);
	check_at_rest(-10);
	percpu_zone_add(&zone, 0);
	percpu_zone_add(&zone, -1);
	percpu_zone_sub(&zone, -11);
	check_at_rest(0);
	CHECK_OK(percpu_zone_destroy(&zone));
}

TEST(bad_arguments_are_refused)
{
	struct percpu_usage_info usage;

	CHECK_EQ(percpu_zone_init(NULL, 8, 1), -EINVAL);
	CHECK_EQ(percpu_zone_init(&zone, 8, 0), -EINVAL);
	CHECK_EQ(percpu_zone_init(&zone, 8, 128), -EINVAL);
	CHECK_EQ(percpu_zone_init(&zone, 16, 32768), -EINVAL);
	CHECK_EQ(percpu_zone_init(&zone, 8, UINT32_MAX), -EINVAL);
	CHECK_EQ(percpu_zone_init(&zone, 0, 1), -EINVAL);
	CHECK_EQ(percpu_zone_init(&zone, 7, 1), -EINVAL);
	CHECK_EQ(percpu_zone_init(&zone, 32, 1), -EINVAL);
	CHECK_EQ(percpu_zone_destroy(NULL), -EINVAL);
	CHECK_EQ(percpu_zone_destroy(&zone), -EINVAL);
	percpu_zone_add(NULL, 1);
	percpu_zone_sub(NULL, 1);
	percpu_zone_inc(NULL);
	percpu_zone_dec(NULL);
	CHECK_EQ(percpu_zone_read(NULL), 0);
	CHECK_EQ(percpu_zone_sum(NULL), 0);
	CHECK_EQ(percpu_zone_error(NULL), 0);
	CHECK_EQ(percpu_zone_compare(NULL, 1), -1);
	CHECK_EQ(percpu_zone_compare(NULL, 0), 0);
	CHECK_EQ(percpu_zone_compare(NULL, -1), 1);
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
}

TEST(destroyed_zone_keeps_its_total_and_counts_late_adds)
{
	struct percpu_usage_info usage;

	CHECK_OK(percpu_zone_init(&zone, 16, 3000));
	for (unsigned i = 0; i < 8; i++) {
		go_to_nth_cpu(i);
		percpu_zone_add(&zone, 300);
	}
	check_at_rest(2400);
	/* All of it lies in differences. */
	CHECK_EQ(percpu_zone_read(&zone), 0);
	CHECK_OK(percpu_zone_destroy(&zone));
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
	CHECK_EQ(percpu_zone_read(&zone), 2400);
	CHECK_EQ(percpu_zone_sum(&zone), 2400);
	CHECK_EQ(percpu_zone_error(&zone), 0);
	percpu_zone_add(&zone, 5);
	percpu_zone_dec(&zone);
	CHECK_EQ(percpu_zone_sum(&zone), 2404);
	CHECK_EQ(percpu_zone_compare(&zone, 2404), 0);
	CHECK_EQ(percpu_zone_destroy(&zone), -EINVAL);
	CHECK_OK(percpu_zone_init(&zone, 8, 1));
	check_at_rest(0);
}

/* One CPU after the other, small and large amounts, and at every step what read promises. */
static void walk(unsigned bits, unsigned threshold)
{
	int64_t model = 0;
	unsigned seed = bits + threshold;

	CHECK_OK(percpu_zone_init(&zone, bits, threshold));
	for (int step = 0; step < 5000; step++) {
		int64_t most = rand_r(&seed) % 8 ? (int64_t)threshold + 2 : 1 << 20;
		int64_t n = rand_r(&seed) % most;

		if (step % 32 == 0)
			go_to_nth_cpu((unsigned)rand_r(&seed));
		/* Long ways in one direction: folds with one sign only. */
		if (rand_r(&seed) % 16 < (step / 500 % 2 ? 2 : 14))
			n = -n;
		percpu_zone_add(&zone, n);
		model += n;
		check_at_rest(model);
	}
	CHECK_OK(percpu_zone_destroy(&zone));
	CHECK_EQ(percpu_zone_sum(&zone), model);
}

TEST(random_amounts_agree_with_a_model_at_every_threshold)
{
	walk(8, 1);
	walk(8, 2);
	walk(8, 64);
	walk(8, 126);
	walk(8, 127);
	walk(16, 1);
	walk(16, 127);
	walk(16, 128);
	walk(16, 300);
	walk(16, 32766);
	walk(16, 32767);
}

TEST(differences_reach_the_threshold_and_not_beyond)
{
	static const unsigned thresholds[][2] = {{8, 127}, {16, 32767}, {8, 5}};

	for (size_t i = 0; i < sizeof(thresholds) / sizeof(thresholds[0]); i++) {
		unsigned threshold = thresholds[i][1];

		for (int sign = -1; sign <= 1; sign += 2) {
			int64_t folded = 0;

			CHECK_OK(percpu_zone_init(&zone, thresholds[i][0], threshold));
			go_to_nth_cpu(0);
			for (unsigned n = 1; n <= 4 * threshold; n++) {
				percpu_zone_add(&zone, sign);
				check_at_rest(sign * (int64_t)n);
				folded = percpu_zone_read(&zone);
			}
			CHECK(folded != 0);
			CHECK_OK(percpu_zone_destroy(&zone));
		}
	}
}

TEST(huge_amounts_go_to_the_shared_word_and_wrap)
{
	uint64_t model = 0;

	CHECK_OK(percpu_zone_init(&zone, 8, 10));
	percpu_zone_add(&zone, INT64_MAX);
	percpu_zone_add(&zone, 7);
	model += (uint64_t)INT64_MAX + 7;
	CHECK_EQ(percpu_zone_sum(&zone), (int64_t)model);
	percpu_zone_add(&zone, INT64_MIN);
	percpu_zone_sub(&zone, INT64_MIN);
	CHECK_EQ(percpu_zone_sum(&zone), (int64_t)model);
	percpu_zone_sub(&zone, INT64_MAX);
	percpu_zone_sub(&zone, 7);
	CHECK_EQ(percpu_zone_sum(&zone), 0);
}

TEST(compare_tells_below_equal_above)
{
	/* Not so near to where 64 bits wrap that the shared word is on the other side. */
	static const int64_t totals[] = {0,
					 1,
					 -1,
					 5,
					 -5,
					 1000,
					 -1000,
					 100000,
					 INT64_MAX,
					 INT64_MAX - 3,
					 INT64_MIN + (1 << 20)};
	static const int64_t beside[] = {0, 1, -1, 9, -9, 500, -500, 1000000, -1000000};

	for (size_t i = 0; i < sizeof(totals) / sizeof(totals[0]); i++) {
		CHECK_OK(percpu_zone_init(&zone, 8, 10));
		/* A part of it lies in a difference. */
		percpu_zone_add(&zone, 3);
		percpu_zone_add(&zone, (int64_t)((uint64_t)totals[i] - 3));
		CHECK_EQ(percpu_zone_sum(&zone), totals[i]);
		for (size_t j = 0; j < sizeof(beside) / sizeof(beside[0]); j++) {
			int64_t limit = (int64_t)((uint64_t)totals[i] + (uint64_t)beside[j]);

			CHECK_EQ(percpu_zone_compare(&zone, limit),
				 (totals[i] > limit) - (totals[i] < limit));
		}
		CHECK_EQ(percpu_zone_compare(&zone, INT64_MAX), totals[i] == INT64_MAX ? 0 : -1);
		CHECK_EQ(percpu_zone_compare(&zone, INT64_MIN), totals[i] == INT64_MIN ? 0 : 1);
		CHECK_OK(percpu_zone_destroy(&zone));
	}
}

static int64_t tally, tally_of_handler;
static int handler_runs;

static void add_in_handler(int sig)
{
	(void)sig;
	percpu_zone_add(&zone, 3);
	__atomic_add_fetch(&tally_of_handler, 3, __ATOMIC_RELAXED);
	__atomic_add_fetch(&handler_runs, 1, __ATOMIC_RELAXED);
}

static void add_amounts(unsigned index, void *arg)
{
	unsigned seed = index + 1;
	int64_t own = 0;

	(void)arg;
	for (int i = 0; i < 40000; i++) {
		int64_t n = rand_r(&seed) % 41 - 20;

		if (i % 1024 == 0)
			go_to_nth_cpu((unsigned)rand_r(&seed));
		percpu_zone_add(&zone, n);
		own += n;
	}
	__atomic_add_fetch(&tally, own, __ATOMIC_RELAXED);
}

static void storm(unsigned bits, unsigned threshold)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	tally = tally_of_handler = 0;
	CHECK_OK(percpu_zone_init(&zone, bits, threshold));
	signal(SIGALRM, add_in_handler);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	test_threads(THREADS, add_amounts, NULL);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_IGN);
	check_at_rest(tally + tally_of_handler);
	CHECK_OK(percpu_zone_destroy(&zone));
	CHECK_EQ(percpu_zone_sum(&zone), tally + tally_of_handler);
}

TEST(threads_and_handlers_lose_nothing)
{
	storm(8, 1);
	storm(8, 20);
	storm(8, 127);
	storm(16, 1000);
	CHECK(handler_runs > 0);
}

static void add_one(unsigned index, void *arg)
{
	(void)index, (void)arg;
	for (int i = 0; i < 100000; i++)
		percpu_zone_inc(&zone);
}

/* Each thread under way carries one fold at most, so that much more may be missing in read. */
TEST(read_stays_within_its_error_while_others_add)
{
	int64_t seen = 0, slack;
	struct test_crew *crew;

	CHECK_OK(percpu_zone_init(&zone, 8, 50));
	slack = percpu_zone_error(&zone) + THREADS * 51;
	crew = test_crew_start(THREADS, add_one, NULL);
	while (seen < THREADS * 100000 - slack) {
		int64_t sum = percpu_zone_sum(&zone);

		seen = percpu_zone_read(&zone);
		/* Only additions: what was summed before is there, but for what is carried. */
		CHECK(seen >= sum - slack);
		CHECK(seen <= THREADS * 100000);
	}
	test_crew_join(crew);
	check_at_rest(THREADS * 100000);
}

static void use_in_child(void *arg)
{
	(void)arg;
	percpu_zone_add(&zone, 7);
	check_at_rest(12);
	CHECK_OK(percpu_zone_destroy(&zone));
}

TEST(forked_child_counts_on_its_copy)
{
	CHECK_OK(percpu_zone_init(&zone, 8, 100));
	percpu_zone_add(&zone, 5);
	CHECK_EQ(test_in_child(use_in_child, NULL), TEST_PASSED);
	check_at_rest(5);
}

TEST_MAIN()

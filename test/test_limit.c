/* SPDX-License-Identifier: MIT */
/* Limited counters: never above the limit, and refused only for a reason. */
#include "probe.h"

#include "cpus.h"

#include <stdbool.h>
#include <sys/time.h>

#include <percpu/percpu.h>

#include "faults/faults.h"
#include "modes.h"

#define THREADS 6

static struct percpu_limit limit;

/*
 * The numbered invariants of src/limit.c, at rest. Copies in slots hold a count, a ceiling that
 * may be closed, and what was granted.
 */
static void check_invariants(void)
{
	struct cells {
		int64_t count, ceiling, granted;
	} const *cells = limit.handle.base;
	uint64_t handed_out = (uint64_t)limit.pool;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const struct cells *copy = percpu_ptr(cells, slot);

		if (slot >= limit.handle.bound) {
			handed_out += (uint64_t)copy->count;
			CHECK_EQ(copy->granted, 0);
			continue;
		}
		CHECK(copy->count <= copy->granted);
		CHECK(copy->ceiling == INT64_MIN || copy->ceiling == copy->granted);
		handed_out += (uint64_t)copy->granted;
	}
	CHECK_EQ((int64_t)handed_out, limit.limit);
	CHECK(percpu_limit_sum(&limit) <= limit.limit);
}

static void begin(int64_t value)
{
	CHECK_OK(percpu_limit_init(&limit, value));
	check_invariants();
}

TEST(limit_is_reached_exactly)
{
	begin(100);
	for (int i = 1; i <= 100; i++) {
		CHECK_OK(percpu_limit_add(&limit, 1));
		CHECK_EQ(percpu_limit_sum(&limit), i);
		check_invariants();
	}
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	CHECK_EQ(percpu_limit_sum(&limit), 100);
	CHECK_OK(percpu_limit_add(&limit, 0));
	CHECK_OK(percpu_limit_sub(&limit, 1));
	CHECK_EQ(percpu_limit_add(&limit, 2), -EAGAIN);
	CHECK_OK(percpu_limit_add(&limit, 1));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	check_invariants();
	CHECK_OK(percpu_limit_destroy(&limit));
}

TEST(bad_arguments_are_refused)
{
	struct percpu_usage_info usage;

	CHECK_EQ(percpu_limit_init(NULL, 1), -EINVAL);
	CHECK_EQ(percpu_limit_init(&limit, -1), -EINVAL);
	CHECK_EQ(percpu_limit_init(&limit, INT64_MIN), -EINVAL);
	CHECK_EQ(percpu_limit_destroy(NULL), -EINVAL);
	CHECK_EQ(percpu_limit_destroy(&limit), -EINVAL);
	CHECK_EQ(percpu_limit_add(NULL, 1), -EINVAL);
	CHECK_EQ(percpu_limit_sub(NULL, 1), -EINVAL);
	CHECK_EQ(percpu_limit_sum(NULL), 0);
	CHECK_EQ(percpu_limit_compare(NULL, 1), -1);
	CHECK_EQ(percpu_limit_compare(NULL, 0), 0);
	CHECK_EQ(percpu_limit_compare(NULL, -1), 1);
	begin(10);
	CHECK_EQ(percpu_limit_add(&limit, -1), -EINVAL);
	CHECK_EQ(percpu_limit_add(&limit, INT64_MIN), -EINVAL);
	CHECK_EQ(percpu_limit_sub(&limit, -1), -EINVAL);
	CHECK_EQ(percpu_limit_sub(&limit, INT64_MIN), -EINVAL);
	CHECK_EQ(percpu_limit_sum(&limit), 0);
	check_invariants();
	CHECK_OK(percpu_limit_destroy(&limit));
	CHECK_EQ(percpu_limit_destroy(&limit), -EINVAL);
	CHECK_EQ(percpu_limit_add(&limit, 1), -EINVAL);
	CHECK_EQ(percpu_limit_sub(&limit, 1), -EINVAL);
	CHECK_EQ(percpu_limit_sum(&limit), 0);
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
}

TEST(limit_of_zero_takes_nothing)
{
	begin(0);
	CHECK_OK(percpu_limit_add(&limit, 0));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	CHECK_EQ(percpu_limit_add(&limit, INT64_MAX), -EAGAIN);
	/* What is taken away first makes room. */
	CHECK_OK(percpu_limit_sub(&limit, 3));
	CHECK_EQ(percpu_limit_sum(&limit), -3);
	CHECK_EQ(percpu_limit_add(&limit, 4), -EAGAIN);
	CHECK_OK(percpu_limit_add(&limit, 3));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	check_invariants();
}

TEST(largest_limit_takes_the_largest_amount)
{
	begin(INT64_MAX);
	CHECK_OK(percpu_limit_add(&limit, INT64_MAX));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	CHECK_EQ(percpu_limit_add(&limit, INT64_MAX), -EAGAIN);
	CHECK_EQ(percpu_limit_sum(&limit), INT64_MAX);
	CHECK_OK(percpu_limit_sub(&limit, INT64_MAX));
	CHECK_EQ(percpu_limit_sum(&limit), 0);
	for (int i = 0; i < 200; i++) {
		go_to_nth_cpu((unsigned)i);
		CHECK_OK(percpu_limit_add(&limit, INT64_MAX / 200));
		check_invariants();
	}
	CHECK_EQ(percpu_limit_add(&limit, INT64_MAX / 200), -EAGAIN);
	CHECK_OK(percpu_limit_add(&limit, INT64_MAX - INT64_MAX / 200 * 200));
	CHECK_EQ(percpu_limit_sum(&limit), INT64_MAX);
}

TEST(compare_tells_below_equal_above)
{
	static const int64_t values[] = {INT64_MIN, -1000, -1,  0,   1,       49,       50,
					 51,        99,    100, 101, 1000000, INT64_MAX};
	static const int64_t sums[] = {0, 50, 100, 1, -20};

	begin(100);
	for (size_t i = 0; i < sizeof(sums) / sizeof(sums[0]); i++) {
		int64_t now = percpu_limit_sum(&limit);

		go_to_nth_cpu((unsigned)i);
		if (sums[i] > now)
			CHECK_OK(percpu_limit_add(&limit, sums[i] - now));
		else
			CHECK_OK(percpu_limit_sub(&limit, now - sums[i]));
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++)
			CHECK_EQ(percpu_limit_compare(&limit, values[j]),
				 (sums[i] > values[j]) - (sums[i] < values[j]));
	}
}

/* One thread at a time, on one CPU after the other: refused if and only if it would pass. */
TEST(random_calls_at_rest_agree_with_a_model)
{
	static const int64_t limits[] = {0, 1, 7, 100, 5000, 1000000007};
	unsigned seed = 1;

	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		int64_t model = 0;

		begin(limits[i]);
		for (int step = 0; step < 20000; step++) {
			int64_t most = rand_r(&seed) % 4 ? limits[i] / 50 + 2 : limits[i] + 2;
			int64_t n = rand_r(&seed) % most;

			if (step % 64 == 0)
				go_to_nth_cpu((unsigned)rand_r(&seed));
			if (rand_r(&seed) % 8 < 5) {
				bool fits = model + n <= limits[i];

				CHECK_EQ(percpu_limit_add(&limit, n), fits ? 0 : -EAGAIN);
				model += fits ? n : 0;
			} else {
				CHECK_OK(percpu_limit_sub(&limit, n));
				model -= n;
			}
			CHECK_EQ(percpu_limit_sum(&limit), model);
			if (step % 64 == 63)
				check_invariants();
		}
		CHECK_OK(percpu_limit_destroy(&limit));
	}
}

static void fill_up(unsigned index, void *arg)
{
	int64_t *added = arg, own = 0;
	unsigned turn = index;

	/* Twice refused in a row on every CPU: others' calls may refuse one. */
	for (int refused = 0; refused < 8; refused++) {
		go_to_nth_cpu(turn++);
		while (percpu_limit_add(&limit, 1) == 0) {
			own++;
			refused = 0;
		}
	}
	__atomic_add_fetch(added, own, __ATOMIC_RELAXED);
}

/* Filled from all sides; what room others' refusals left is there afterwards, to the last one. */
TEST(threads_fill_it_to_the_last_one)
{
	for (int64_t value = 1; value <= 100000; value = value * 10 + 1) {
		int64_t added = 0;

		begin(value);
		test_threads(THREADS, fill_up, &added);
		CHECK(added <= value);
		while (percpu_limit_add(&limit, 1) == 0)
			added++;
		CHECK_EQ(added, value);
		CHECK_EQ(percpu_limit_sum(&limit), value);
		for (unsigned cpu = 0; cpu < 4; cpu++) {
			go_to_nth_cpu(cpu);
			CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
			go_to_nth_cpu(cpu + 1);
			CHECK_OK(percpu_limit_sub(&limit, 1));
			go_to_nth_cpu(cpu);
			CHECK_OK(percpu_limit_add(&limit, 1));
		}
		check_invariants();
		CHECK_OK(percpu_limit_destroy(&limit));
	}
}

/*
 * The witness: what is surely there. Raised after an add was accepted and lowered before a sub is
 * made, so it is never more than the true sum; if it ever passes the limit, the sum did.
 */
static int64_t witness;
static int stop;

static bool add_seen(int64_t n)
{
	int result = percpu_limit_add(&limit, n);

	CHECK(result == 0 || result == -EAGAIN);
	if (result == 0)
		CHECK(__atomic_add_fetch(&witness, n, __ATOMIC_SEQ_CST) <= limit.limit);
	return result == 0;
}

static void sub_seen(int64_t n)
{
	__atomic_sub_fetch(&witness, n, __ATOMIC_SEQ_CST);
	CHECK_OK(percpu_limit_sub(&limit, n));
}

static void add_and_sub_in_handler(int sig)
{
	int saved = errno;

	(void)sig;
	for (int i = 0; i < 5; i++)
		if (add_seen(2))
			sub_seen(2);
	errno = saved;
}

static int64_t owned[THREADS];

static void add_and_sub(unsigned index, void *arg)
{
	unsigned seed = index + 1;
	int64_t own = 0;

	for (int i = 0; i < *(int *)arg; i++) {
		int64_t n = rand_r(&seed) % 20;

		if (i % 512 == 0)
			go_to_nth_cpu((unsigned)rand_r(&seed));
		if (rand_r(&seed) % 2 && own >= n) {
			sub_seen(n);
			own -= n;
		} else if (add_seen(n)) {
			own += n;
		}
	}
	owned[index] = own;
}

static void watch_the_sum(unsigned index, void *arg)
{
	(void)index, (void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK(percpu_limit_sum(&limit) <= limit.limit);
		CHECK(percpu_limit_compare(&limit, limit.limit) <= 0);
	}
}

/* rounds of each thread, under a timer's handler, with a limit that is nearly always reached. */
static void storm(int64_t value, int rounds)
{
	struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	struct test_crew *watcher;
	int64_t sum = 0;

	begin(value);
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	signal(SIGALRM, add_and_sub_in_handler);
	watcher = test_crew_start(1, watch_the_sum, NULL);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	test_threads(THREADS, add_and_sub, &rounds);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_IGN);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(watcher);
	for (int i = 0; i < THREADS; i++)
		sum += owned[i];
	CHECK_EQ(percpu_limit_sum(&limit), sum);
	CHECK_EQ(witness, sum);
	check_invariants();
	/* Everything away, and all of it fits in again at once. */
	sub_seen(sum);
	CHECK_EQ(percpu_limit_sum(&limit), 0);
	CHECK_OK(percpu_limit_add(&limit, value));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	check_invariants();
	CHECK_OK(percpu_limit_destroy(&limit));
}

TEST(limit_is_never_passed_under_threads_and_handlers)
{
	storm(3, 20000);
	storm(40, 20000);
	storm(1000, 20000);
	storm(1000000, 20000);
}

PROBE(storms_in_this_mode)
{
	storm(40, 10000);
	storm(1000, 10000);
	CHECK(*probe_argument != '0' || limit.handle.bound == 0);
}

TEST(limit_is_never_passed_in_the_other_modes)
{
	check_storms_in_the_other_modes("PERCPU_CPUS=64");
}

/* Two threads, one unit: between them the ceiling moves at nearly every call. */
static void pass_the_unit(unsigned index, void *arg)
{
	go_to_nth_cpu(index);
	for (int i = 0; i < *(int *)arg; i++)
		if (add_seen(limit.limit))
			sub_seen(limit.limit);
}

TEST(whole_limit_is_passed_between_cpus)
{
	struct test_crew *watcher;
	int rounds = 50000;

	begin(10);
	watcher = test_crew_start(1, watch_the_sum, NULL);
	test_threads(2, pass_the_unit, &rounds);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(watcher);
	CHECK_EQ(percpu_limit_sum(&limit), 0);
	check_invariants();
	CHECK_OK(percpu_limit_add(&limit, 10));
}

/* One adds by ones below its ceiling until the other, who wants everything, has had it often. */
static int claims;

static void add_or_claim(unsigned index, void *arg)
{
	int64_t n = index ? 1 : limit.limit;

	go_to_nth_cpu(index);
	while (__atomic_load_n(&claims, __ATOMIC_RELAXED) < *(int *)arg) {
		if (!add_seen(n))
			continue;
		sub_seen(n);
		if (index == 0)
			__atomic_add_fetch(&claims, 1, __ATOMIC_RELAXED);
	}
}

TEST(ceiling_that_was_taken_back_is_not_used_any_more)
{
	int enough = 50000;

	begin(64);
	test_threads(2, add_or_claim, &enough);
	CHECK_EQ(percpu_limit_sum(&limit), 0);
	check_invariants();
}

/* Gives every CPU a ceiling of its own with something left below it. */
static void spread(void)
{
	for (unsigned i = 0; i < 64; i++) {
		go_to_nth_cpu(i);
		CHECK_OK(percpu_limit_add(&limit, 1));
		CHECK_OK(percpu_limit_sub(&limit, 1));
	}
	check_invariants();
}

TEST(failing_fence_is_reported_and_nothing_is_lost)
{
	struct percpu_mode_info mode;
	int64_t sum;

	CHECK_OK(percpu_mode(&mode));
	begin(1000);
	if (limit.handle.bound == 0)
		test_skip("this mode needs no fence");
	spread();
	CHECK_OK(percpu_limit_add(&limit, 10));
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	errno = 12345;
	/* It would fit, but what others' ceilings leave cannot be had. */
	CHECK_EQ(percpu_limit_add(&limit, 990), -EPERM);
	CHECK_EQ(errno, 12345);
	CHECK(fault_calls(FAULT_MEMBARRIER) > 0);
	CHECK_EQ(percpu_limit_sum(&limit), 10);
	check_invariants();
	/* What does not fit is refused without one; what is taken away still counts. */
	CHECK_EQ(percpu_limit_add(&limit, 991), -EAGAIN);
	CHECK_OK(percpu_limit_sub(&limit, 4));
	CHECK_EQ(percpu_limit_sum(&limit), 6);
	for (int i = 0; i < 1000; i++) {
		int result = percpu_limit_add(&limit, 1);

		CHECK(result == 0 || result == -EPERM);
	}
	sum = percpu_limit_sum(&limit);
	CHECK(sum >= 6 && sum <= 1000);
	check_invariants();
	/* With the fence back everything is to be had. */
	fault_clear();
	CHECK_OK(percpu_limit_add(&limit, 1000 - sum));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	CHECK_EQ(percpu_limit_sum(&limit), 1000);
	check_invariants();
	CHECK_OK(percpu_limit_sub(&limit, 1000));
	spread();
	CHECK_OK(percpu_limit_add(&limit, 1000));
}

static void add_and_sub_while_fences_fail(unsigned index, void *arg)
{
	unsigned seed = index + 1;
	int64_t own = 0;

	for (int i = 0; i < *(int *)arg; i++) {
		int64_t n = rand_r(&seed) % 20;

		if (i % 64 == 0)
			go_to_nth_cpu((unsigned)rand_r(&seed));
		if (rand_r(&seed) % 2 && own >= n) {
			sub_seen(n);
			own -= n;
		} else {
			int result = percpu_limit_add(&limit, n);

			CHECK(result == 0 || result == -EAGAIN || result == -EPERM);
			if (result == 0) {
				own += n;
				CHECK(__atomic_add_fetch(&witness, n, __ATOMIC_SEQ_CST) <=
				      limit.limit);
			}
		}
	}
	owned[index] = own;
}

TEST(limit_is_never_passed_while_fences_fail_now_and_then)
{
	int rounds = 10000;
	int64_t sum = 0;

	begin(100);
	for (int i = 0; i < 10; i++) {
		struct test_crew *crew =
			test_crew_start(THREADS, add_and_sub_while_fences_fail, &rounds);

		for (int j = 0; j < 200; j++) {
			fault_arm(FAULT_MEMBARRIER, (unsigned)j % 5 + 1, 3, EPERM);
			sched_yield();
		}
		test_crew_join(crew);
		fault_clear();
		for (int j = 0; j < THREADS; j++) {
			sum += owned[j];
			owned[j] = 0;
		}
		CHECK_EQ(percpu_limit_sum(&limit), sum);
		check_invariants();
		sub_seen(sum);
		sum = 0;
	}
	CHECK_OK(percpu_limit_add(&limit, 100));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
}

static void use_in_child(void *arg)
{
	(void)arg;
	CHECK_OK(percpu_limit_add(&limit, 40));
	CHECK_EQ(percpu_limit_sum(&limit), 100);
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	check_invariants();
	CHECK_OK(percpu_limit_destroy(&limit));
}

TEST(forked_child_has_a_limit_of_its_own)
{
	begin(100);
	spread();
	CHECK_OK(percpu_limit_add(&limit, 60));
	CHECK_EQ(test_in_child(use_in_child, NULL), TEST_PASSED);
	CHECK_EQ(percpu_limit_sum(&limit), 60);
	CHECK_OK(percpu_limit_add(&limit, 40));
}

PROBE_MAIN()

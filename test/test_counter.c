/* SPDX-License-Identifier: MIT */
/* Counters: nothing is ever lost, whatever happens to the memory, the fence and the threads. */
#include "probe.h"

#include "cpus.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/time.h>

#include <percpu/percpu.h>

#include "faults/faults.h"

#define THREADS 6
#define ADDS 30000

static struct percpu_usage_info usage_now(void)
{
	struct percpu_usage_info usage;

	CHECK_OK(percpu_usage(&usage));
	return usage;
}

#if PERCPU__NARROW_CELLS
/* As src/cell.h has it. */
static int64_t in_cpu_slot(const int64_t *base, unsigned slot)
{
	struct narrow {
		uint32_t low, near;
		int64_t known;
	} const *cell = (const struct narrow *)percpu_ptr(base, slot);

	return cell->known + (int32_t)(cell->low - cell->near);
}
#else
static int64_t in_cpu_slot(const int64_t *base, unsigned slot)
{
	return *percpu_ptr(base, slot);
}
#endif

static int64_t in_cpu_slots(const struct percpu_counter *counter)
{
	int64_t sum = 0;

	for (unsigned slot = 0; slot < percpu_ncpus(); slot++)
		sum += in_cpu_slot((const int64_t *)counter->base, slot);
	return sum;
}

/* What lies in the slots of a counter, without what lies aside. */
static int64_t sum_of_slots(const struct percpu_counter *counter)
{
	const int64_t *base = counter->base;
	uint64_t sum = 0;

	for (unsigned slot = 0; base && slot < percpu_nslots(); slot++)
		sum += (uint64_t)(slot < percpu_ncpus() ? in_cpu_slot(base, slot)
							: *percpu_ptr(base, slot));
	return (int64_t)sum;
}

static void add_ones(unsigned index, void *counter)
{
	(void)index;
	for (int i = 0; i < ADDS; i++)
		percpu_counter_inc(counter);
}

TEST(every_call_counts)
{
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	CHECK_EQ(percpu_counter_sum(&counter), 0);
	percpu_counter_inc(&counter);
	CHECK_EQ(percpu_counter_sum(&counter), 1);
	percpu_counter_add(&counter, 41);
	CHECK_EQ(percpu_counter_sum(&counter), 42);
	percpu_counter_dec(&counter);
	CHECK_EQ(percpu_counter_sum(&counter), 41);
	percpu_counter_sub(&counter, 50);
	CHECK_EQ(percpu_counter_sum(&counter), -9);
	percpu_counter_add(&counter, 0);
	percpu_counter_add(&counter, -1);
	percpu_counter_sub(&counter, -1);
	CHECK_EQ(percpu_counter_sum(&counter), -9);
	CHECK_EQ(percpu_counter_sum_positive(&counter), 0);
	percpu_counter_add(&counter, 1000000007ll * 1000000009ll);
	CHECK_EQ(percpu_counter_sum(&counter), 1000000007ll * 1000000009ll - 9);
	CHECK_EQ(percpu_counter_sum_positive(&counter), 1000000007ll * 1000000009ll - 9);
	CHECK_OK(percpu_counter_destroy(&counter));
}

TEST(threads_lose_nothing)
{
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	test_threads(THREADS, add_ones, &counter);
	CHECK_EQ(percpu_counter_sum(&counter), THREADS * ADDS);
	CHECK_EQ(sum_of_slots(&counter), THREADS * ADDS);
}

TEST(static_counter_needs_no_call_before)
{
	static PERCPU_COUNTER(counter);

	CHECK_EQ(percpu_counter_sum(&counter), 0);
	CHECK_EQ(percpu_counter_read(&counter), 0);
	test_threads(THREADS, add_ones, &counter);
	CHECK_EQ(percpu_counter_sum(&counter), THREADS * ADDS);
	/* Only the first adds, before it had its slots, lie aside. */
	CHECK(sum_of_slots(&counter) > 0);
	CHECK_OK(percpu_counter_destroy(&counter));
}

static void first_use_at_once(void *arg)
{
	static PERCPU_COUNTER(counter);
	static PERCPU_ID(id);

	(void)arg;
	test_threads(64, add_ones, &counter);
	CHECK_EQ(percpu_counter_sum(&counter), 64 * ADDS);
	CHECK(percpu_id_next(&id) != percpu_id_next(&id));
	CHECK(usage_now().allocated == 16);
}

TEST(field_A7_first_calls_of_64_threads_at_once)
{
	for (int i = 0; i < 20; i++)
		CHECK_EQ(test_in_child(first_use_at_once, NULL), TEST_PASSED);
}

TEST(many_counters_are_packed)
{
	static struct percpu_counter counters[1000];
	size_t before = usage_now().allocated;

	CHECK_OK(percpu_counter_init_many(counters, 1000));
	CHECK_EQ(usage_now().allocated - before, 8000);
	CHECK(sizeof(void *) < 8 || sizeof(counters[0]) == 32);
	for (int i = 0; i < 1000; i++)
		percpu_counter_add(&counters[i], i * i - 1000);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(percpu_counter_sum(&counters[i]), i * i - 1000);
	CHECK_OK(percpu_counter_destroy_many(counters, 1000));
	CHECK_EQ(usage_now().allocated, before);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(percpu_counter_sum(&counters[i]), i * i - 1000);
}

/* Neighbours in one line of every slot, each with a tally of its own. */
#define NEIGHBOURS 16
static struct percpu_counter neighbours[NEIGHBOURS];
static int64_t tallies[NEIGHBOURS];

static void add_to_neighbours(unsigned index, void *arg)
{
	int64_t own[NEIGHBOURS] = {0};
	unsigned seed = index;

	(void)arg;
	for (int i = 0; i < ADDS; i++) {
		int which = rand_r(&seed) % NEIGHBOURS;
		int64_t n = rand_r(&seed) - RAND_MAX / 2;

		percpu_counter_add(&neighbours[which], n);
		own[which] += n;
	}
	for (int i = 0; i < NEIGHBOURS; i++)
		__atomic_add_fetch(&tallies[i], own[i], __ATOMIC_RELAXED);
}

TEST(neighbours_do_not_disturb_each_other)
{
	CHECK_OK(percpu_counter_init_many(neighbours, NEIGHBOURS));
	test_threads(THREADS, add_to_neighbours, NULL);
	for (int i = 0; i < NEIGHBOURS; i++)
		CHECK_EQ(percpu_counter_sum(&neighbours[i]), tallies[i]);
}

TEST(bad_arguments_are_refused)
{
	struct percpu_counter counter;

	CHECK_EQ(percpu_counter_init(NULL), -EINVAL);
	CHECK_EQ(percpu_counter_init_many(NULL, 1), -EINVAL);
	CHECK_EQ(percpu_counter_init_many(&counter, 0), -EINVAL);
	CHECK_EQ(percpu_counter_destroy(NULL), -EINVAL);
	CHECK_EQ(percpu_counter_destroy_many(NULL, 7), -EINVAL);
	CHECK_EQ(percpu_counter_destroy_many(&counter, 0), -EINVAL);
	CHECK_EQ(percpu_counter_set(NULL, 1), -EINVAL);
	CHECK_EQ(percpu_counter_reset(NULL), -EINVAL);
	CHECK_EQ(percpu_counter_sum(NULL), 0);
	CHECK_EQ(percpu_counter_sum_positive(NULL), 0);
	CHECK_EQ(percpu_counter_read(NULL), 0);
	CHECK_EQ(percpu_counter_compare(NULL, 1), -1);
	CHECK_EQ(percpu_counter_compare(NULL, 0), 0);
	CHECK_EQ(percpu_counter_compare(NULL, -1), 1);
	CHECK_EQ(percpu_id_next(NULL), 0);
	CHECK_EQ(percpu_id_destroy(NULL), -EINVAL);
	percpu_counter_add(NULL, 1);
	percpu_counter_sub(NULL, 1);
	percpu_counter_inc(NULL);
	percpu_counter_dec(NULL);
	CHECK_EQ(usage_now().allocated, 0);
}

TEST(destroyed_counter_keeps_its_total_and_counts_late_adds)
{
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	test_threads(THREADS, add_ones, &counter);
	CHECK_OK(percpu_counter_destroy(&counter));
	CHECK_EQ(usage_now().allocated, 0);
	CHECK_EQ(percpu_counter_sum(&counter), THREADS * ADDS);
	test_threads(THREADS, add_ones, &counter);
	percpu_counter_sub(&counter, 7);
	CHECK_EQ(percpu_counter_sum(&counter), 2 * THREADS * ADDS - 7);
	CHECK_EQ(percpu_counter_read(&counter), 2 * THREADS * ADDS - 7);
	CHECK_EQ(percpu_counter_compare(&counter, 2 * THREADS * ADDS - 7), 0);
	CHECK_OK(percpu_counter_set(&counter, 5));
	CHECK_EQ(percpu_counter_sum(&counter), 5);
	CHECK_EQ(percpu_counter_destroy(&counter), -EINVAL);
	CHECK_EQ(percpu_counter_sum(&counter), 5);
	/* It does not come back to life by being used. */
	CHECK_EQ(usage_now().allocated, 0);
	CHECK_OK(percpu_counter_init(&counter));
	CHECK_EQ(percpu_counter_sum(&counter), 0);
	CHECK_OK(percpu_counter_destroy(&counter));
}

TEST(one_destroyed_among_many_spares_the_others_nothing)
{
	struct percpu_counter counters[5];

	CHECK_OK(percpu_counter_init_many(counters, 5));
	for (int i = 0; i < 5; i++)
		percpu_counter_add(&counters[i], i + 1);
	CHECK_OK(percpu_counter_destroy(&counters[2]));
	CHECK_EQ(percpu_counter_destroy_many(counters, 5), -EINVAL);
	CHECK_EQ(usage_now().allocated, 0);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(percpu_counter_sum(&counters[i]), i + 1);
		CHECK_EQ(percpu_counter_destroy(&counters[i]), -EINVAL);
	}
}

TEST(static_counter_can_be_destroyed_unused)
{
	static PERCPU_COUNTER(counter);

	CHECK_OK(percpu_counter_destroy(&counter));
	CHECK_EQ(percpu_counter_destroy(&counter), -EINVAL);
	percpu_counter_inc(&counter);
	CHECK_EQ(percpu_counter_sum(&counter), 1);
	CHECK_EQ(usage_now().allocated, 0);
}

TEST(set_is_a_baseline_and_writes_no_slot)
{
	static const int64_t values[] = {0, 1, -1, 1000, INT64_MAX, INT64_MIN, 42};
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	test_threads(3, add_ones, &counter);
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		int64_t before = sum_of_slots(&counter);

		CHECK_OK(percpu_counter_set(&counter, values[i]));
		CHECK_EQ(percpu_counter_read(&counter), values[i]);
		CHECK_EQ(percpu_counter_sum(&counter), values[i]);
		CHECK_EQ(sum_of_slots(&counter), before);
		percpu_counter_inc(&counter);
		CHECK_EQ(percpu_counter_sum(&counter), (int64_t)((uint64_t)values[i] + 1));
	}
	CHECK_OK(percpu_counter_reset(&counter));
	CHECK_EQ(percpu_counter_sum(&counter), 0);
	CHECK_EQ(sum_of_slots(&counter), 3 * ADDS + 7);
}

TEST(set_of_a_static_counter_before_its_first_add)
{
	static PERCPU_COUNTER(counter);

	CHECK_OK(percpu_counter_set(&counter, 100));
	CHECK_EQ(percpu_counter_sum(&counter), 100);
	percpu_counter_inc(&counter);
	percpu_counter_inc(&counter);
	CHECK_EQ(percpu_counter_sum(&counter), 102);
}

static int stop;

static void add_until_stopped(unsigned index, void *counter)
{
	int64_t *added = &tallies[index];

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		percpu_counter_inc(counter);
		++*added;
	}
}

/* Resets race with adds: what was counted is in the slots, every bit of it. */
TEST(reset_loses_no_add_under_way)
{
	struct percpu_counter counter;
	struct test_crew *crew;
	int64_t total = 0;

	CHECK_OK(percpu_counter_init(&counter));
	crew = test_crew_start(4, add_until_stopped, &counter);
	for (int i = 0; i < 3000; i++) {
		CHECK_OK(percpu_counter_reset(&counter));
		CHECK(percpu_counter_sum(&counter) >= 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(crew);
	for (int i = 0; i < 4; i++)
		total += tallies[i];
	CHECK_EQ(sum_of_slots(&counter), total);
	CHECK(percpu_counter_sum(&counter) <= total);
}

TEST(read_gives_the_last_sum)
{
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	CHECK_EQ(percpu_counter_read(&counter), 0);
	percpu_counter_add(&counter, 10);
	CHECK_EQ(percpu_counter_read(&counter), 0);
	CHECK_EQ(percpu_counter_sum(&counter), 10);
	percpu_counter_add(&counter, 10);
	CHECK_EQ(percpu_counter_read(&counter), 10);
	CHECK_EQ(percpu_counter_compare(&counter, 0), 1);
	CHECK_EQ(percpu_counter_read(&counter), 20);
	CHECK_OK(percpu_counter_destroy(&counter));
	/* The next object in the same memory knows nothing of it. */
	CHECK_OK(percpu_counter_init(&counter));
	CHECK_EQ(percpu_counter_read(&counter), 0);
}

TEST(compare_tells_below_equal_above)
{
	static const int64_t values[] = {INT64_MIN, INT64_MIN + 1, -5,       -1, 0, 1,
					 5,         INT64_MAX - 1, INT64_MAX};
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		CHECK_OK(percpu_counter_reset(&counter));
		percpu_counter_add(&counter, values[i]);
		for (size_t j = 0; j < sizeof(values) / sizeof(values[0]); j++)
			CHECK_EQ(percpu_counter_compare(&counter, values[j]),
				 (values[i] > values[j]) - (values[i] < values[j]));
	}
}

/* ---- Comparisons of counters that are only added to ---- */

/* Adds n to the cell of every slot, whoever it belongs to. */
static void add_to_slots(const struct percpu_counter *counter, int64_t n)
{
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const int64_t *cell = percpu_ptr((const int64_t *)counter->base, slot);

		/* What is known of a narrow cell is its second half. */
		if (PERCPU__NARROW_CELLS && slot < percpu_ncpus())
			cell++;
		*(int64_t *)(uintptr_t)cell += n;
	}
}

/* From the slot of this number on, whoever looks dies of it. The note stays as it is. The address of
 * the last page. */
static uintptr_t close_slots_from(const struct percpu_counter *counter, unsigned slot)
{
	uintptr_t size = (uintptr_t)sysconf(_SC_PAGESIZE);
	uintptr_t page = 0;

	for (; slot < percpu_nslots(); slot++) {
		page = (uintptr_t)percpu_ptr((const int64_t *)counter->base, slot) & ~(size - 1);
		CHECK_OK(mprotect((void *)page, size, PROT_NONE));
	}
	return page;
}

static struct {
	struct percpu_counter counter;
	int64_t limit;
	unsigned open; /* slots that may be looked at */
} compared;

static void compare_with_slots_closed(void *arg)
{
	int *expected = arg;

	signal(SIGSEGV, SIG_DFL);
	(void)close_slots_from(&compared.counter, compared.open);
	CHECK_EQ(percpu_counter_compare(&compared.counter, compared.limit), *expected);
}

/* Which way it comes out in a child where only so many slots can be looked at. */
static void must_compare(int64_t limit, unsigned open, int expected)
{
	compared.limit = limit;
	compared.open = open;
	CHECK_EQ(test_in_child(compare_with_slots_closed, &expected), TEST_PASSED);
}

static void must_look_further(int64_t limit, unsigned open)
{
	int never = 2;

	compared.limit = limit;
	compared.open = open;
	CHECK_EQ(test_in_child(compare_with_slots_closed, &never), -SIGSEGV);
}

TEST(add_only_counter_far_above_is_compared_without_a_look_at_slots)
{
	int64_t slots = percpu_nslots();

	CHECK_OK(percpu_counter_init_add_only(&compared.counter, 1));
	add_to_slots(&compared.counter, 10);
	CHECK_EQ(percpu_counter_sum(&compared.counter), 10 * slots);
	must_compare(0, 0, 1);
	must_compare(10 * slots - 1, 0, 1);
	must_look_further(10 * slots, 0);
	/* It knows no more than what was there when it was summed. */
	add_to_slots(&compared.counter, 1);
	must_compare(10 * slots - 1, 0, 1);
	must_look_further(10 * slots, 0);
	/* A baseline takes effect at once, and is no sum. */
	CHECK_OK(percpu_counter_set(&compared.counter, 1000000));
	must_compare(999999, 0, 1);
	must_look_further(1000000, 0);
	CHECK_OK(percpu_counter_reset(&compared.counter));
	must_look_further(0, 0);
	must_compare(-1, 0, 1);
}

TEST(add_only_counter_is_compared_with_as_few_slots_as_are_enough)
{
	CHECK_OK(percpu_counter_init_add_only(&compared.counter, 1));
	add_to_slots(&compared.counter, 10);
	must_compare(9, 1, 1);
	must_look_further(10, 1);
	must_compare(10, 2, 1);
	/* What it has seen is known afterwards. */
	CHECK_EQ(percpu_counter_compare(&compared.counter, 19), 1);
	must_compare(19, 0, 1);
	CHECK_EQ(percpu_counter_read(&compared.counter), 20);
	must_look_further(20, 0);
	/* Nothing is above what all of them have. */
	CHECK_EQ(percpu_counter_compare(&compared.counter, 10 * percpu_nslots()), 0);
	CHECK_EQ(percpu_counter_compare(&compared.counter, INT64_MAX), -1);
}

TEST(counter_that_may_go_down_is_compared_by_a_sum)
{
	CHECK_OK(percpu_counter_init(&compared.counter));
	add_to_slots(&compared.counter, 10);
	CHECK(percpu_counter_sum(&compared.counter) > 100);
	must_look_further(0, percpu_nslots() - 1);
	must_compare(0, percpu_nslots(), 1);
	add_to_slots(&compared.counter, -11);
	CHECK_EQ(percpu_counter_compare(&compared.counter, 0), -1);
}

TEST(add_only_counters_compare_exactly_at_every_baseline)
{
	static const int64_t values[] = {INT64_MIN, INT64_MIN + 1, -5,       -1, 0, 1,
					 5,         INT64_MAX - 1, INT64_MAX};
	const size_t count = sizeof(values) / sizeof(values[0]);
	static PERCPU_COUNTER_ADD_ONLY(counter);

	/* Before and behind the first add, which gives it slots. */
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < count; i++) {
			CHECK_OK(percpu_counter_set(&counter, values[i]));
			for (size_t j = 0; j < count; j++)
				CHECK_EQ(percpu_counter_compare(&counter, values[j]),
					 (values[i] > values[j]) - (values[i] < values[j]));
		}
		CHECK_EQ(counter.base != NULL, round > 0);
		percpu_counter_add(&counter, 1000000007);
	}
	CHECK_OK(percpu_counter_destroy(&counter));
	CHECK_EQ(percpu_counter_compare(&counter, INT64_MAX), -1);
}

/* A thread's own adds are in every later answer, and no answer knows of more than all of them. */
static void add_and_compare(unsigned index, void *counter)
{
	(void)index;
	for (int i = 1; i <= ADDS; i++) {
		percpu_counter_inc(counter);
		CHECK_EQ(percpu_counter_compare(counter, i - 1), 1);
		CHECK(percpu_counter_compare(counter, THREADS * ADDS) <= 0);
		CHECK(percpu_counter_read(counter) <= THREADS * ADDS);
	}
}

TEST(add_only_counter_is_compared_exactly_while_threads_add)
{
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init_add_only(&counter, 1));
	test_threads(THREADS, add_and_compare, &counter);
	CHECK_EQ(percpu_counter_compare(&counter, THREADS * ADDS), 0);
	CHECK_OK(percpu_counter_destroy(&counter));
}

static uintptr_t last_page;

/* On top of a sum that has come to the last slot. */
static void reset_in_handler(int sig)
{
	(void)sig;
	CHECK_OK(
		mprotect((void *)last_page, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE));
	CHECK_OK(percpu_counter_reset(&compared.counter));
}

/* A sum that began before a reset and ends after it must not make the old total known again. */
TEST(a_sum_that_a_reset_overtakes_leaves_nothing_old_behind)
{
	unsigned last = percpu_nslots() - 1;

	CHECK_OK(percpu_counter_init_add_only(&compared.counter, 1));
	percpu_counter_add(&compared.counter, 1000);
	last_page = close_slots_from(&compared.counter, last);
	signal(SIGSEGV, reset_in_handler);
	CHECK_EQ(percpu_counter_sum(&compared.counter), 1000);
	CHECK_EQ(percpu_counter_read(&compared.counter), 0);
	CHECK_EQ(percpu_counter_compare(&compared.counter, 0), 0);
	CHECK_EQ(percpu_counter_sum(&compared.counter), 0);
}

#if defined(PERCPU_DEBUG)
static void take_away(void *counter)
{
	percpu_counter_dec(counter);
}
#endif

TEST(debug_builds_stop_where_an_add_only_counter_goes_down)
{
#if defined(PERCPU_DEBUG)
	static PERCPU_COUNTER_ADD_ONLY(counter);

	percpu_counter_add(&counter, 0);
	percpu_counter_inc(&counter);
	CHECK_EQ(test_in_child(take_away, &counter), -SIGABRT);
#else
	test_skip("this is no debug build");
#endif
}

/* However far a CPU's cell can count by itself (32 bits of it are narrow where 64 are not stored at
 * once), and back again. */
TEST(amounts_of_any_size_add_up_between_two_looks)
{
	static const int64_t steps[] = {1 << 20,    (1 << 28) - 1,   1 << 28,   1 << 29,
					1 << 30,    INT32_MAX,       INT32_MIN, -(1 << 28) + 1,
					-(1 << 27), INT64_C(1) << 40};
	struct percpu_counter counter;
	int64_t total = 0;

	CHECK_OK(percpu_counter_init(&counter));
	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		for (int j = 0; j < 100; j++)
			percpu_counter_add(&counter, steps[i]);
		total += 100 * steps[i];
		if (i % 3 == 2)
			CHECK_EQ(percpu_counter_sum(&counter), total);
		/* Where sequences count, they do again, in the slot of a CPU. */
		if (percpu_cpu_raw() >= 0 && counter.cpu_base) {
			int64_t before = in_cpu_slots(&counter);

			for (int j = 0; j < 100; j++)
				percpu_counter_inc(&counter);
			total += 100;
			CHECK(in_cpu_slots(&counter) > before);
		}
	}
	CHECK_EQ(percpu_counter_sum(&counter), total);
	CHECK_OK(percpu_counter_destroy(&counter));
}

/* Start values around every power of two that something could carry or promote at. */
TEST(field_J4_sum_wraps_like_twos_complement)
{
	static const int shifts[] = {0, 7, 8, 15, 16, 31, 32, 62, 63};
	static const int64_t steps[] = {1,         -1,        127,       -128,     65535,
					INT32_MIN, INT32_MAX, INT64_MAX, INT64_MIN};
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	for (size_t i = 0; i < sizeof(shifts) / sizeof(shifts[0]); i++) {
		for (int off = -1; off <= 1; off++) {
			uint64_t model = ((uint64_t)1 << shifts[i]) + (uint64_t)(int64_t)off;

			CHECK_OK(percpu_counter_set(&counter, (int64_t)model));
			for (size_t j = 0; j < sizeof(steps) / sizeof(steps[0]); j++) {
				percpu_counter_add(&counter, steps[j]);
				model += (uint64_t)steps[j];
				CHECK_EQ(percpu_counter_sum(&counter), (int64_t)model);
				go_to_nth_cpu((unsigned)j);
				percpu_counter_sub(&counter, steps[j] / 3);
				model -= (uint64_t)(steps[j] / 3);
				CHECK_EQ(percpu_counter_sum(&counter), (int64_t)model);
			}
		}
	}
}

static void add_and_migrate(unsigned index, void *counter)
{
	unsigned seed = index, turn = index;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 200; i++)
			percpu_counter_add(counter, rand_r(&seed) % 100);
		go_to_nth_cpu(turn++);
	}
}

TEST(sums_of_an_add_only_counter_never_go_backwards)
{
	struct percpu_counter counter;
	struct test_crew *crew;
	int64_t last = 0;

	CHECK_OK(percpu_counter_init(&counter));
	crew = test_crew_start(4, add_and_migrate, &counter);
	for (int i = 0; i < 20000; i++) {
		int64_t sum = percpu_counter_sum(&counter);

		CHECK(sum >= last);
		last = sum;
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(crew);
	CHECK(percpu_counter_sum(&counter) >= last);
	CHECK_EQ(percpu_counter_sum(&counter), sum_of_slots(&counter));
}

static void add_on_one_cpu(unsigned index, void *counter)
{
	go_to_nth_cpu(index);
	add_ones(index, counter);
}

/* The reader may not use the CPUs that counted, and nobody does any more. */
TEST(field_J1_sum_visits_cpus_that_nobody_uses)
{
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	for (unsigned i = 0; i < 4; i++) {
		struct test_crew *crew = test_crew_start(1, add_on_one_cpu, &counter);

		test_crew_join(crew);
		add_on_one_cpu(i, &counter);
		CHECK_EQ(percpu_counter_sum(&counter), (int64_t)(i + 1) * 2 * ADDS);
	}
}

TEST(field_D6_affinity_does_not_hide_counts)
{
	struct percpu_counter counter;

	CHECK_OK(percpu_counter_init(&counter));
	for (unsigned i = 0; i < 8; i++) {
		go_to_nth_cpu(i);
		percpu_counter_add(&counter, 1 << i);
		go_to_nth_cpu(i + 1);
		CHECK_EQ(percpu_counter_sum(&counter), (2 << i) - 1);
	}
}

/* Ups and downs in pairs. begun: before the up; ended: after the down. */
static struct {
	uint64_t begun, ended;
	char pad[48];
} pairs[4];

static void go_up_and_down(unsigned index, void *counter)
{
	unsigned turn = index;

	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		__atomic_add_fetch(&pairs[index].begun, 1, __ATOMIC_SEQ_CST);
		__asm__ volatile("" : : : "memory");
		percpu_counter_inc(counter);
		if (turn++ % 16 == 0) {
			go_to_nth_cpu(turn / 16);
		}
		percpu_counter_dec(counter);
		__asm__ volatile("" : : : "memory");
		__atomic_add_fetch(&pairs[index].ended, 1, __ATOMIC_SEQ_CST);
	}
}

static int64_t all_pairs(bool begun)
{
	uint64_t sum = 0;

	for (int i = 0; i < 4; i++)
		sum += __atomic_load_n(begun ? &pairs[i].begun : &pairs[i].ended, __ATOMIC_SEQ_CST);
	return (int64_t)sum;
}

/* Off by at most the pairs that were under way at some moment of it. */
TEST(field_J2_racing_sum_is_off_by_the_pairs_under_way_at_most)
{
	struct percpu_counter counter;
	struct test_crew *crew;

	CHECK_OK(percpu_counter_init(&counter));
	crew = test_crew_start(4, go_up_and_down, &counter);
	for (int i = 0; i < 20000; i++) {
		int64_t ended = all_pairs(false);
		int64_t sum = percpu_counter_sum(&counter);
		int64_t overlapping = all_pairs(true) - ended;

		CHECK(sum <= overlapping && sum >= -overlapping);
		CHECK(percpu_counter_sum_positive(&counter) >= 0);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(crew);
	CHECK_EQ(percpu_counter_sum(&counter), 0);
}

static PERCPU_COUNTER(of_handler);
static int handler_runs;

static void count_in_handler(int sig)
{
	(void)sig;
	percpu_counter_inc(&of_handler);
	handler_runs++;
}

static void get_a_signal(unsigned index, void *arg)
{
	(void)index, (void)arg;
	raise(SIGUSR1);
}

/* Of the counter, of the thread, and of the library. */
PROBE(counts_first_in_a_handler)
{
	signal(SIGUSR1, count_in_handler);
	raise(SIGUSR1);
	CHECK_EQ(percpu_counter_sum(&of_handler), 1);
	for (int i = 0; i < 10; i++)
		test_threads(1, get_a_signal, NULL);
	CHECK_EQ(percpu_counter_sum(&of_handler), 11);
	CHECK_EQ(handler_runs, 11);
}

TEST(field_F3_first_use_in_a_handler)
{
	CHECK_PROBE("counts_first_in_a_handler", "", "PERCPU_RSEQ");
	CHECK_PROBE("counts_first_in_a_handler", "", PROBE_NO_LIBC);
	CHECK_PROBE("counts_first_in_a_handler", "", "PERCPU_RSEQ=off");
}

/* A timer's handler on top of adds to the same counter. */
TEST(handler_on_top_of_an_add_loses_nothing)
{
	struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	int64_t added = 0;

	signal(SIGVTALRM, count_in_handler);
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &often, NULL), 0);
	while (__atomic_load_n(&handler_runs, __ATOMIC_RELAXED) < 50) {
		for (int i = 0; i < 1000; i++)
			percpu_counter_inc(&of_handler);
		added += 1000;
	}
	CHECK_EQ(setitimer(ITIMER_VIRTUAL, &never, NULL), 0);
	signal(SIGVTALRM, SIG_IGN);
	CHECK_EQ(percpu_counter_sum(&of_handler), added + handler_runs);
}

TEST(counter_without_memory_counts_aside)
{
	static PERCPU_COUNTER(counter);

	fault_arm(FAULT_MMAP, 1, FAULT_ALWAYS, ENOMEM);
	errno = 12345;
	percpu_counter_inc(&counter);
	CHECK_EQ(errno, 12345);
	test_threads(1, add_ones, &counter);
	CHECK_EQ(percpu_counter_sum(&counter), ADDS + 1);
	CHECK(counter.base == NULL);
	CHECK(fault_calls(FAULT_MMAP) > 0);
	/* As soon as there is memory it has slots, and has lost nothing. */
	fault_clear();
	test_threads(THREADS, add_ones, &counter);
	CHECK(counter.base != NULL);
	CHECK_EQ(percpu_counter_sum(&counter), (THREADS + 1) * ADDS + 1);
	CHECK_OK(percpu_counter_destroy(&counter));
	CHECK_EQ(percpu_counter_sum(&counter), (THREADS + 1) * ADDS + 1);
}

/* Every mapping of a first use fails once, in turn. */
TEST(failing_mmap_of_a_first_use_leaves_nothing_behind)
{
	for (unsigned call = 1; call <= 2; call++) {
		struct percpu_counter counter = PERCPU_COUNTER_INIT;

		fault_arm(FAULT_MMAP, call, 1, ENOMEM);
		percpu_counter_inc(&counter);
		CHECK_EQ(fault_calls(FAULT_MMAP), call);
		CHECK_EQ(usage_now().reserved, 0);
		CHECK_EQ(percpu_counter_sum(&counter), 1);
	}
}

/* Sequences add to CPU slots exactly where there are some, whichever way the counter was made. */
static void must_use_cpu_slots(const struct percpu_counter *counter)
{
	const void *expected = percpu__rt.bound != 0 ? counter->base : NULL;

	CHECK(counter->base != NULL);
	CHECK(counter->cpu_base == expected);
}

TEST(counters_need_no_fence_to_count_on_cpu_slots)
{
	static PERCPU_COUNTER(counter);
	struct percpu_counter other;

	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	CHECK_OK(percpu_counter_init(&other));
	must_use_cpu_slots(&other);
	test_threads(THREADS, add_ones, &counter);
	must_use_cpu_slots(&counter);
	CHECK_EQ(percpu_counter_sum(&counter), THREADS * ADDS);
	CHECK_OK(percpu_counter_destroy(&counter));
	CHECK(counter.cpu_base == NULL && counter.base == NULL);
	CHECK_EQ(percpu_counter_sum(&counter), THREADS * ADDS);
	CHECK_OK(percpu_counter_destroy(&other));
}

/* Ids: taken by threads and a handler, kept, sorted, and no two alike. */
#define IDS_OF_THREAD 20000
#define IDS_MAX (THREADS * IDS_OF_THREAD * 3 + 100000)
static PERCPU_ID(id);
static uint64_t *ids;
static size_t ids_taken;

static void take_id(void)
{
	uint64_t value = percpu_id_next(&id);
	size_t at = __atomic_fetch_add(&ids_taken, 1, __ATOMIC_RELAXED);

	CHECK(value != 0);
	CHECK(at < IDS_MAX);
	ids[at] = value;
}

static void take_ids(unsigned index, void *arg)
{
	(void)arg;
	/* Ids of different slots are what could be alike. */
	go_to_nth_cpu(index);
	for (int i = 0; i < IDS_OF_THREAD; i++)
		take_id();
}

static void take_id_in_handler(int sig)
{
	(void)sig;
	if (__atomic_load_n(&ids_taken, __ATOMIC_RELAXED) < IDS_MAX - 1000)
		take_id();
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void check_ids_unique(void)
{
	qsort(ids, ids_taken, sizeof(ids[0]), by_value);
	for (size_t i = 1; i < ids_taken; i++)
		CHECK(ids[i] != ids[i - 1]);
}

static void make_room_for_ids(void)
{
	ids = calloc(IDS_MAX, sizeof(ids[0]));
	CHECK(ids != NULL);
}

/* The first one gives the object its slots, and is a number of one of them already. */
TEST(ids_are_numbers_of_slots_from_the_first_one_on)
{
	static PERCPU_ID(fresh);

	for (int i = 0; i < 3; i++)
		CHECK((int64_t)percpu_id_next(&fresh) > 0);
	CHECK_OK(percpu_id_destroy(&fresh));
	CHECK((int64_t)percpu_id_next(&fresh) < 0);
}

TEST(ids_are_unique_over_threads_handlers_and_destroy)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	make_room_for_ids();
	signal(SIGALRM, take_id_in_handler);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	test_threads(THREADS, take_ids, NULL);
	/* No call may be under way while it is destroyed. */
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_IGN);
	CHECK_OK(percpu_id_destroy(&id));
	test_threads(THREADS, take_ids, NULL);
	CHECK_EQ(percpu_id_destroy(&id), -EINVAL);
	take_ids(0, NULL);
	CHECK(ids_taken >= (2 * THREADS + 1) * IDS_OF_THREAD);
	check_ids_unique();
}

TEST(ids_without_memory_are_unique_and_marked)
{
	make_room_for_ids();
	fault_arm(FAULT_MMAP, 1, FAULT_ALWAYS, ENOMEM);
	for (int i = 0; i < 1000; i++) {
		take_id();
		CHECK(ids[i] >> 63 == 1);
	}
	fault_clear();
	test_threads(THREADS, take_ids, NULL);
	CHECK(percpu_id_next(&id) >> 63 == 0);
	CHECK_OK(percpu_id_destroy(&id));
	take_ids(0, NULL);
	CHECK(percpu_id_next(&id) >> 63 == 1);
	check_ids_unique();
}

static void count_in_the_child(void *counter)
{
	int64_t before = percpu_counter_sum(counter);

	test_threads(2, add_ones, counter);
	CHECK_EQ(percpu_counter_sum(counter), before + 2 * ADDS);
	CHECK_OK(percpu_counter_destroy(counter));
}

TEST(forked_child_counts_on_its_copy)
{
	static PERCPU_COUNTER(counter);

	add_ones(0, &counter);
	CHECK_EQ(test_in_child(count_in_the_child, &counter), TEST_PASSED);
	CHECK_EQ(percpu_counter_sum(&counter), ADDS);
	add_ones(0, &counter);
	CHECK_EQ(percpu_counter_sum(&counter), 2 * ADDS);
}

PROBE_MAIN()

/* SPDX-License-Identifier: MIT */
/*
 * Calls that come before the library's constructor: of another library's constructor, and of the
 * program's .preinit_array, which runs before all constructors.
 */
#include "probe.h"

#include <stdbool.h>

#include "faults/early.h"

/* 1: the program has a function in .preinit_array. */
#if !defined(TEST_PREINIT)
#define TEST_PREINIT 0
#endif
/* 1: the dynamic linker is expected to run the other library's constructor first. */
#if !defined(TEST_EARLY)
#define TEST_EARLY 0
#endif

#define THREADS 64

#if TEST_PREINIT
static PERCPU_COUNTER(preinit_hits);
static unsigned preinit_slots = ~0u;

static pthread_barrier_t at_once;

static void *count_at_once(void *arg)
{
	(void)arg;
	pthread_barrier_wait(&at_once);
	for (int i = 0; i < EARLY_ADDS; i++)
		percpu_counter_inc(&preinit_hits);
	return NULL;
}

/* The first calls of all, and of many threads. */
static void start_in_many_threads(void)
{
	pthread_t threads[THREADS];
	unsigned made = 0;

	pthread_barrier_init(&at_once, NULL, THREADS);
	while (made < THREADS && pthread_create(&threads[made], NULL, count_at_once, NULL) == 0)
		made++;
	if (made != THREADS)
		_exit(TEST_FAILED);
	while (made)
		pthread_join(threads[--made], NULL);
}

static void preinit(int argc, char **argv, char **environment)
{
	(void)argc, (void)argv;
	preinit_slots = percpu__rt.nslots;
	/* libc's own copy of the environment may not be there yet. */
	for (; *environment; environment++)
		if (strncmp(*environment, "TEST_EARLY_THREADS=", 19) == 0) {
			start_in_many_threads();
			return;
		}
	for (int i = 0; i < EARLY_ADDS; i++)
		percpu_counter_inc(&preinit_hits);
}

__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(int, char **,
									      char **) = preinit;
#endif

static void use_thread_local(unsigned index, void *arg)
{
	(void)arg;
	for (int i = 0; i < 1000; i++)
		early_thread_local()[i] += (int)index;
	percpu_counter_inc(&early_hits);
	CHECK_EQ(early_thread_local()[999], index);
}

static void check_all_is_well(void)
{
	void *block;

	/* Memory of other threads' variables is found by way of the thread control block. */
	test_threads(4, use_thread_local, NULL);
	*early_thread_local() = 1;
	block = realloc(malloc(10), 100000);
	CHECK(block != NULL);
	free(block);
	CHECK_EQ(percpu_counter_sum(&early_hits), EARLY_ADDS + 4);
	CHECK(early_id != 0);
	CHECK(percpu_id_next(&early_ids) != early_id);
	for (int i = 0; i < EARLY_ADDS; i++)
		percpu_counter_inc(&early_hits);
	CHECK_EQ(percpu_counter_sum(&early_hits), 2 * EARLY_ADDS + 4);
}

TEST(field_A6_constructor_counts_before_the_library_has_started)
{
	if (TEST_EARLY && early_slots != 0)
		test_skip("this dynamic linker has another order");
	if (!TEST_EARLY)
		CHECK(early_slots != 0);
	check_all_is_well();
}

#if TEST_PREINIT
static void need_preinit(void)
{
#if !defined(__GLIBC__)
	if (preinit_slots == ~0u)
		test_skip("this libc does not run .preinit_array");
#endif
}

TEST(field_A6_first_call_of_all_starts_the_library)
{
	need_preinit();
	CHECK_EQ(preinit_slots, 0);
	CHECK_EQ(percpu_counter_sum(&preinit_hits), EARLY_ADDS);
	check_all_is_well();
}

PROBE(started_in_many_threads)
{
	CHECK_EQ(preinit_slots, 0);
	CHECK_EQ(percpu_counter_sum(&preinit_hits), THREADS * EARLY_ADDS);
	check_all_is_well();
}

TEST(field_A7_start_of_64_threads_at_once)
{
	need_preinit();
	for (int i = 0; i < 50; i++) {
		CHECK_PROBE("started_in_many_threads", "", "TEST_EARLY_THREADS=1");
		CHECK_PROBE("started_in_many_threads", "", "TEST_EARLY_THREADS=1", PROBE_NO_LIBC);
		CHECK_PROBE("started_in_many_threads", "", "TEST_EARLY_THREADS=1",
			    "PERCPU_RSEQ=off");
	}
}

#endif

PROBE_MAIN()

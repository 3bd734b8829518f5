/* SPDX-License-Identifier: MIT */
/* How threads get their registration and lose it, and who else may hold it. */
#include "threads.h"

#include <sys/auxv.h>

#include "faults/faults.h"
#include "internal.h"

/* AT_RSEQ_FEATURE_SIZE, which libc need not know. */
#define AUXV_RSEQ_FEATURE_SIZE 27

/*
 * Another library that registers its own area, in every second thread and before this one gets to
 * it, as an allocator does at a thread's first allocation.
 */
static __thread struct percpu__rseq of_the_other __attribute__((aligned(PERCPU__RSEQ_ALIGN)));

static void add_beside_the_other(unsigned index, void *arg)
{
	struct percpu_mode_info mode;

	(void)arg;
#if ARCH_HAVE_SEQ
	if (index % 2 == 0) {
		of_the_other.cpu_id = PERCPU__CPU_UNINITIALIZED;
		CHECK_EQ(syscall(SYS_rseq, &of_the_other, 32, 0, ARCH_RSEQ_SIG), 0);
	}
#endif
	add_some(index, NULL);
	mode = mode_now();
	CHECK_EQ(mode.owner, index % 2 ? PERCPU_OWNER_SELF : PERCPU_OWNER_OTHER);
	CHECK_EQ(mode.sequences, index % 2);
	/* And the other has what he registered. */
	if (index % 2 == 0)
		CHECK(*(volatile uint32_t *)&of_the_other.cpu_id < mode.cpus_possible);
}

PROBE(shares_the_process_with_another_owner)
{
	word = percpu_new(uint32_t);
	CHECK(word != NULL);
	add_beside_the_other(*probe_argument == 'm' ? 0 : 1, NULL);
	test_threads(8, add_beside_the_other, NULL);
	check_some(9);
}

TEST(field_A3_another_owner_of_some_threads_is_tolerated)
{
	need_sequences();
	CHECK_PROBE("shares_the_process_with_another_owner", "main", PROBE_NO_LIBC);
	CHECK_PROBE("shares_the_process_with_another_owner", "threads", PROBE_NO_LIBC);
}

static void add_without_registration(unsigned index, void *arg)
{
	(void)arg;
	add_some(index, NULL);
	CHECK_EQ(mode_now().sequences, 0);
}

/* A filter that comes after the first threads: the later ones do without. */
PROBE(is_refused_registrations_later)
{
	word = percpu_new(uint32_t);
	CHECK(word != NULL);
	add_some(0, NULL);
	CHECK(mode_now().sequences);
	fault_arm(FAULT_RSEQ, 1, FAULT_ALWAYS, EPERM);
	test_threads(4, add_without_registration, NULL);
	CHECK(fault_calls(FAULT_RSEQ) >= 4);
	CHECK(mode_now().sequences);
	add_some(0, NULL);
	check_some(6);
}

TEST(field_A4_failure_in_a_later_thread_is_no_crash)
{
	need_sequences();
	CHECK_PROBE("is_refused_registrations_later", "", PROBE_NO_LIBC);
}

TEST(field_B1_feature_size_table)
{
	static const struct {
		unsigned libc;
		unsigned long kernel;
		unsigned expected;
	} table[] = {
		{0, 28, 28},  {20, 0, 20},  {20, 28, 28}, {32, 0, 20},  {32, 28, 28}, {33, 33, 33},
		{64, 40, 64}, {20, 33, 32}, {32, 40, 32}, {20, 20, 20}, {32, 32, 32}, {0, 0, 20},
		{0, 20, 20},  {0, 40, 40},  {28, 0, 28},  {28, 28, 28}, {40, 40, 40},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		CHECK_EQ(percpu__feature_size(table[i].libc, table[i].kernel), table[i].expected);
}

static void register_and_end(unsigned index, void *arg)
{
	(void)index, (void)arg;
	percpu_counter_inc(&hits);
	CHECK_EQ(mode_now().owner, PERCPU_OWNER_SELF);
}

/* "features refused length": one long registration is refused where it says so. */
PROBE(registers_with_a_length)
{
	unsigned features, refused, length;

	CHECK_EQ(sscanf(probe_argument, "%u %u %u", &features, &refused, &length), 3);
	fault_auxval_answers(features);
	fault_arm(FAULT_RSEQ, 1, refused, EINVAL);
	test_threads(1, register_and_end, NULL);
	CHECK_EQ(fault_registrations().last_length, length);
	CHECK_EQ(fault_registrations().began, 1);
	CHECK_EQ(fault_registrations().ended, 1);
}

TEST(field_B2_length_is_what_this_kernel_takes)
{
	need_sequences();
	CHECK_PROBE("registers_with_a_length", "20 0 32", PROBE_NO_LIBC);
	CHECK_PROBE("registers_with_a_length", "28 0 32", PROBE_NO_LIBC);
	CHECK_PROBE("registers_with_a_length", "32 0 32", PROBE_NO_LIBC);
	/* Kernels that say nothing of features take one length only, however much is asked for. */
	if (getauxval(AUXV_RSEQ_FEATURE_SIZE)) {
		CHECK_PROBE("registers_with_a_length", "33 0 64", PROBE_NO_LIBC);
		CHECK_PROBE("registers_with_a_length", "40 0 64", PROBE_NO_LIBC);
	} else {
		CHECK_PROBE("registers_with_a_length", "33 0 32", PROBE_NO_LIBC);
	}
	/* An older kernel than the auxiliary vector has us believe, and more than there is room for. */
	CHECK_PROBE("registers_with_a_length", "40 1 32", PROBE_NO_LIBC);
	CHECK_PROBE("registers_with_a_length", "128 0 32", PROBE_NO_LIBC);
}

#if ARCH_HAVE_SEQ
static struct percpu__rseq *area(void)
{
	return (struct percpu__rseq *)(void *)(ARCH_THREAD_POINTER() + percpu__rt.rseq_offset);
}

/* What no kernel that announced so many bytes writes to. */
static void check_clean_behind(unsigned feature_size)
{
	unsigned first = feature_size > 28 ? (feature_size - 28 + 3) / 4 : 0;

	CHECK_EQ(area()->flags, 0);
	for (unsigned i = first; i < sizeof(area()->later) / sizeof(area()->later[0]); i++)
		CHECK_EQ(area()->later[i], 0);
}

static uintptr_t area_before;

/* What the last thread with this stack left behind is gone before the kernel sees it. */
static void use_a_recycled_area(unsigned index, void *arg)
{
	unsigned *recycled = arg;

	(void)index;
	*recycled += (uintptr_t)area() == area_before;
	area_before = (uintptr_t)area();
	CHECK_EQ(area_before % 32, 0);
	percpu_counter_inc(&hits);
	CHECK_EQ(mode_now().owner, PERCPU_OWNER_SELF);
	check_clean_behind(mode_now().feature_size);
	CHECK(area()->rseq_cs >> (8 * sizeof(long) - 1) >> 1 == 0);
	memset(area()->later, 0xff, sizeof(area()->later));
}

PROBE(registers_recycled_areas)
{
	unsigned recycled = 0;

	for (int i = 0; i < 20; i++)
		test_threads(1, use_a_recycled_area, &recycled);
	CHECK(recycled > 0);
	CHECK_EQ(fault_registrations().ended, 20);
}

TEST(field_B3_area_is_clean_when_it_is_registered)
{
	need_sequences();
	CHECK_PROBE("registers_recycled_areas", "", PROBE_NO_LIBC);
}

TEST(field_B5_only_rseq_cs_is_ever_written)
{
	struct percpu_limit limit;
	struct percpu_zone zone;

	need_sequences();
	if (!mode_now().sequences)
		test_skip("not registered here");
	CHECK_OK(percpu_limit_init(&limit, INT64_MAX));
	CHECK_OK(percpu_zone_init(&zone, 8, 100));
	check_exact_with(0);
	for (int i = 0; i < 10000; i++) {
		CHECK_OK(percpu_limit_add(&limit, 1));
		percpu_zone_inc(&zone);
	}
	CHECK_EQ(area()->flags, 0);
	CHECK_EQ(area()->cpu_id_start, area()->cpu_id);
	/* libc has other things behind its area. */
	if (mode_now().owner == PERCPU_OWNER_SELF)
		check_clean_behind(mode_now().feature_size);
}
#endif

/* These sanitizers take their thread apart before the last destructor. */
#if !defined(TEST_SANITIZED_THREADS)
static unsigned destructor_calls;
static pthread_key_t keys[10];

/* Values: the index of the key, and 16 for each round. */
static void add_at_the_end(void *value)
{
	uintptr_t n = (uintptr_t)value;

	__atomic_add_fetch(&destructor_calls, 1, __ATOMIC_RELAXED);
	for (int i = 0; i < 100; i++)
		percpu_counter_inc(&hits);
	(void)mode_now();
	CHECK_EQ(pthread_setspecific(keys[n % 16], (void *)(n + 16)), 0);
}

static void make_keys(void)
{
	for (int i = 0; i < 10; i++)
		CHECK_EQ(pthread_key_create(&keys[i], add_at_the_end), 0);
}

static void set_keys(unsigned index, void *counts)
{
	(void)index;
	if (counts)
		percpu_counter_inc(&hits);
	for (uintptr_t i = 0; i < 10; i++)
		CHECK_EQ(pthread_setspecific(keys[i], (void *)(16 + i)), 0);
}

/* So many threads, and each was registered once and is no more. */
static void check_all_ended(unsigned threads)
{
	struct fault_registrations registrations = fault_registrations();

	CHECK_EQ(destructor_calls, threads * PTHREAD_DESTRUCTOR_ITERATIONS * 10);
	CHECK_EQ(registrations.ended, registrations.began);
	if (registrations.began)
		CHECK_EQ(registrations.began, threads);
}

/* In every round of destructors, long after the library's own. */
TEST(field_E10_destructors_count_in_every_round)
{
	make_keys();
	for (unsigned i = 0; i < 20; i++)
		test_threads(i % 4 + 1, set_keys, &hits);
	check_all_ended(50);
	CHECK_EQ(percpu_counter_sum(&hits), (int64_t)destructor_calls * 100 + 50);
}

TEST(field_E10_first_count_of_a_thread_is_in_a_destructor)
{
	make_keys();
	for (unsigned i = 0; i < 20; i++)
		test_threads(i % 4 + 1, set_keys, NULL);
	check_all_ended(50);
	CHECK_EQ(percpu_counter_sum(&hits), (int64_t)destructor_calls * 100);
}
#endif

/*
 * A handler runs inside the system call that registers its thread, and counts: before it, after
 * it, and at both times.
 */
static PERCPU_COUNTER(hits_of_handler);
static int handler_runs;

static void count_in_handler(int sig)
{
	(void)sig;
	percpu_counter_inc(&hits_of_handler);
	(void)mode_now();
	(void)percpu_cpu();
	handler_runs++;
}

static void interrupt_registration(enum fault kind, int after)
{
	if (kind == FAULT_RSEQ && (probe_argument[after] == '1'))
		raise(SIGUSR1);
}

static void begin_under_signals(unsigned index, void *arg)
{
	(void)index, (void)arg;
	percpu_counter_inc(&hits);
	CHECK_EQ(mode_now().owner, PERCPU_OWNER_SELF);
	CHECK(mode_now().sequences);
}

PROBE(is_interrupted_while_it_registers)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = count_in_handler;
	CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
	fault_watcher = interrupt_registration;
	for (int i = 0; i < 10; i++)
		test_threads(1, begin_under_signals, NULL);
	fault_watcher = NULL;
	CHECK(handler_runs >= 10);
	CHECK_EQ(percpu_counter_sum(&hits_of_handler), handler_runs);
	CHECK_EQ(percpu_counter_sum(&hits), 10);
	CHECK_EQ(fault_registrations().began, 10);
	CHECK_EQ(fault_registrations().ended, 10);
}

TEST(field_F3_handler_interrupts_its_threads_registration)
{
	need_sequences();
	CHECK_PROBE("is_interrupted_while_it_registers", "10", PROBE_NO_LIBC);
	CHECK_PROBE("is_interrupted_while_it_registers", "01", PROBE_NO_LIBC);
	CHECK_PROBE("is_interrupted_while_it_registers", "11", PROBE_NO_LIBC);
}

static void do_nothing(unsigned index, void *arg)
{
	(void)index, (void)arg;
}

PROBE(registers_nobody_who_does_not_count)
{
	test_threads(4, do_nothing, NULL);
	(void)percpu_ncpus();
	CHECK_EQ(fault_registrations().began, 0);
	CHECK_EQ(fault_calls(FAULT_RSEQ), 0);
	percpu_counter_inc(&hits);
	CHECK_EQ(fault_registrations().began, 1);
}

TEST(field_I4_threads_that_never_count_are_not_registered)
{
	need_sequences();
	CHECK_PROBE("registers_nobody_who_does_not_count", "", PROBE_NO_LIBC);
}

PROBE_MAIN()

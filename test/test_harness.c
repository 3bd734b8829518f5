/* SPDX-License-Identifier: MIT */
/* The harness itself: a check that cannot fail would make every other test worthless. */
#include "test.h"

#include <fcntl.h>

/* The children below fail on purpose; their messages would be taken for real ones. */
static void be_silent(void)
{
	int null = open("/dev/null", O_WRONLY);

	if (null >= 0)
		dup2(null, STDERR_FILENO);
}

static void check_what_is_false(void *arg)
{
	(void)arg;
	be_silent();
	CHECK(1 + 1 == 3);
}

static void check_unequal_numbers(void *arg)
{
	(void)arg;
	be_silent();
	CHECK_EQ(2, 3);
}

static void check_unequal_strings(void *arg)
{
	(void)arg;
	be_silent();
	CHECK_STR_EQ("a", "b");
}

static void check_a_failed_call(void *arg)
{
	(void)arg;
	be_silent();
	CHECK_OK(-EINVAL);
}

TEST(false_checks_fail)
{
	CHECK_EQ(test_in_child(check_what_is_false, NULL), TEST_FAILED);
	CHECK_EQ(test_in_child(check_unequal_numbers, NULL), TEST_FAILED);
	CHECK_EQ(test_in_child(check_unequal_strings, NULL), TEST_FAILED);
	CHECK_EQ(test_in_child(check_a_failed_call, NULL), TEST_FAILED);
}

TEST(true_checks_pass)
{
	CHECK(1 + 1 == 2);
	CHECK_EQ(-1, -1);
	CHECK_STR_EQ("a", "a");
	CHECK_OK(0);
}

static void check_nothing(void)
{
}

static void run_a_test_without_checks(void *arg)
{
	struct test_case empty = {"empty", check_nothing, NULL};

	(void)arg;
	be_silent();
	test__checked = 0;
	test__run(&empty);
}

TEST(test_that_checks_nothing_fails)
{
	CHECK_EQ(test_in_child(run_a_test_without_checks, NULL), TEST_FAILED);
}

static void fail_in_member_3(unsigned index, void *arg)
{
	(void)arg;
	CHECK(index != 3);
}

static void fail_in_a_thread(void *arg)
{
	be_silent();
	test_threads(4, fail_in_member_3, arg);
}

TEST(failure_in_a_thread_ends_the_process)
{
	CHECK_EQ(test_in_child(fail_in_a_thread, NULL), TEST_FAILED);
}

static void skip_for_the_machine(void *arg)
{
	(void)arg;
	be_silent();
	test_skip("no such machine");
}

static void skip_for_a_package(void *arg)
{
	be_silent();
	if (arg)
		setenv("PERCPU_NO_SKIP", "1", 1);
	else
		unsetenv("PERCPU_NO_SKIP");
	test_skip_missing("some-package");
}

TEST(skips_are_told_from_missing_packages)
{
	char strict;

	CHECK_EQ(test_in_child(skip_for_the_machine, NULL), TEST_SKIPPED);
	CHECK_EQ(test_in_child(skip_for_a_package, NULL), TEST_SKIPPED);
	CHECK_EQ(test_in_child(skip_for_a_package, &strict), TEST_FAILED);
}

static void never_end(void *arg)
{
	(void)arg;
	be_silent();
	unsetenv("TEST_PATIENCE");
	test_watchdog(1);
	for (;;)
		pause();
}

TEST(watchdog_ends_a_hanging_test)
{
	CHECK_EQ(test_in_child(never_end, NULL), TEST_FAILED);
}

static void die_of_a_signal(void *arg)
{
	(void)arg;
	signal(SIGTERM, SIG_DFL);
	raise(SIGTERM);
}

TEST(signal_of_a_child_is_reported)
{
	CHECK_EQ(test_in_child(die_of_a_signal, NULL), -SIGTERM);
}

static void mark(unsigned index, void *arg)
{
	unsigned char *marks = (unsigned char *)arg;

	marks[index]++;
}

TEST(crew_runs_each_member_once)
{
	unsigned char marks[16] = {0};

	test_threads(16, mark, marks);
	for (unsigned i = 0; i < 16; i++)
		CHECK_EQ(marks[i], 1);
}

TEST_MAIN()

/* SPDX-License-Identifier: MIT */
/*
 * The test harness: one header, one program per module, one process per test.
 *
 *	#include "test.h"
 *
 *	TEST(sum_counts_every_thread)
 *	{
 *		test_threads(8, count_in_thread, &counter);
 *		CHECK_EQ(percpu_counter_sum(&counter), 8);
 *	}
 *
 *	TEST_MAIN()
 *
 * The program runs one test by its name, lists them with --list, and without arguments runs each
 * in a child of its own. Exit status: 0 passed, 1 failed, 77 skipped, 2 wrong usage.
 *
 * A check that fails prints its place and values and ends the process at once, from any thread,
 * signal handler or child (there the parent sees status 1). A test that passes without having
 * checked anything fails. Each test and each child has a watchdog of 120 seconds; TEST_PATIENCE in the
 * environment multiplies its time, for machines that are slow.
 *
 * Include this header first: it asks libc for the GNU interfaces. Valid C11 and C++17.
 */
#ifndef PERCPU_TEST_H
#define PERCPU_TEST_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TEST_PASSED = 0, TEST_FAILED = 1, TEST_USAGE = 2, TEST_SKIPPED = 77 };

enum { TEST_WATCHDOG_SECONDS = 120 };

struct test_case {
	const char *name;
	void (*run)(void);
	struct test_case *next;
};

static struct test_case *test__first;
static struct test_case **test__end = &test__first;
static const char *test__name = "(no test)";
static int test__checked;
static int test__ending;

/* In the order of the source: constructors of one file run in that order. */
static inline void test__register(struct test_case *test)
{
	*test__end = test;
	test__end = &test->next;
}

#define TEST(name)                                                                                 \
	static void test__run_##name(void);                                                        \
	static struct test_case test__case_##name = {#name, test__run_##name, NULL};               \
	__attribute__((constructor)) static void test__register_##name(void)                       \
	{                                                                                          \
		test__register(&test__case_##name);                                                \
	}                                                                                          \
	static void test__run_##name(void)

/*
 * Messages go out in one write each and without stdio's locks: a check may fail in a signal
 * handler that interrupted a printf.
 */
__attribute__((format(printf, 1, 0))) static inline void test__vprint(const char *format,
								      va_list args)
{
	char text[1024];
	int length = vsnprintf(text, sizeof(text), format, args);
	ssize_t written;

	if (length > (int)sizeof(text) - 1)
		length = (int)sizeof(text) - 1;
	written = length > 0 ? write(STDERR_FILENO, text, (size_t)length) : 0;
	(void)written;
}

__attribute__((format(printf, 1, 2))) static inline void test_print(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	test__vprint(format, args);
	va_end(args);
}

/*
 * The first thread that gets here ends the process; the others wait for that. Signals are held off
 * so that no handler of the first thread can come to wait for it.
 */
static inline void test__claim_end(void)
{
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (__atomic_exchange_n(&test__ending, 1, __ATOMIC_ACQ_REL))
		pause();
}

__attribute__((noreturn, cold, format(printf, 3, 4))) static inline void
test_fail(const char *file, int line, const char *format, ...)
{
	struct utsname machine;
	va_list args;

	test__claim_end();
	test_print("%s: FAILED at %s:%d: ", test__name, file, line);
	va_start(args, format);
	test__vprint(format, args);
	va_end(args);
	if (uname(&machine) == 0)
		test_print("\non %s %s %s %s\n", machine.sysname, machine.release, machine.version,
			   machine.machine);
	_exit(TEST_FAILED);
}

/* A plain load in all but the first check, so that checks inside a storm share no hot line. */
static inline void test__count_check(void)
{
	if (!__atomic_load_n(&test__checked, __ATOMIC_RELAXED))
		__atomic_store_n(&test__checked, 1, __ATOMIC_RELAXED);
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		test__count_check();                                                               \
		if (!(condition))                                                                  \
			test_fail(__FILE__, __LINE__, "%s", #condition);                           \
	} while (0)

/* Integers, compared and shown as signed 64-bit numbers. */
#define CHECK_EQ(actual, expected)                                                                 \
	do {                                                                                       \
		long long test__actual = (long long)(actual);                                      \
		long long test__expected = (long long)(expected);                                  \
                                                                                                   \
		test__count_check();                                                               \
		if (test__actual != test__expected)                                                \
			test_fail(__FILE__, __LINE__, "%s is %lld, expected %s = %lld", #actual,   \
				  test__actual, #expected, test__expected);                        \
	} while (0)

#define CHECK_STR_EQ(actual, expected)                                                             \
	do {                                                                                       \
		const char *test__actual = (actual);                                               \
		const char *test__expected = (expected);                                           \
                                                                                                   \
		test__count_check();                                                               \
		if (strcmp(test__actual, test__expected) != 0)                                     \
			test_fail(__FILE__, __LINE__, "%s is \"%s\", expected \"%s\"", #actual,    \
				  test__actual, test__expected);                                   \
	} while (0)

/* A call that returns 0 or -errno. */
#define CHECK_OK(call)                                                                             \
	do {                                                                                       \
		long test__result = (long)(call);                                                  \
                                                                                                   \
		test__count_check();                                                               \
		if (test__result != 0)                                                             \
			test_fail(__FILE__, __LINE__, "%s returned %ld (%s)", #call, test__result, \
				  strerror((int)-test__result));                                   \
	} while (0)

/* The machine cannot run this test: a kernel without the feature, a single CPU, a filter. */
__attribute__((noreturn, format(printf, 1, 2))) static inline void test_skip(const char *format,
									     ...)
{
	va_list args;

	test__claim_end();
	test_print("SKIP: %s: ", test__name);
	va_start(args, format);
	test__vprint(format, args);
	va_end(args);
	test_print("\n");
	_exit(TEST_SKIPPED);
}

/*
 * A program is missing that a package would bring. Where PERCPU_NO_SKIP is set, everything was
 * to be installed, and its absence is a failure. test/skip.sh does the same for shell scripts.
 */
__attribute__((noreturn)) static inline void test_skip_missing(const char *package)
{
	const char *no_skip = getenv("PERCPU_NO_SKIP");

	if (no_skip && *no_skip)
		test_fail(__FILE__, __LINE__, "package %s is missing", package);
	test_skip("package %s is missing", package);
}

/*
 * The watchdog. A timer of its own on a signal that tests have no use for: SIGALRM and SIGVTALRM
 * belong to the storms. Blocking SIGXCPU in every thread disables it; CTest's limit remains.
 */
static inline void test__watchdog_fired(int sig)
{
	(void)sig;
	test_fail(__FILE__, __LINE__, "watchdog: the test takes too long");
}

static inline unsigned test__patience(void)
{
	const char *text = getenv("TEST_PATIENCE");
	int factor = text ? atoi(text) : 1;

	return factor > 1 ? (unsigned)factor : 1;
}

/* Replaces the limit of this process, counted from now. */
static inline void test_watchdog(unsigned seconds)
{
	static timer_t timer;
	static pid_t owner;
	struct itimerspec limit;

	memset(&limit, 0, sizeof(limit));
	limit.it_value.tv_sec = (time_t)(seconds * test__patience());
	/* Timers are not inherited by a forked child. */
	if (owner != getpid()) {
		struct sigevent event;
		struct sigaction action;

		memset(&event, 0, sizeof(event));
		event.sigev_notify = SIGEV_SIGNAL;
		event.sigev_signo = SIGXCPU;
		memset(&action, 0, sizeof(action));
		action.sa_handler = test__watchdog_fired;
		if (sigaction(SIGXCPU, &action, NULL) != 0 ||
		    timer_create(CLOCK_MONOTONIC, &event, &timer) != 0)
			return;
		owner = getpid();
	}
	timer_settime(timer, 0, &limit, NULL);
}

/* Waits for a child: its exit status, or minus the number of the signal that ended it. */
static inline int test_wait(pid_t child)
{
	int status;

	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			test_fail(__FILE__, __LINE__, "waitpid: %s", strerror(errno));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* Starts fn(arg) in a forked child, which ends with status 0 when fn returns. */
static inline pid_t test_fork(void (*fn)(void *arg), void *arg)
{
	pid_t child = fork();

	if (child < 0)
		test_fail(__FILE__, __LINE__, "fork: %s", strerror(errno));
	if (child > 0)
		return child;
	test_watchdog(TEST_WATCHDOG_SECONDS);
	fn(arg);
	_exit(TEST_PASSED);
}

/* As fork(), but libc and its handlers do not notice. The arguments of clone() come in another order
 * on some CPUs. */
static inline pid_t test_raw_clone(void)
{
	long child;
#if defined(SYS_clone3)
	struct {
		uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls;
	} args;

	memset(&args, 0, sizeof(args));
	args.exit_signal = SIGCHLD;
	errno = ENOSYS;
	child = syscall(SYS_clone3, &args, sizeof(args));
	if (child >= 0 || errno != ENOSYS)
		return (pid_t)child;
#endif
	child = syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
	return (pid_t)child;
}

static inline int test_in_child(void (*fn)(void *arg), void *arg)
{
	return test_wait(test_fork(fn, arg));
}

/* A crew: threads that all wait until the last one is there, and then run fn(index, arg). */
struct test_member {
	struct test_crew *crew;
	unsigned index;
	pthread_t thread;
};

struct test_crew {
	unsigned size;
	void (*fn)(unsigned index, void *arg);
	void *arg;
	pthread_barrier_t start;
	struct test_member *members;
};

static inline void *test__member_main(void *arg)
{
	struct test_member *member = (struct test_member *)arg;

	pthread_barrier_wait(&member->crew->start);
	member->crew->fn(member->index, member->crew->arg);
	return NULL;
}

static inline struct test_crew *test_crew_start(unsigned size, void (*fn)(unsigned, void *),
						void *arg)
{
	struct test_crew *crew = (struct test_crew *)malloc(sizeof(*crew));
	struct test_member *members = (struct test_member *)calloc(size, sizeof(*members));

	if (!crew || !members || pthread_barrier_init(&crew->start, NULL, size) != 0)
		test_fail(__FILE__, __LINE__, "no memory for %u threads", size);
	crew->size = size;
	crew->fn = fn;
	crew->arg = arg;
	crew->members = members;
	for (unsigned i = 0; i < size; i++) {
		int error;

		members[i].crew = crew;
		members[i].index = i;
		error = pthread_create(&members[i].thread, NULL, test__member_main, &members[i]);
		if (error)
			test_fail(__FILE__, __LINE__, "pthread_create: %s", strerror(error));
	}
	return crew;
}

static inline void test_crew_join(struct test_crew *crew)
{
	for (unsigned i = 0; i < crew->size; i++)
		pthread_join(crew->members[i].thread, NULL);
	pthread_barrier_destroy(&crew->start);
	free(crew->members);
	free(crew);
}

static inline void test_threads(unsigned size, void (*fn)(unsigned, void *), void *arg)
{
	test_crew_join(test_crew_start(size, fn, arg));
}

/* Pins the calling thread: 0 or -errno. A hint that anybody may undo at any time. */
static inline int test_pin(unsigned cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) == 0 ? 0 : -errno;
}

static inline void test__run(void *arg)
{
	struct test_case *test = (struct test_case *)arg;

	test__name = test->name;
	test_watchdog(TEST_WATCHDOG_SECONDS);
	test->run();
	if (!__atomic_load_n(&test__checked, __ATOMIC_RELAXED))
		test_fail(__FILE__, __LINE__, "the test checked nothing");
	printf("ok: %s\n", test->name);
}

static inline int test__run_all(void)
{
	int failed = 0;
	int passed = 0;

	for (struct test_case *test = test__first; test; test = test->next) {
		int status = test_in_child(test__run, test);

		if (status < 0)
			test_print("%s: FAILED with signal %d\n", test->name, -status);
		failed |= status != TEST_PASSED && status != TEST_SKIPPED;
		passed |= status == TEST_PASSED;
	}
	return failed ? TEST_FAILED : passed ? TEST_PASSED : TEST_SKIPPED;
}

static inline int test__main(int argc, char **argv)
{
	/* Unbuffered: nothing is lost or printed twice by children that end with _exit. */
	setvbuf(stdout, NULL, _IONBF, 0);
	if (argc == 1)
		return test__run_all();
	if (argc != 2) {
		fprintf(stderr, "usage: %s [--list | TEST]\n", argv[0]);
		return TEST_USAGE;
	}
	for (struct test_case *test = test__first; test; test = test->next) {
		if (strcmp(argv[1], "--list") == 0) {
			puts(test->name);
		} else if (strcmp(argv[1], test->name) == 0) {
			test__run(test);
			return TEST_PASSED;
		}
	}
	if (strcmp(argv[1], "--list") == 0)
		return TEST_PASSED;
	fprintf(stderr, "%s: no test '%s'; --list lists them\n", argv[0], argv[1]);
	return TEST_USAGE;
}

#define TEST_MAIN()                                                                                \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return test__main(argc, argv);                                                     \
	}

#endif

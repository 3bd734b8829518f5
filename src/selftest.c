/* SPDX-License-Identifier: MIT */
/*
 * Does this kernel abort sequences when it preempts them? Found out by trying.
 *
 * Two threads on one CPU. The watcher runs a long sequence that loads a word of that CPU, waits and
 * compares. The disturber wakes up some ten times a millisecond and adds to the word. To do that it
 * must have preempted the watcher, so a sequence that gets as far as a compare that differs was
 * interrupted and not aborted: the kernel is broken. Affinity only makes encounters likely; on
 * another CPU the disturber changes another word, and nothing is concluded.
 */
#include "internal.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include <percpu/this_cpu.h>

#define ABORTS_ENOUGH 20
#define SECONDS_MAX 1
#define DELAY_LOOPS 100000
#define DISTURB_NS 20000

struct test {
	uint32_t *word; /* percpu */
	int stop;
};

#if ARCH_HAVE_SEQ
/* before = *p; wait; refuse if *p != before; commit: *p = before */
static int watch(void *base, uintptr_t loops)
{
	const struct percpu__rt rt = percpu__rt;
	int left = PERCPU__ATTEMPTS;
	uint32_t before, cpu, *slot = &cpu;
	uintptr_t count;

	/* clang-format off */
	__asm__ volatile(PERCPU__ENTER PERCPU__FIND
			 ARCH_LOAD(4, "before")
			 ARCH_MOVE("count", "loops")
			 ARCH_DELAY("%[count]")
			 ARCH_LEAVE_IF_NE(4, "before", "7f")
			 ARCH_STORE(4, "before")
			 PERCPU__LEAVE_OR_REFUSE("self_test")
			 : PERCPU__OUT, [before] ARCH_C_OUT_4(before), [count] "=&r"(count)
			 : PERCPU__IN, [loops] ARCH_C_FAR(loops)
			 : PERCPU__CLOBBER, "memory");
	/* clang-format on */
	return left;
}
#else
static int watch(void *base, uintptr_t loops)
{
	(void)base, (void)loops;
	return PERCPU__UNAVAILABLE;
}
#endif

static void *disturb(void *argument)
{
	struct test *test = argument;
	const struct timespec pause = {0, DISTURB_NS};

	while (!__atomic_load_n(&test->stop, __ATOMIC_RELAXED)) {
		percpu_this_inc(test->word);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * (int64_t)1000000000 + t.tv_nsec;
}

/* The watcher's part: how many aborts, and whether a disturbed sequence was not aborted. */
static bool watch_for_a_while(struct test *test, int *aborts)
{
	int64_t end = now_ns() + SECONDS_MAX * (int64_t)1000000000;
	int left = PERCPU__ATTEMPTS;

	*aborts = 0;
	while (left >= 0 && *aborts < ABORTS_ENOUGH && now_ns() < end) {
		left = watch(test->word, DELAY_LOOPS);
		if (left >= 0)
			*aborts += PERCPU__ATTEMPTS - left;
	}
	return left == PERCPU__REFUSED;
}

/* Confines this thread to its current CPU; threads that it makes inherit that. */
static void stay_here(cpu_set_t *before)
{
	cpu_set_t one;
	int cpu = sched_getcpu();

	CPU_ZERO(before);
	if (cpu < 0 || cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*before), before) != 0)
		return;
	CPU_ZERO(&one);
	CPU_SET((size_t)cpu, &one);
	(void)sched_setaffinity(0, sizeof(one), &one);
}

static int run(struct test *test, int *aborts)
{
	cpu_set_t before;
	pthread_t other;
	int result;

	stay_here(&before);
	result = -pthread_create(&other, NULL, disturb, test);
	if (result == -EAGAIN)
		result = -ENOMEM; /* -EAGAIN says that a test was made */
	if (result == 0) {
		result = watch_for_a_while(test, aborts);
		__atomic_store_n(&test->stop, 1, __ATOMIC_RELAXED);
		pthread_join(other, NULL);
		if (result == 0 && *aborts == 0)
			result = -EAGAIN;
	}
	if (CPU_COUNT(&before) != 0)
		(void)sched_setaffinity(0, sizeof(before), &before);
	return result;
}

static void explain(char *why, size_t size, int result, int aborts)
{
	switch (result) {
	case 0:
		snprintf(why, size, "interrupted sequences are aborted (%d seen)", aborts);
		break;
	case 1:
		snprintf(why, size, "a sequence that was interrupted went on all the same");
		break;
	case -EAGAIN:
		snprintf(why, size, "no sequence was interrupted within %d s", SECONDS_MAX);
		break;
	case -ENOTSUP:
		snprintf(why, size, "this thread does not run sequences");
		break;
	default:
		snprintf(why, size, "could not be run (error %d)", -result);
		break;
	}
}

int percpu_self_test(char *why, size_t size)
{
	struct test test = {NULL, 0};
	struct percpu_mode_info mode;
	int saved = errno;
	int aborts = 0;
	int cancel, result;

	if (!why && size != 0)
		return -EINVAL;
	/* The other thread works on this one's stack. */
	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	(void)percpu_mode(&mode);
	if (!mode.sequences)
		result = -ENOTSUP;
	else if (!(test.word = percpu_new(uint32_t)))
		result = -ENOMEM;
	else
		result = run(&test, &aborts);
	if (test.word)
		(void)percpu_free(test.word);
	(void)pthread_setcancelstate(cancel, NULL);
	if (size != 0)
		explain(why, size, result, aborts);
	errno = saved;
	return result;
}

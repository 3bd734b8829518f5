/* SPDX-License-Identifier: MIT */
/*
 * Threads in odd states count exactly: their first call on top of their first call, made by libc
 * for a timer, sharing memory with a vfork child, handing objects over.
 */
#include "test.h"

#include <semaphore.h>
#include <sys/syscall.h>

#include "sanitizers.h"
#include "storm_engine.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

/* What all of these count on, in three ways. */
static PERCPU_COUNTER(counter);
static uint32_t *word;
static struct percpu_zone zone;

static void count(unsigned times)
{
	while (times--) {
		percpu_counter_inc(&counter);
		percpu_this_inc(word);
		percpu_zone_inc(&zone);
	}
}

static uint64_t sum_of_words(void)
{
	uint64_t sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	return sum;
}

static void begin_count(void)
{
	word = percpu_new(uint32_t);
	CHECK(word);
	CHECK_OK(percpu_zone_init(&zone, 8, 50));
}

static void must_have_counted(uint64_t times)
{
	CHECK_EQ(percpu_counter_sum(&counter), times);
	CHECK_EQ(sum_of_words(), times);
	CHECK_EQ(percpu_zone_sum(&zone), times);
}

/* ---- First uses ---- */

static struct percpu_mode_info wanted;
static unsigned long counted_first;

static void count_in_handler(int sig)
{
	(void)sig;
	count(1);
	__atomic_add_fetch(&counted_first, 1, __ATOMIC_RELAXED);
}

static void set_timer(uint64_t *random)
{
	struct itimerspec delay;
	struct sigevent event;
	timer_t timer;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_signo = SIGALRM;
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	memset(&delay, 0, sizeof(delay));
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	delay.it_value.tv_nsec = 500 + (long)((*random >> 33) % 8000);
	CHECK_EQ(timer_settime(timer, 0, &delay, NULL), 0);
}

static void *use_first(void *random)
{
	struct percpu_mode_info mode;

	set_timer(random);
	count(3);
	__atomic_add_fetch(&counted_first, 3, __ATOMIC_RELAXED);
	CHECK_OK(percpu_mode(&mode));
	/* Not so on a CPU that the system did not announce. */
	if (mode.sequences && wanted.sequences)
		CHECK_STR_EQ(mode.reason, wanted.reason);
	CHECK_EQ(mode.owner, wanted.owner);
	return NULL;
}

static void make_threads(unsigned index, void *arg)
{
	uint64_t random = index;
	unsigned threads = storm_scaled(400);

	(void)arg;
	while (threads--) {
		pthread_t thread;

		CHECK_EQ(pthread_create(&thread, NULL, use_first, &random), 0);
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
}

TEST(field_F3_a_handlers_first_call_on_top_of_its_threads_first_call)
{
	struct sigaction action;

	CHECK_OK(percpu_mode(&wanted));
	begin_count();
	memset(&action, 0, sizeof(action));
	action.sa_handler = count_in_handler;
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	test_threads(2, make_threads, NULL);
	signal(SIGALRM, SIG_IGN);
	must_have_counted(counted_first);
}

/* ---- Threads that libc makes for timers ---- */

#define NOTIFIED 50u
#define NOTIFIED_COUNTS 1000u

static sem_t notified;

static void count_when_notified(union sigval value)
{
	(void)value;
	count(NOTIFIED_COUNTS);
	sem_post(&notified);
}

TEST(field_E14_threads_that_libc_makes_for_timers)
{
	struct itimerspec soon;
	struct sigevent event;
	timer_t timer;

	if (THREAD_SANITIZER)
		test_skip("ThreadSanitizer crashes in threads that libc makes for itself");
	begin_count();
	CHECK_EQ(sem_init(&notified, 0, 0), 0);
	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD;
	event.sigev_notify_function = count_when_notified;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	memset(&soon, 0, sizeof(soon));
	soon.it_value.tv_nsec = 1000;
	for (unsigned i = 0; i < NOTIFIED; i++) {
		CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
		while (sem_wait(&notified) != 0)
			CHECK_EQ(errno, EINTR);
	}
	timer_delete(timer);
	must_have_counted((uint64_t)NOTIFIED * NOTIFIED_COUNTS);
}

/* ---- vfork children ---- */

#define CHILD_COUNTS 500u

static int vfork_stop;
static int shared_with_child;

static void count_until_stopped(unsigned index, void *arg)
{
	unsigned long *counted = arg;
	unsigned long n = 0;

	(void)index;
	while (!__atomic_load_n(&vfork_stop, __ATOMIC_RELAXED)) {
		count(100);
		n += 100;
	}
	__atomic_add_fetch(counted, n, __ATOMIC_RELAXED);
}

/* The child runs on this stack: nothing in the frame is changed after it. */
__attribute__((noinline)) static int vfork_once(unsigned cpu)
{
	pid_t child = vfork();

	CHECK(child >= 0);
	if (child == 0) {
		cpu_set_t set;

		CPU_ZERO(&set);
		CPU_SET(cpu, &set);
		(void)sched_setaffinity(0, sizeof(set), &set);
		shared_with_child = 1;
		count(CHILD_COUNTS);
		_exit(0);
	}
	return test_wait(child);
}

/* Where vfork is made of fork (valgrind, sanitizers), there is nothing to test. */
static void need_shared_memory(void)
{
	CHECK_OK(percpu_vfork_begin());
	CHECK_EQ(vfork_once(0), 0);
	CHECK_OK(percpu_vfork_end());
	if (!shared_with_child)
		test_skip("vfork copies the memory here");
}

TEST(field_E1_vfork_children_between_begin_and_end)
{
	unsigned children = storm_scaled(300);
	unsigned long counted = CHILD_COUNTS * (children + 1);
	struct test_crew *crew;

	begin_count();
	need_shared_memory();
	crew = test_crew_start(3, count_until_stopped, &counted);
	for (unsigned i = 0; i < children; i++) {
		CHECK_OK(percpu_vfork_begin());
		CHECK_EQ(vfork_once(i % 2), 0);
		CHECK_OK(percpu_vfork_end());
	}
	__atomic_store_n(&vfork_stop, 1, __ATOMIC_RELAXED);
	test_crew_join(crew);
	must_have_counted(counted);
}

/* ---- Hand-over ---- */

#define PARCEL_WORDS 8

struct parcel {
	unsigned long word[PARCEL_WORDS];
};

static struct parcel **mailbox;

static struct parcel *pack(unsigned long number)
{
	struct parcel *parcel = malloc(sizeof(*parcel));

	CHECK(parcel);
	for (unsigned i = 0; i < PARCEL_WORDS; i++)
		parcel->word[i] = number + i;
	return parcel;
}

static unsigned long unpack(struct parcel *parcel)
{
	unsigned long number;

	if (!parcel)
		return 0;
	number = parcel->word[0];
	for (unsigned i = 0; i < PARCEL_WORDS; i++)
		CHECK_EQ(parcel->word[i], number + i);
	free(parcel);
	return number;
}

static void hand_over(unsigned index, void *arg)
{
	unsigned long *balance = arg;
	unsigned long mine = 0;

	for (unsigned i = storm_scaled(20000); i > 0; i--) {
		unsigned long number = (index + 1ul) << 24 | i;

		mine += number - unpack(percpu_this_xchg(mailbox, pack(number)));
		if (i % 64 == 0)
			(void)test_pin(i / 64 % 2);
	}
	__atomic_add_fetch(balance, mine, __ATOMIC_RELAXED);
}

TEST(field_G8_objects_handed_over_in_a_percpu_word)
{
	unsigned long balance = 0;

	mailbox = percpu_new(struct parcel *);
	CHECK(mailbox);
	test_threads(6, hand_over, &balance);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		balance -= unpack(*percpu_ptr(mailbox, slot));
	CHECK_EQ(balance, 0);
}

TEST_MAIN()

/* SPDX-License-Identifier: MIT */
/* Reference counts: zero is reached once, by one call, and not before the last reference is gone. */
#include "probe.h"

#include "cpus.h"
#include "sanitizers.h"

#include <stdbool.h>
#include <sys/time.h>

#include <percpu/percpu.h>

#include "faults/faults.h"
#include "modes.h"

#define THREADS 6

/*
 * The oracle. held counts the references that exist for certain: raised after each get and
 * lowered before each put, so it is never more than there are; released counts the release
 * function's calls.
 */
struct object {
	struct percpu_ref ref;
	long held, released;
};

static struct object object;

static void release_object(struct percpu_ref *ref)
{
	struct object *o = (struct object *)(void *)ref;

	CHECK_EQ(__atomic_load_n(&o->held, __ATOMIC_RELAXED), 0);
	CHECK_EQ(__atomic_fetch_add(&o->released, 1, __ATOMIC_RELAXED), 0);
	CHECK(percpu_ref_is_zero(ref));
	CHECK(percpu_ref_is_dying(ref));
}

static void begin(void)
{
	object.held = object.released = 0;
	CHECK_OK(percpu_ref_init(&object.ref, release_object));
}

static void get_one(void)
{
	percpu_ref_get(&object.ref);
	__atomic_add_fetch(&object.held, 1, __ATOMIC_RELAXED);
}

static bool put_one(void)
{
	__atomic_sub_fetch(&object.held, 1, __ATOMIC_RELAXED);
	return percpu_ref_put(&object.ref);
}

TEST(last_put_releases)
{
	struct percpu_usage_info usage;

	begin();
	for (unsigned i = 0; i < 100; i++) {
		go_to_nth_cpu(i);
		get_one();
		CHECK(!percpu_ref_is_dying(&object.ref));
		CHECK(!percpu_ref_is_zero(&object.ref));
	}
	for (unsigned i = 0; i < 40; i++) {
		go_to_nth_cpu(i + 1);
		CHECK(!put_one());
	}
	CHECK_OK(percpu_ref_kill(&object.ref));
	CHECK(percpu_ref_is_dying(&object.ref));
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
	get_one();
	for (unsigned i = 0; i < 60; i++) {
		CHECK(!put_one());
		CHECK(!percpu_ref_is_zero(&object.ref));
		CHECK_EQ(object.released, 0);
	}
	CHECK(put_one());
	CHECK_EQ(object.released, 1);
	CHECK(percpu_ref_is_zero(&object.ref));
	CHECK_OK(percpu_ref_destroy(&object.ref));
}

TEST(kill_releases_where_nobody_else_has_a_reference)
{
	begin();
	get_one();
	CHECK(!put_one());
	CHECK_EQ(object.released, 0);
	CHECK_OK(percpu_ref_kill(&object.ref));
	CHECK_EQ(object.released, 1);
}

TEST(zero_can_be_polled_without_a_release_function)
{
	struct percpu_ref ref;

	CHECK_OK(percpu_ref_init(&ref, NULL));
	percpu_ref_get(&ref);
	CHECK(!percpu_ref_is_zero(&ref));
	CHECK_OK(percpu_ref_kill(&ref));
	CHECK(!percpu_ref_is_zero(&ref));
	CHECK(percpu_ref_put(&ref));
	CHECK(percpu_ref_is_zero(&ref));
	CHECK(!percpu_ref_tryget(&ref));
	CHECK(percpu_ref_is_zero(&ref));
}

TEST(tryget_is_refused_at_zero_and_tryget_live_from_the_kill_on)
{
	begin();
	CHECK(percpu_ref_tryget(&object.ref));
	CHECK(percpu_ref_tryget_live(&object.ref));
	CHECK_OK(percpu_ref_kill(&object.ref));
	CHECK(!percpu_ref_tryget_live(&object.ref));
	CHECK(percpu_ref_tryget(&object.ref));
	CHECK(!percpu_ref_put(&object.ref));
	CHECK(!percpu_ref_put(&object.ref));
	CHECK(percpu_ref_put(&object.ref));
	CHECK(!percpu_ref_tryget(&object.ref));
	CHECK(!percpu_ref_tryget_live(&object.ref));
	CHECK_EQ(object.released, 1);
}

TEST(bad_arguments_are_refused)
{
	struct percpu_usage_info usage;
	struct percpu_ref ref = {0};

	CHECK_EQ(percpu_ref_init(NULL, NULL), -EINVAL);
	CHECK_EQ(percpu_ref_kill(NULL), -EINVAL);
	CHECK_EQ(percpu_ref_destroy(NULL), -EINVAL);
	percpu_ref_get(NULL);
	CHECK(!percpu_ref_put(NULL));
	CHECK(!percpu_ref_tryget(NULL));
	CHECK(!percpu_ref_tryget_live(NULL));
	CHECK(!percpu_ref_is_zero(NULL));
	CHECK(!percpu_ref_is_dying(NULL));
	CHECK_EQ(percpu_ref_kill(&ref), -EINVAL);
	CHECK_EQ(percpu_ref_destroy(&ref), -EINVAL);
	CHECK(!percpu_ref_tryget(&ref));
	CHECK(!percpu_ref_is_zero(&ref));
	CHECK_OK(percpu_ref_init(&ref, NULL));
	CHECK_OK(percpu_ref_destroy(&ref));
	CHECK_EQ(percpu_ref_destroy(&ref), -EINVAL);
	CHECK_EQ(percpu_ref_kill(&ref), -EINVAL);
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
}

PROBE(does_what_it_must_not)
{
	begin();
	CHECK_OK(percpu_ref_kill(&object.ref));
	switch (*probe_argument) {
	case 'k':
		CHECK_EQ(percpu_ref_kill(&object.ref), -EALREADY);
		break;
	case 'p':
		CHECK(!percpu_ref_put(&object.ref));
		break;
	case 'g':
		percpu_ref_get(&object.ref);
		break;
	}
}

TEST(misuse_stops_debug_builds)
{
	static const char *const misuses[] = {"k", "p", "g"};

	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
#if defined(PERCPU_DEBUG)
		CHECK_EQ(test_probe("does_what_it_must_not", misuses[i], "X=1"), -SIGABRT);
#else
		CHECK_EQ(test_probe("does_what_it_must_not", misuses[i], "X=1"), TEST_PASSED);
#endif
	}
}

/* ---- Storms ---- */

static int killed; /* the kill has returned */
static long last_puts;

static void get_and_put_in_handler(int sig)
{
	int saved = errno;

	(void)sig;
	if (percpu_ref_tryget_live(&object.ref)) {
		__atomic_add_fetch(&object.held, 1, __ATOMIC_RELAXED);
		if (put_one())
			__atomic_add_fetch(&last_puts, 1, __ATOMIC_RELAXED);
	}
	CHECK_EQ(errno, saved);
}

/* Has a reference of its own from main. Goes on for a while after the kill. */
static void get_and_put(unsigned index, void *arg)
{
	unsigned seed = index + 1;
	bool without = index % 3 == 0;
	long own = 1;

	(void)arg;
	if (without)
		CHECK_OK(percpu_vfork_begin());
	for (int after = 0; after < 50;) {
		bool dead = __atomic_load_n(&killed, __ATOMIC_ACQUIRE);

		after += dead;
		if (rand_r(&seed) % 128 == 0)
			go_to_nth_cpu((unsigned)rand_r(&seed));
		if (percpu_ref_tryget_live(&object.ref)) {
			CHECK(!dead);
			__atomic_add_fetch(&object.held, 1, __ATOMIC_RELAXED);
			own++;
		}
		if (rand_r(&seed) % 2) {
			get_one();
			own++;
		}
		while (own > 1 && rand_r(&seed) % 4) {
			CHECK(!put_one());
			own--;
		}
	}
	while (own-- > 0)
		if (put_one())
			__atomic_add_fetch(&last_puts, 1, __ATOMIC_RELAXED);
	if (without)
		CHECK_OK(percpu_vfork_end());
}

/* What others find by looking it up, when the maker's may be the only one. */
static void look_up(unsigned index, void *arg)
{
	(void)index, (void)arg;
	while (!__atomic_load_n(&killed, __ATOMIC_ACQUIRE)) {
		if (!percpu_ref_tryget(&object.ref))
			continue;
		__atomic_add_fetch(&object.held, 1, __ATOMIC_RELAXED);
		if (put_one())
			__atomic_add_fetch(&last_puts, 1, __ATOMIC_RELAXED);
	}
}

/* Until they have been at work for certain. */
static void let_them_work(unsigned yields)
{
	while (yields--)
		sched_yield();
}

static void storm(int rounds)
{
	struct itimerval often = {{0, 200}, {0, 200}}, never = {{0, 0}, {0, 0}};

	signal(SIGALRM, get_and_put_in_handler);
	/* ThreadSanitizer's runtime can wait for itself in a handler where threads come and go. */
	if (!THREAD_SANITIZER)
		CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	for (int i = 0; i < rounds; i++) {
		struct test_crew *crew, *lookers;
		sigset_t alarm, old;

		/* Handlers know nothing of objects that are just made. */
		sigemptyset(&alarm);
		sigaddset(&alarm, SIGALRM);
		pthread_sigmask(SIG_BLOCK, &alarm, &old);
		begin();
		last_puts = 0;
		__atomic_store_n(&killed, 0, __ATOMIC_RELAXED);
		for (int j = 0; j < THREADS; j++)
			get_one();
		pthread_sigmask(SIG_SETMASK, &old, NULL);
		crew = test_crew_start(THREADS, get_and_put, NULL);
		lookers = test_crew_start(1, look_up, NULL);
		let_them_work((unsigned)i % 6);
		CHECK_OK(percpu_ref_kill(&object.ref));
		CHECK(!percpu_ref_tryget_live(&object.ref));
		__atomic_store_n(&killed, 1, __ATOMIC_RELEASE);
		test_crew_join(lookers);
		test_crew_join(crew);
		CHECK_EQ(object.released, 1);
		CHECK_EQ(object.held, 0);
		CHECK_EQ(last_puts, 1);
		CHECK(percpu_ref_is_zero(&object.ref));
	}
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	signal(SIGALRM, SIG_IGN);
}

TEST(zero_is_found_once_under_threads_and_handlers)
{
	storm(40);
}

/* The maker's reference is the last one, or a looker's: kill against tryget and put. */
TEST(kill_and_the_last_put_meet)
{
	for (int i = 0; i < 150; i++) {
		struct test_crew *lookers;
		bool by_kill;

		begin();
		last_puts = 0;
		__atomic_store_n(&killed, 0, __ATOMIC_RELAXED);
		lookers = test_crew_start(2, look_up, NULL);
		let_them_work((unsigned)i % 4);
		CHECK_OK(percpu_ref_kill(&object.ref));
		by_kill = percpu_ref_is_zero(&object.ref) &&
			  __atomic_load_n(&last_puts, __ATOMIC_RELAXED) == 0;
		__atomic_store_n(&killed, 1, __ATOMIC_RELEASE);
		test_crew_join(lookers);
		CHECK_EQ(object.released, 1);
		CHECK(last_puts <= 1);
		CHECK(by_kill || last_puts <= 1);
	}
}

/*
 * A kill while another CPU does nothing but get and put: what a sequence that has read the bound
 * adds must be counted, which is what the fence is for.
 */
static int meeting; /* the round that the other thread may enter, and has entered */
static int entered, left;

static void get_and_put_until_killed(unsigned index, void *arg)
{
	int rounds = *(int *)arg;

	(void)index;
	go_to_nth_cpu(1);
	for (int i = 1; i <= rounds; i++) {
		while (__atomic_load_n(&meeting, __ATOMIC_ACQUIRE) != i)
			sched_yield();
		__atomic_store_n(&entered, i, __ATOMIC_RELEASE);
		while (!percpu_ref_is_dying(&object.ref)) {
			for (int j = 0; j < 50; j++) {
				percpu_ref_get(&object.ref);
				percpu_ref_put(&object.ref);
			}
			sched_yield();
		}
		/* This one's own, which main took for it. */
		CHECK_EQ(object.released, 0);
		CHECK(put_one());
		__atomic_store_n(&left, i, __ATOMIC_RELEASE);
	}
}

TEST(kill_counts_what_was_added_at_full_speed)
{
	struct test_crew *crew;
	int rounds = 1000;

	go_to_nth_cpu(0);
	crew = test_crew_start(1, get_and_put_until_killed, &rounds);
	for (int i = 1; i <= rounds; i++) {
		begin();
		get_one();
		__atomic_store_n(&meeting, i, __ATOMIC_RELEASE);
		while (__atomic_load_n(&entered, __ATOMIC_ACQUIRE) != i)
			sched_yield();
		CHECK_OK(percpu_ref_kill(&object.ref));
		while (__atomic_load_n(&left, __ATOMIC_ACQUIRE) != i)
			sched_yield();
		CHECK_EQ(object.released, 1);
		CHECK(percpu_ref_is_zero(&object.ref));
	}
	test_crew_join(crew);
}

PROBE(storms_in_this_mode)
{
	storm(15);
	CHECK(*probe_argument != '0' || object.ref.base == NULL);
}

TEST(zero_is_found_once_in_the_other_modes)
{
	check_storms_in_the_other_modes("PERCPU_CPUS=64");
}

/* ---- What was done under a reference is seen by the release function ---- */

struct owned {
	struct percpu_ref ref;
	long written[THREADS];
};

static struct owned *owned;
static long seen_by_release;

static void free_owned(struct percpu_ref *ref)
{
	struct owned *o = (struct owned *)(void *)ref;

	for (int i = 0; i < THREADS; i++)
		seen_by_release += o->written[i];
	/* The struct is in it. */
	free(o);
}

static void write_and_put(unsigned index, void *arg)
{
	struct owned *o = arg;

	go_to_nth_cpu(index);
	o->written[index] = (long)index + 1;
	(void)percpu_ref_put(&o->ref);
}

TEST(release_function_sees_everything_and_may_free_the_object)
{
	for (int i = 0; i < 100; i++) {
		struct test_crew *crew;

		seen_by_release = 0;
		owned = calloc(1, sizeof(*owned));
		CHECK(owned != NULL);
		CHECK_OK(percpu_ref_init(&owned->ref, free_owned));
		for (int j = 0; j < THREADS; j++)
			percpu_ref_get(&owned->ref);
		crew = test_crew_start(THREADS, write_and_put, owned);
		let_them_work((unsigned)i % 10);
		CHECK_OK(percpu_ref_kill(&owned->ref));
		test_crew_join(crew);
		CHECK_EQ(seen_by_release, THREADS * (THREADS + 1) / 2);
	}
}

/* ---- Failures ---- */

TEST(failing_fence_is_reported_and_kill_can_be_tried_again)
{
	begin();
	if (!object.ref.cpu_base)
		test_skip("this mode needs no fence");
	for (unsigned i = 0; i < 20; i++) {
		go_to_nth_cpu(i);
		get_one();
	}
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	errno = 12345;
	CHECK_EQ(percpu_ref_kill(&object.ref), -EPERM);
	CHECK_EQ(errno, 12345);
	CHECK(!percpu_ref_is_dying(&object.ref));
	/* Everything goes on. */
	for (unsigned i = 0; i < 20; i++) {
		go_to_nth_cpu(i);
		CHECK(percpu_ref_tryget_live(&object.ref));
		CHECK(!percpu_ref_put(&object.ref));
		CHECK(!put_one());
	}
	CHECK_EQ(percpu_ref_kill(&object.ref), -EPERM);
	CHECK_EQ(object.released, 0);
	fault_clear();
	CHECK_OK(percpu_ref_kill(&object.ref));
	CHECK_EQ(object.released, 1);
}

TEST(init_without_memory_says_so)
{
	struct percpu_ref ref;

	CHECK_OK(percpu_ref_init(&ref, NULL));
	if (!ref.base)
		test_skip("this mode needs no memory");
	CHECK_OK(percpu_ref_kill(&ref));
	/* All granules of the one chunk, so that another one is needed. */
	for (;;) {
		void *p;

		fault_arm(FAULT_MMAP, 1, FAULT_ALWAYS, ENOMEM);
		if (percpu_alloc(&p, 8, 8) != 0)
			break;
	}
	CHECK_EQ(percpu_ref_init(&ref, NULL), -ENOMEM);
	CHECK_EQ(percpu_ref_kill(&ref), -EINVAL);
	fault_clear();
	CHECK_OK(percpu_ref_init(&ref, NULL));
	CHECK_OK(percpu_ref_kill(&ref));
	CHECK(percpu_ref_is_zero(&ref));
}

static void use_in_child(void *arg)
{
	(void)arg;
	get_one();
	CHECK(!put_one());
	CHECK_OK(percpu_ref_kill(&object.ref));
	CHECK_EQ(object.released, 0);
	for (int i = 0; i < 9; i++)
		CHECK(!put_one());
	CHECK(put_one());
	CHECK_EQ(object.released, 1);
}

TEST(forked_child_has_references_of_its_own)
{
	begin();
	for (unsigned i = 0; i < 10; i++) {
		go_to_nth_cpu(i);
		get_one();
	}
	CHECK_EQ(test_in_child(use_in_child, NULL), TEST_PASSED);
	CHECK_EQ(object.released, 0);
	for (int i = 0; i < 10; i++)
		CHECK(!put_one());
	CHECK_OK(percpu_ref_kill(&object.ref));
	CHECK_EQ(object.released, 1);
}

#if THREAD_SANITIZER
/* A child has the threads of its parent as ones that ended and that nobody joined. */
const char *__tsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "report_thread_leaks=0";
}
#endif

static pthread_barrier_t killing;

static void *kill_beside_a_fork(void *arg)
{
	struct percpu_ref *ref = arg;

	pthread_barrier_wait(&killing);
	CHECK_OK(percpu_ref_kill(ref));
	return NULL;
}

/* Done by the parent's thread, or not begun and still to be done. */
static void must_come_to_its_end(void *arg)
{
	struct percpu_ref *ref = arg;

	if (!percpu_ref_is_dying(ref))
		CHECK_OK(percpu_ref_kill(ref));
	CHECK(percpu_ref_is_zero(ref));
}

TEST(field_E3_a_kill_that_a_fork_meets_is_done_or_not_begun_in_the_child)
{
	CHECK_EQ(pthread_barrier_init(&killing, NULL, 2), 0);
	for (int i = 0; i < 300; i++) {
		struct percpu_ref ref;
		pthread_t killer;

		CHECK_OK(percpu_ref_init(&ref, NULL));
		CHECK_EQ(pthread_create(&killer, NULL, kill_beside_a_fork, &ref), 0);
		pthread_barrier_wait(&killing);
		for (volatile int turns = i % 100 * 100; turns > 0; turns = turns - 1) {
		}
		CHECK_EQ(test_in_child(must_come_to_its_end, &ref), TEST_PASSED);
		pthread_join(killer, NULL);
	}
}

PROBE_MAIN()

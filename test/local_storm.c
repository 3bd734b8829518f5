/* SPDX-License-Identifier: MIT */
/*
 * Local operations under a storm of nested signals, and read by other threads meanwhile.
 *
 * A thread works on a variable; a timer of its own interrupts it, wherever it is, and the handler
 * does the same on top of it; a second timer interrupts that handler, and a third one the second's.
 * Each context writes down what it did; at the end the variable must say the same. Handlers go on
 * until the next one is on top of them, so that they are nested in every batch, and a batch ends
 * when all three have run, so that a signal that is lost is noticed. The amount of work is a number
 * of batches, never a time.
 */
#include "test.h"

#include <stdbool.h>
#include <sys/syscall.h>

#include "local_subjects.h"
#include "sanitizers.h"

#include <percpu/percpu.h>

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

enum { BATCHES = 100, TIMERS = 3, CONTEXTS = 1 + TIMERS };
/* Timers go off within that time, and handlers make so many calls at least. */
enum { DELAY_NS_MIN = 500, DELAY_NS = 20000, HANDLER_CALLS = 30 };

static const int timer_signals[TIMERS] = {SIGALRM, SIGVTALRM, 0 /* SIGRTMIN, no constant */};

static int timer_signal(int i)
{
	return timer_signals[i] ? timer_signals[i] : SIGRTMIN;
}

/* What a context did. */
struct account {
	uint64_t calls, sum, mixed;
	uint64_t random;
};

struct storm {
	const struct subject *subject;
	void (*run)(struct storm *storm, struct account *account);
	/* True when the variable holds what the accounts add up to. */
	bool (*adds_up)(struct storm *storm, const struct account *total);
	unsigned nested; /* how many handlers can be on top of one another */
	unsigned char variable[SUBJECT_SIZE_MAX] __attribute__((aligned(8)));
	struct account accounts[CONTEXTS];
	unsigned level;   /* of the context that runs now */
	unsigned started; /* handlers in this batch */
	unsigned ended;
	timer_t timers[TIMERS];
};

static struct storm *storm;

static uint64_t random_word(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 16;
}

/* Added up so that two wrong numbers do not make a right one. */
static uint64_t mix(uint64_t x)
{
	x = (x + 1) * 0x9e3779b97f4a7c15u;
	return (x ^ x >> 29) * 0xd6e8feb86659fd93u;
}

static uint64_t cut(uint64_t value)
{
	return storm->subject->bits == 64 ? value
					  : value & ((UINT64_C(1) << storm->subject->bits) - 1);
}

/* ---- What is done, and what it must come to ---- */

static void run_add(struct storm *s, struct account *a)
{
	uint64_t n = random_word(&a->random);

	s->subject->add(s->variable, n);
	a->sum += n;
}

static bool sum_adds_up(struct storm *s, const struct account *total)
{
	return s->subject->read(s->variable) == cut(total->sum);
}

static void run_inc_dec(struct storm *s, struct account *a)
{
	uint64_t n = a->calls % 3 ? 1 : UINT64_MAX;

	s->subject->add(s->variable, n);
	a->sum += n;
}

static void run_add_return(struct storm *s, struct account *a)
{
	a->mixed += mix(s->subject->add_return(s->variable, 1));
	a->sum++;
}

static void run_cmpxchg(struct storm *s, struct account *a)
{
	uint64_t seen = s->subject->read(s->variable), previous;

	for (;; seen = previous) {
		previous = s->subject->cmpxchg(s->variable, seen, cut(seen + 1));
		if (previous == seen)
			break;
	}
	a->mixed += mix(cut(seen + 1));
	a->sum++;
}

/* The sums that were seen are 1, 2, 3, ... each once. */
static bool each_once(struct storm *s, const struct account *total)
{
	uint64_t expected = 0;

	for (uint64_t i = 1; i <= total->sum; i++)
		expected += mix(cut(i));
	return total->mixed == expected && sum_adds_up(s, total);
}

static void run_xchg(struct storm *s, struct account *a)
{
	uint64_t put = cut(random_word(&a->random));

	a->mixed += mix(put);
	a->mixed -= mix(s->subject->xchg(s->variable, put));
}

/* What was put is what was got, and what is there, and the 0 from before. */
static bool put_is_got(struct storm *s, const struct account *total)
{
	return total->mixed + mix(0) == mix(s->subject->read(s->variable));
}

enum { BOUND = 7 };

/* Up to the bound, and from there down, so that no context waits for another. */
static void run_add_unless(struct storm *s, struct account *a)
{
	uint64_t n = 1;

	if (!s->subject->add_unless(s->variable, 1, BOUND)) {
		n = UINT64_MAX;
		s->subject->add(s->variable, n);
	}
	CHECK(s->subject->read(s->variable) <= BOUND);
	a->sum += n;
}

/* ---- The engine ---- */

static void run_one(struct account *account)
{
	storm->run(storm, account);
	account->calls++;
}

static unsigned seen_of(const unsigned *count)
{
	return __atomic_load_n(count, __ATOMIC_RELAXED);
}

static void set_timer(unsigned i, uint64_t *random)
{
	struct itimerspec delay;

	memset(&delay, 0, sizeof(delay));
	delay.it_value.tv_nsec = DELAY_NS_MIN + (long)(random_word(random) % DELAY_NS);
	CHECK_EQ(timer_settime(storm->timers[i], 0, &delay, NULL), 0);
}

/*
 * Sets the next timer and goes on until its handler is on top; or, if that one has to wait, for as
 * long as the timer may take. The level is what the interrupted context had, and is again when that
 * goes on.
 */
static void work_in_handler(void)
{
	unsigned level = seen_of(&storm->level) + 1;
	unsigned started = __atomic_add_fetch(&storm->started, 1, __ATOMIC_RELAXED);
	struct account *account = &storm->accounts[level];

	__atomic_store_n(&storm->level, level, __ATOMIC_RELAXED);
	if (started < TIMERS)
		set_timer(started, &account->random);
	for (unsigned i = 0; i < HANDLER_CALLS; i++)
		run_one(account);
	while (started < TIMERS && level < storm->nested && seen_of(&storm->started) == started)
		run_one(account);
	__atomic_store_n(&storm->level, level - 1, __ATOMIC_RELAXED);
	__atomic_add_fetch(&storm->ended, 1, __ATOMIC_RELAXED);
}

static void handler(int sig)
{
	(void)sig;
	work_in_handler();
}

static void announced_handler(int sig)
{
	(void)sig;
	PERCPU_HANDLER_ENTER();
	work_in_handler();
	PERCPU_HANDLER_LEAVE();
}

/* How handlers are installed. */
enum handlers { UNWRAPPED, ANNOUNCED, WRAPPED, ONE_DEEP };

static void install(enum handlers handlers)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handlers == ANNOUNCED ? announced_handler : handler;
	if (handlers == ONE_DEEP)
		sigfillset(&action.sa_mask);
	for (int i = 0; i < TIMERS; i++)
		if (handlers == WRAPPED || handlers == ONE_DEEP)
			CHECK_OK(percpu_sigaction(timer_signal(i), &action, NULL));
		else
			CHECK_EQ(sigaction(timer_signal(i), &action, NULL), 0);
}

static void make_timers(struct storm *s)
{
	struct sigevent event;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
	for (int i = 0; i < TIMERS; i++) {
		event.sigev_signo = timer_signal(i);
		CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &s->timers[i]), 0);
	}
}

static void run_batches(void)
{
	for (unsigned batch = 0; batch < BATCHES; batch++) {
		__atomic_store_n(&storm->started, 0, __ATOMIC_RELAXED);
		__atomic_store_n(&storm->ended, 0, __ATOMIC_RELAXED);
		set_timer(0, &storm->accounts[0].random);
		errno = E2BIG;
		do
			run_one(&storm->accounts[0]);
		while (seen_of(&storm->ended) < TIMERS);
		CHECK_EQ(errno, E2BIG);
	}
}

static void check_accounts(void)
{
	struct account total = {0, 0, 0, 0};

	for (unsigned level = 0; level < CONTEXTS; level++) {
		const struct account *account = &storm->accounts[level];

		CHECK((account->calls > 0) == (level <= storm->nested));
		total.calls += account->calls;
		total.sum += account->sum;
		total.mixed += account->mixed;
	}
	if (!storm->adds_up(storm, &total))
		test_fail(__FILE__, __LINE__, "%s of %u bits: %llx after %llu calls",
			  storm->subject->way, storm->subject->bits,
			  (unsigned long long)storm->subject->read(storm->variable),
			  (unsigned long long)total.calls);
}

static void one_storm(const struct subject *subject, const struct storm *plan)
{
	struct storm now = *plan;

	now.subject = subject;
	for (unsigned level = 0; level < CONTEXTS; level++)
		now.accounts[level].random = level + subject->bits;
	storm = &now;
	make_timers(storm);
	run_batches();
	for (int i = 0; i < TIMERS; i++)
		timer_delete(now.timers[i]);
	check_accounts();
	storm = NULL;
}

static const struct storm plans[] = {
	{.run = run_add, .adds_up = sum_adds_up},
	{.run = run_inc_dec, .adds_up = sum_adds_up},
	{.run = run_add_return, .adds_up = each_once},
	{.run = run_cmpxchg, .adds_up = each_once},
	{.run = run_xchg, .adds_up = put_is_got},
	{.run = run_add_unless, .adds_up = sum_adds_up},
};
/* Those that return nothing come first. */
enum { COUNTER_PLANS = 2, PLANS = sizeof(plans) / sizeof(plans[0]) };

static void storm_way(const char *way, enum handlers handlers, unsigned nested)
{
	unsigned found = 0;

	if (THREAD_SANITIZER)
		test_skip("ThreadSanitizer runs handlers when it likes");
	install(handlers);
	for (unsigned i = 0; i < subject_count; i++) {
		if (strcmp(subjects[i].way, way) != 0)
			continue;
		found++;
		for (unsigned p = 0; p < (subjects[i].returns ? PLANS : COUNTER_PLANS); p++) {
			struct storm plan = plans[p];

			plan.nested = nested;
			one_storm(&subjects[i], &plan);
		}
	}
	if (!found)
		test_skip("this CPU has no way \"%s\"", way);
	CHECK(found > 0);
}

TEST(local_is_exact_under_three_nested_timers)
{
	storm_way("local", UNWRAPPED, 3);
}

TEST(atomic_is_exact_under_three_nested_timers)
{
	storm_way("atomic", UNWRAPPED, 3);
}

TEST(sigmask_is_exact_under_three_nested_timers)
{
	storm_way("sigmask", UNWRAPPED, 3);
}

/* The third is put off until the second returns, and so are those that meet a mask. */
TEST(softmask_is_exact_under_wrapped_timers_and_loses_none)
{
	storm_way("softmask", WRAPPED, 2);
}

TEST(trivalue_is_exact_under_wrapped_timers_and_loses_none)
{
	storm_way("trivalue", WRAPPED, 2);
}

TEST(twovalue_is_exact_under_timers_that_mask_one_another)
{
	storm_way("twovalue", ONE_DEEP, 1);
}

TEST(local_is_exact_under_wrapped_timers)
{
	storm_way("local", WRAPPED, 2);
}

/* ---- Other threads ---- */

enum { WRITES = 100000, WRITERS = 4 };

struct shared {
	const struct subject *subject;
	uint64_t a, b;
	unsigned over;
	unsigned char variable[SUBJECT_SIZE_MAX] __attribute__((aligned(8)));
};

static void write_patterns(struct shared *shared)
{
	for (unsigned i = 0; i < WRITES / 4; i++)
		(void)shared->subject->xchg(shared->variable, i % 2 ? shared->a : shared->b);
}

static void one_writes_patterns(unsigned index, void *arg)
{
	struct shared *shared = (struct shared *)arg;

	if (index == 0) {
		write_patterns(shared);
		__atomic_store_n(&shared->over, 1, __ATOMIC_RELEASE);
		return;
	}
	while (!__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE)) {
		uint64_t seen = shared->subject->read(shared->variable);

		CHECK(seen == shared->a || seen == shared->b || seen == 0);
	}
}

static void one_counts(unsigned index, void *arg)
{
	struct shared *shared = (struct shared *)arg;
	uint64_t last = 0;

	if (index == 0) {
		for (unsigned i = 0; i < WRITES / 4; i++)
			shared->subject->add(shared->variable, 1);
		__atomic_store_n(&shared->over, 1, __ATOMIC_RELEASE);
		return;
	}
	while (!__atomic_load_n(&shared->over, __ATOMIC_ACQUIRE)) {
		uint64_t seen = shared->subject->read(shared->variable);

		CHECK(seen >= last && seen <= WRITES / 4);
		last = seen;
	}
}

static void all_count(unsigned index, void *arg)
{
	struct shared *shared = (struct shared *)arg;

	(void)index;
	for (unsigned i = 0; i < WRITES / 4; i++) {
		shared->subject->add(shared->variable, 1);
		(void)shared->subject->add_return(shared->variable, 2);
	}
}

static struct shared shared_of(const struct subject *subject)
{
	struct shared shared;

	memset(&shared, 0, sizeof(shared));
	shared.subject = subject;
	shared.a = 0x5a5a5a5a5a5a5a5au >> (64 - subject->bits);
	shared.b = 0xa5a5a5a5a5a5a5a5u >> (64 - subject->bits);
	return shared;
}

TEST(other_threads_read_each_value_whole)
{
	for (unsigned i = 0; i < subject_count; i++) {
		struct shared shared = shared_of(&subjects[i]);

		if (!subjects[i].returns)
			continue;
		test_threads(2, one_writes_patterns, &shared);
		CHECK(shared.subject->read(shared.variable) == shared.a);
	}
}

TEST(other_threads_see_a_counter_grow)
{
	for (unsigned i = 0; i < subject_count; i++) {
		struct shared shared = shared_of(&subjects[i]);

		if (subjects[i].bits < 32)
			continue;
		test_threads(2, one_counts, &shared);
		CHECK_EQ(shared.subject->read(shared.variable), WRITES / 4);
	}
}

TEST(other_threads_may_write_what_is_atomic)
{
	static const unsigned widths[] = {8, 16, 32, 64};

	for (unsigned i = 0; i < 4; i++) {
		const struct subject *subject = subject_find("atomic", widths[i]);
		struct shared shared;

		if (!subject)
			continue;
		shared = shared_of(subject);
		test_threads(WRITERS, all_count, &shared);
		CHECK(subject->read(shared.variable) == (UINT64_C(3) * WRITERS * (WRITES / 4) &
							 (UINT64_MAX >> (64 - subject->bits))));
	}
}

TEST_MAIN()

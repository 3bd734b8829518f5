/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <sys/syscall.h>

#include "storm_engine.h"

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

#define BATCHES 250u
/* Timers go off within the time of the batch before, after what it takes to set them. */
#define DELAY_NS_MIN 1500u
#define DELAY_NS_MAX 1000000u
#define DISTURB_NS 50000
#define WATCH_NS 100000
#define TIMERS 2

static const int timer_signals[TIMERS] = {SIGALRM, SIGVTALRM};

struct storm;

struct worker {
	struct storm *storm;
	unsigned index;
	pid_t tid;
	unsigned plan;  /* the one of the batch under way: an index */
	unsigned level; /* of handlers, now */
	unsigned signals;
	uint64_t random;
	uint64_t batch_ns; /* of the batch before */
	timer_t timers[TIMERS];
	unsigned timer_count; /* that could be made */
	bool open;            /* between percpu_vfork_begin() and _end() */
};

struct storm {
	struct storm_plan *const *plans;
	unsigned plan_count;
	const struct storm_settings *settings;
	unsigned batches;
	struct worker workers[STORM_WORKERS];
	struct storm_context *contexts; /* [plan][worker][level], and one for a child at the end */
	struct storm_slot *slots;
	unsigned long *jobs;
	unsigned running; /* workers */
	cpu_set_t allowed;
};

enum { CONTEXTS = STORM_WORKERS * STORM_LEVELS + 1 };

static __thread struct worker *me;

/* STORM_BATCH, at least 1. */
static unsigned length_of_batches(void)
{
	static unsigned length;
	unsigned known = __atomic_load_n(&length, __ATOMIC_RELAXED);

	if (known == 0) {
		const char *text = getenv("STORM_BATCH");
		int n = text ? atoi(text) : 1;

		known = n < 1 ? 1 : n > 500 ? 500 : (unsigned)n;
		__atomic_store_n(&length, known, __ATOMIC_RELAXED);
	}
	return known;
}

static struct storm_context *context_of(struct storm *storm, unsigned plan, unsigned worker,
					unsigned level)
{
	return &storm->contexts[plan * CONTEXTS + worker * STORM_LEVELS + level];
}

static void run_level(struct worker *worker, unsigned level, unsigned calls)
{
	struct storm_context *context =
		context_of(worker->storm, worker->plan, worker->index, level);

	context->plan->run(context, calls);
}

/* The n-th allowed CPU alone, or all of them. A thread that is gone, or a mask that somebody
 * narrowed meanwhile, is no error. */
static void move(const struct storm *storm, pid_t tid, unsigned n)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &storm->allowed) && n-- == 0)
			CPU_SET(cpu, &set);
	if (CPU_COUNT(&set) == 0)
		set = storm->allowed;
	(void)sched_setaffinity(tid, sizeof(set), &set);
}

/* To another CPU in the middle of what the handler interrupted. */
static void move_me(struct worker *worker, unsigned n)
{
	int saved = errno;

	move(worker->storm, 0, n % (unsigned)CPU_COUNT(&worker->storm->allowed));
	errno = saved;
}

/*
 * Half of them make calls, half of them move the thread away, and so some only interrupt: a
 * compare-exchange that is aborted then is not refused afterwards, and can tell that it was. The
 * calls leave errno alone: the worker looks whether they do.
 */
static void handler(int sig)
{
	struct worker *worker = me;
	unsigned level, n;

	(void)sig;
	if (!worker)
		return;
	level = __atomic_load_n(&worker->level, __ATOMIC_RELAXED) + 1;
	if (level == STORM_LEVELS)
		return;
	__atomic_store_n(&worker->level, level, __ATOMIC_RELAXED);
	n = __atomic_add_fetch(&worker->signals, 1, __ATOMIC_RELAXED);
	if (n % 2 != 0)
		run_level(worker, level, STORM_HANDLER_CALLS);
	if (n % 4 >= 2)
		move_me(worker, n / 4);
	__atomic_store_n(&worker->level, level - 1, __ATOMIC_RELAXED);
}

static void install_handlers(void)
{
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = handler;
	action.sa_flags = SA_NODEFER | SA_RESTART;
	for (int i = 0; i < TIMERS; i++)
		CHECK_EQ(sigaction(timer_signals[i], &action, NULL), 0);
}

static void make_timers(struct worker *worker)
{
	struct sigevent event;

	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD_ID;
	event.sigev_notify_thread_id = worker->tid;
	for (unsigned i = 0; i < TIMERS; i++) {
		event.sigev_signo = timer_signals[i];
		if (timer_create(CLOCK_MONOTONIC, &event, &worker->timers[worker->timer_count]) ==
		    0)
			worker->timer_count++;
	}
}

static void set_timers(struct worker *worker)
{
	struct itimerspec delay;

	memset(&delay, 0, sizeof(delay));
	for (unsigned i = 0; i < worker->timer_count; i++) {
		worker->random = worker->random * 6364136223846793005u + 1442695040888963407u;
		delay.it_value.tv_nsec =
			(long)(DELAY_NS_MIN + (worker->random >> 20) % (worker->batch_ns + 1));
		CHECK_EQ(timer_settime(worker->timers[i], 0, &delay, NULL), 0);
	}
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* Under timers, and with a look at whether anything in it touched errno. */
static void run_batch(struct worker *worker, unsigned calls)
{
	uint64_t begin;

	set_timers(worker);
	begin = now_ns();
	errno = E2BIG;
	run_level(worker, 0, calls);
	CHECK_EQ(errno, E2BIG);
	worker->batch_ns = now_ns() - begin;
	if (worker->batch_ns > (uint64_t)DELAY_NS_MAX * length_of_batches())
		worker->batch_ns = (uint64_t)DELAY_NS_MAX * length_of_batches();
}

/* One worker in eight stays unregistered, one changes sides all the time, the others never do. */
static void change_sides(struct worker *worker, unsigned batch)
{
	bool open = worker->index % 8 == 3 || (worker->index % 8 == 5 && batch % 2 == 0);

	if (open == worker->open)
		return;
	CHECK_OK(open ? percpu_vfork_begin() : percpu_vfork_end());
	worker->open = open;
}

static bool go_on(const struct storm *storm, unsigned batch)
{
	const uint32_t *stop = storm->settings->stop;

	return stop ? !__atomic_load_n(stop, __ATOMIC_RELAXED) : batch < storm->batches;
}

static void work(struct worker *worker)
{
	struct storm *storm = worker->storm;

	__atomic_store_n(&worker->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
	me = worker;
	make_timers(worker);
	for (unsigned batch = 0; go_on(storm, batch); batch++) {
		unsigned plan = (batch + worker->index / 2) % storm->plan_count;

		__atomic_store_n(&worker->plan, plan, __ATOMIC_RELAXED);
		change_sides(worker, batch);
		run_batch(worker, storm->plans[plan]->batch * length_of_batches());
	}
	for (unsigned i = 0; i < worker->timer_count; i++)
		timer_delete(worker->timers[i]);
	me = NULL;
	__atomic_sub_fetch(&storm->running, 1, __ATOMIC_RELEASE);
}

static bool running(const struct storm *storm)
{
	return __atomic_load_n(&storm->running, __ATOMIC_ACQUIRE) != 0;
}

static void pause_ns(long ns)
{
	const struct timespec pause = {0, ns * (long)length_of_batches()};

	(void)nanosleep(&pause, NULL);
}

static void disturb(struct storm *storm)
{
	uint64_t random = 88172645463325252u;
	unsigned cpus = (unsigned)CPU_COUNT(&storm->allowed);

	while (running(storm)) {
		struct worker *worker;
		pid_t tid;

		random = random * 6364136223846793005u + 1442695040888963407u;
		worker = &storm->workers[(random >> 33) % STORM_WORKERS];
		tid = __atomic_load_n(&worker->tid, __ATOMIC_RELAXED);
		/* 0 would be the disturber itself. */
		if (tid)
			move(storm, tid, (unsigned)(random >> 40) % (cpus + 1));
		if ((random >> 50) % 16 == 0)
			(void)percpu_fence();
		pause_ns(DISTURB_NS);
	}
}

static void watch(struct storm *storm)
{
	while (running(storm)) {
		for (unsigned i = 0; i < storm->plan_count; i++)
			if (storm->plans[i]->watch)
				storm->plans[i]->watch(storm->plans[i]);
		pause_ns(WATCH_NS);
	}
}

/* Objects come and go beside it all, some of them in the memory that another had. */
static void use_allocator(void)
{
	struct percpu_counter counters[16];
	unsigned long *words = percpu_new(unsigned long);

	CHECK(words);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		CHECK_EQ(*percpu_ptr(words, slot), 0);
	CHECK_OK(percpu_counter_init_many(counters, 16));
	for (unsigned i = 0; i < 16; i++)
		percpu_counter_inc(&counters[i]);
	percpu_this_write(words, 1);
	CHECK_OK(percpu_free(words));
	CHECK_EQ(percpu_counter_sum(&counters[7]), 1);
	CHECK_OK(percpu_counter_destroy_many(counters, 16));
}

static void allocate(struct storm *storm)
{
	while (running(storm)) {
		use_allocator();
		pause_ns(WATCH_NS);
	}
}

static uint64_t measure_all(const struct storm_plan *plan)
{
	uint64_t sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += plan->measure(plan, slot);
	return sum;
}

/* On its copy, where everybody else has stopped in the middle of what he was doing. */
static void go_on_in_child(void *arg)
{
	struct storm *storm = arg;

	use_allocator();
	for (unsigned i = 0; i < storm->plan_count; i++) {
		struct storm_plan *plan = storm->plans[i];
		struct storm_context *context = &storm->contexts[i * CONTEXTS + CONTEXTS - 1];
		uint64_t before = plan->measure ? measure_all(plan) : 0;

		plan->run(context, STORM_CHILD_CALLS);
		if (plan->measure &&
		    ((measure_all(plan) - before - context->total) & plan->mask) != 0)
			test_fail(__FILE__, __LINE__, "%s: wrong sum in a forked child",
				  plan->name);
	}
}

static void fork_children(struct storm *storm)
{
	for (unsigned i = 0; i < storm->settings->forks && running(storm); i++)
		CHECK_EQ(test_in_child(go_on_in_child, storm), 0);
}

static void (*const helpers[])(struct storm *storm) = {disturb, watch, allocate, fork_children};
enum { HELPERS = sizeof(helpers) / sizeof(helpers[0]) };

static void take_part(unsigned index, void *arg)
{
	struct storm *storm = arg;

	if (index < STORM_WORKERS)
		work(&storm->workers[index]);
	else
		helpers[index - STORM_WORKERS](storm);
}

bool storm_can_abort(void)
{
	struct percpu_mode_info mode;
	cpu_set_t allowed;

	CHECK_OK(percpu_mode(&mode));
	if (!mode.sequences || sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return false;
	for (unsigned cpu = mode.cpu_slots; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed))
			return false;
	return true;
}

static bool has_fence(void)
{
	struct percpu_mode_info mode;

	CHECK_OK(percpu_mode(&mode));
	return mode.fence;
}

static void prepare_plan(struct storm_plan *plan)
{
	plan->object = NULL;
	plan->seen = 0;
	if (plan->size)
		CHECK_OK(percpu_alloc(&plan->object, plan->size, PERCPU_ALIGN_MAX));
	if (plan->prepare)
		plan->prepare(plan);
}

static void finish_plan(struct storm_plan *plan)
{
	if (plan->finish)
		plan->finish(plan);
	if (plan->size)
		CHECK_OK(percpu_free(plan->object));
}

static void prepare_contexts(struct storm *storm)
{
	unsigned count = storm->plan_count * CONTEXTS;
	unsigned nslots = percpu_nslots();

	storm->contexts = calloc(count, sizeof(*storm->contexts));
	storm->slots = calloc((size_t)count * nslots, sizeof(*storm->slots));
	storm->jobs = calloc((size_t)storm->plan_count * (STORM_WORKERS + 1), sizeof(*storm->jobs));
	CHECK(storm->contexts && storm->slots && storm->jobs);
	for (unsigned i = 0; i < count; i++) {
		struct storm_context *context = &storm->contexts[i];
		unsigned plan = i / CONTEXTS;
		unsigned worker = i % CONTEXTS / STORM_LEVELS;

		context->plan = storm->plans[plan];
		context->worker = worker;
		context->level = i % CONTEXTS % STORM_LEVELS;
		context->random = storm_mix(i + 1);
		context->job = &storm->jobs[plan * (STORM_WORKERS + 1) + worker];
		context->slots = &storm->slots[(size_t)i * nslots];
	}
}

static void prepare(struct storm *storm)
{
	for (unsigned i = 0; i < storm->plan_count; i++)
		prepare_plan(storm->plans[i]);
	prepare_contexts(storm);
	for (unsigned i = 0; i < STORM_WORKERS; i++) {
		storm->workers[i].storm = storm;
		storm->workers[i].index = i;
		storm->workers[i].random = storm_mix(i + 1000);
	}
	storm->running = STORM_WORKERS;
	CHECK_EQ(sched_getaffinity(0, sizeof(storm->allowed), &storm->allowed), 0);
	install_handlers();
}

/* storm_mix(0) + storm_mix(1) + ... of n numbers, each under mask. */
static uint64_t mix_of_first(uint64_t n, uint64_t mask)
{
	uint64_t sum = 0;

	for (uint64_t i = 0; i < n; i++)
		sum += storm_mix(i & mask);
	return sum;
}

static void check_slot(const struct storm_plan *plan, const struct storm_context *contexts,
		       unsigned slot)
{
	struct storm_slot all = {0, 0, 0};

	for (unsigned i = 0; i < CONTEXTS - 1; i++) {
		all.calls += contexts[i].slots[slot].calls;
		all.sum += contexts[i].slots[slot].sum;
		all.seen += contexts[i].slots[slot].seen;
	}
	if (((plan->measure(plan, slot) - all.sum) & plan->mask) != 0)
		test_fail(__FILE__, __LINE__, "%s: slot %u of %u holds %llu, not %llu", plan->name,
			  slot, percpu_nslots(),
			  (unsigned long long)(plan->measure(plan, slot) & plan->mask),
			  (unsigned long long)(all.sum & plan->mask));
	if (plan->each_once && mix_of_first(all.calls, plan->mask) != all.seen)
		test_fail(__FILE__, __LINE__, "%s: a value was seen twice, or never, in slot %u",
			  plan->name, slot);
}

/* Everything is at rest: do the objects say what the contexts say? Returns the aborts. */
static uint64_t check_plan(const struct storm *storm, unsigned index)
{
	struct storm_plan *plan = storm->plans[index];
	const struct storm_context *contexts = &storm->contexts[index * CONTEXTS];
	uint64_t calls = 0, aborts = 0, total = 0, nested = 0;

	for (unsigned i = 0; i < CONTEXTS - 1; i++) {
		calls += contexts[i].calls;
		aborts += contexts[i].aborts;
		total += contexts[i].total;
		if (contexts[i].level > 0)
			nested += contexts[i].calls;
	}
	if (plan->measure && ((measure_all(plan) - total) & plan->mask) != 0)
		test_fail(__FILE__, __LINE__, "%s: the sum is %lld, not %lld", plan->name,
			  (long long)(measure_all(plan) & plan->mask),
			  (long long)(total & plan->mask));
	if (plan->by_slot)
		for (unsigned slot = 0; slot < percpu_nslots(); slot++)
			check_slot(plan, contexts, slot);
	if (plan->check)
		plan->check(plan, contexts, CONTEXTS - 1);
	/* Some have no form for threads without a CPU slot. */
	CHECK(calls > 0 || !storm_can_abort());
	printf("%s: %llu calls (%llu in handlers), %llu aborts seen\n", plan->name,
	       (unsigned long long)calls, (unsigned long long)nested, (unsigned long long)aborts);
	/* For test/vm/report. */
	if (plan->aborts && (!plan->fenced || has_fence()) && storm_can_abort())
		printf("aborts: storm.%s %llu\n", plan->name, (unsigned long long)aborts);
	return aborts;
}

/* One round. True when aborts were seen wherever they can be seen. */
static bool run_once(struct storm_plan *const *plans, unsigned count,
		     const struct storm_settings *settings)
{
	struct storm storm;
	bool seen = true;

	memset(&storm, 0, sizeof(storm));
	storm.plans = plans;
	storm.plan_count = count;
	storm.settings = settings;
	storm.batches = storm_scaled(settings->batches ? settings->batches : BATCHES * count);
	prepare(&storm);
	test_threads(STORM_WORKERS + HELPERS, take_part, &storm);
	for (unsigned i = 0; i < count; i++) {
		if (check_plan(&storm, i) == 0 && plans[i]->aborts &&
		    (!plans[i]->fenced || has_fence()))
			seen = false;
		finish_plan(plans[i]);
	}
	free(storm.jobs);
	free(storm.slots);
	free(storm.contexts);
	return seen;
}

void storm_set_name(const char *test)
{
	test__name = test;
}

static bool matches(const struct storm_plan *plan, const char *prefix)
{
	size_t length = strlen(prefix);

	if (strncmp(plan->name, prefix, length) != 0)
		return false;
	return plan->name[length] == '\0' ||
	       (plan->name[length] == '_' && plan->name[length + 1] >= '0' &&
		plan->name[length + 1] <= '9');
}

unsigned storm_each(const struct storm_list *list, const char *prefix)
{
	const struct storm_settings settings = {.forks = 3};
	bool wanted = storm_can_abort();
	unsigned ran = 0;

	for (unsigned i = 0; i < list->count; i++) {
		struct storm_plan *plan = &list->plans[i];

		if (!matches(plan, prefix))
			continue;
		/* One that was never aborted is not tested: on, until the watchdog ends it. */
		while (!run_once(&plan, 1, &settings) && wanted)
			printf("%s: no abort seen, once more\n", plan->name);
		ran++;
	}
	return ran;
}

unsigned storm_all(const struct storm_settings *settings)
{
	const struct storm_list *lists[] = {&storm_words,    &storm_bits, &storm_sequences,
					    &storm_products, &storm_txn,  &storm_locks,
					    &storm_lists};
	struct storm_plan *plans[128];
	unsigned count = 0;

	for (unsigned l = 0; l < sizeof(lists) / sizeof(lists[0]); l++)
		for (unsigned i = 0; i < lists[l]->count; i++) {
			CHECK(count < 128);
			plans[count++] = &lists[l]->plans[i];
		}
	(void)run_once(plans, count, settings);
	return count;
}

/* SPDX-License-Identifier: MIT */
/*
 * percpu stress: the threads of one run, what disturbs them, and the verdict.
 *
 *	workers    operate; in between they yield, sleep and signal each other at random, and the
 *	           handler operates too, on the same structure
 *	mover      moves workers from CPU to CPU, and fences now and then
 *	forker     forks; the child goes on with its copy and checks that
 *	main       watches the time, and that operations come to an end
 *
 *	E1  No worker leaves before all are done: a signal always finds its thread.
 *	E2  A context is written by its thread or handler only, and read after all have been joined.
 */
#include "stress_engine.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* Operations after which a thread of --mixed changes sides. */
#define SIDE_OPS 1000
#define MOVE_NS 50000
#define FORK_NS 2000000
#define WATCH_NS 10000000
#define SLEEP_NS 50000
/* Without any progress of anybody, in all threads and in a child: something never ends. */
#define STUCK_SECONDS 60
#define STRESS_SIGNAL SIGUSR1

enum phase { PHASE_START, PHASE_GO, PHASE_CANCELLED };

struct storm;

struct worker {
	struct storm *storm;
	unsigned index;
	pthread_t thread;
	pid_t tid;
	unsigned long progress; /* operations, for those who watch */
	uint64_t signals;
	bool open; /* between percpu_vfork_begin() and _end() */
	volatile bool handling;
};

struct storm {
	struct stress_run *run;
	struct worker *workers;
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	enum phase phase;
	unsigned done; /* workers */
	bool stop;     /* workers are to end */
	bool ended;    /* helpers are to end */
	cpu_set_t allowed;
};

static __thread struct worker *volatile me;

static void pause_ns(long ns)
{
	const struct timespec pause = {0, ns};

	(void)nanosleep(&pause, NULL);
}

double stress_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void stress_wrong(struct stress_run *run, const char *format, ...)
{
	va_list args;

	if (__atomic_fetch_add(&run->mistakes, 1, __ATOMIC_RELAXED) != 0)
		return;
	va_start(args, format);
	vsnprintf(run->why, sizeof(run->why), format, args);
	va_end(args);
}

#if defined(STRESS_MISTAKES)
/* A mistake in handlers would be found only where there are any. */
bool stress_mistake(struct stress_context *context, unsigned place)
{
	const char *text = getenv("PERCPU_STRESS_MISTAKE");

	return text && strtoul(text, NULL, 10) == place && stress_random(context) % 64 == 0;
}
#endif

/* ---- Workers ---- */

static void operate(struct stress_context *context)
{
	context->run->kind->operate(context);
	context->operations++;
}

/* The signal is blocked meanwhile; ThreadSanitizer, which runs handlers when it likes, runs them on top
 * of each other, too. */
static void handler(int sig)
{
	struct worker *worker = me;
	int saved = errno;

	(void)sig;
	if (worker && !worker->handling) {
		worker->handling = true;
		operate(&worker->storm->run->contexts[worker->index * STRESS_LEVELS + 1]);
		worker->handling = false;
	}
	errno = saved;
}

/* Now, once in so many operations. */
static bool now_and_then(struct stress_context *context, unsigned long every)
{
	return every && stress_random(context) % every == 0;
}

static void disturb(struct worker *worker, struct stress_context *context)
{
	const struct stress_options *options = context->run->options;

	if (now_and_then(context, options->yield))
		sched_yield();
	if (now_and_then(context, options->sleep))
		pause_ns((long)(stress_random(context) % SLEEP_NS));
	if (now_and_then(context, options->signal)) {
		unsigned other = (unsigned)(stress_random(context) % options->threads);

		/* E1. */
		(void)pthread_kill(worker->storm->workers[other].thread, STRESS_SIGNAL);
		worker->signals++;
	}
}

static void change_sides(struct worker *worker, bool open)
{
	int result;

	if (open == worker->open)
		return;
	result = open ? percpu_vfork_begin() : percpu_vfork_end();
	if (result)
		stress_wrong(worker->storm->run, "cannot %s a thread: %s",
			     open ? "unregister" : "register", strerror(-result));
	else
		worker->open = open;
}

/* With --mixed: one in four never has rseq, one in four changes sides all the time. */
static bool is_outside(const struct worker *worker, uint64_t operations)
{
	const struct stress_options *options = worker->storm->run->options;

	if (options->no_rseq)
		return true;
	if (!options->mixed)
		return false;
	return worker->index % 4 == 1 || (worker->index % 4 == 3 && operations / SIDE_OPS % 2 == 0);
}

static void operate_until_done(struct worker *worker, struct stress_context *context)
{
	const struct stress_options *options = context->run->options;
	const struct storm *storm = worker->storm;

	while (!__atomic_load_n(&storm->stop, __ATOMIC_RELAXED) &&
	       (options->ops == 0 || context->operations < options->ops)) {
		if (context->operations % SIDE_OPS == 0)
			change_sides(worker, is_outside(worker, context->operations));
		disturb(worker, context);
		operate(context);
		__atomic_store_n(&worker->progress, (unsigned long)context->operations,
				 __ATOMIC_RELAXED);
	}
}

/* False: there will be no run. */
static bool wait_for_start(struct storm *storm)
{
	bool go;

	pthread_mutex_lock(&storm->mutex);
	while (storm->phase == PHASE_START)
		pthread_cond_wait(&storm->changed, &storm->mutex);
	go = storm->phase == PHASE_GO;
	pthread_mutex_unlock(&storm->mutex);
	return go;
}

/* E1. */
static void wait_for_others(struct storm *storm)
{
	pthread_mutex_lock(&storm->mutex);
	storm->done++;
	pthread_cond_broadcast(&storm->changed);
	while (storm->done < storm->run->options->threads)
		pthread_cond_wait(&storm->changed, &storm->mutex);
	pthread_mutex_unlock(&storm->mutex);
}

static void *work(void *arg)
{
	struct worker *worker = arg;
	struct storm *storm = worker->storm;

	__atomic_store_n(&worker->tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELAXED);
	if (!wait_for_start(storm))
		return NULL;
	change_sides(worker, is_outside(worker, 0));
	me = worker;
	operate_until_done(worker, &storm->run->contexts[(size_t)worker->index * STRESS_LEVELS]);
	me = NULL;
	wait_for_others(storm);
	change_sides(worker, false);
	return NULL;
}

/* ---- Who disturbs them ---- */

static bool has_ended(const struct storm *storm)
{
	return __atomic_load_n(&storm->ended, __ATOMIC_RELAXED);
}

/* The n-th allowed CPU alone; all of them if there are not so many. */
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

static void *move_workers(void *arg)
{
	struct storm *storm = arg;
	struct stress_context dice = {.random = 88172645463325252u};
	unsigned threads = storm->run->options->threads;
	unsigned cpus = (unsigned)CPU_COUNT(&storm->allowed);

	while (!has_ended(storm)) {
		const struct worker *worker = &storm->workers[stress_random(&dice) % threads];
		pid_t tid = __atomic_load_n(&worker->tid, __ATOMIC_RELAXED);

		/* 0 would be the mover itself. */
		if (tid)
			move(storm, tid, (unsigned)(stress_random(&dice) % (cpus + 1)));
		if (stress_random(&dice) % 16 == 0)
			(void)percpu_fence();
		storm->run->moves++;
		pause_ns(MOVE_NS);
	}
	return NULL;
}

/* On its copy, where all others have stopped in the middle of what they were doing. */
static _Noreturn void go_on_in_child(struct stress_run *run)
{
	struct stress_context *context = &run->contexts[run->count - 1];
	unsigned long before;

	alarm(STUCK_SECONDS);
	run->mistakes = 0;
	run->in_child = run->dealing = true;
	before = (unsigned long)run->kind->total(run);
	run->dealing = false;
	for (unsigned i = 0; i < STRESS_CHILD_OPS; i++)
		operate(context);
	before += (unsigned long)context->amount;
	_exit(run->mistakes != 0 || (unsigned long)run->kind->total(run) != before);
}

static void *fork_children(void *arg)
{
	struct storm *storm = arg;
	struct stress_run *run = storm->run;

	while (!has_ended(storm)) {
		pid_t child = fork();
		int status;

		if (child == 0)
			go_on_in_child(run);
		/* No more processes to be had: the storm is over, nothing is wrong. */
		if (child < 0)
			break;
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		run->forks++;
		if (status != 0)
			stress_wrong(run, WIFSIGNALED(status)
						  ? "a forked child ended by a signal"
						  : "a forked child found its copy wrong");
		pause_ns(FORK_NS);
	}
	return NULL;
}

/* ---- A run ---- */

static int prepare_contexts(struct stress_run *run)
{
	size_t each = (size_t)run->kind->series * percpu_nslots();

	run->count = run->options->threads * STRESS_LEVELS + 1;
	run->contexts = calloc(run->count, sizeof(*run->contexts));
	run->numbers = calloc(run->count * each + 1, sizeof(*run->numbers));
	if (!run->contexts || !run->numbers)
		return -ENOMEM;
	for (unsigned i = 0; i < run->count; i++) {
		struct stress_context *context = &run->contexts[i];

		context->run = run;
		context->index = i;
		context->in_handler = i % STRESS_LEVELS != 0;
		context->random = stress_mix(i + 1);
		context->numbers = run->numbers + i * each;
	}
	return 0;
}

static void set_phase(struct storm *storm, enum phase phase)
{
	pthread_mutex_lock(&storm->mutex);
	storm->phase = phase;
	pthread_cond_broadcast(&storm->changed);
	pthread_mutex_unlock(&storm->mutex);
}

/* How many threads there are afterwards: fewer than wanted when *result is not 0. */
static unsigned start_workers(struct storm *storm, int *result)
{
	unsigned threads = storm->run->options->threads, i;

	*result = 0;
	for (i = 0; i < threads && !*result; i++) {
		storm->workers[i].storm = storm;
		storm->workers[i].index = i;
		*result =
			-pthread_create(&storm->workers[i].thread, NULL, work, &storm->workers[i]);
	}
	set_phase(storm, *result ? PHASE_CANCELLED : PHASE_GO);
	return *result ? i - 1 : i;
}

static bool all_done(struct storm *storm)
{
	bool done;

	pthread_mutex_lock(&storm->mutex);
	done = storm->done == storm->run->options->threads;
	pthread_mutex_unlock(&storm->mutex);
	return done;
}

static uint64_t progress(const struct storm *storm)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < storm->run->options->threads; i++)
		sum += __atomic_load_n(&storm->workers[i].progress, __ATOMIC_RELAXED);
	return sum;
}

/* Until all workers have done what they are to do. One that does not end cannot be joined. */
static void watch(struct storm *storm)
{
	const struct stress_run *run = storm->run;
	double begin = stress_now(), moved = begin;
	uint64_t before = 0;

	while (!all_done(storm)) {
		double now = stress_now();
		uint64_t operations = progress(storm);

		if (run->options->seconds > 0 && now - begin >= run->options->seconds)
			__atomic_store_n(&storm->stop, true, __ATOMIC_RELAXED);
		if (operations != before)
			moved = now;
		before = operations;
		stress_show_progress(run, now - begin, operations);
		if (now - moved > STUCK_SECONDS)
			stress_give_up(run);
		pause_ns(WATCH_NS);
	}
	storm->run->elapsed = stress_now() - begin;
	stress_show_progress(NULL, 0, 0);
}

static void storm_on(struct storm *storm, void *(*const helpers[])(void *), unsigned count)
{
	pthread_t threads[2];
	unsigned started = 0;

	while (started < count &&
	       pthread_create(&threads[started], NULL, helpers[started], storm) == 0)
		started++;
	watch(storm);
	__atomic_store_n(&storm->ended, true, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < started; i++)
		pthread_join(threads[i], NULL);
}

static int storm_over(struct storm *storm)
{
	const struct stress_options *options = storm->run->options;
	void *(*helpers[2])(void *);
	unsigned count = 0, workers;
	int result;

	if (options->affinity_storm)
		helpers[count++] = move_workers;
	if (options->fork_storm)
		helpers[count++] = fork_children;
	workers = start_workers(storm, &result);
	if (!result)
		storm_on(storm, helpers, count);
	for (unsigned i = 0; i < workers; i++) {
		pthread_join(storm->workers[i].thread, NULL);
		storm->run->signals += storm->workers[i].signals;
	}
	return result;
}

static int run_threads(struct stress_run *run)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART}, before;
	struct storm storm = {.run = run};
	int result;

	storm.workers = calloc(run->options->threads, sizeof(*storm.workers));
	if (!storm.workers)
		return -ENOMEM;
	if (sched_getaffinity(0, sizeof(storm.allowed), &storm.allowed) != 0)
		CPU_ZERO(&storm.allowed);
	pthread_mutex_init(&storm.mutex, NULL);
	pthread_cond_init(&storm.changed, NULL);
	sigaction(STRESS_SIGNAL, &action, &before);
	result = storm_over(&storm);
	sigaction(STRESS_SIGNAL, &before, NULL);
	pthread_cond_destroy(&storm.changed);
	pthread_mutex_destroy(&storm.mutex);
	free(storm.workers);
	return result;
}

/* ---- The verdict ---- */

/* 0 + 1 + ... + n - 1, and their squares, in arithmetic that wraps. */
static void sums_of_first(uint64_t n, uint64_t *sum, uint64_t *squares)
{
	uint64_t a = n, b = n - 1, c = 2 * n - 1;

	if (n == 0) {
		*sum = *squares = 0;
		return;
	}
	*(a % 2 == 0 ? &a : &b) /= 2;
	*sum = a * b;
	/* n (n - 1) (2n - 1) / 6: one of the three is a multiple of 3. */
	*(a % 3 == 0 ? &a : b % 3 == 0 ? &b : &c) /= 3;
	*squares = a * b * c;
}

/* The words that gave the numbers wrap where they have 32 bits. */
static void sums_of_given(uint64_t count, uint64_t *sum, uint64_t *squares)
{
	uint64_t round_sum, round_squares, rounds = 0;

#if ULONG_MAX < UINT64_MAX
	rounds = count >> 32;
#endif
	sums_of_first(rounds ? (uint64_t)1 << 32 : 0, &round_sum, &round_squares);
	sums_of_first(count - (rounds << 16 << 16), sum, squares);
	*sum += rounds * round_sum;
	*squares += rounds * round_squares;
}

static void check_numbers(struct stress_run *run, unsigned series, unsigned slot)
{
	unsigned long given = run->kind->given(run, series, slot);
	struct stress_numbers all = {0, 0, 0};
	uint64_t sum, squares;

	for (unsigned i = 0; i < run->count; i++) {
		const struct stress_numbers *numbers =
			&run->contexts[i].numbers[series * percpu_nslots() + slot];

		all.count += numbers->count;
		all.sum += numbers->sum;
		all.squares += numbers->squares;
	}
	if ((unsigned long)all.count != given) {
		stress_wrong(run, "slot %u holds %lu, not %lu", slot, given,
			     (unsigned long)all.count);
		return;
	}
	sums_of_given(all.count, &sum, &squares);
	if (sum != all.sum || squares != all.squares)
		stress_wrong(run, "slot %u gave a number twice, or never", slot);
}

static void check(struct stress_run *run)
{
	unsigned long total = (unsigned long)run->kind->total(run), amount = 0;

	for (unsigned i = 0; i < run->count; i++)
		amount += (unsigned long)run->contexts[i].amount;
	if (total != amount)
		stress_wrong(run, "the total is %lu, not %lu", total, amount);
	for (unsigned series = 0; series < run->kind->series; series++)
		for (unsigned slot = 0; slot < percpu_nslots(); slot++)
			check_numbers(run, series, slot);
	if (run->kind->check)
		run->kind->check(run);
}

int stress_run(struct stress_run *run)
{
	int result = prepare_contexts(run);

	if (!result)
		result = run->kind->prepare(run);
	if (!result)
		result = run_threads(run);
	if (!result)
		check(run);
	run->kind->finish(run);
	return result;
}

void stress_free(struct stress_run *run)
{
	free(run->contexts);
	free(run->numbers);
	free(run->holder);
	free(run->seen);
}

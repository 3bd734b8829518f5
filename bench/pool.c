/* SPDX-License-Identifier: MIT */
/*
 * Slices: a method's loop on some threads, started together, each timed by its own CPU clock.
 *
 * Threads are made once and parked on a semaphore each, so that a short slice is not mostly thread
 * creation. They meet at a barrier before they read their clocks. A method's before() and after()
 * run in the same thread, so that what they warm is warm where the loop runs.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "arch/arch.h"
#include "harness.h"

struct pool_thread {
	pthread_t thread;
	sem_t go;
	struct bench_worker worker;
	uint64_t cpu_ns, cycles, start, end;
};

static struct pool_thread *pool[BENCH_MAX_THREADS];
static unsigned pool_size;
static pthread_barrier_t pool_barrier;
static sem_t pool_done;
static unsigned arrived;
static cpu_set_t allowed; /* of the process; empty where it has CPUs beyond CPU_SETSIZE */

#define LONGEST_WAIT 1000000u /* ns */

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

unsigned bench_cpus(void)
{
	static unsigned count;
	long online;

	if (count)
		return count;
	if (!sched_getaffinity(0, sizeof(allowed), &allowed))
		count = (unsigned)CPU_COUNT(&allowed);
	online = sysconf(_SC_NPROCESSORS_ONLN);
	if (!count)
		count = online > 0 ? (unsigned)online : 1;
	return count;
}

/*
 * A slice is too short for the scheduler to spread threads that were woken on one CPU: each begins
 * on a CPU of its own, in turn, and is free from then on.
 */
static void begin_on_own_cpu(const struct pool_thread *t)
{
	unsigned cpu, nth = t->worker.index % bench_cpus();
	cpu_set_t one;

	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && !nth--)
			break;
	if (cpu == CPU_SETSIZE)
		return;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void be_free(void)
{
	if (CPU_COUNT(&allowed))
		sched_setaffinity(0, sizeof(allowed), &allowed);
}

/* Where every thread has a CPU, none runs alone while the others are still waking up. */
static void await_others(unsigned threads)
{
	uint64_t end = clock_ns(CLOCK_MONOTONIC) + LONGEST_WAIT;

	__atomic_fetch_add(&arrived, 1, __ATOMIC_RELEASE);
	if (threads > bench_cpus())
		return;
	while (__atomic_load_n(&arrived, __ATOMIC_ACQUIRE) < threads)
		if (clock_ns(CLOCK_MONOTONIC) > end)
			return;
}

static void time_loop(struct pool_thread *t)
{
	uint64_t cpu, cycles;

	t->start = clock_ns(CLOCK_MONOTONIC);
	cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	cycles = bench_arch_cycles();
	t->worker.method->loop(&t->worker);
	t->cycles = bench_arch_cycles() - cycles;
	t->cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	t->end = clock_ns(CLOCK_MONOTONIC);
}

static void *pool_main(void *arg)
{
	struct pool_thread *t = arg;

	for (;;) {
		while (sem_wait(&t->go))
			;
		if (t->worker.method->before)
			t->worker.method->before(&t->worker);
		if (t->worker.threads > 1)
			begin_on_own_cpu(t);
		pthread_barrier_wait(&pool_barrier);
		if (t->worker.threads > 1) {
			be_free();
			await_others(t->worker.threads);
		}
		time_loop(t);
		if (t->worker.method->after)
			t->worker.method->after(&t->worker);
		sem_post(&pool_done);
	}
	return NULL;
}

static int pool_add(void)
{
	struct pool_thread *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	if (!pool_size)
		sem_init(&pool_done, 0, 0);
	sem_init(&t->go, 0, 0);
	err = pthread_create(&t->thread, NULL, pool_main, t);
	if (err) {
		free(t);
		return -err;
	}
	pool[pool_size++] = t;
	return 0;
}

static int pool_ensure(unsigned threads)
{
	int err = 0;

	while (!err && pool_size < threads)
		err = pool_add();
	return err;
}

static void pool_start(const struct bench_method *m, unsigned threads, unsigned long ops)
{
	unsigned i;

	pthread_barrier_init(&pool_barrier, NULL, threads);
	arrived = 0;
	for (i = 0; i < threads; i++) {
		pool[i]->worker = (struct bench_worker){
			.method = m, .index = i, .threads = threads, .ops = ops};
		sem_post(&pool[i]->go);
	}
	for (i = 0; i < threads; i++)
		while (sem_wait(&pool_done))
			;
	pthread_barrier_destroy(&pool_barrier);
}

static void pool_measure(const struct bench_method *m, unsigned threads, unsigned long ops,
			 struct bench_slice *out)
{
	double parts = m->parts ? m->parts : 1, each = (double)ops * parts;
	uint64_t start = pool[0]->start, end = pool[0]->end, cpu = 0, cycles = 0;
	unsigned i;

	for (i = 0; i < threads; i++) {
		cpu += pool[i]->cpu_ns + pool[i]->worker.other_cpu_ns;
		cycles += pool[i]->cycles;
		start = pool[i]->start < start ? pool[i]->start : start;
		end = pool[i]->end > end ? pool[i]->end : end;
	}
	out->seconds = (double)(end - start) * 1e-9;
	out->cpu_ns = (double)cpu / (each * threads);
	out->cycles = cycles ? (double)cycles / (each * threads) : NAN;
	out->wall_ns = (double)(end - start) / (m->in_turns ? each * threads : each);
}

/* What the threads can prove, for methods that look after each loop. */
static unsigned long pool_counted(unsigned threads)
{
	unsigned long counted = 0;
	unsigned i;

	for (i = 0; i < threads; i++)
		counted += pool[i]->worker.counted;
	return counted;
}

void bench_slice(const struct bench_method *m, unsigned threads, unsigned long ops,
		 struct bench_slice *out)
{
	unsigned long before, counted, wanted = ops * threads;

	memset(out, 0, sizeof(*out));
	out->status = pool_ensure(threads);
	if (out->status) {
		snprintf(out->why, sizeof(out->why), "cannot start %u threads: %s", threads,
			 strerror(-out->status));
		out->status = -EPIPE; /* wanted and not to be had, unlike what this CPU cannot do */
		return;
	}
	bench_cpus(); /* the mask is read before the first thread needs it */
	before = m->total ? (unsigned long)m->total() : 0;
	pool_start(m, threads, ops);
	counted = m->total   ? (unsigned long)m->total() - before
		  : m->after ? pool_counted(threads)
			     : wanted;
	pool_measure(m, threads, ops, out);
	out->lost = (double)wanted - (double)counted;
	if (counted != wanted && !(m->may_lose && counted < wanted)) {
		out->status = -EIO;
		snprintf(out->why, sizeof(out->why), "wrong total: %lu instead of %lu", counted,
			 wanted);
	}
}

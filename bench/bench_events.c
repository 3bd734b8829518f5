/* SPDX-License-Identifier: MIT */
/*
 * events: what counting an event costs, in each way the library has and in those of others.
 * snapshots: what reading and opening sets costs.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <percpu/percpu.h>

#include "bench.h"

enum { EVENT, GAUGE, SIZES, FAMILY, ENTRIES };

static const struct percpu_event_desc descs[] = {
	[EVENT] = {.name = "event"},
	[GAUGE] = {.name = "gauge", .kind = PERCPU_GAUGE},
	[SIZES] = {.name = "sizes",
		   .kind = PERCPU_HISTOGRAM,
		   .precision = 3,
		   .highest = 1000000000},
	[FAMILY] = {.name = "family", .labels = {"label"}, .series = 4},
};
static PERCPU_EVENTS(in_file, "percpu-bench", "1", descs);
static PERCPU_EVENTS(in_memory, "percpu-bench", "1", descs);

static struct percpu_series series;
static char folder[64];

static int make_folder(void)
{
	if (*folder)
		return 0;
	strcpy(folder, "/dev/shm/percpu-bench-XXXXXX");
	if (mkdtemp(folder))
		return 0;
	strcpy(folder, "/tmp/percpu-bench-XXXXXX");
	return mkdtemp(folder) ? 0 : -errno;
}

/* The file of a set is removed at once: it lives on in who has it open. */
static int open_in_folder(struct percpu_events *set)
{
	const struct percpu_events_options options = {.flags = PERCPU_EVENTS_QUIET, .dir = folder};
	struct percpu_events_info info;
	int err = make_folder();

	if (!err)
		err = percpu_events_open(set, &options);
	if (!err && percpu_events_status(set, &info) == 0)
		unlink(info.path);
	rmdir(folder);
	*folder = '\0';
	return err == -EALREADY ? 0 : err;
}

static int open_file(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "no file for a set of events";
	return open_in_folder(&in_file);
}

static int open_memory(const struct bench_method *m, const char **why)
{
	const struct percpu_events_options options = {.flags = PERCPU_EVENTS_PRIVATE};
	int err = percpu_events_open(&in_memory, &options);

	(void)m;
	*why = "no memory for a set of events";
	return err == -EALREADY ? 0 : err;
}

static int open_family(const struct bench_method *m, const char **why)
{
	int err = open_file(m, why);

	if (!err)
		err = percpu_series_open(&series, &in_file, FAMILY, (const char *[]){"one"});
	return err;
}

static struct {
	_Alignas(BENCH_CACHE_LINE) long n;
} plain, shared, padded[BENCH_MAX_THREADS], by_cpu[BENCH_MAX_THREADS], masked[BENCH_MAX_THREADS],
	unprotected[BENCH_MAX_THREADS];
static const long step = 1;

/* Events are counted through their handles, in the ways of PERCPU_EVENTS_WAY. */
#define EVENT_IN(set) (&(set)->event[EVENT])

BENCH_LOOP(loop_plain, , ARCH_PLAIN_INC(&plain.n), )
BENCH_LOOP(loop_event, , percpu_event_inc(&in_file, EVENT), )
BENCH_LOOP(loop_memory, , percpu_event_inc(&in_memory, EVENT), )
#if ARCH_HAVE_SEQ && ARCH_INLINE_COUNTER
BENCH_LOOP(loop_sequence, , PERCPU__EVENT_ADD_sequence(&in_file, EVENT_IN(&in_file), 1), )
#endif
BENCH_LOOP(loop_call, , PERCPU__EVENT_ADD_call(&in_file, EVENT_IN(&in_file), 1), )
BENCH_LOOP(loop_atomic, , PERCPU__EVENT_ADD_atomic(&in_file, EVENT_IN(&in_file), 1), )
BENCH_LOOP(loop_series, , percpu_series_inc(&series), )
BENCH_LOOP(loop_gauge, , percpu_gauge_inc(&in_file, GAUGE); percpu_gauge_dec(&in_file, GAUGE), )
BENCH_LOOP(loop_histogram, uint64_t value_ = 1, percpu_histogram_observe(&in_file, SIZES, value_);
	   value_ = (value_ * 5 + 3) & 0xfffff, )

BENCH_LOOP(loop_shared, , __atomic_fetch_add(&shared.n, step, __ATOMIC_RELAXED), )
BENCH_LOOP(loop_padded, long *n_ = &padded[w->index].n,
	   __atomic_fetch_add(n_, step, __ATOMIC_RELAXED), )

/* The comparison of 2006: a count per CPU that is found by asking for the CPU's number. */
static inline unsigned this_cpu(void)
{
	return (unsigned)sched_getcpu() % BENCH_MAX_THREADS;
}

static inline void add_masked(void)
{
	sigset_t all, before;

	sigfillset(&all);
	pthread_sigmask(SIG_BLOCK, &all, &before);
	ARCH_PLAIN_INC(&masked[this_cpu()].n);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

BENCH_LOOP(loop_masked, , add_masked(), )
BENCH_LOOP(loop_by_cpu, , __atomic_fetch_add(&by_cpu[this_cpu()].n, step, __ATOMIC_RELAXED), )
BENCH_LOOP(loop_unprotected, , ARCH_PLAIN_INC(&unprotected[this_cpu()].n), )

static long file_total(void)
{
	return (long)percpu_events_read_one(&in_file, EVENT);
}

static long memory_total(void)
{
	return (long)percpu_events_read_one(&in_memory, EVENT);
}

static long family_total(void)
{
	return (long)percpu_events_read_one(&in_file, FAMILY);
}

static long histogram_total(void)
{
	return (long)percpu_events_read_one(&in_file, SIZES);
}

static long shared_total(void)
{
	return __atomic_load_n(&shared.n, __ATOMIC_RELAXED);
}

#define DEFINE_TOTAL(name)                                                                         \
	static long name##_total(void)                                                             \
	{                                                                                          \
		long sum = 0;                                                                      \
                                                                                                   \
		for (int i = 0; i < BENCH_MAX_THREADS; i++)                                        \
			sum += __atomic_load_n(&name[i].n, __ATOMIC_RELAXED);                      \
		return sum;                                                                        \
	}
DEFINE_TOTAL(padded)
DEFINE_TOTAL(by_cpu)
DEFINE_TOTAL(masked)
DEFINE_TOTAL(unprotected)
#undef DEFINE_TOTAL

static const struct bench_method plain_method = {
	.name = "plain ++", .param = "", .loop = loop_plain};

static const struct bench_method methods[] = {
	{.name = "percpu event inc",
	 .param = "",
	 .loop = loop_event,
	 .total = file_total,
	 .open = open_file},
	{.name = "percpu event inc",
	 .param = "private set",
	 .loop = loop_memory,
	 .total = memory_total,
	 .open = open_memory},
#if ARCH_HAVE_SEQ && ARCH_INLINE_COUNTER
	{.name = "percpu event inc",
	 .param = "way: sequence",
	 .loop = loop_sequence,
	 .total = file_total,
	 .open = open_file},
#endif
	{.name = "percpu event inc",
	 .param = "way: call",
	 .loop = loop_call,
	 .total = file_total,
	 .open = open_file},
	{.name = "percpu event inc",
	 .param = "way: atomic",
	 .loop = loop_atomic,
	 .total = file_total,
	 .open = open_file},
	{.name = "percpu series inc",
	 .param = "",
	 .loop = loop_series,
	 .total = family_total,
	 .open = open_family},
	{.name = "percpu gauge inc + dec", .param = "", .loop = loop_gauge, .open = open_file},
	{.name = "percpu histogram observe",
	 .param = "",
	 .loop = loop_histogram,
	 .total = histogram_total,
	 .open = open_file},
	{.name = "atomic fetch-add shared",
	 .param = "",
	 .loop = loop_shared,
	 .total = shared_total},
	{.name = "atomic padded per-thread slot",
	 .param = "",
	 .loop = loop_padded,
	 .total = padded_total},
	{.name = "getcpu + atomic per-cpu slot",
	 .param = "",
	 .loop = loop_by_cpu,
	 .total = by_cpu_total},
	{.name = "getcpu + ++ under signal mask",
	 .param = "migration loses",
	 .loop = loop_masked,
	 .total = masked_total,
	 .may_lose = 1},
	{.name = "getcpu + ++ unprotected",
	 .param = "loses",
	 .loop = loop_unprotected,
	 .total = unprotected_total,
	 .may_lose = 1},
};

static void fill_events(struct bench_plan *plan)
{
	bench_add(plan, &plain_method);
	for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++)
		bench_add_threads(plan, &methods[i], NULL);
}

const struct bench_table bench_events = {
	.name = "events",
	.title = "one event counted in a set that others can read; baseline: plain ++",
	.fill = fill_events,
	.seconds = 20,
	.losses = 1};

/* ---- Snapshots ---- */

#define EVENTS 1000
#define CPUS 64

static struct percpu_events *large;
static struct percpu_reader *reader;
static int64_t values[EVENTS];

static int make_large(void)
{
	static struct percpu_event_desc all[EVENTS];
	static char names[EVENTS][16];

	for (unsigned i = 0; i < EVENTS; i++) {
		snprintf(names[i], sizeof(names[i]), "event_%u", i);
		all[i].name = names[i];
	}
	large = calloc(1, PERCPU_EVENTS_SIZE(EVENTS));
	if (!large)
		return -ENOMEM;
	large->name = "percpu-bench";
	large->version = "1";
	large->descs = all;
	large->n = EVENTS;
	return 0;
}

/* As if every CPU had counted every event: most of them are not there. */
static void populate(void)
{
	for (unsigned i = 0; i < EVENTS; i++)
		for (unsigned cpu = 0; cpu < CPUS; cpu++)
			*(volatile int64_t *)percpu__slot(large->event[i].handle.base, cpu) = 1;
}

/* A reader refuses a file that was removed, so that is done at the end, which peers know by exit(). */
static void remove_large(void)
{
	struct percpu_events_info info;

	if (large && percpu_events_status(large, &info) == 0)
		unlink(info.path);
	rmdir(folder);
}

static int open_large(const struct bench_method *m, const char **why)
{
	const struct percpu_events_options options = {.flags = PERCPU_EVENTS_QUIET, .dir = folder};
	struct percpu_events_info info;
	int err;

	(void)m;
	*why = "no file for a set of events with 64 CPUs";
	if (large)
		return 0;
	err = make_large();
	if (!err)
		err = make_folder();
	if (!err && atexit(remove_large) == 0)
		err = percpu_events_open(large, &options);
	if (err || percpu_events_status(large, &info) != 0)
		return err;
	populate();
	return percpu_reader_open_path(&reader, info.path, NULL, 0);
}

static inline void take_snapshot(void)
{
	struct percpu_snapshot *snapshot;

	if (percpu_snapshot_take(&snapshot, reader, 0) == 0)
		percpu_snapshot_free(snapshot);
}

/* In a folder of its own, so that it is made each time. */
static inline void open_and_close(void)
{
	const struct percpu_events_options options = {.flags = PERCPU_EVENTS_QUIET, .dir = folder};
	struct percpu_events_info info;

	if (percpu_events_open(large, &options) == 0 && percpu_events_status(large, &info) == 0)
		unlink(info.path);
	percpu_events_close(large);
}

static int open_nothing(const struct bench_method *m, const char **why)
{
	int err = make_large();

	(void)m;
	*why = "no folder for a set of events";
	if (!err)
		err = make_folder();
	return err ? err : atexit(remove_large);
}

BENCH_LOOP(loop_read, , percpu_events_read(large, values), )
BENCH_LOOP(loop_snapshot, , take_snapshot(), )
BENCH_LOOP(loop_open, , open_and_close(), )

static const struct bench_method open_method = {.name = "open and close",
						.param = "1000 events, this machine's CPUs",
						.loop = loop_open,
						.open = open_nothing};
static const struct bench_method snapshot_methods[] = {
	{.name = "read in the program",
	 .param = "1000 events, 64 CPUs",
	 .loop = loop_read,
	 .open = open_large},
	{.name = "snapshot",
	 .param = "1000 events, 64 CPUs",
	 .loop = loop_snapshot,
	 .open = open_large},
};

static void fill_snapshots(struct bench_plan *plan)
{
	static const struct bench_peer many = {.environment = {"PERCPU_CPUS=64"}};

	bench_add(plan, &open_method);
	for (size_t i = 0; i < sizeof(snapshot_methods) / sizeof(snapshot_methods[0]); i++)
		bench_add_at(plan, &snapshot_methods[i], 1, &many);
}

const struct bench_table bench_snapshots = {
	.name = "snapshots",
	.title = "a set of 1000 events opened, and read from inside and outside; baseline: open",
	.fill = fill_snapshots};

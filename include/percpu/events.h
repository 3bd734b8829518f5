/* SPDX-License-Identifier: MIT */
/*
 * Events: named sets of counters, gauges and histograms that anybody can read while the program
 * runs, and after it died.
 *
 *	enum { REQUESTS, ACTIVE, LATENCY };
 *	static const struct percpu_event_desc descs[] = {
 *		[REQUESTS] = {.name = "requests", .help = "Requests served"},
 *		[ACTIVE] = {.name = "active", .help = "Under way", .kind = PERCPU_GAUGE},
 *		[LATENCY] = {.name = "latency", .unit = "ns", .help = "Time per request",
 *			     .kind = PERCPU_HISTOGRAM, .lowest = 1000, .highest = 10000000000},
 *	};
 *	static PERCPU_EVENTS(web, "web", "1", descs);
 *
 *	percpu_events_open(&web, NULL);       once, early
 *	percpu_event_inc(&web, REQUESTS);     anywhere
 *	percpu_gauge_inc(&web, ACTIVE);
 *	percpu_histogram_observe(&web, LATENCY, ns);
 *
 * A set lies in a file that is mapped and shared: the file is the counters, nothing is copied there
 * or flushed. Its layout is in percpu-segment(5), and percpu/reader.h reads it. It is
 * NAME.percpu in $PERCPU_DIR if that is set; else in the first of these that can be had: /run/percpu,
 * $XDG_RUNTIME_DIR/percpu, /dev/shm. Where no file can be had, the program counts privately, and
 * says so once on standard error.
 *
 * Promises: a count that has returned is in the file, whatever happens to the process; none is lost
 * by preemption, migration, signals, threads without rseq, fork, or several processes in one set.
 * Counts before open are kept aside, in a shared word each, and added when the set is opened.
 * Creation allocates all memory that counting will ever touch, so a full file system is an error of
 * open and no SIGBUS later. Totals of events never go backwards. A pair of a gauge's up and down
 * never shows negative. Of a histogram, buckets, count and sum describe the same observations at
 * every moment, also after kill -9: count is the sum of the buckets, and what an interrupted
 * observation had not stored yet is made up for by the next one and by readers.
 * Does not promise: a snapshot of several events at one moment; any order to other memory.
 * Adds are no compiler barriers.
 *
 * An event costs 8 bytes in each CPU's page and in the shared slots', and 48 bytes of the program's
 * data. Units are what you name.
 *
 *	call                            thread   signal handler   other process   after fork
 *	event_*, gauge_*, series add    yes      yes              yes, attached   yes, same cells
 *	histogram_observe, series_...   yes      yes              yes, attached   yes, same cells
 *	events_read, _one, _cpus, ...   yes      yes              yes, attached   yes
 *	series_open                     yes      no               yes, attached   yes
 *	events_open, events_close       yes      no               yes, attached   yes
 *	(private sets: a forked child has copies of its own)
 *	close of one set: when nobody counts in it; an open series must not be used any more
 *
 * Compiled with PERCPU_EVENTS_OFF, all of this is there and does nothing. PERCPU_EVENTS_WAY chooses
 * how an event is added to: sequence (inline, the default where there are sequences), call (the
 * same, called), atomic (on shared slots only). percpu bench events measures all of them.
 */
#ifndef PERCPU_EVENTS_H
#define PERCPU_EVENTS_H

#include <percpu/counter.h>

#ifdef __cplusplus
extern "C" {
#endif

enum percpu_event_kind {
	PERCPU_EVENT,     /* only goes up */
	PERCPU_GAUGE,     /* goes up and down: ups and downs are counted */
	PERCPU_HISTOGRAM, /* observations, by size */
};

#define PERCPU_EVENTS_LABELS 8
/* Entries of one set; label sets of one family; bytes of a set's name, with the zero. */
#define PERCPU_EVENTS_MAX 16384
#define PERCPU_EVENTS_SERIES_MAX 65536
#define PERCPU_EVENTS_NAME_MAX 64

/*
 * One entry of a set. Names are letters, digits, '_', ':' and '.', and do not begin with a digit;
 * unit may be "" or NULL, help too.
 *
 * A histogram has 2^precision buckets for each power of two between lowest and highest (both with
 * the unit; lowest 0 or 1: from 1 on), linear ones below, and one for all that is above highest.
 * precision is at most 8: 0 is exact to a factor of 2, 3 to 12 %. highest is at least lowest and at
 * most 2^62.
 *
 * An entry with labels is a family: up to `series` label sets, each with a value for every label,
 * and one more, the overflow series, that counts for those that came too late.
 */
struct percpu_event_desc {
	const char *name, *unit, *help;
	enum percpu_event_kind kind;
	unsigned precision;
	uint64_t lowest, highest;
	const char *labels[PERCPU_EVENTS_LABELS];
	unsigned series;
};

/* What one cell is found by, and what was counted before there was one. Of a gauge with index i the
 * downs are entry n + i. */
struct percpu__event {
	struct percpu__handle handle; /* flags: CPU slots << 8 | shared slots */
	percpu__cell aside;
};

struct percpu__events_state;

/* An array without a size is C; C++ has it as an extension. */
#pragma GCC diagnostic push
#if defined(__cplusplus)
#pragma GCC diagnostic ignored "-Wpedantic"
#if defined(__clang__)
#pragma GCC diagnostic ignored "-Wc99-extensions"
#endif
#endif
struct percpu_events {
	const char *name, *version;
	const struct percpu_event_desc *descs;
	unsigned n;
	struct percpu__events_state *state; /* NULL: not open */
	struct percpu__event event[];       /* two for each entry */
};
#pragma GCC diagnostic pop

#define PERCPU__EVENTS_N(descs) (sizeof(descs) / sizeof((descs)[0]))
/* Bytes of a set of n entries that is made at run time: zeroed memory with name, version, descs and
 * n filled in. */
#define PERCPU_EVENTS_SIZE(n)                                                                      \
	(sizeof(struct percpu_events) + 2 * (size_t)(n) * sizeof(struct percpu__event))

/* Defines a set (C only; other files and C++ declare it: extern struct percpu_events set). descs is
 * an array that is in sight here. */
/* clang-format off */
#if defined(PERCPU_EVENTS_OFF)
#define PERCPU_EVENTS(set, name, version, descs)                                                   \
	struct percpu_events set = {(name), (version), (descs), 0, NULL, {{{NULL, 0, 0}, 0}}}
#else
#define PERCPU_EVENTS(set, name, version, descs)                                                   \
	struct percpu_events set = {                                                               \
		(name), (version), (descs), PERCPU__EVENTS_N(descs), NULL,                         \
		{[2 * PERCPU__EVENTS_N(descs) - 1] = {{NULL, 0, 0}, 0}}}
#endif
/* clang-format on */

/* ---- Open and close ---- */

#define PERCPU_EVENTS_PRIVATE 1u /* no file: memory of this process */
#define PERCPU_EVENTS_ANEW 2u /* begin at 0 where the file's processes are gone; else join them */
#define PERCPU_EVENTS_EXCLUSIVE 4u /* -EBUSY where another process is in the set */
#define PERCPU_EVENTS_QUIET 8u     /* nothing on standard error */

struct percpu_events_options {
	unsigned flags;
	const char *dir;      /* instead of the folders above */
	const char *instance; /* the file is NAME-INSTANCE.percpu */
	unsigned mode;        /* permission bits of a new file; 0: 0644 */
};

/*
 * Creates the set's file or joins the one that is there, and makes the set ready; options may be
 * NULL. A file with another declaration is refused while a process uses it, and replaced
 * otherwise; so is one from before the machine's last start.
 *
 * 0; or -errno, and then the set counts privately, unless it is
 * -EINVAL (a declaration that is not valid, or NULL) or -EALREADY (it is open).
 * -ENOSPC: no room. -EACCES, -EPERM, -EROFS: not allowed; the folder or file is somebody else's.
 * -ELOOP: a symbolic link is in the way. -EBUSY: exclusive, and it is in use. -EEXIST: in use with
 * another declaration. -EPROTO: the file is no segment. -ENOTSUP: this CPU has no 64-bit atomics.
 * percpu_events_status() has it in words.
 */
int percpu_events_open(struct percpu_events *set, const struct percpu_events_options *options);

/* Gives the memory back; the file stays, and totals stay in it. Those of a private set are kept
 * aside. 0, or -EINVAL when it is not open. */
int percpu_events_close(struct percpu_events *set);

struct percpu_events_info {
	bool open, shared; /* shared: in a file */
	int error;         /* 0, or why it is private */
	const char *path;  /* "" when private */
	const char *why;   /* in words, or "" */
	uint64_t missed;   /* observations made while the set was not open */
};
/* Valid until close. 0, or -EINVAL for NULL. */
int percpu_events_status(const struct percpu_events *set, struct percpu_events_info *info);

/* ---- Count ---- */

#if !defined(PERCPU_EVENTS_OFF)

void percpu__event_cold(struct percpu_events *set, struct percpu__event *event, int64_t n);
void percpu__event_call(struct percpu_events *set, struct percpu__event *event, int64_t n);
void percpu__event_index(struct percpu_events *set, size_t event, int64_t n);

#define PERCPU__EVENT_ADD_sequence(set, event, n)                                                  \
	do {                                                                                       \
		if (__builtin_expect(!percpu__seq_event_add_8(&(event)->handle, (n)), 0))          \
			percpu__event_cold((set), (event), (n));                                   \
	} while (0)
#define PERCPU__EVENT_ADD_call(set, event, n) percpu__event_call((set), (event), (n))
#define PERCPU__EVENT_ADD_atomic(set, event, n) percpu__event_cold((set), (event), (n))

#if !defined(PERCPU_EVENTS_WAY)
#if ARCH_HAVE_SEQ && ARCH_INLINE_COUNTER && !defined(PERCPU_OUTLINE)
#define PERCPU_EVENTS_WAY sequence
#else
#define PERCPU_EVENTS_WAY call
#endif
#endif
#define PERCPU__EVENT_ADD_PASTE(way, set, event, n) PERCPU__EVENT_ADD_##way(set, event, n)
#define PERCPU__EVENT_ADD_OF(way, set, event, n) PERCPU__EVENT_ADD_PASTE(way, set, event, n)
#define PERCPU__EVENT_ADD(set, event, n) PERCPU__EVENT_ADD_OF(PERCPU_EVENTS_WAY, set, event, n)

/* An index that is no constant is compared with the number of entries; beyond it: nothing. */
PERCPU__INLINE void percpu__events_add(struct percpu_events *set, size_t index, int64_t n)
{
	if (__builtin_constant_p(index))
		PERCPU__EVENT_ADD(set, &set->event[index], n);
	else
		percpu__event_index(set, index, n);
}

#else

PERCPU__INLINE void percpu__events_add(struct percpu_events *set, size_t index, int64_t n)
{
	(void)set, (void)index, (void)n;
}

#endif

PERCPU__INLINE void percpu_event_add(struct percpu_events *set, unsigned event, uint64_t n)
{
	percpu__events_add(set, event, (int64_t)n);
}

PERCPU__INLINE void percpu_event_inc(struct percpu_events *set, unsigned event)
{
	percpu__events_add(set, event, 1);
}

PERCPU__INLINE void percpu_gauge_inc(struct percpu_events *set, unsigned gauge)
{
	percpu__events_add(set, gauge, 1);
}

/* Both are one call: what went up before must be seen before it goes down. */
void percpu_gauge_dec(struct percpu_events *set, unsigned gauge);
void percpu_gauge_add(struct percpu_events *set, unsigned gauge, int64_t n);

/* Values above 2^62 - 1 count as that. Before open nothing knows the buckets: it is counted as
 * missed (percpu_events_status()). */
void percpu_histogram_observe(struct percpu_events *set, unsigned histogram, uint64_t value);

/* ---- Families ---- */

struct percpu__histogram;

/* One label set, found or made by open; a value that can be copied. */
struct percpu_series {
	struct percpu_events *set;
	struct percpu__event up, down;
	/* Of a histogram: what it has in common with the others, its plane, its cells in slot 0. */
	const struct percpu__histogram *histogram;
	struct percpu__handle plane;
	char *block;
};

/*
 * Finds the series of a family with these label values, or makes it; values has one for each label.
 * The set must be open. 0; -ENOSPC: no label set is left, or the values are longer than
 * PERCPU_SERIES_TEXT bytes with their zeros, and the series is the overflow series; -EINVAL,
 * and nothing counts. In several processes at once the same label set may be made twice: it then
 * has two entries in the file, which readers add up.
 */
#define PERCPU_SERIES_TEXT 112
int percpu_series_open(struct percpu_series *series, struct percpu_events *set, unsigned family,
		       const char *const *values);

#if !defined(PERCPU_EVENTS_OFF)
PERCPU__INLINE void percpu_series_add(struct percpu_series *series, uint64_t n)
{
	PERCPU__EVENT_ADD(series->set, &series->up, (int64_t)n);
}
#else
PERCPU__INLINE void percpu_series_add(struct percpu_series *series, uint64_t n)
{
	(void)series, (void)n;
}
#endif

PERCPU__INLINE void percpu_series_inc(struct percpu_series *series)
{
	percpu_series_add(series, 1);
}

void percpu_series_dec(struct percpu_series *series);
void percpu_series_observe(struct percpu_series *series, uint64_t value);

/* ---- Read, in the program itself ---- */

/* All entries: values has set->n. Events: the total, of families over all series; gauges: ups less
 * downs; histograms: observations. 0, or -EINVAL. */
int percpu_events_read(const struct percpu_events *set, int64_t *values);
/* One of them; 0 for a bad index. */
int64_t percpu_events_read_one(const struct percpu_events *set, unsigned event);
/* What the given CPUs counted; PERCPU_EVENTS_SHARED stands for threads without a CPU slot, and what
 * is kept aside. */
#define PERCPU_EVENTS_SHARED UINT32_MAX
int percpu_events_read_cpus(const struct percpu_events *set, const unsigned *cpus, size_t ncpus,
			    int64_t *values);
/* What came since an earlier percpu_events_read(): values = now - before. They may be one array. */
int percpu_events_since(const struct percpu_events *set, const int64_t *before, int64_t *values);

/* A histogram: its buckets (as many as there is room for), count and sum, which belong together. The
 * sum is exact modulo 2^63. Returns the number of buckets, or -EINVAL. */
struct percpu_histogram_sums {
	uint64_t count, sum;
};
int percpu_histogram_read(const struct percpu_events *set, unsigned histogram, uint64_t *buckets,
			  size_t room, struct percpu_histogram_sums *sums);
/* How many it has. */
unsigned percpu_histogram_buckets(const struct percpu_event_desc *desc);
/* The largest value that belongs to a bucket; UINT64_MAX for the last one. */
uint64_t percpu_histogram_bound(const struct percpu_event_desc *desc, unsigned bucket);

int64_t percpu_series_read(const struct percpu_series *series);

#ifdef __cplusplus
}
#endif

#endif

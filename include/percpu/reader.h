/* SPDX-License-Identifier: MIT */
/*
 * Reading sets of events from outside: of programs that run, and of programs that are dead.
 *
 *	struct percpu_reader *reader;
 *	struct percpu_snapshot *snapshot;
 *
 *	percpu_reader_open(&reader, "web", NULL, 0);
 *	percpu_snapshot_take(&snapshot, reader, 0);
 *	for (unsigned i = 0; i < snapshot->n; i++)
 *		... snapshot->samples[i].desc->name, snapshot->samples[i].value ...
 *	percpu_snapshot_free(snapshot);
 *	percpu_reader_close(reader);
 *
 * Promises: nothing in a file is trusted: one that is no segment, that is damaged, that shrinks or
 * is replaced while it is read, gives an error and never a crash. Files are read, not mapped: no
 * memory is allocated in them, and none of their processes notices. Totals of events never go
 * backwards from one snapshot to the next, gauges whose ups come before their downs are never
 * negative. Buckets, count and sum of a histogram are of the same observations if `exact` says so;
 * while others observe without pause it can be that no such moment was found, and then the sum may
 * be that of a few observations more or less than the count. The count is always the sum of the
 * buckets.
 * Does not promise: one moment for all values of a snapshot.
 *
 * Times are in nanoseconds. Memory is from malloc().
 *
 *	call          thread                        signal handler   other process   after fork
 *	all           yes; of one reader, one at    no               yes             yes
 *	              a time
 */
#ifndef PERCPU_READER_H
#define PERCPU_READER_H

#include <sys/types.h>

#include <percpu/events.h>

#ifdef __cplusplus
extern "C" {
#endif

struct percpu_reader;

/*
 * Opens a set: by path (what has a '/' in it), by the number of the process that owns it, or by
 * name (also NAME-INSTANCE), looked for in all folders of percpu/events.h. The reason of a failure
 * in words goes to why (size bytes; may be NULL with size 0).
 * 0; -ENOENT; -EPROTO: it is no segment, or damaged; another -errno of open or of memory.
 */
int percpu_reader_open(struct percpu_reader **reader, const char *what, char *why, size_t size);
int percpu_reader_open_path(struct percpu_reader **reader, const char *path, char *why,
			    size_t size);
int percpu_reader_open_name(struct percpu_reader **reader, const char *name, char *why,
			    size_t size);
int percpu_reader_open_pid(struct percpu_reader **reader, pid_t pid, char *why, size_t size);
/* NULL is fine. Snapshots are valid no longer. */
void percpu_reader_close(struct percpu_reader *reader);

/*
 * Calls each() for every set in all folders. reader is NULL where it could not be opened: error and
 * why tell. each() returns 0 (go on), 1 (go on, the reader stays open and is the caller's), or
 * a negative number, which ends it and is returned; otherwise the number of sets is.
 */
int percpu_reader_list(int (*each)(void *arg, const char *path, struct percpu_reader *reader,
				   int error, const char *why),
		       void *arg);

/*
 * Is a process in the set? Alive: yes. Dead: none is, or the machine was started again since.
 * Unknown: the file's processes are in another pid namespace, or it cannot be found out. (A process
 * that closed all files it had open is found by its number only, and then only if it made or
 * took over the set itself.)
 */
enum percpu_life { PERCPU_LIFE_DEAD, PERCPU_LIFE_ALIVE, PERCPU_LIFE_UNKNOWN };
/* "dead", "alive", "unknown". */
const char *percpu_life_name(enum percpu_life life);

struct percpu_reader_info {
	const char *path, *name, *version, *program;
	pid_t pid;           /* in its own namespace */
	uint64_t generation; /* another number whenever counts began at 0 */
	uint64_t created;    /* when they did; since 1970 */
	enum percpu_life life;
	unsigned cpus;    /* CPU slots */
	unsigned entries; /* of the declaration */
	uint64_t size;    /* of the file: address space */
	uint64_t memory;  /* what it occupies */
};
/* As it is now. 0; -EINVAL; -ESTALE: the file was removed or replaced (info is filled in). */
int percpu_reader_status(struct percpu_reader *reader, struct percpu_reader_info *info);

/* An entry of the declaration; NULL for one that is not there. Valid until close. */
const struct percpu_event_desc *percpu_reader_desc(const struct percpu_reader *reader,
						   unsigned entry);

/* ---- Snapshots ---- */

/* One value: an entry without labels, or one label set. */
struct percpu_sample {
	unsigned entry;
	const struct percpu_event_desc *desc;
	const char *labels[PERCPU_EVENTS_LABELS]; /* their values */
	bool overflow; /* the series of all label sets that found no room: its values are "_overflow" */
	int64_t value; /* events: total; gauges: ups less downs; histograms: observations */
	/* Histograms. */
	uint64_t count, sum;
	const uint64_t *buckets;
	unsigned nbuckets;
	bool exact;
	/* value by CPU, with PERCPU_SNAPSHOT_CPUS: of all CPU slots, then of threads without one. */
	const int64_t *cpus;
};

struct percpu_snapshot {
	uint64_t generation;
	uint64_t time,
		monotonic; /* since 1970; of CLOCK_MONOTONIC. Of a difference: how long it was */
	unsigned cpus;     /* CPU slots: samples' cpus have one more */
	unsigned n;
	const struct percpu_sample *samples;
};

#define PERCPU_SNAPSHOT_CPUS 1u

/* 0; -EINVAL; -ENOMEM; -ESTALE: the file was removed, replaced or changed its size: open again. */
int percpu_snapshot_take(struct percpu_snapshot **snapshot, struct percpu_reader *reader,
			 unsigned flags);
/*
 * What came in between, of the same reader's set: events and histograms by how much they grew,
 * gauges by how much they changed. Of label sets that are not in `before` all of it.
 * 0; -EINVAL; -ENOMEM; -ESTALE: counts began anew in between.
 */
int percpu_snapshot_since(struct percpu_snapshot **difference, const struct percpu_snapshot *now,
			  const struct percpu_snapshot *before);
/* NULL is fine. */
void percpu_snapshot_free(struct percpu_snapshot *snapshot);

/*
 * A value that the share q (0 to 1) of the observations do not exceed: the bound of the bucket in
 * which that observation is. UINT64_MAX: it is above the range. 0 where there are none.
 */
uint64_t percpu_sample_percentile(const struct percpu_sample *sample, double q);

#ifdef __cplusplus
}
#endif

#endif

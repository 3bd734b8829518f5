/* SPDX-License-Identifier: MIT */
/*
 * A set of events as it lies in a file (or, privately, in memory); percpu-segment(5) describes it
 * byte by byte. Numbers are in the byte order of the machine.
 *
 *	0             struct segment_header
 *	metrics       struct segment_metric, one for each entry of the declaration
 *	series        struct segment_series, one for each series of each family
 *	text          names, units, help, labels, each with a zero behind it
 *	planes        plane 0, plane 1, ...
 *
 * A plane is what a chunk of per-CPU memory is (area.c): a copy of the same 64 KiB for each slot,
 * one stride apart, CPU slots first. Cell c is word c % 8192 of the copies in plane c / 8192. The
 * first word of each copy is no cell: it is 0, or in a CPU slot its number + 1, by which sequences
 * know that they are where they were meant to be.
 *
 * Nothing here is ever closed, drained, moved or reset (I11). Written after `ready` are: the owner,
 * the states and texts of series, and cells.
 */
#ifndef PERCPU_SEGMENT_H
#define PERCPU_SEGMENT_H

#include "internal.h"

#include <percpu/events.h>

#define SEGMENT_MAGIC "PERCPUEV"
#define SEGMENT_ORDER 0x01020304u
#define SEGMENT_LAYOUT 1u
/* Cells are words of 64 bits that are loaded and stored whole. */
#define SEGMENT_CELLS_WHOLE 1u
#define SEGMENT_READY 1u

#define SEGMENT_PLANE_CELLS 8192u
#define SEGMENT_PLANES_MAX 1024u
#define SEGMENT_CPUS_MAX 8192u
#define SEGMENT_SHARED_MAX 255u
/* Slots times planes: what a reader reads in one snapshot. */
#define SEGMENT_COPIES_MAX 262144u
#define SEGMENT_SERIES_MAX (4u * PERCPU_EVENTS_SERIES_MAX)
#define SEGMENT_SUFFIX ".percpu"

/* header.flags: processes in the set hold a lock on the file (an open file description's), so that
 * the kernel knows whether there are any. */
#define SEGMENT_LOCKED 1u

struct segment_header {
	char magic[8];
	uint32_t order, layout;
	uint32_t ready, cells;
	uint64_t generation; /* another number whenever counts began at 0 */
	uint64_t created;    /* ns since 1970 */
	uint64_t size;       /* of the file */
	/* 48: who opened it while nobody else was in it; 0: closed, or being changed. */
	uint32_t pid, flags;
	uint64_t pid_start; /* clock ticks from the machine's start, as in /proc/PID/stat */
	uint64_t pid_space; /* inode of its pid namespace; 0: not known */
	/* 72 */
	char boot[40];
	char name[64];
	char version[32];
	char program[32];
	/* 240 */
	uint32_t ncpus, nshared;
	uint32_t stride, nplanes;
	uint64_t planes, plane_size;
	/* 272 */
	uint64_t metrics, series, text, text_size;
	uint32_t nmetrics, nseries;
	uint32_t metric_size, series_size;
	/* 320 */
	char reserved[192];
};

struct segment_metric {
	uint32_t kind; /* enum percpu_event_kind */
	uint32_t name, unit, help;
	uint32_t nlabels, labels[PERCPU_EVENTS_LABELS];
	uint32_t cell, downs;           /* without labels; downs of gauges only, else 0 */
	uint32_t first_series, nseries; /* with labels; the first series is the overflow series */
	uint32_t shift, precision, nbuckets;
	uint64_t lowest, highest;
};

enum segment_series_state {
	SERIES_FREE,
	SERIES_TAKEN, /* being made; for ever, if its maker died in the middle */
	SERIES_READY,
};

struct segment_series {
	uint32_t state, metric;
	uint32_t cell, downs;
	char text[PERCPU_SERIES_TEXT]; /* the values, each with a zero behind it */
};

/* A histogram's cells: journal, sum, buckets (events_histogram.c). */
#define SEGMENT_HISTOGRAM_CELLS 2u
#define SEGMENT_VALUE_MAX ((1ull << 62) - 1)
#define SEGMENT_SUM_MASK ((1ull << 63) - 1)

static inline unsigned segment_bucket(uint64_t value, unsigned shift, unsigned precision,
				      unsigned last)
{
	uint64_t u = value >> shift;
	unsigned bucket;

	if (u < 2ull << precision) {
		bucket = (unsigned)u;
	} else {
		unsigned e = 63u - (unsigned)__builtin_clzll(u) - precision;

		bucket = (e << precision) + (unsigned)(u >> e);
	}
	return bucket < last ? bucket : last;
}

/* The smallest value that belongs to it. */
static inline uint64_t segment_bucket_low(unsigned bucket, unsigned shift, unsigned precision)
{
	unsigned e = bucket >> precision;

	if (e <= 1)
		return (uint64_t)bucket << shift;
	e--;
	return (uint64_t)(bucket - (e << precision)) << (e + shift);
}

/* What a declaration needs. Zeroed memory; too large for a stack. */
#define SEGMENT_NAMES (2 * PERCPU_EVENTS_MAX)
struct segment_plan {
	struct segment_header header;      /* sizes and offsets only */
	uint32_t used[SEGMENT_PLANES_MAX]; /* words in a copy of each plane */
	uint32_t names[SEGMENT_NAMES];     /* a hash of names: index + 1 */
};

/* 0; -EINVAL: no valid declaration, and *why; -E2BIG: too large. */
HIDDEN int percpu__segment_plan(struct segment_plan *plan, const struct percpu_events *set,
				const char **why);
/* Writes everything before the planes but the owner's part; head has plan->header.planes bytes. */
HIDDEN void percpu__segment_describe(const struct segment_plan *plan,
				     const struct percpu_events *set, void *head);
/*
 * Is this a segment? head has the first head_size bytes of a file of file_size bytes. 0: all offsets
 * are in range, all text ends, all cells are inside. -EAGAIN: head_size is not enough, *need is.
 * -EPROTO, and *why, otherwise. States of series may still change.
 */
HIDDEN int percpu__segment_check(const void *head, size_t head_size, uint64_t file_size,
				 uint64_t *need, const char **why);
/* The same declaration? */
HIDDEN bool percpu__segment_same(const void *head, const void *other);
/* Words used in a copy of each plane, those of the downs of gauges among them. */
HIDDEN void percpu__segment_used(const void *head, uint32_t *used);

/* The machine and the process. */
HIDDEN void percpu__segment_boot(char boot[40]);
HIDDEN uint64_t percpu__segment_pid_start(uint32_t pid);
HIDDEN uint64_t percpu__segment_pid_space(void);

enum segment_life { SEGMENT_DEAD, SEGMENT_ALIVE, SEGMENT_UNKNOWN };
/* Is a process in it? fd: the file, to ask for locks. */
HIDDEN enum segment_life percpu__segment_life(const struct segment_header *header, int fd);

/* A file as a process is in it. */
struct segment_file {
	char *map;
	size_t size;
	int fd;
	char path[512];
	char why[256];
};
HIDDEN int percpu__segment_open(struct segment_file *file, const struct percpu_events *set,
				struct segment_plan *plan,
				const struct percpu_events_options *options);

/* The process closes it: if it is the owner, there is none from here on. */
HIDDEN void percpu__segment_leave(void *head);

/* The folder with this number, or -ENOENT behind the last; an empty path where there is none. */
HIDDEN int percpu__segment_folder(unsigned number, char *path, size_t size);

static inline struct segment_metric *segment_metrics(const void *head)
{
	const struct segment_header *header = head;

	return (struct segment_metric *)((uintptr_t)head + (uintptr_t)header->metrics);
}

static inline struct segment_series *segment_series(const void *head)
{
	const struct segment_header *header = head;

	return (struct segment_series *)((uintptr_t)head + (uintptr_t)header->series);
}

static inline const char *segment_text(const void *head, uint32_t offset)
{
	const struct segment_header *header = head;

	return (const char *)head + header->text + offset;
}

/* Bytes from the begin of the file to a cell's word in slot 0. */
static inline uint64_t segment_cell(const struct segment_header *header, uint32_t cell)
{
	return header->planes + cell / SEGMENT_PLANE_CELLS * header->plane_size +
	       cell % SEGMENT_PLANE_CELLS * sizeof(uint64_t);
}

#endif

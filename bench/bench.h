/* SPDX-License-Identifier: MIT */
/*
 * The bench harness: what a table is made of and how it is measured.
 *
 * A table (struct bench_table) fills a plan with rows. A row is a method at a number of threads,
 * run here or in a peer (a child process in another mode or linked in another way). The harness
 * runs every row once per round, in short slices, each round starting at another row, and keeps
 * for every row
 *   - the CPU time per operation: the threads' own clocks added up, divided by all operations;
 *   - the wall time per operation: from the first start to the last end, divided by the
 *     operations of one thread;
 *   - the ratio of the CPU time to that of the row's baseline in the same round, so that a machine
 *     whose speed changes from one moment to the next still gives the same ratio.
 * A method that counts is asked for its total before and after every slice: a total that is off by
 * one is an error.
 *
 * A new table is one file bench_<module>.c and one line in tables.c.
 */
#ifndef PERCPU_BENCH_H
#define PERCPU_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define BENCH_CACHE_LINE 64
#define BENCH_MAX_THREADS 1024
#define BENCH_MAX_THREAD_COUNTS 32

struct bench_method;

/* What one thread of a slice is given, and what it hands back. */
struct bench_worker {
	const struct bench_method *method;
	unsigned index; /* 0 .. threads - 1 */
	unsigned threads;
	unsigned long ops;     /* how many operations the loop does; at least 1 */
	uint64_t other_cpu_ns; /* set by the loop: CPU time spent elsewhere on its behalf */
	unsigned long counted; /* set by after(): how many operations can be proved */
};

/*
 * One way to do one thing. Names are stable, in lower case and the same in every output; param
 * holds the size or the case and is "" where there is only one.
 */
struct bench_method {
	const char *name;
	const char *param;
	void (*loop)(struct bench_worker *w);
	long (*total)(void); /* counted so far; NULL: nothing to check */
	int (*open)(const struct bench_method *m, const char **why); /* 0, or -errno and why not */
	void (*close)(const struct bench_method *m);
	/* Around the loop in its thread, not timed: prepares; sets w->counted. Both may be NULL. */
	void (*before)(struct bench_worker *w);
	void (*after)(struct bench_worker *w);
	const char *unit;  /* NULL: "ns/op" */
	long arg;          /* for methods that share a loop */
	unsigned long ops; /* operations of every slice; 0: as many as the time allows */
	double work;    /* in a table with a number of rounds: operations of all rounds together */
	unsigned parts; /* an operation counts as so many (slots of a sum); 0: as one */
	int in_turns;   /* the threads alternate: wall time over all operations */
	int may_lose;   /* what the total lacks is a figure and no error */
	unsigned cheap; /* of work: content with the so-manieth part of others' time; 0: no */
};

/* A child process that runs slices on request, so that it takes part in every round. */
struct bench_peer {
	const char *program;  /* NULL: this command again; else a file in the helpers' folder */
	const char *argument; /* for a program: its argument, or NULL */
	const char *environment[4]; /* "NAME=value" on top of ours, NULL at the end */
};

/* A peer whose objects have so many slots (PERCPU_CPUS makes up for the CPUs that are missing). */
const struct bench_peer *bench_many_slots(unsigned slots);

/* What a slice measured. status: 0, or -errno and why. */
struct bench_slice {
	double cpu_ns, wall_ns, cycles; /* per operation; cycles: NaN where they cannot be read */
	double seconds;                 /* wall time of the slice */
	double lost;                    /* operations that the total lacks */
	int status;
	char why[120];
};

struct bench_row;
struct bench_plan;

struct bench_table {
	const char *name;
	const char *title;
	void (*fill)(struct bench_plan *plan);
	/* After the rows and notes, in the output's format; may be NULL. Returns 0, or 1: wrong. */
	int (*conclude)(const struct bench_plan *plan);
	double seconds;  /* unless the user says otherwise; 0: DEFAULT_SECONDS */
	unsigned rounds; /* 0: as many as the time allows; else rows do their methods' work */
	int grid;        /* as text: a line per method, a column per operation (grid.c) */
	int losses;      /* rows say how many counts were lost */
	int kernel;      /* the kernel module has measured the same */
};

extern const struct bench_table *const bench_tables[]; /* tables.c; NULL at the end */
const struct bench_table *bench_find_table(const char *name);

/*
 * Filling a plan. Each returns the row, the one that is there already where it is added again; a
 * method that cannot be opened here, or a peer that cannot be started, becomes a note of the
 * output instead and NULL is returned. The first row of a plan is the baseline of all others that
 * name no other.
 */
struct bench_row *bench_add(struct bench_plan *plan, const struct bench_method *m);
struct bench_row *bench_add_at(struct bench_plan *plan, const struct bench_method *m,
			       unsigned threads, const struct bench_peer *peer);
void bench_add_threads(struct bench_plan *plan, const struct bench_method *m,
		       const struct bench_peer *peer); /* at every number of threads asked for */
void bench_set_base(struct bench_row *row, struct bench_row *base);
/* A row that is `row` less `less`; its ratio is to `unit` less `less` (NULL: none). Not measured:
 * computed. */
void bench_add_less(struct bench_plan *plan, struct bench_row *row, struct bench_row *less,
		    struct bench_row *unit, const char *param);
/* The same slices as another row, in cycles, where this CPU has a counter of them. */
void bench_add_cycles(struct bench_plan *plan, struct bench_row *row);
__attribute__((format(printf, 2, 3))) void bench_note(struct bench_plan *plan, const char *text,
						      ...);

/* Options of a run, as the command line gave them. */
enum bench_format { BENCH_TEXT, BENCH_JSON, BENCH_CSV };

struct bench_options {
	enum bench_format format;
	const char *svg; /* folder for pictures, or NULL */
	double seconds;  /* per table; 0: the table's own */
	int reference;
	int verify_default; /* a default way that loses is wrong */
	int kernel;         /* the rows of the kernel module, too */
	const char *kernel_file;
	unsigned threads[BENCH_MAX_THREAD_COUNTS];
	unsigned nthreads;
};

const struct bench_options *bench_plan_options(const struct bench_plan *plan);

/* Runs one table and prints it; 0, or 1 where a total was wrong or a row could not be measured. */
int bench_run(const struct bench_table *table, const struct bench_options *options);
/* What stands before the first table, once in a run. */
void bench_begin_output(const struct bench_options *options);
/* The child's side of a peer: serves slices of a table until its standard input ends. */
int bench_serve_table(const char *table);

/*
 * The loop of a method: one operation per turn, the same counter, the same branch and the same
 * alignment for all. The empty statement keeps the loop from being removed, the pragma from being
 * unrolled; memory is not clobbered, so that what a program could keep in registers is kept there.
 */
#define BENCH_HOT __attribute__((noinline, aligned(BENCH_CACHE_LINE)))
/* clang-format off */
#define BENCH_LOOP(name, before, op, after)                                                        \
	BENCH_HOT static void name(struct bench_worker *w)                                         \
	{                                                                                          \
		unsigned long left_ = w->ops;                                                      \
		before;                                                                            \
		_Pragma("GCC unroll 1")                                                            \
		do {                                                                               \
			op;                                                                        \
			__asm__ volatile("" : : "r"(left_));                                       \
		} while (--left_);                                                                 \
		after;                                                                             \
	}
/* clang-format on */

/* A value is needed here; a value could be anything from here on; memory could have changed. */
#define BENCH_USE(value) __asm__ volatile("" : : "r"(value))
#define BENCH_HIDE(variable) __asm__("" : "+r"(variable))
#define BENCH_FORGET() __asm__ volatile("" : : : "memory")

#endif

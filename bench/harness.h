/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the harness share: pool.c runs slices, peer.c runs them in children,
 * harness.c makes rounds of them, output.c, picture.c, machine.c and reference.c show the result.
 */
#ifndef PERCPU_BENCH_HARNESS_H
#define PERCPU_BENCH_HARNESS_H

#include "bench.h"

struct bench_child; /* a running peer */

struct bench_row {
	const struct bench_method *method;
	struct bench_child *child; /* NULL: measured in this process */
	unsigned threads;
	const char *param;
	struct bench_row *base;
	struct bench_row *minuend, *less, *unit_row; /* of a row that is a difference */
	struct bench_row *cycles_of;                 /* of a row in cycles */
	unsigned long ops;                           /* per thread and slice */
	double cost;                      /* CPU time per operation of a trial, in seconds */
	double now, now_wall, now_cycles; /* the latest slice */
	double done, lost;                /* operations of all rounds and threads */
	double *ns, *wall, *ratio;        /* one per round */
	size_t count, room;
	int failed;
};

struct bench_plan {
	const struct bench_table *table;
	const struct bench_options *options;
	struct bench_row **rows;
	size_t nrows;
	char **notes;
	size_t nnotes;
	const struct bench_method **open; /* methods to be closed */
	size_t nopen;
	struct kernel_row *kernel; /* what the kernel module measured */
	size_t nkernel;
	int status;
	int serving; /* in a peer: rows only name methods, nothing is opened */
};

/* What is printed of a row. */
struct bench_result {
	const char *table, *method, *param, *unit;
	unsigned threads;
	double ns_min, ns_median, wall_ns_median, ratio; /* NaN: none */
	double lost; /* of a million operations; NaN: not counted */
};

/* Not measured by itself. */
static inline int bench_is_computed(const struct bench_row *row)
{
	return row->minuend || row->cycles_of;
}

struct bench_result bench_row_result(const struct bench_plan *plan, const struct bench_row *row);
double bench_median(const double *values, size_t n);
double bench_seconds(const struct bench_plan *plan);
void *bench_grow(void *array, size_t count, size_t size); /* room for one more; never NULL */
_Noreturn void bench_die(const char *why);                /* serve.c */

/* pool.c */
void bench_slice(const struct bench_method *m, unsigned threads, unsigned long ops,
		 struct bench_slice *out);
unsigned bench_cpus(void); /* CPUs this process may use */

/* peer.c */
struct bench_child *bench_child_get(const struct bench_peer *peer, const char *table,
				    const char **why);
void bench_child_slice(struct bench_child *child, const struct bench_method *m, unsigned threads,
		       unsigned long ops, struct bench_slice *out);
void bench_children_end(void);
int bench_find_helper(const char *name, char *path, size_t size); /* 0 or -errno */

/* serve.c: the socket between parent and child, and the child's loop */
struct bench_request {
	char name[64], param[64];
	unsigned threads;
	unsigned long ops;
};
typedef const struct bench_method *bench_lookup(const struct bench_request *request,
						const void *arg);
int bench_send(int fd, const void *data, size_t size); /* 0 or -errno */
int bench_receive(int fd, void *data, size_t size);    /* 0, or -EPIPE at the end */
int bench_serve(bench_lookup *lookup, const void *arg);

/* output.c */
void bench_print(const struct bench_plan *plan);
void bench_remark(const struct bench_plan *plan, const char *text); /* a note, at once */
int bench_conclude(const struct bench_plan *plan);                  /* 0, or 1: wrong */
void bench_progress(const struct bench_plan *plan, unsigned round, double elapsed);
void bench_progress_end(void);

/* machine.c */
void bench_print_machine(enum bench_format format);
void bench_json_string(const char *text);
size_t bench_last_level_cache(void); /* bytes */
double bench_memory_available(void); /* bytes */

/* picture.c: one SVG file per table */
void bench_picture(const struct bench_plan *plan);

/* reference.c */
struct bench_reference_row {
	const char *method, *machine;
	unsigned threads;
	double value, ratio; /* ratio to the machine's own baseline; NaN: none */
	const char *unit;
	const char *ours; /* the name of the same method here, or NULL */
	/* Of a file with several figures in a line: which line and which of its figures. */
	unsigned line, column;
	const char *variant, *figure, *size;
};
typedef void bench_reference_use(const struct bench_reference_row *row, void *arg);
typedef void bench_reference_comment(const char *text, void *arg);
int bench_reference_each(const char *table, bench_reference_comment *comment,
			 bench_reference_use *use, void *arg); /* number of rows */

#endif

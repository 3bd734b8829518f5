/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What the parts of the module share.
 *
 * main.c runs the tables and shows the results in debugfs; rows.c keeps the results and report.c
 * prints them; local.c, probe.c and storm.c measure and check.
 *
 * A row is a method in a case. It is measured once per round; rounds take the rows of a table in
 * turns. Figures are kept as millionths of a nanosecond, or of a cycle, per operation: the kernel
 * has no floating point.
 */
#ifndef PERCPU_LOCAL_H
#define PERCPU_LOCAL_H

#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/signal.h>
#include <linux/timekeeping.h>
#include <linux/timex.h>
#include <linux/types.h>

struct seq_file;

/* Time spent in operations, and from the first of them to the last. */
struct spell {
	unsigned long ops;
	u64 ns, cycles, wall_ns;
};

enum figure { FIGURE_NS, FIGURE_CYCLES, FIGURE_WALL, FIGURES };

struct summary {
	u64 min, median; /* millionths */
	u64 ratio;       /* ten-thousandths; median over the rounds; 0: none */
};

struct row {
	const char *table, *method, *param;
	char text[40];        /* what param points to where it is composed */
	unsigned int base;    /* index of the row that ratios are formed to */
	bool cycles;          /* shown in cycles too */
	bool absent;          /* cannot be measured here */
	u64 *figure[FIGURES]; /* one per round */
	struct summary summary[FIGURES];
	/* What was counted against what should have been; of the first that was wrong, both. */
	unsigned long checked, wrong, expected, found;
};

/* One way in the storm: the same variable changed by a task, a softirq and an interrupt. */
struct storm_line {
	const char *way;
	bool exact; /* promises to lose nothing */
	bool calm;  /* the interrupts did not come */
	unsigned long task, softirq, hardirq, found;
};

#define STORM_LINES 9

struct results {
	unsigned int rounds, nrows, room;
	struct row *rows;
	u64 *figures;
	const char *preemption;
	unsigned int nstorm;
	struct storm_line storm[STORM_LINES];
};

/* rows.c */
struct results *results_new(unsigned int rows, unsigned int rounds); /* NULL: no memory */
void results_free(struct results *r);
struct row *results_add(struct results *r, const char *table, const char *method, const char *param,
			unsigned int base);
void results_record(struct row *row, unsigned int round, const struct spell *spell);
void results_check(struct row *row, unsigned long expected, unsigned long found);
void results_summarise(struct results *r);
unsigned long results_checked(const struct results *r);
unsigned long results_wrong(const struct results *r);
bool storm_wrong(const struct storm_line *line);

/* report.c */
void report_table(struct seq_file *out, const struct results *r);
void report_json(struct seq_file *out, const struct results *r);
void report_status(struct seq_file *out, const struct results *r);

/* local.c: the table of 2008. Each int is 0 or -errno. */
int local_set_sizes(void);
unsigned int local_passes(unsigned long cells);
unsigned int local_rows(void);
int local_run(struct results *r);
/* probe.c: short loops, in cycles */
unsigned int probe_rows(void);
int probe_run(struct results *r);
/* storm.c */
int storm_run(struct results *r);

/* A loop of probe.c; does n operations and returns how many it can prove. */
struct probe {
	const char *name;
	unsigned long (*loop)(unsigned long n);
};

/* What only some CPUs have: cpu_<cpu>.c. Instructions end with a name of NULL. */
extern const struct probe bare_probes[];
bool bare_probes_work(void);
unsigned long last_level_cache(void); /* bytes; 0: not known */

/* Parameters: main.c */
#define MAX_SIZES 8
extern unsigned long sizes[MAX_SIZES];
extern unsigned int nsizes, rounds, repetitions, hot_ops, walk_ops, storm_interrupts;
extern long planted;

/* Between rounds and passes: lets others run; -EINTR where the writer is being killed. */
static inline int breathe(void)
{
	cond_resched();
	return signal_pending(current) ? -EINTR : 0;
}

/*
 * The task stays on this CPU from pin() to unpin(), and may be preempted there. Pinned for one
 * pass at a time: a CPU that is to go offline waits for it.
 */
static inline void pin(void)
{
	migrate_disable();
}

static inline void unpin(void)
{
	migrate_enable();
}

#endif

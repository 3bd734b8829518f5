/* SPDX-License-Identifier: MIT */
/*
 * The historic figures of reference/ (each file starts with its source), compiled in by embed.cmake
 * and read here like the files that they are: # lines are comments, the next line names the columns.
 *
 * A view says which columns of a file make rows of which table. A file with several figures in a
 * line gives one row per figure.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness.h"
#include "reference.h"

#define COLUMNS 10
#define FIELD 160

struct line {
	char field[COLUMNS][FIELD];
	int n;
};

struct view {
	const char *table;
	const char *const *file;
	const char *unit;
	const char *labels[4];  /* columns that together name the machine and the case */
	const char *method;     /* column, or NULL: the name of the figure's column */
	const char *figures[5]; /* columns */
	const char *baseline;   /* the method that ratios are formed to, or NULL */
};

static const struct view views[] = {
	{"counters",
	 reference_counter_increment,
	 "ns/op",
	 {"machine"},
	 "method",
	 {"ns"},
	 "global increment (baseline)"},
	{"getcpu", reference_read_cpu_number, "ns/op", {"machine"}, "method", {"ns"}, "empty loop"},
	{"contended",
	 reference_event_counter_cycles,
	 "cycles/op",
	 {"kind"},
	 "method",
	 {"cycles"},
	 "load, add, store (unprotected), counter in L1"},
	{"cmpxchg",
	 reference_cmpxchg_versus_interrupts,
	 "cycles/op",
	 {"machine"},
	 NULL,
	 {"enable_interrupts", "disable_interrupts", "local_cmpxchg"},
	 "local_cmpxchg"},
	{"local",
	 reference_local_variants,
	 "ns/op",
	 {"machine", "array_longs", "preempt"},
	 "variant",
	 {"inc", "add", "add_return", "cpu_local_inc", "read"},
	 "local_t"},
};

/* Historic names and the rows here that do the same. */
static const char *const same[][2] = {
	{"global increment (baseline)", "plain ++"},
	{"percpu rseq increment", "percpu add"},
	{"percpu rseq spinlock", "percpu spinlock"},
	{"global atomic increment", "atomic fetch-add shared"},
	{"global LOCK; inc", "atomic fetch-add shared"},
	{"global atomic CAS", "atomic compare-exchange shared"},
	{"global LOCK; cmpxchg", "atomic compare-exchange shared"},
	{"global pthread mutex", "pthread mutex"},
	{"empty loop", "empty loop"},
	{"rseq cpu_id", "rseq cpu_id"},
	{"rseq cpu_id (lazy register)", "rseq cpu_id (lazy register)"},
	{"glibc 2.23 getcpu", "libc sched_getcpu"},
	{"glibc 2.19 getcpu", "libc sched_getcpu"},
	{"getcpu system call", "getcpu system call"},
	{"gs segment selector", "gs-addressed read"},
	{"lsl inline assembly", "lsl"},
	{"fetchadd4 (atomic increment), data in L2", "atomic add, result unused"},
	{"load, add, store (unprotected), counter in L1", "load, add, store"},
	{"load with bias (line taken exclusively), add, store (unprotected stat_incr)",
	 "prefetch for writing, load, add, store"},
	{"enable_interrupts", "signal mask restore"},
	{"disable_interrupts", "signal mask save"},
	{"local_cmpxchg", "unlocked cmpxchg"},
	{"atomic_long", "atomic"},
	{"irqsave", "sigmask"},
	{"trivalue", "trivalue"},
	{"trivalue, fixed", "trivalue"},
	{"local_t", "local"},
};

/* Fields are separated by commas; quotes protect commas inside. Never overflows a field. */
static void split(const char *text, struct line *line)
{
	int quoted = 0;
	size_t len = 0;

	memset(line, 0, sizeof(*line));
	for (; *text; text++) {
		if (*text == '"') {
			quoted = !quoted;
		} else if (*text == ',' && !quoted && line->n < COLUMNS - 1) {
			line->n++;
			len = 0;
		} else if (len < FIELD - 1) {
			line->field[line->n][len++] = *text;
		}
	}
	line->n++;
}

static const char *field(const struct line *names, const struct line *line, const char *name)
{
	int i;

	for (i = 0; name && i < names->n; i++)
		if (!strcmp(names->field[i], name))
			return line->field[i];
	return "";
}

static void join_labels(const struct view *view, const struct line *names, const struct line *line,
			char *out, size_t size)
{
	size_t used = 0;
	int i;

	out[0] = '\0';
	for (i = 0; i < 4 && view->labels[i] && used < size; i++)
		used += (size_t)snprintf(out + used, size - used, "%s%s%s%s", i ? ", " : "",
					 i ? view->labels[i] : "", i ? " " : "",
					 field(names, line, view->labels[i]));
}

static double number(const char *text)
{
	return *text ? strtod(text, NULL) : NAN;
}

/*
 * What the figure of a line is compared with: the same figure of the view's baseline on the same
 * machine (at one thread) and in the same case, or the baseline figure of the line itself.
 */
static double baseline(const struct view *view, const struct line *names, const struct line *of,
		       const char *figure)
{
	const char *const *text;
	struct line line;
	int i;

	if (view->baseline && !view->method)
		return number(field(names, of, view->baseline));
	for (text = view->file; view->baseline && *text; text++) {
		split(*text, &line);
		for (i = 0; i < 4 && view->labels[i]; i++)
			if (strcmp(field(names, &line, view->labels[i]),
				   field(names, of, view->labels[i])) != 0)
				break;
		if ((i == 4 || !view->labels[i]) &&
		    !strcmp(field(names, &line, view->method), view->baseline))
			return number(field(names, &line, figure));
	}
	return NAN;
}

static const char *our_name(const char *method)
{
	size_t i;

	for (i = 0; i < sizeof(same) / sizeof(same[0]); i++)
		if (!strcmp(same[i][0], method))
			return same[i][1];
	return NULL;
}

/* One row per figure of the line. */
static unsigned use_line(const struct view *view, const struct line *names, const struct line *line,
			 unsigned number_of_line, bench_reference_use *use, void *arg)
{
	const char *figure, *method = field(names, line, view->method);
	const char *threads = field(names, line, "threads");
	char name[2 * FIELD + 2], machine[4 * FIELD];
	struct bench_reference_row row;
	unsigned i, n = 0;

	join_labels(view, names, line, machine, sizeof(machine));
	for (i = 0; i < 5 && view->figures[i]; i++) {
		figure = field(names, line, view->figures[i]);
		if (!*figure)
			continue;
		n++;
		snprintf(name, sizeof(name), "%s%s%s", method,
			 *method && view->figures[1] ? " " : "",
			 view->figures[1] ? view->figures[i] : "");
		row = (struct bench_reference_row){
			.method = name,
			.machine = machine,
			.unit = view->unit,
			.threads = *threads ? (unsigned)strtoul(threads, NULL, 10) : 1,
			.value = strtod(figure, NULL),
			.ours = our_name(view->method ? method : view->figures[i]),
			.line = number_of_line,
			.column = i,
			.variant = method,
			.figure = view->figures[i],
			.size = field(names, line, "array_longs"),
		};
		row.ratio = row.value / baseline(view, names, line, view->figures[i]);
		if (use)
			use(&row, arg);
	}
	return n;
}

static unsigned each_of_view(const struct view *view, bench_reference_comment *comment,
			     bench_reference_use *use, void *arg)
{
	const char *const *text;
	struct line names, line;
	unsigned n = 0, number_of_line = 0;

	for (text = view->file; *text && **text == '#'; text++)
		if (comment)
			comment(*text + 1 + strspn(*text + 1, " "), arg);
	if (!*text)
		return 0;
	for (split(*text++, &names); *text; text++) {
		split(*text, &line);
		n += use_line(view, &names, &line, ++number_of_line, use, arg);
	}
	return n;
}

int bench_reference_each(const char *table, bench_reference_comment *comment,
			 bench_reference_use *use, void *arg)
{
	unsigned n = 0;
	size_t i;

	for (i = 0; i < sizeof(views) / sizeof(views[0]); i++)
		if (!strcmp(views[i].table, table))
			n += each_of_view(&views[i], comment, use, arg);
	return (int)n;
}

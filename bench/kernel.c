/* SPDX-License-Identifier: MIT */
/*
 * Reads what the kernel module measured. Its lines are flat objects without escapes; a line that is
 * anything else is not taken for a row.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernel.h"

/* Where the value of a key begins, or NULL. */
static const char *value_of(const char *line, const char *key)
{
	char name[40];
	const char *at;

	snprintf(name, sizeof(name), "\"%s\":", key);
	at = strstr(line, name);
	return at ? at + strlen(name) : NULL;
}

static int take_text(const char *line, const char *key, char *out, size_t size)
{
	const char *at = value_of(line, key);
	size_t len;

	if (!at || *at != '"')
		return 0;
	len = strcspn(at + 1, "\"");
	if (at[1 + len] != '"' || len >= size || memchr(at + 1, '\\', len))
		return 0;
	memcpy(out, at + 1, len);
	out[len] = '\0';
	return 1;
}

static double take_number(const char *line, const char *key)
{
	const char *at = value_of(line, key);
	char *end;
	double value;

	if (!at)
		return NAN;
	value = strtod(at, &end);
	return end == at ? NAN : value;
}

static int parse(const char *line, struct kernel_row *row)
{
	double threads = take_number(line, "threads");

	if (*line != '{' || !take_text(line, "table", row->table, sizeof(row->table)) ||
	    !take_text(line, "method", row->method, sizeof(row->method)) ||
	    !take_text(line, "param", row->param, sizeof(row->param)) ||
	    !take_text(line, "unit", row->unit, sizeof(row->unit)) || !(threads >= 1))
		return 0;
	row->result = (struct bench_result){
		.threads = threads < 65536 ? (unsigned)threads : 65535,
		.ns_min = take_number(line, "ns_min"),
		.ns_median = take_number(line, "ns_median"),
		.wall_ns_median = take_number(line, "wall_ns_median"),
		.ratio = take_number(line, "ratio"),
		.lost = NAN,
	};
	return 1;
}

static void parse_machine(const char *line, struct kernel_machine *machine)
{
	char table[32];

	if (*line != '{' || !take_text(line, "table", table, sizeof(table)) ||
	    strcmp(table, "kernel_machine") != 0)
		return;
	take_text(line, "kernel", machine->kernel, sizeof(machine->kernel));
	take_text(line, "preemption", machine->preemption, sizeof(machine->preemption));
	machine->checked = take_number(line, "checked");
	machine->wrong = take_number(line, "wrong");
}

static struct kernel_row *append(struct kernel_row *rows, size_t *n, const struct kernel_row *row,
				 const char *line)
{
	struct kernel_row *new;

	rows = bench_grow(rows, *n, sizeof(*rows));
	new = &rows[(*n)++];
	*new = *row;
	new->line = strdup(line);
	if (!new->line)
		bench_die("out of memory");
	return rows;
}

/* Texts move with the rows while the array grows: they are pointed to at the end. */
static void point(struct kernel_row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++) {
		rows[i].result.table = rows[i].table;
		rows[i].result.method = rows[i].method;
		rows[i].result.param = rows[i].param;
		rows[i].result.unit = rows[i].unit;
	}
}

static const char *why_not(int err)
{
	switch (err) {
	case ENOENT:
		return "there is no such file: the module percpu_local is not loaded, or debugfs "
		       "is not "
		       "mounted";
	case EACCES:
	case EPERM:
		return "debugfs may be read by root only";
	default:
		return "it cannot be read";
	}
}

struct kernel_row *kernel_read(const char *path, size_t *n, struct kernel_machine *machine,
			       const char **why)
{
	FILE *file = fopen(path, "re");
	struct kernel_row *rows = NULL, row;
	char line[1024];

	*n = 0;
	memset(machine, 0, sizeof(*machine));
	if (!file) {
		*why = why_not(errno);
		return NULL;
	}
	while (fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		memset(&row, 0, sizeof(row));
		if (parse(line, &row))
			rows = append(rows, n, &row, line);
		else
			parse_machine(line, machine);
	}
	fclose(file);
	point(rows, *n);
	*why = "it has no rows";
	return rows;
}

void kernel_free(struct kernel_row *rows, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		free(rows[i].line);
	free(rows);
}

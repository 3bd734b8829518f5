/* SPDX-License-Identifier: MIT */
/*
 * start: what a program pays for the library before its main() runs: the same program that does
 * nothing, without the library, with the archive and with the shared library (which the dynamic
 * linker has to find and map as well). CPU time is that of the child, start to end.
 */
#include <errno.h>
#include <spawn.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness.h"

enum program { BARE, ARCHIVE, SHARED };

static const char *const names[] = {"percpu-bench-bare", "percpu-bench-archive",
				    "percpu-bench-shared"};
static char paths[3][8192];

/* Starts the program, waits for its end and adds up its CPU time. */
static void start_program(long which, uint64_t *cpu_ns)
{
	char *args[] = {paths[which], (char[]){"exit"}, NULL};
	char *environment[] = {NULL};
	struct rusage used;
	pid_t pid;

	if (posix_spawn(&pid, paths[which], NULL, NULL, args, environment))
		return;
	while (wait4(pid, NULL, 0, &used) < 0)
		if (errno != EINTR)
			return;
	*cpu_ns += (uint64_t)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) * 1000000000u +
		   (uint64_t)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1000u;
}

BENCH_LOOP(loop_start, uint64_t cpu_ns_ = 0, start_program(w->method->arg, &cpu_ns_),
	   w->other_cpu_ns = cpu_ns_)

static int open_program(const struct bench_method *m, const char **why)
{
	*why = "its helper program is not installed";
	return bench_find_helper(names[m->arg], paths[m->arg], sizeof(paths[m->arg]));
}

static const struct bench_method methods[] = {
	{.name = "program start",
	 .param = "without the library",
	 .loop = loop_start,
	 .open = open_program,
	 .arg = BARE,
	 .unit = "ns/start"},
	{.name = "program start",
	 .param = "archive",
	 .loop = loop_start,
	 .open = open_program,
	 .arg = ARCHIVE,
	 .unit = "ns/start"},
	{.name = "program start",
	 .param = "shared library",
	 .loop = loop_start,
	 .open = open_program,
	 .arg = SHARED,
	 .unit = "ns/start"},
};

static void fill_start(struct bench_plan *plan)
{
	struct bench_row *bare = bench_add(plan, &methods[BARE]);
	struct bench_row *archive = bench_add(plan, &methods[ARCHIVE]);
	struct bench_row *shared = bench_add(plan, &methods[SHARED]);

	bench_add_less(plan, archive, bare, NULL, "archive, less without");
	bench_add_less(plan, shared, bare, NULL, "shared library, less without");
}

const struct bench_table bench_start = {
	.name = "start",
	.title = "one start of a program that does nothing; baseline: without the library",
	.fill = fill_start};

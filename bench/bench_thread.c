/* SPDX-License-Identifier: MIT */
/*
 * getcpu: what learning the CPU number costs.
 * thread: the slow calls of percpu/thread.h.
 */
#include <errno.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <percpu/percpu.h>

#include "arch/arch.h"
#include "bench.h"

static inline int getcpu_system_call(void)
{
	unsigned cpu = 0;

	syscall(SYS_getcpu, &cpu, NULL, NULL);
	return (int)cpu;
}

BENCH_LOOP(loop_empty, , , )
BENCH_LOOP(loop_raw, , BENCH_USE(percpu_cpu_raw()), )
BENCH_LOOP(loop_lazy, , BENCH_USE(percpu_cpu()), )
BENCH_LOOP(loop_libc, , BENCH_USE(sched_getcpu()), )
BENCH_LOOP(loop_call, , BENCH_USE(getcpu_system_call()), )

static int open_raw(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "threads are not registered with rseq here";
	return percpu_cpu() >= 0 && percpu_cpu_raw() >= 0 ? 0 : -ENOTSUP;
}

static const struct bench_method empty = {.name = "empty loop", .param = "", .loop = loop_empty};
static const struct bench_method raw = {
	.name = "rseq cpu_id", .param = "", .loop = loop_raw, .open = open_raw};
static const struct bench_method portable[] = {
	{.name = "rseq cpu_id (lazy register)", .param = "", .loop = loop_lazy},
	{.name = "libc sched_getcpu", .param = "", .loop = loop_libc},
	{.name = "getcpu system call", .param = "", .loop = loop_call},
};

/* Each row, and then each again with the empty loop taken off, compared with rseq cpu_id's rest. */
static void fill_getcpu(struct bench_plan *plan)
{
	struct bench_row *rows[32], *empty_row = bench_add(plan, &empty);
	size_t i, n = 0;

	rows[n++] = bench_add(plan, &raw);
	for (i = 0; i < sizeof(portable) / sizeof(portable[0]); i++)
		rows[n++] = bench_add(plan, &portable[i]);
	for (i = 0; bench_arch_getcpu[i].name && n < sizeof(rows) / sizeof(rows[0]); i++)
		rows[n++] = bench_add(plan, &bench_arch_getcpu[i]);
	if (!rows[0])
		return;
	for (i = 0; i < n; i++)
		bench_add_less(plan, rows[i], empty_row, rows[0], "less empty loop");
	bench_note(plan, "less empty loop: the ratio is to rseq cpu_id less the empty loop; where "
			 "that is lost in the noise, a tenth of the empty loop stands for it, and "
			 "the ratio is a lower bound");
}

const struct bench_table bench_getcpu = {
	.name = "getcpu",
	.title = "one read of the CPU number; baseline: the empty loop",
	.fill = fill_getcpu};

/* A second thread that computes makes the fence interrupt its CPU. */
BENCH_LOOP(loop_fence, , BENCH_USE(percpu_fence()), )
BENCH_LOOP(loop_vfork, , BENCH_USE(percpu_vfork_begin()); BENCH_USE(percpu_vfork_end()), )
BENCH_LOOP(loop_clear, , percpu_cs_clear(), )

static int open_fence(const struct bench_method *m, const char **why)
{
	(void)m;
	*why = "this kernel has no fence";
	return percpu_fence();
}

static int open_vfork(const struct bench_method *m, const char **why)
{
	int err = percpu_vfork_begin();

	(void)m;
	*why = "this thread is not registered with rseq";
	return err ? err : percpu_vfork_end();
}

static const struct bench_method thread_methods[] = {
	{.name = "percpu fence", .param = "", .loop = loop_fence, .open = open_fence},
	{.name = "percpu vfork_begin + vfork_end",
	 .param = "",
	 .loop = loop_vfork,
	 .open = open_vfork},
	{.name = "percpu cs_clear", .param = "", .loop = loop_clear},
};

static void fill_thread(struct bench_plan *plan)
{
	size_t i;

	bench_add(plan, &portable[2]);
	bench_add_threads(plan, &thread_methods[0], NULL);
	for (i = 1; i < sizeof(thread_methods) / sizeof(thread_methods[0]); i++)
		bench_add(plan, &thread_methods[i]);
}

const struct bench_table bench_thread = {.name = "thread",
					 .title = "the slow calls; baseline: a getcpu system call",
					 .fill = fill_thread};

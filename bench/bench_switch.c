/* SPDX-License-Identifier: MIT */
/*
 * switch: what registration with rseq costs those who never use it. The kernel does a little more
 * at each switch to a registered thread; this compares the same switches in two child processes:
 * in one, threads are registered, in the other nobody registers any.
 *
 * Two threads (or processes) on one CPU hand each other the turn, so every hand-over is a switch.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <percpu/percpu.h>

#include "bench.h"

enum kind { UNREGISTERED, REGISTERED, USED };

static int pipes[2][2];
static uint32_t turn;
static pid_t echo_pid;
static PERCPU_COUNTER(switches);

/* The highest CPU that is allowed: the same one in all processes of a run. */
static unsigned home_cpu(void)
{
	unsigned cpu, home = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	sched_getaffinity(0, sizeof(set), &set);
	for (cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &set))
			home = cpu;
	return home;
}

/* Both sides on one CPU; the old mask comes back after the slice. */
static void stay(cpu_set_t *saved)
{
	cpu_set_t one;

	CPU_ZERO(saved);
	sched_getaffinity(0, sizeof(*saved), saved);
	CPU_ZERO(&one);
	CPU_SET(home_cpu(), &one);
	sched_setaffinity(0, sizeof(one), &one);
}

static void leave(const cpu_set_t *saved)
{
	sched_setaffinity(0, sizeof(*saved), saved);
}

static void send_turn(int fd)
{
	while (write(fd, "", 1) < 0 && errno == EINTR)
		;
}

/* False at the end of the pipe. */
static int await_turn(int fd)
{
	char byte;
	ssize_t n;

	do
		n = read(fd, &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* Registers where that is the library's job, and runs a sequence where the row is about it. */
static inline void prepare(const struct bench_worker *w)
{
	if (w->method->arg != UNREGISTERED)
		BENCH_USE(percpu_cpu());
}

static inline void use(const struct bench_worker *w)
{
	if (w->method->arg == USED)
		percpu_counter_add(&switches, 1);
}

/* Thread 0 has the first turn. */
static inline void pipe_turn(const struct bench_worker *w)
{
	use(w);
	if (w->index) {
		await_turn(pipes[0][0]);
		send_turn(pipes[1][1]);
	} else {
		send_turn(pipes[0][1]);
		await_turn(pipes[1][0]);
	}
}

static inline void futex_turn(const struct bench_worker *w)
{
	uint32_t mine = w->index, other = !mine;

	use(w);
	while (__atomic_load_n(&turn, __ATOMIC_ACQUIRE) != mine)
		syscall(SYS_futex, &turn, FUTEX_WAIT_PRIVATE, other, NULL, NULL, 0);
	__atomic_store_n(&turn, other, __ATOMIC_RELEASE);
	syscall(SYS_futex, &turn, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

static inline void yield_turn(const struct bench_worker *w)
{
	use(w);
	sched_yield();
}

BENCH_LOOP(loop_pipe, cpu_set_t saved_; stay(&saved_); prepare(w), pipe_turn(w), leave(&saved_))
BENCH_LOOP(loop_futex, cpu_set_t saved_; stay(&saved_); prepare(w), futex_turn(w), leave(&saved_))
BENCH_LOOP(loop_yield, cpu_set_t saved_; stay(&saved_); prepare(w), yield_turn(w), leave(&saved_))

static uint64_t echo_cpu_ns(void)
{
	struct timespec used = {0, 0};
	clockid_t clock;

	if (!clock_getcpuclockid(echo_pid, &clock))
		clock_gettime(clock, &used);
	return (uint64_t)used.tv_sec * 1000000000u + (uint64_t)used.tv_nsec;
}

static inline void process_turn(const struct bench_worker *w)
{
	use(w);
	send_turn(pipes[0][1]);
	await_turn(pipes[1][0]);
}

/* One operation is there and back: two switches (parts). The other process's time counts too. */
BENCH_LOOP(loop_processes, cpu_set_t saved_; uint64_t before_ = echo_cpu_ns(); stay(&saved_);
	   prepare(w), process_turn(w), leave(&saved_); w->other_cpu_ns = echo_cpu_ns() - before_)

static int check_registration(const struct bench_method *m, const char **why)
{
	struct percpu_mode_info mode;

	percpu_mode(&mode);
	if (m->arg == UNREGISTERED) {
		*why = "threads cannot be kept unregistered here";
		return mode.owner == PERCPU_OWNER_NONE ? 0 : -ENOTSUP;
	}
	*why = "threads are not registered here";
	return mode.owner == PERCPU_OWNER_NONE ? -ENOTSUP : 0;
}

static int open_pipes(const struct bench_method *m, const char **why)
{
	int err = check_registration(m, why);

	if (err || pipes[1][1])
		return err;
	*why = "no pipes";
	if (pipe2(pipes[0], O_CLOEXEC) || pipe2(pipes[1], O_CLOEXEC))
		return -errno;
	return 0;
}

/* The other process: gives every turn back, until its pipe ends with this process. */
static _Noreturn void echo(const struct bench_method *m)
{
	struct bench_worker w = {.method = m};
	cpu_set_t saved;

	close(pipes[0][1]);
	close(pipes[1][0]);
	stay(&saved);
	while (await_turn(pipes[0][0])) {
		use(&w);
		send_turn(pipes[1][1]);
	}
	_exit(0);
}

static int open_echo(const struct bench_method *m, const char **why)
{
	int err = open_pipes(m, why);

	if (err)
		return err;
	*why = "no second process";
	echo_pid = fork();
	if (!echo_pid)
		echo(m);
	return echo_pid < 0 ? -errno : 0;
}

#define SWITCHES(method_name, method_loop, method_open)                                            \
	{                                                                                          \
		{.name = method_name,                                                              \
		 .param = "rseq not registered",                                                   \
		 .loop = method_loop,                                                              \
		 .open = method_open,                                                              \
		 .arg = UNREGISTERED,                                                              \
		 .unit = "ns/switch",                                                              \
		 .in_turns = 1},                                                                   \
			{.name = method_name,                                                      \
			 .param = "rseq registered",                                               \
			 .loop = method_loop,                                                      \
			 .open = method_open,                                                      \
			 .arg = REGISTERED,                                                        \
			 .unit = "ns/switch",                                                      \
			 .in_turns = 1},                                                           \
			{.name = method_name,                                                      \
			 .param = "rseq used between switches",                                    \
			 .loop = method_loop,                                                      \
			 .open = method_open,                                                      \
			 .arg = USED,                                                              \
			 .unit = "ns/switch",                                                      \
			 .in_turns = 1},                                                           \
	}

static const struct bench_method by_threads[][3] = {
	SWITCHES("pipe ping-pong, threads", loop_pipe, open_pipes),
	SWITCHES("futex hand-over", loop_futex, check_registration),
	SWITCHES("sched_yield", loop_yield, check_registration),
};

#undef SWITCHES
#define TWO_PROCESSES(kind, text)                                                                  \
	{                                                                                          \
		.name = "pipe ping-pong, processes", .param = text, .loop = loop_processes,        \
		.open = open_echo, .arg = kind, .parts = 2, .unit = "ns/switch"                    \
	}

static const struct bench_method by_processes[3] = {
	TWO_PROCESSES(UNREGISTERED, "rseq not registered"),
	TWO_PROCESSES(REGISTERED, "rseq registered"),
	TWO_PROCESSES(USED, "rseq used between switches"),
};

#undef TWO_PROCESSES

/* One child per kind: pipes and the second process are the kind's own. */
static const struct bench_peer peers[3] = {
	{.environment = {"GLIBC_TUNABLES=glibc.pthread.rseq=0", "PERCPU_RSEQ=libc"}},
	{.environment = {"GLIBC_TUNABLES=glibc.pthread.rseq=1", "PERCPU_RSEQ="}},
	{.environment = {"GLIBC_TUNABLES=glibc.pthread.rseq=1", "PERCPU_RSEQ="}},
};
/* The second process reads what the threads' rows would read: its rows have children of their own. */
static const struct bench_peer echo_peers[3] = {
	{.environment = {"GLIBC_TUNABLES=glibc.pthread.rseq=0", "PERCPU_RSEQ=libc"}},
	{.environment = {"GLIBC_TUNABLES=glibc.pthread.rseq=1", "PERCPU_RSEQ="}},
	{.environment = {"GLIBC_TUNABLES=glibc.pthread.rseq=1", "PERCPU_RSEQ="}},
};

static void add_kinds(struct bench_plan *plan, const struct bench_method *kinds, unsigned threads,
		      const struct bench_peer *where)
{
	struct bench_row *base = bench_add_at(plan, &kinds[0], threads, &where[0]), *row;
	int i;

	bench_set_base(base, base);
	for (i = 1; base && i < 3; i++) {
		row = bench_add_at(plan, &kinds[i], threads, &where[i]);
		bench_set_base(row, base);
	}
}

static void fill_switch(struct bench_plan *plan)
{
	size_t i;

	add_kinds(plan, by_processes, 1, echo_peers);
	for (i = 0; i < sizeof(by_threads) / sizeof(by_threads[0]); i++)
		add_kinds(plan, by_threads[i], 2, peers);
}

const struct bench_table bench_switch = {
	.name = "switch",
	.title = "one thread switch; baseline of each: rseq not registered",
	.fill = fill_switch};

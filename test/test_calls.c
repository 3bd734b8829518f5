/* SPDX-License-Identifier: MIT */
/*
 * What the library asks of the kernel: at its start nothing but sysfs and memory, afterwards
 * nothing. A tracer sees each system call of a probe, from its exec on.
 */
#include "probe.h"

#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include <percpu/percpu.h>

#define TIMES 20000

/* The tracer looks for these two. */
static void mark(void)
{
	syscall(SYS_getppid);
}

static PERCPU_COUNTER(counter);
static PERCPU_ID(id);
static struct percpu_limit limit;
static PERCPU_COUNTER_ADD_ONLY(rising);
static struct percpu_zone zone;
static uint32_t *word;

static void use_everything(void)
{
	unsigned slot;
	uint32_t seen;

	percpu_counter_inc(&counter);
	percpu_counter_sub(&counter, 3);
	(void)percpu_counter_sum(&counter);
	(void)percpu_counter_read(&counter);
	(void)percpu_counter_compare(&counter, 5);
	(void)percpu_counter_compare(&rising, 5);
	percpu_counter_inc(&rising);
	(void)percpu_counter_set(&counter, 5);
	(void)percpu_id_next(&id);
	(void)percpu_limit_add(&limit, 5);
	(void)percpu_limit_sub(&limit, 3);
	(void)percpu_limit_sum(&limit);
	(void)percpu_limit_compare(&limit, 5);
	percpu_zone_inc(&zone);
	percpu_zone_add(&zone, 1000);
	(void)percpu_zone_sum(&zone);
	percpu_this_inc(word);
	percpu_this_and(word, 7u);
	seen = percpu_this_read(word);
	percpu_this_write(word, seen);
	(void)percpu_this_add_return_slot(word, 1u, &slot);
	(void)percpu_this_xchg(word, 1u);
	(void)percpu_this_cmpxchg(word, 1u, 2u);
	(void)percpu_this_cmpxchg2(word, 1u, 2u, word, 2u);
	(void)percpu_cpu_raw();
	percpu_cs_clear();
}

PROBE(uses_everything_between_two_marks)
{
	CHECK_OK(percpu_limit_init(&limit, INT64_MAX));
	CHECK_OK(percpu_zone_init(&zone, 16, 100));
	word = percpu_new(uint32_t);
	CHECK(word != NULL);
	/* The first uses may ask: for a registration, memory, a ceiling on each CPU. */
	for (unsigned cpu = 0; cpu < 64; cpu++)
		if (test_pin(cpu) == 0)
			use_everything();
	mark();
	for (int i = 0; i < TIMES; i++)
		use_everything();
	mark();
}

PROBE(enters_the_kernel_between_two_marks)
{
	mark();
	(void)!getuid();
	mark();
	CHECK(true);
}

PROBE(starts)
{
	mark();
	mark();
	CHECK(true);
}

static pid_t start_traced(const char *probe, const char *setting)
{
	const char *const settings[] = {setting, NULL};
	pid_t child = fork();

	CHECK(child >= 0);
	if (child == 0) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
			_exit(TEST_SKIPPED);
		raise(SIGSTOP);
		probe__exec(probe, "", settings);
	}
	return child;
}

/* Lets the child run to its next system call: true, or false with its status when it has ended. */
static bool next_stop(pid_t child, int *status)
{
	int signal = 0;

	for (;;) {
		if (ptrace(PTRACE_SYSCALL, child, NULL, signal) != 0)
			CHECK_EQ(errno, ESRCH);
		while (waitpid(child, status, 0) != child)
			CHECK_EQ(errno, EINTR);
		if (!WIFSTOPPED(*status))
			return false;
		if (WSTOPSIG(*status) == (SIGTRAP | 0x80))
			return true;
		signal = WSTOPSIG(*status) == SIGTRAP ? 0 : WSTOPSIG(*status);
	}
}

static void read_path(pid_t child, uint64_t address, char *path, size_t size)
{
	size_t length = 0;

	while (length + sizeof(long) < size) {
		long text;

		errno = 0;
		text = ptrace(PTRACE_PEEKDATA, child, (void *)(uintptr_t)(address + length), NULL);
		if (errno)
			break;
		memcpy(path + length, &text, sizeof(text));
		if (memchr(path + length, '\0', sizeof(text)))
			return;
		length += sizeof(text);
	}
	path[length] = '\0';
}

/* What the dynamic linker opens is no doing of the library's. */
static bool may_be_opened(const char *path)
{
	return strncmp(path, "/sys/devices/system/cpu", 23) == 0 ||
	       strncmp(path, "/etc/ld", 7) == 0 || strstr(path, ".so") != NULL;
}

static void check_opened(pid_t child, const struct __ptrace_syscall_info *info)
{
	char path[512];
	uint64_t address;

	if (info->entry.nr == SYS_openat)
		address = info->entry.args[1];
#if defined(SYS_open)
	else if (info->entry.nr == SYS_open)
		address = info->entry.args[0];
#endif
	else
		return;
	read_path(child, address, path, sizeof(path));
	if (!may_be_opened(path))
		test_fail(__FILE__, __LINE__, "opened at the start: %s", path);
}

/* Calls between the marks; before the first one, what is opened is checked. */
static unsigned calls_between_marks(const char *probe, const char *setting)
{
	pid_t child = start_traced(probe, setting);
	unsigned calls = 0, marks = 0;
	int status;

	while (waitpid(child, &status, 0) != child)
		CHECK_EQ(errno, EINTR);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
		test_skip("no tracing here");
	CHECK(WIFSTOPPED(status));
	if (ptrace(PTRACE_SETOPTIONS, child, NULL, PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL) != 0)
		test_skip("no tracing here: %s", strerror(errno));
	while (next_stop(child, &status)) {
		struct __ptrace_syscall_info info;

		if (ptrace(PTRACE_GET_SYSCALL_INFO, child, (void *)sizeof(info), &info) <= 0)
			test_skip("a kernel without PTRACE_GET_SYSCALL_INFO");
		if (info.op != PTRACE_SYSCALL_INFO_ENTRY)
			continue;
		if (info.entry.nr == SYS_getppid)
			marks++;
		else if (marks == 1)
			calls++;
		else if (marks == 0)
			check_opened(child, &info);
	}
	CHECK(WIFEXITED(status));
	CHECK_EQ(WEXITSTATUS(status), TEST_PASSED);
	CHECK_EQ(marks, 2);
	return calls;
}

TEST(hot_paths_do_not_enter_the_kernel)
{
	CHECK_EQ(calls_between_marks("uses_everything_between_two_marks", "PERCPU_RSEQ"), 0);
	CHECK_EQ(calls_between_marks("uses_everything_between_two_marks", PROBE_NO_LIBC), 0);
	CHECK_EQ(calls_between_marks("uses_everything_between_two_marks", "PERCPU_RSEQ=off"), 0);
}

TEST(call_between_marks_would_be_noticed)
{
	CHECK(calls_between_marks("enters_the_kernel_between_two_marks", "PERCPU_RSEQ") > 0);
}

TEST(start_opens_nothing_but_sysfs)
{
	CHECK_EQ(calls_between_marks("starts", "PERCPU_RSEQ"), 0);
	CHECK_EQ(calls_between_marks("starts", PROBE_NO_LIBC), 0);
	CHECK_EQ(calls_between_marks("starts", "PERCPU_RSEQ=off"), 0);
}

PROBE_MAIN()

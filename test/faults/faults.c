/* SPDX-License-Identifier: MIT */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "faults.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define RSEQ_UNREGISTER 1

static struct {
	unsigned first, times, calls;
	int error;
} plans[FAULT_KINDS];

static int byte_by_byte;
static const char *sysfs;
static long sysconf_answer;
static unsigned long auxval_answer;
static unsigned began, ended;
static uint32_t last_length;

void (*fault_watcher)(enum fault kind, int after);

static void plan(enum fault kind, unsigned first, unsigned times, int error)
{
	plans[kind].calls = 0;
	plans[kind].first = first;
	plans[kind].times = times;
	plans[kind].error = error;
}

/* Before the first call that can fail: the library starts before any constructor of the test. */
static void read_environment(void)
{
	static int done;
	const char *at = getenv("PERCPU_TEST_FAULTS");

	if (__atomic_exchange_n(&done, 1, __ATOMIC_RELAXED))
		return;
	sysfs = getenv("PERCPU_TEST_SYSFS");
	while (at && *at) {
		unsigned kind, first, times;
		int error;

		if (sscanf(at, "%u %u %u %d", &kind, &first, &times, &error) != 4 ||
		    kind >= FAULT_KINDS)
			abort();
		plan((enum fault)kind, first, times, error);
		at = strchr(at, ';');
		at = at ? at + 1 : NULL;
	}
}

void fault_arm(enum fault kind, unsigned first, unsigned times, int error)
{
	read_environment();
	plan(kind, first, times, error);
}

void fault_clear(void)
{
	read_environment();
	memset(plans, 0, sizeof(plans));
	byte_by_byte = 0;
	sysfs = NULL;
	sysconf_answer = 0;
	auxval_answer = 0;
}

unsigned fault_calls(enum fault kind)
{
	return __atomic_load_n(&plans[kind].calls, __ATOMIC_RELAXED);
}

void fault_read_byte_by_byte(int on)
{
	byte_by_byte = on;
}

void fault_sysfs(const char *dir)
{
	read_environment();
	sysfs = dir;
}

void fault_sysconf_answers(long answer)
{
	sysconf_answer = answer;
}

void fault_auxval_answers(unsigned long answer)
{
	auxval_answer = answer;
}

struct fault_registrations fault_registrations(void)
{
	struct fault_registrations result;

	result.began = __atomic_load_n(&began, __ATOMIC_RELAXED);
	result.ended = __atomic_load_n(&ended, __ATOMIC_RELAXED);
	result.last_length = last_length;
	return result;
}

static void watch(enum fault kind, int after)
{
	if (fault_watcher)
		fault_watcher(kind, after);
}

/* Counts the call; true, with errno, when it is to fail. */
static bool fails(enum fault kind)
{
	unsigned call;

	read_environment();
	watch(kind, 0);
	call = __atomic_add_fetch(&plans[kind].calls, 1, __ATOMIC_RELAXED);
	if (plans[kind].first == 0 || call < plans[kind].first ||
	    call - plans[kind].first >= plans[kind].times)
		return false;
	errno = plans[kind].error;
	watch(kind, 1);
	return true;
}

static const char *redirect(const char *path, char *buffer, size_t size)
{
	static const char truth[] = "/sys/devices/system/cpu";
	size_t length = sizeof(truth) - 1;

	read_environment();
	if (!sysfs || strncmp(path, truth, length) != 0)
		return path;
	snprintf(buffer, size, "%s%s", sysfs, path + length);
	return buffer;
}

/* The library's calls, by the names it knows them under here (test/unit.cmake). */
int fault_open(const char *path, int flags, ...);
DIR *fault_opendir(const char *path);
ssize_t fault_read(int fd, void *buffer, size_t size);
long fault_sysconf(int name);
unsigned long fault_getauxval(unsigned long type);
void *fault_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset);
int fault_mprotect(void *address, size_t size, int protection);
int fault_madvise(void *address, size_t size, int advice);
long fault_syscall(long number, ...);

int fault_open(const char *path, int flags, ...)
{
	char buffer[512];
	va_list args;
	int mode;
	int result;

	va_start(args, flags);
	mode = flags & O_CREAT ? va_arg(args, int) : 0;
	va_end(args);
	if (fails(FAULT_OPEN))
		return -1;
	result = open(redirect(path, buffer, sizeof(buffer)), flags, mode);
	watch(FAULT_OPEN, 1);
	return result;
}

DIR *fault_opendir(const char *path)
{
	char buffer[512];

	return fails(FAULT_OPENDIR) ? NULL : opendir(redirect(path, buffer, sizeof(buffer)));
}

ssize_t fault_read(int fd, void *buffer, size_t size)
{
	static int interrupted;

	if (fails(FAULT_READ))
		return -1;
	if (!byte_by_byte)
		return read(fd, buffer, size);
	interrupted = !interrupted;
	if (interrupted) {
		errno = EINTR;
		return -1;
	}
	return read(fd, buffer, size < 1 ? size : 1);
}

long fault_sysconf(int name)
{
	if (fails(FAULT_SYSCONF))
		return -1;
	return sysconf_answer && name != _SC_PAGESIZE ? sysconf_answer : sysconf(name);
}

unsigned long fault_getauxval(unsigned long type)
{
	return auxval_answer ? auxval_answer : getauxval(type);
}

void *fault_mmap(void *address, size_t size, int protection, int flags, int fd, off_t offset)
{
	if (fails(FAULT_MMAP))
		return MAP_FAILED;
	return mmap(address, size, protection, flags, fd, offset);
}

int fault_mprotect(void *address, size_t size, int protection)
{
	return fails(FAULT_MPROTECT) ? -1 : mprotect(address, size, protection);
}

int fault_madvise(void *address, size_t size, int advice)
{
	return fails(FAULT_MADVISE) ? -1 : madvise(address, size, advice);
}

static void note_registration(uint32_t length, int flags)
{
	if (flags & RSEQ_UNREGISTER) {
		__atomic_add_fetch(&ended, 1, __ATOMIC_RELAXED);
	} else {
		__atomic_add_fetch(&began, 1, __ATOMIC_RELAXED);
		last_length = length;
	}
}

/* Takes six arguments whatever the number: what was not passed is not looked at by the kernel. */
long fault_syscall(long number, ...)
{
	enum fault kind = FAULT_KINDS;
	long a[6], result;
	va_list args;

	va_start(args, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(args, long);
	va_end(args);
	if (number == SYS_rseq)
		kind = FAULT_RSEQ;
	else if (number == SYS_membarrier)
		kind = FAULT_MEMBARRIER;
	else if (number == SYS_sched_getaffinity)
		kind = FAULT_AFFINITY;
	if (kind != FAULT_KINDS && fails(kind))
		return -1;
	result = syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (kind == FAULT_RSEQ && result == 0)
		note_registration((uint32_t)a[1], (int)a[2]);
	if (kind != FAULT_KINDS)
		watch(kind, 1);
	return result;
}

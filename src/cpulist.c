/* SPDX-License-Identifier: MIT */
/*
 * How many CPUs there can be: one parser for the kernel's lists ("0-3,7"), and what to ask when
 * the list cannot be had. Numbers may be sparse, so sizes come from the highest, never a count.
 */
#include "internal.h"

#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* No kernel has more; a list that says so is broken. */
#define NUMBER_MAX 1048575
/* When nothing at all is known. Address space only. */
#define CPUS_UNKNOWN 256u

struct list {
	const char *at, *end;
};

static bool digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A decimal number at the front of the list, or -EINVAL. */
static int number(struct list *list)
{
	long n = 0;

	if (list->at == list->end || !digit(*list->at))
		return -EINVAL;
	while (list->at != list->end && digit(*list->at)) {
		n = n * 10 + (*list->at++ - '0');
		if (n > NUMBER_MAX)
			return -EINVAL;
	}
	return (int)n;
}

/* The next "a" or "a-b" and its separator: 1; 0 at the end of a well-formed list; -EINVAL. */
static int range(struct list *list, int *first, int *last)
{
	*first = *last = number(list);
	if (*first < 0)
		return -EINVAL;
	if (list->at != list->end && *list->at == '-') {
		list->at++;
		*last = number(list);
		if (*last < *first)
			return -EINVAL;
	}
	if (list->at == list->end || *list->at == '\n') {
		list->at = list->end;
		return 0;
	}
	if (*list->at++ != ',')
		return -EINVAL;
	return 1;
}

int percpu__cpulist_max(const char *text, size_t length)
{
	struct list list = {text, text + length};
	int more, first, last, highest = -1;

	do {
		more = range(&list, &first, &last);
		if (more < 0)
			return more;
		if (last > highest)
			highest = last;
	} while (more);
	return highest;
}

int percpu__cpulist_count(const char *text, size_t length)
{
	struct list list = {text, text + length};
	int more, first, last, count = 0;

	do {
		more = range(&list, &first, &last);
		if (more < 0)
			return more;
		count += last - first + 1;
	} while (more);
	return count;
}

/* The file's first line, or all of it without a newline; -E2BIG when it does not fit,
 * another negative number when it cannot be read. */
static ssize_t read_line(const char *path, char *buffer, size_t size)
{
	ssize_t got, have = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -ENOENT;
	while ((size_t)have < size && (have == 0 || buffer[have - 1] != '\n')) {
		got = read(fd, buffer + have, size - (size_t)have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			have = -EIO;
		if (got <= 0)
			break;
		have += got;
	}
	close(fd);
	return (size_t)have == size && buffer[size - 1] != '\n' ? -E2BIG : have;
}

/* Away from the usual path, which touches no further page of the stack for it. */
static COLD int ask_long_list(const char *path, int (*parse)(const char *, size_t))
{
	char text[8192];
	ssize_t length = read_line(path, text, sizeof(text));

	return length <= 0 ? -ENOENT : parse(text, (size_t)length);
}

static int ask_list(const char *path, int (*parse)(const char *, size_t))
{
	char text[256];
	ssize_t length = read_line(path, text, sizeof(text));

	if (length == -E2BIG)
		return ask_long_list(path, parse);
	return length <= 0 ? -ENOENT : parse(text, (size_t)length);
}

/* The highest cpuN folder, or -ENOENT. */
static int highest_folder(void)
{
	DIR *folder = opendir("/sys/devices/system/cpu");
	struct dirent *entry;
	int highest = -ENOENT;

	if (!folder)
		return -ENOENT;
	while ((entry = readdir(folder)) != NULL) {
		size_t length = strlen(entry->d_name);

		if (length > 3 && strncmp(entry->d_name, "cpu", 3) == 0) {
			int n = percpu__cpulist_max(entry->d_name + 3, length - 3);
			if (n > highest)
				highest = n;
		}
	}
	closedir(folder);
	return highest;
}

unsigned percpu__cpus_possible(void)
{
	int highest = ask_list("/sys/devices/system/cpu/possible", percpu__cpulist_max);
	long configured;

	if (highest < 0)
		highest = highest_folder();
	if (highest >= 0)
		return (unsigned)highest + 1;
	configured = sysconf(_SC_NPROCESSORS_CONF);
	return configured > (long)CPUS_UNKNOWN ? (unsigned)configured : CPUS_UNKNOWN;
}

/* The calling thread's affinity mask, as large as kernels make it; 0 when it cannot be had. */
unsigned percpu__cpus_allowed(void)
{
	unsigned long mask[8192 / (8 * sizeof(unsigned long))] = {0};
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	unsigned count = 0;

	for (long i = 0; i < bytes / (long)sizeof(mask[0]); i++)
		count += (unsigned)__builtin_popcountl(mask[i]);
	return count;
}

unsigned percpu__cpus_online(void)
{
	int count = ask_list("/sys/devices/system/cpu/online", percpu__cpulist_count);
	unsigned allowed;

	if (count > 0)
		return (unsigned)count;
	allowed = percpu__cpus_allowed();
	return allowed ? allowed : 1;
}

unsigned percpu__cpus_online_end(void)
{
	int highest = ask_list("/sys/devices/system/cpu/online", percpu__cpulist_max);

	return highest >= 0 ? (unsigned)highest + 1 : percpu__cpus_possible();
}

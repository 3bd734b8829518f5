/* SPDX-License-Identifier: MIT */
/*
 * Runs a program in a world that is not as it should be.
 *
 *	launch [--refuse CALL=ERROR]... [--cpus LIST] [--flip]
 *	       [--possible TEXT | --no-sys] [--no-proc] PROGRAM ARGUMENT...
 *
 *	--refuse     the system call (rseq, membarrier) fails with that error, from the program's
 *	             very beginning: a libc that is refused later ends the process itself
 *	--cpus       the affinity to begin with
 *	--flip       this process stays, and moves every thread of the program to another CPU ten
 *	             thousand times a second
 *	--possible   what the kernel's list of possible CPUs says; "" makes it an empty file and
 *	             "missing" takes the whole folder away
 *	--no-sys     nothing in /sys
 *	--no-proc    nothing in /proc
 *
 * Exit status: the program's; 77 where this machine does not let us; 2 wrong usage.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define USAGE 2
#define SKIPPED 77
#define FLIP_NS 100000
#define CPU_FOLDER "/sys/devices/system/cpu"

struct options {
	const char *possible;
	bool no_sys, no_proc, flip;
};

static void __attribute__((noreturn, format(printf, 1, 2))) skip(const char *format, ...)
{
	va_list args;

	fprintf(stderr, "SKIP: launch: ");
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fprintf(stderr, ": %s\n", strerror(errno));
	exit(SKIPPED);
}

static void __attribute__((noreturn)) usage(void)
{
	fprintf(stderr,
		"usage: launch [--refuse CALL=ERROR] [--cpus LIST] [--flip]\n"
		"              [--possible TEXT | --no-sys] [--no-proc] PROGRAM ARGUMENT...\n");
	exit(USAGE);
}

static const struct {
	const char *name;
	unsigned number;
} calls[] = {{"rseq", SYS_rseq}, {"membarrier", SYS_membarrier}};

static const struct {
	const char *name;
	unsigned number;
} errors[] = {{"EPERM", EPERM},   {"ENOSYS", ENOSYS}, {"EINVAL", EINVAL},
	      {"EFAULT", EFAULT}, {"EBUSY", EBUSY},   {"EACCES", EACCES}};

/* CALL=ERROR */
static void refuse(const char *text)
{
	const char *equals = strchr(text, '=');
	size_t c = 0, e = 0;

	while (equals && c < sizeof(calls) / sizeof(calls[0]) &&
	       (strncmp(calls[c].name, text, (size_t)(equals - text)) != 0 ||
		calls[c].name[equals - text] != '\0'))
		c++;
	while (equals && e < sizeof(errors) / sizeof(errors[0]) &&
	       strcmp(errors[e].name, equals + 1) != 0)
		e++;
	if (!equals || c == sizeof(calls) / sizeof(calls[0]) ||
	    e == sizeof(errors) / sizeof(errors[0]))
		usage();
	/* The number alone: this program runs programs of its own kind only. */
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[c].number, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | errors[e].number),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(filter) / sizeof(filter[0]), filter};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
		skip("no seccomp filters");
}

/* Numbers with commas. */
static void confine(const char *list)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	while (*list) {
		char *end;
		unsigned long cpu = strtoul(list, &end, 10);

		if (end == list || cpu >= CPU_SETSIZE)
			usage();
		CPU_SET(cpu, &set);
		list = *end == ',' ? end + 1 : end;
	}
	if (sched_setaffinity(0, sizeof(set), &set) != 0)
		skip("CPU %s", list);
}

static void cover(const char *folder)
{
	if (mount("none", folder, "tmpfs", 0, NULL) != 0)
		skip("cannot cover %s", folder);
}

/* A file of that content over the kernel's list. */
static void lie(const char *text)
{
	char path[] = "/tmp/percpu-possible-XXXXXX";
	int file;

	if (strcmp(text, "missing") == 0) {
		cover(CPU_FOLDER);
		return;
	}
	file = mkstemp(path);
	if (file < 0 || dprintf(file, *text ? "%s\n" : "%s", text) < 0 ||
	    mount(path, CPU_FOLDER "/possible", NULL, MS_BIND, NULL) != 0)
		skip("cannot cover the list of possible CPUs");
	close(file);
	unlink(path);
}

static void change_world(const struct options *options)
{
	if (!options->possible && !options->no_sys && !options->no_proc)
		return;
	if (unshare(CLONE_NEWNS) != 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0)
		skip("no mounts of our own");
	if (options->possible)
		lie(options->possible);
	if (options->no_sys)
		cover("/sys");
	if (options->no_proc)
		cover("/proc");
}

/* One thread to another CPU, or to all of them again. One that is gone is no error. */
static void flip_thread(pid_t tid, const cpu_set_t *allowed, unsigned turn)
{
	cpu_set_t one = *allowed;
	unsigned left = turn % ((unsigned)CPU_COUNT(allowed) + 1);

	for (unsigned cpu = 0; left && cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, allowed) && --left == 0) {
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
		}
	(void)sched_setaffinity(tid, sizeof(one), &one);
}

static void flip_all(pid_t program, const cpu_set_t *allowed, unsigned turn)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)program);
	tasks = opendir(path);
	while (tasks && (entry = readdir(tasks)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid > 0)
			flip_thread(tid, allowed, turn++);
	}
	if (tasks)
		closedir(tasks);
}

/* Until the program ends: its exit status. */
static int flip_until_end(pid_t program)
{
	const struct timespec pause = {0, FLIP_NS};
	cpu_set_t allowed;
	unsigned turn = 0;
	int status;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		skip("no affinity");
	while (waitpid(program, &status, WNOHANG) == 0) {
		flip_all(program, &allowed, turn++);
		nanosleep(&pause, NULL);
	}
	if (WIFSIGNALED(status))
		fprintf(stderr, "launch: ended by signal %d\n", WTERMSIG(status));
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* Its own options up to the program's name; filters come last, as they bind this program too. */
static int parse(int argc, char **argv, struct options *options)
{
	int i = 1;

	for (; i < argc && strncmp(argv[i], "--", 2) == 0; i++) {
		const char *option = argv[i] + 2;

		if (strcmp(option, "flip") == 0)
			options->flip = true;
		else if (strcmp(option, "no-sys") == 0)
			options->no_sys = true;
		else if (strcmp(option, "no-proc") == 0)
			options->no_proc = true;
		else if (++i == argc)
			usage();
		else if (strcmp(option, "possible") == 0)
			options->possible = argv[i];
		else if (strcmp(option, "cpus") == 0)
			confine(argv[i]);
		else if (strcmp(option, "refuse") == 0)
			refuse(argv[i]);
		else
			usage();
	}
	if (i >= argc)
		usage();
	return i;
}

int main(int argc, char **argv)
{
	struct options options = {NULL, false, false, false};
	int first = parse(argc, argv, &options);
	pid_t program;

	change_world(&options);
	if (options.flip) {
		program = fork();
		if (program > 0)
			return flip_until_end(program);
	}
	execv(argv[first], argv + first);
	fprintf(stderr, "launch: %s: %s\n", argv[first], strerror(errno));
	return USAGE;
}

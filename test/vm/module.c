/* SPDX-License-Identifier: MIT */
/*
 * A guest's program that tries the kernel module, as root and alone. It loads it, has it measure,
 * prints what it says, unloads it, and does so again in other ways; then it prints the kernel's log.
 * What should have happened is judge_module's to say.
 *
 * Output, a line each, in this order:
 *	# STEP: ok		or	# STEP: NAME OF ERROR
 *	# begin WHAT		followed by what a file holds, and
 *	# end WHAT
 *	# done			when it came to its end
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/klog.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MODULE "percpu_local"
#define FOLDER "/sys/kernel/debug/" MODULE "/"

/* Small enough for an emulated CPU; judge_module knows the sizes and rounds. */
#define LARGE "sizes=65536 rounds=1 hot_ops=65536 storm_interrupts=300"
#define SMALL                                                                                      \
	"sizes=4096,1000 walk_ops=64000 rounds=3 hot_ops=16384 repetitions=2000 "                  \
	"storm_interrupts=100"

/* status: 0 or an errno. */
static int say(const char *step, int status)
{
	printf("# %s: %s\n", step, status ? strerrorname_np(status) : "ok");
	fflush(stdout);
	return status;
}

static int put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), status = 0;

	if (fd < 0)
		return errno;
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		status = errno;
	close(fd);
	return status;
}

static void show(const char *what)
{
	char path[64], block[4096];
	ssize_t n = 0;
	int fd;

	snprintf(path, sizeof(path), FOLDER "%s", what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	printf("# begin %s\n", what);
	while (fd >= 0 && (n = read(fd, block, sizeof(block))) > 0)
		fwrite(block, 1, (size_t)n, stdout);
	printf("# end %s\n", what);
	if (fd < 0 || n < 0)
		say("read", errno);
	if (fd >= 0)
		close(fd);
	fflush(stdout);
}

static int load(const char *parameters)
{
	int fd = open("/" MODULE ".ko", O_RDONLY | O_CLOEXEC), status = 0;

	if (fd < 0)
		return errno;
	if (syscall(SYS_finit_module, fd, parameters, 0))
		status = errno;
	close(fd);
	return status;
}

/* With O_NONBLOCK a module in use is refused. */
static int unload(void)
{
	struct stat unused;

	if (syscall(SYS_delete_module, MODULE, O_NONBLOCK))
		return errno;
	return stat(FOLDER, &unused) ? 0 : EEXIST;
}

/* One load, one run, one look, one unload. */
static void try_once(const char *parameters)
{
	if (say("load", load(parameters)))
		return;
	say("run", put(FOLDER "run", "1\n"));
	show("table");
	show("json");
	show("status");
	say("unload", unload());
}

static int is_running(void)
{
	char text[32] = "";
	int fd = open(FOLDER "status", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	return n > 0 && !strncmp(text, "running", 7);
}

/* A run that would last an hour: others are refused meanwhile, and a signal ends it. */
static void try_interrupting(void)
{
	int status = 0;
	pid_t child;

	if (say("load", load("rounds=1000")))
		return;
	child = fork();
	if (child == 0) {
		/* No handler, so the write does not return to be asked for its error. */
		put(FOLDER "run", "1");
		_exit(1);
	}
	while (!is_running())
		usleep(1000);
	say("second run", put(FOLDER "run", "1"));
	say("unload while running", unload());
	kill(child, SIGTERM);
	waitpid(child, &status, 0);
	say("interrupted", WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM ? 0 : ECHILD);
	show("status");
	say("unload", unload());
}

static void try_bad_input(void)
{
	say("load with no rounds", load("rounds=0"));
	say("load with a size of the stride", load("sizes=514001"));
	say("load with a size of 0", load("sizes=0"));
	if (say("load", load(SMALL)))
		return;
	show("status");
	say("run with 0", put(FOLDER "run", "0"));
	say("run with rubbish", put(FOLDER "run", "rubbish"));
	say("run with nothing", put(FOLDER "run", ""));
	say("unload", unload());
}

/* The largest size of a cache that the kernel tells, in bytes; 0: it tells none. */
static unsigned long last_level_cache(void)
{
	unsigned long largest = 0, kilobytes;
	char path[64];
	FILE *file;

	for (int i = 0;; i++) {
		snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
		file = fopen(path, "re");
		if (!file)
			return largest * 1024;
		if (fscanf(file, "%luK", &kilobytes) == 1 && kilobytes > largest)
			largest = kilobytes;
		fclose(file);
	}
}

/* Those of 2008, and one that no cache holds. That the stride visits all of it holds for the cache
 * of the guest. */
static int default_sizes(void)
{
	unsigned long longs = 4 * last_level_cache() / sizeof(long);
	char expected[80], found[80] = "";
	FILE *file = fopen("/sys/module/" MODULE "/parameters/sizes", "re");

	if (!file || longs <= 2097152)
		return ENODATA;
	snprintf(expected, sizeof(expected), "262144,1048576,2097152,%lu\n", longs);
	if (!fgets(found, sizeof(found), file))
		found[0] = '\0';
	fclose(file);
	return strcmp(found, expected) ? EDOM : 0;
}

static void try_defaults(void)
{
	if (say("load", load("")))
		return;
	say("default sizes", default_sizes());
	say("unload", unload());
}

/* Kilobytes in the kernel's large allocations: the arrays are among them. */
static long vmalloc_used(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	char line[128];
	long kilobytes = -1;

	while (file && fgets(line, sizeof(line), file))
		sscanf(line, "VmallocUsed: %ld", &kilobytes);
	if (file)
		fclose(file);
	return kilobytes;
}

static void show_log(void)
{
	int size = klogctl(10, NULL, 0), n;
	char *log = malloc((size_t)(size > 0 ? size : 1));

	n = log && size > 0 ? klogctl(3, log, size) : -1;
	printf("# begin log\n%.*s# end log\n", n > 0 ? n : 0, n > 0 ? log : "");
	free(log);
}

static void run_all(void)
{
	long used = vmalloc_used();

	try_once(LARGE);
	try_once(SMALL);
	say("preemption model full", put("/sys/kernel/debug/sched/preempt", "full"));
	try_once(SMALL);
	say("planted mistake", 0);
	try_once(SMALL " planted=1");
	try_interrupting();
	try_bad_input();
	try_defaults();
	/* A forgotten array has 1.5 MB, a megabyte is other people's. */
	say("memory given back", used < 0 || vmalloc_used() > used + 1024 ? ENOMEM : 0);
}

int main(void)
{
	run_all();
	show_log();
	printf("# done\nok: runs\n");
	return 0;
}

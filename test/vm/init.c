/* SPDX-License-Identifier: MIT */
/*
 * The first program of a guest. It runs what /plan says, one after the other, and switches off.
 *
 * A line of /plan:	NAME|SECONDS|PROGRAM|ARGUMENT|VARIABLE=VALUE VARIABLE=VALUE ...
 * ARGUMENT may be empty; the variables are all that the program's environment has. After SECONDS it
 * is killed, and so is whatever it leaves behind when it ends.
 *
 * From the kernel's command line (it hands variables on):
 *	OFFLINE=1	CPUs go offline and online again all the time, but for the first
 *	RESTART=1	restart instead of power off, for machines that cannot be switched off
 *
 * Output:
 *	@ kernel RELEASE, N CPUs
 *	@ begin NAME		followed by what the program prints, and
 *	@ end NAME: STATUS, SECONDS	STATUS: a number, "signal NUMBER", "killed" or "not run"
 *	@ offline N		with OFFLINE: how often a CPU went offline
 *	@ offline failed: NAME OF ERROR	or it did not
 *	@ done			the last line
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { FIELDS = 5, VARIABLES_MAX = 16 };

struct job {
	char *name, *seconds, *program, *argument, *variables;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static int parse(char *line, struct job *job)
{
	char **fields[FIELDS] = {&job->name, &job->seconds, &job->program, &job->argument,
				 &job->variables};

	line[strcspn(line, "\n")] = '\0';
	for (int i = 0; i < FIELDS; i++) {
		*fields[i] = strsep(&line, "|");
		if (!*fields[i])
			return -1;
	}
	return 0;
}

static void become(const struct job *job)
{
	char *arguments[] = {job->program, *job->argument ? job->argument : NULL, NULL};
	char *environment[VARIABLES_MAX + 1], *variables = job->variables;
	sigset_t none;
	int count = 0;

	while (variables && count < VARIABLES_MAX) {
		char *variable = strsep(&variables, " ");

		if (*variable)
			environment[count++] = variable;
	}
	environment[count] = NULL;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(job->program, arguments, environment);
	perror(job->program);
	_exit(126);
}

/* Ends everybody but this process. */
static void kill_all(void)
{
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		;
}

/* Orphans that end meanwhile are collected. Returns 0 when the time is over. */
static int wait_until(pid_t child, int *status, double end)
{
	const struct timespec moment = {0, 200000000};
	sigset_t ended;

	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	while (now() < end) {
		pid_t pid = waitpid(-1, status, WNOHANG);

		if (pid == child)
			return 1;
		if (pid == 0)
			sigtimedwait(&ended, NULL, &moment);
	}
	return 0;
}

static void say_end(const struct job *job, const char *status, double begin)
{
	printf("\n@ end %s: %s, %.2f\n", job->name, status, now() - begin);
	fflush(stdout);
}

static void run(const struct job *job)
{
	double begin = now();
	char text[32];
	int status = 0;
	pid_t child;

	printf("@ begin %s\n", job->name);
	fflush(stdout);
	child = fork();
	if (child == 0)
		become(job);
	if (child < 0)
		snprintf(text, sizeof(text), "not run");
	else if (!wait_until(child, &status, begin + atof(job->seconds)))
		snprintf(text, sizeof(text), "killed");
	else if (WIFSIGNALED(status))
		snprintf(text, sizeof(text), "signal %d", WTERMSIG(status));
	else
		snprintf(text, sizeof(text), "%d", WEXITSTATUS(status));
	kill_all();
	say_end(job, text, begin);
}

static void run_plan(void)
{
	FILE *plan = fopen("/plan", "re");
	char *line = NULL;
	size_t size = 0;
	struct job job;

	while (plan && getline(&line, &size, plan) > 0) {
		if (parse(line, &job))
			printf("@ not a line of a plan: %s\n", line);
		else
			run(&job);
	}
	free(line);
	if (plan)
		fclose(plan);
	else
		perror("/plan");
}

/* ---- CPUs that come and go ---- */

static struct {
	int wanted, error;
	unsigned long times;
} offline;

/* 0 or an errno. */
static int set_online(long cpu, const char *value)
{
	char path[64];
	int fd, error = 0;

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%ld/online", cpu);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;
	if (write(fd, value, 1) != 1)
		error = errno;
	close(fd);
	return error;
}

static void *take_offline(void *arg)
{
	const struct timespec moment = {0, 2000000};
	long cpus = sysconf(_SC_NPROCESSORS_CONF);

	(void)arg;
	for (long cpu = 0; __atomic_load_n(&offline.wanted, __ATOMIC_RELAXED);
	     cpu = (cpu + 1) % (cpus - 1)) {
		int error = set_online(cpu + 1, "0");

		/* Busy: another one is being changed by the kernel itself. */
		if (!error)
			offline.times++;
		else if (error != EBUSY)
			offline.error = error;
		nanosleep(&moment, NULL);
		error = set_online(cpu + 1, "1");
		if (error && error != EBUSY)
			offline.error = error;
	}
	return NULL;
}

static void run_while_cpus_come_and_go(void)
{
	pthread_t thread;

	if (sysconf(_SC_NPROCESSORS_CONF) < 2) {
		offline.error = ENODEV;
	} else {
		offline.wanted = 1;
		offline.error = pthread_create(&thread, NULL, take_offline, NULL);
	}
	run_plan();
	if (__atomic_exchange_n(&offline.wanted, 0, __ATOMIC_RELAXED))
		pthread_join(thread, NULL);
	if (offline.error)
		printf("@ offline failed: %s\n", strerrorname_np(offline.error));
	else
		printf("@ offline %lu\n", offline.times);
}

/* ---- The machine ---- */

static void mount_on(const char *type, const char *folder)
{
	mkdir(folder, 0755);
	if (mount(type, folder, type, 0, NULL))
		printf("@ no %s on %s: %s\n", type, folder, strerrorname_np(errno));
}

static void mount_all(void)
{
	mount_on("devtmpfs", "/dev");
	mount_on("tmpfs", "/dev/shm");
	mount_on("tmpfs", "/tmp");
	mount_on("proc", "/proc");
	mount_on("sysfs", "/sys");
	/* Missing in small kernels, and needed by few. */
	(void)!mount("debugfs", "/sys/kernel/debug", "debugfs", 0, NULL);
}

static void say_kernel(void)
{
	struct utsname kernel;

	uname(&kernel);
	printf("@ kernel %s, %ld CPUs\n", kernel.release, sysconf(_SC_NPROCESSORS_ONLN));
	fflush(stdout);
}

/* Returns if the kernel refuses. */
static void switch_off(void)
{
	printf("@ done\n");
	fflush(stdout);
	/* The console is emptied by the driver while the program ends. */
	sync();
	reboot(getenv("RESTART") ? RB_AUTOBOOT : RB_POWER_OFF);
}

int main(void)
{
	sigset_t ended;

	if (getpid() != 1)
		return 2;
	sigemptyset(&ended);
	sigaddset(&ended, SIGCHLD);
	sigprocmask(SIG_BLOCK, &ended, NULL);
	/* The firmware leaves half a line. */
	printf("\n");
	mount_all();
	say_kernel();
	if (getenv("OFFLINE"))
		run_while_cpus_come_and_go();
	else
		run_plan();
	switch_off();
	return 1;
}

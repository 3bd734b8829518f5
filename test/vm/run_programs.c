/* SPDX-License-Identifier: MIT */
/*
 * The first program of a guest that runs every program of the folder /programs, in the order of their
 * names, and switches off. One whose name ends with @self has libc's registration of threads
 * switched off.
 *
 * Output:
 *	@ mount: ok		or	@ mount: NAME OF ERROR
 *	@ kernel RELEASE
 *	@ begin NAME		followed by what the program prints, and
 *	@ end NAME: STATUS	or	@ end NAME: signal NUMBER
 *	@ done			the last line
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <sys/wait.h>

#include "guest.h"

#define FOLDER "/programs"
#define SELF "@self"

static void start(const char *name)
{
	char *with_self[] = {"GLIBC_TUNABLES=glibc.pthread.rseq=0", NULL};
	char *plain[] = {NULL}, path[512];
	size_t length = strlen(name), end = strlen(SELF);
	int self = length > end && !strcmp(name + length - end, SELF);

	snprintf(path, sizeof(path), FOLDER "/%s", name);
	execve(path, (char *[]){path, NULL}, self ? with_self : plain);
	perror(path);
	_exit(126);
}

static void run(const char *name)
{
	int status = 0;
	pid_t child;

	printf("@ begin %s\n", name);
	fflush(stdout);
	child = fork();
	if (child == 0)
		start(name);
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	if (child < 0)
		say("fork", errno);
	else if (WIFSIGNALED(status))
		printf("@ end %s: signal %d\n", name, WTERMSIG(status));
	else
		printf("@ end %s: %d\n", name, WEXITSTATUS(status));
	fflush(stdout);
}

static int is_program(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_all(void)
{
	struct dirent **programs;
	struct utsname kernel;
	int count = scandir(FOLDER, &programs, is_program, alphasort);

	uname(&kernel);
	printf("@ kernel %s\n", kernel.release);
	for (int i = 0; i < count; i++)
		run(programs[i]->d_name);
}

int main(void)
{
	if (getpid() != 1)
		return 2;
	/* The firmware leaves half a line. */
	printf("\n");
	if (!say("mount", mount_proc_and_sys()))
		run_all();
	switch_off();
	return 1;
}

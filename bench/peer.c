/* SPDX-License-Identifier: MIT */
/*
 * Peers: what cannot be measured in this process (another mode of the library, another way of
 * linking it) is measured in a child that stays alive and runs one slice per request, so that it
 * takes its turn in every round like the others.
 *
 * Parent and child share one socket, the child's standard input and output. A request names the
 * method; the answer is a struct bench_slice (serve.c). Both sides are built from one source.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

extern char **environ;

struct bench_child {
	const struct bench_peer *peer;
	const char *table;
	struct bench_child *next;
	pid_t pid;
	int socket;
};

static struct bench_child *children;

/* Our environment with the peer's variables in the place of ours. */
static char **peer_environment(const struct bench_peer *peer)
{
	size_t n = 0, out = 0, i, k, len;
	char **env;

	while (environ[n])
		n++;
	env = calloc(n + sizeof(peer->environment) / sizeof(peer->environment[0]) + 1,
		     sizeof(*env));
	if (!env)
		bench_die("out of memory");
	for (k = 0; peer->environment[k]; k++)
		env[out++] = (char *)(uintptr_t)peer->environment[k];
	for (i = 0; i < n; i++) {
		len = strcspn(environ[i], "=") + 1;
		for (k = 0; peer->environment[k]; k++)
			if (!strncmp(environ[i], peer->environment[k], len))
				break;
		if (!peer->environment[k])
			env[out++] = environ[i];
	}
	return env;
}

/* Helpers lie beside the command in the build tree, and in libexec once installed. */
int bench_find_helper(const char *name, char *path, size_t size)
{
	static const char *const places[] = {"bench/", "../bench/", "../libexec/percpu/", ""};
	char self[4096], *slash;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	if (n < 0)
		return -errno;
	self[n] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		slash[1] = '\0';
	for (i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		if (snprintf(path, size, "%s%s%s", self, places[i], name) < (int)size &&
		    !access(path, X_OK))
			return 0;
	}
	return -ENOENT;
}

static int spawn(struct bench_child *child, const char *path, int theirs)
{
	const struct bench_peer *peer = child->peer;
	const char *args[] = {path, "bench", "--serve", child->table, NULL};
	char **env = peer_environment(peer);
	posix_spawn_file_actions_t actions;
	int err;

	if (peer->program) {
		args[1] = peer->argument;
		args[2] = NULL;
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, theirs, 0);
	posix_spawn_file_actions_adddup2(&actions, theirs, 1);
	err = posix_spawn(&child->pid, path, &actions, NULL, (char **)(uintptr_t)args, env);
	posix_spawn_file_actions_destroy(&actions);
	free(env);
	return -err;
}

static int child_start(struct bench_child *child, const char **why)
{
	char path[8192];
	int pair[2], err;

	*why = "its helper program is not installed";
	err = child->peer->program ? bench_find_helper(child->peer->program, path, sizeof(path))
				   : 0;
	if (err)
		return err;
	if (!child->peer->program)
		strcpy(path, "/proc/self/exe");
	*why = "its process cannot be started";
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return -errno;
	err = spawn(child, path, pair[1]);
	close(pair[1]);
	child->socket = pair[0];
	if (err)
		close(pair[0]);
	return err;
}

struct bench_child *bench_child_get(const struct bench_peer *peer, const char *table,
				    const char **why)
{
	struct bench_child *child;

	for (child = children; child; child = child->next)
		if (child->peer == peer && child->table == table)
			return child;
	child = calloc(1, sizeof(*child));
	if (!child)
		bench_die("out of memory");
	child->peer = peer;
	child->table = table;
	if (child_start(child, why)) {
		free(child);
		return NULL;
	}
	child->next = children;
	children = child;
	return child;
}

void bench_child_slice(struct bench_child *child, const struct bench_method *m, unsigned threads,
		       unsigned long ops, struct bench_slice *out)
{
	struct bench_request request = {.threads = threads, .ops = ops};
	int err;

	snprintf(request.name, sizeof(request.name), "%s", m->name);
	snprintf(request.param, sizeof(request.param), "%s", m->param);
	memset(out, 0, sizeof(*out));
	err = bench_send(child->socket, &request, sizeof(request));
	if (!err)
		err = bench_receive(child->socket, out, sizeof(*out));
	if (err) {
		out->status = err;
		snprintf(out->why, sizeof(out->why), "its process ended early");
	}
}

void bench_children_end(void)
{
	struct bench_child *child;

	while ((child = children)) {
		children = child->next;
		close(child->socket);
		while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
			;
		free(child);
	}
}

static const struct bench_method *served_method(const struct bench_request *request,
						const void *arg)
{
	const struct bench_plan *plan = arg;
	size_t i;

	for (i = 0; i < plan->nrows; i++)
		if (!strcmp(plan->rows[i]->method->name, request->name) &&
		    !strcmp(plan->rows[i]->method->param, request->param))
			return plan->rows[i]->method;
	return NULL;
}

int bench_serve_table(const char *table)
{
	static const struct bench_options options = {.threads = {1}, .nthreads = 1};
	struct bench_plan plan = {.table = bench_find_table(table), .options = &options};

	if (!plan.table)
		return 2;
	plan.serving = 1;
	plan.table->fill(&plan);
	return bench_serve(served_method, &plan);
}

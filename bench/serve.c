/* SPDX-License-Identifier: MIT */
/*
 * The child's side of a peer: runs one slice per request until its standard input ends.
 * Helper programs are made of this file, pool.c and their own method.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "harness.h"

_Noreturn void bench_die(const char *why)
{
	fprintf(stderr, "percpu bench: %s\n", why);
	exit(1);
}

int bench_send(int fd, const void *data, size_t size)
{
	const char *at = data;
	ssize_t n;

	for (; size; at += n, size -= (size_t)n) {
		n = send(fd, at, size, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			n = 0;
		if (n < 0)
			return -errno;
	}
	return 0;
}

int bench_receive(int fd, void *data, size_t size)
{
	char *at = data;
	ssize_t n;

	for (; size; at += n, size -= (size_t)n) {
		n = recv(fd, at, size, 0);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return -EPIPE;
	}
	return 0;
}

/* Opens a method the first time it is asked for. */
static int served_open(const struct bench_method *m, struct bench_slice *out)
{
	static const struct bench_method *opened[256];
	static size_t n;
	const char *why = "";
	size_t i;

	for (i = 0; i < n; i++)
		if (opened[i] == m)
			return 0;
	out->status = m->open ? m->open(m, &why) : 0;
	if (out->status)
		snprintf(out->why, sizeof(out->why), "%s", why);
	else if (n < sizeof(opened) / sizeof(opened[0]))
		opened[n++] = m;
	return out->status;
}

int bench_serve(bench_lookup *lookup, const void *arg)
{
	const struct bench_method *m;
	struct bench_slice out;
	struct bench_request request;

	while (!bench_receive(0, &request, sizeof(request))) {
		request.name[sizeof(request.name) - 1] = '\0';
		request.param[sizeof(request.param) - 1] = '\0';
		m = lookup(&request, arg);
		memset(&out, 0, sizeof(out));
		if (!m || !m->loop || !request.threads || request.threads > BENCH_MAX_THREADS)
			out.status = -EINVAL;
		else if (!served_open(m, &out))
			bench_slice(m, request.threads, request.ops, &out);
		if (bench_send(1, &out, sizeof(out)))
			break;
	}
	return 0;
}

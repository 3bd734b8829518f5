/* SPDX-License-Identifier: MIT */
/* Scratch buffers that the same CPU used last, hot in its caches; no more than 8 wait per CPU. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 4, ROUNDS = 100000, SIZE = 4096, WAITING = 8 };

static struct percpu_stack buffers;
static struct percpu_counter made;

static void *get(void)
{
	void *buffer;

	if (percpu_stack_pop(&buffers, &buffer) == 0)
		return buffer;
	percpu_counter_inc(&made);
	return malloc(SIZE);
}

/* Full means that enough are waiting on this CPU. */
static void put(void *buffer)
{
	if (percpu_stack_push(&buffers, buffer) == 0)
		return;
	percpu_counter_dec(&made);
	free(buffer);
}

static void *work(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		void *buffer = get();

		if (!buffer)
			exit(1);
		memset(buffer, i, 64);
		put(buffer);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	void *some[WAITING];
	long found = 0;
	int n;

	if (percpu_stack_init(&buffers, WAITING) != 0 || percpu_counter_init(&made) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	while ((n = percpu_stack_drain(&buffers, some, WAITING)) > 0)
		for (int i = 0; i < n; i++, found++)
			free(some[i]);
	printf("%d rounds, %ld buffers in the end\n", THREADS * ROUNDS, found);
	if (found != (long)percpu_counter_sum(&made))
		return 1;
	percpu_stack_destroy(&buffers);
	percpu_counter_destroy(&made);
	return 0;
}

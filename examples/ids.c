/* SPDX-License-Identifier: MIT */
/* Unique numbers for requests, drawn by many threads without a line that they share. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, REQUESTS = 10000 };

PERCPU_ID(request_id);

static uint64_t ids[THREADS][REQUESTS];

static void *serve(void *arg)
{
	uint64_t *drawn = (uint64_t *)arg;

	for (int i = 0; i < REQUESTS; i++)
		drawn[i] = percpu_id_next(&request_id);
	return NULL;
}

static int compare(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

int main(void)
{
	uint64_t *all = &ids[0][0];
	pthread_t threads[THREADS];
	int twice = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, ids[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	qsort(all, THREADS * REQUESTS, sizeof(*all), compare);
	for (int i = 1; i < THREADS * REQUESTS; i++)
		twice += all[i] == all[i - 1];
	printf("%d numbers, %d of them drawn twice\n", THREADS * REQUESTS, twice);
	return twice ? 1 : 0;
}

/* SPDX-License-Identifier: MIT */
/* A number that is polled all the time: one load, with an error that is known. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, PAGES = 100000 };

static struct percpu_zone pages;

static void *allocate(void *arg)
{
	for (int i = 0; i < PAGES; i++)
		percpu_zone_inc(&pages);
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	long long seen;
	long long error;

	if (percpu_zone_init(&pages, 8, 64) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, allocate, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	seen = percpu_zone_read(&pages);
	error = percpu_zone_error(&pages);
	printf("about %lld pages (off by %lld at most), exactly %lld\n", seen, error,
	       (long long)percpu_zone_sum(&pages));
	percpu_zone_destroy(&pages);
	return seen >= THREADS * PAGES - error && seen <= THREADS * PAGES + error ? 0 : 1;
}

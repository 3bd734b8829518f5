/* SPDX-License-Identifier: MIT */
/*
 * A structure of one's own in per-CPU memory: a histogram of latencies. Each CPU counts in its own
 * copy; the reader adds the copies up.
 */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { BUCKETS = 8, THREADS = 4, REQUESTS = 100000 };

struct histogram {
	unsigned long bucket[BUCKETS]; /* 2^i ns and more */
};

static struct histogram *latencies;

static unsigned bucket_of(unsigned ns)
{
	unsigned i = 0;

	while (i < BUCKETS - 1 && ns >> (i + 1))
		i++;
	return i;
}

static void *serve(void *arg)
{
	for (unsigned i = 0; i < REQUESTS; i++)
		percpu_this_inc(&latencies->bucket[bucket_of(i % 200)]);
	return arg;
}

static unsigned long sum_bucket(unsigned i)
{
	unsigned long sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += percpu_ptr(latencies, slot)->bucket[i];
	return sum;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned long total = 0;

	latencies = percpu_new(struct histogram);
	if (!latencies)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < BUCKETS; i++) {
		printf("%3u ns and more: %lu\n", 1u << i, sum_bucket(i));
		total += sum_bucket(i);
	}
	percpu_free(latencies);
	return total == (unsigned long)THREADS * REQUESTS ? 0 : 1;
}

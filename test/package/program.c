/* SPDX-License-Identifier: MIT */
/*
 * A user's program, valid C11 and C++17. Two threads count on a static counter, on an allocated
 * one and on a bare word; the sums must be exact.
 */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

#include "program.h"

enum { THREADS = 2, ROUNDS = 10000 };

PERCPU_COUNTER(hits);

static struct percpu_counter requests;
static long *word;

static void *count(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		percpu_counter_inc(&hits);
		percpu_counter_add(&requests, 2);
		percpu_this_add(word, 3);
		count_here(word);
		count_elsewhere(word);
	}
	return arg;
}

static long sum_word(void)
{
	long sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	return sum;
}

int main(void)
{
	pthread_t threads[THREADS];

	word = percpu_new(long);
	if (!word || percpu_counter_init(&requests) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, count, NULL) != 0)
			return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	if (percpu_counter_sum(&hits) != THREADS * ROUNDS ||
	    percpu_counter_sum(&requests) != 2 * THREADS * ROUNDS ||
	    sum_word() != 5 * THREADS * ROUNDS) {
		fprintf(stderr, "%lld %lld %ld\n", (long long)percpu_counter_sum(&hits),
			(long long)percpu_counter_sum(&requests), sum_word());
		return 1;
	}
	percpu_counter_destroy(&requests);
	if (percpu_free(word) != 0)
		return 1;
	puts("exact");
	return 0;
}

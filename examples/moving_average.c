/* SPDX-License-Identifier: MIT */
/*
 * An exponentially weighted moving average per CPU: each sample moves it by an eighth of the
 * difference. No single instruction does that; a transaction does.
 */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, SAMPLES = 100000, FRACTION = 256, WEIGHT = 8 };

static unsigned long *average; /* times FRACTION; 0: no sample yet */

static void add_sample(unsigned long value)
{
	PERCPU_TXN(txn)
	{
		const unsigned long *here = percpu_txn_ptr(&txn, average);
		unsigned long old = *here, sample = value * FRACTION;

		if (!old)
			old = sample;
		percpu_txn_commit(&txn, here, old - old / WEIGHT + sample / WEIGHT);
	}
}

/* High for a while, then low: the average forgets. */
static void *measure(void *arg)
{
	for (unsigned i = 0; i < SAMPLES; i++)
		add_sample(i < SAMPLES / 2 ? 1000 : 100);
	for (unsigned i = 0; i < 200; i++)
		add_sample(100);
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned long sum = 0, used = 0, mean;

	average = percpu_new(unsigned long);
	if (!average)
		return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, measure, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		sum += *percpu_ptr(average, slot);
		used += *percpu_ptr(average, slot) != 0;
	}
	mean = sum / used / FRACTION;
	printf("average %lu\n", mean);
	percpu_free(average);
	return mean >= 100 && mean <= 1000 ? 0 : 1;
}

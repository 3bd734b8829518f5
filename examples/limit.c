/* SPDX-License-Identifier: MIT */
/* Admission control: at most 1000 connections at once, whatever the threads do. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { MOST = 1000, THREADS = 4 };

static struct percpu_limit connections;

/* Takes as many as it can get, and tells how many that were. */
static void *connect_all(void *arg)
{
	long *taken = (long *)arg;

	while (percpu_limit_add(&connections, 1) == 0)
		(*taken)++;
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	long taken[THREADS] = {0};
	long total = 0;

	if (percpu_limit_init(&connections, MOST) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, connect_all, &taken[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		total += taken[i];
	}
	printf("%ld connections, %lld counted\n", total, (long long)percpu_limit_sum(&connections));
	percpu_limit_destroy(&connections);
	return total <= MOST ? 0 : 1;
}

/* SPDX-License-Identifier: MIT */
/* Count from many threads, and read the exact total. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

PERCPU_COUNTER(hits);

static void *serve(void *arg)
{
	for (int i = 0; i < 1000000; i++)
		percpu_counter_inc(&hits);
	return arg;
}

int main(void)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%lld hits\n", (long long)percpu_counter_sum(&hits));
	return percpu_counter_sum(&hits) == 4000000 ? 0 : 1;
}

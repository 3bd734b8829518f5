/* SPDX-License-Identifier: MIT */
/* A race of the user's own, beside calls that are none: ThreadSanitizer must see the one alone. */
#include <pthread.h>
#include <stdio.h>

#include <percpu/percpu.h>

static PERCPU_COUNTER(hits);
static int racy;

static void *hit(void *arg)
{
	(void)arg;
	for (int i = 0; i < 10000; i++) {
		percpu_counter_inc(&hits);
		racy++;
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;

	if (pthread_create(&thread, NULL, hit, NULL) != 0)
		return 0;
	hit(NULL);
	pthread_join(thread, NULL);
	printf("%d %lld\n", racy, (long long)percpu_counter_sum(&hits));
	return 0;
}

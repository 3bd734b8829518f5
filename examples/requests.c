/* SPDX-License-Identifier: MIT */
/* Free objects kept per CPU: threads take one, use it and give it back, without a shared line. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 100000 };

struct request {
	struct percpu_list_node node;
	char text[120];
};

static struct percpu_list free_requests;
static struct percpu_counter made;

static struct request *get(void)
{
	struct percpu_list_node *node;
	struct request *request;

	if (percpu_list_pop(&free_requests, &node) == 0)
		return percpu_list_entry(node, struct request, node);
	request = malloc(sizeof(*request));
	if (!request)
		exit(1);
	percpu_list_node_init(&request->node);
	percpu_counter_inc(&made);
	return request;
}

static void *serve(void *arg)
{
	for (int i = 0; i < ROUNDS; i++) {
		struct request *request = get();

		snprintf(request->text, sizeof(request->text), "request %d", i);
		percpu_list_push(&free_requests, &request->node);
	}
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct percpu_list_node *first, *node;
	long found = 0;

	if (percpu_list_init(&free_requests) != 0 || percpu_counter_init(&made) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);

	/* From every CPU. Nobody uses the list any more: now, and not before, memory may go. */
	percpu_list_drain(&free_requests, &first);
	while ((node = percpu_list_chain_pop(&first))) {
		free(percpu_list_entry(node, struct request, node));
		found++;
	}
	printf("%d rounds with %ld requests\n", THREADS * ROUNDS, found);
	if (found != (long)percpu_counter_sum(&made))
		return 1;
	percpu_list_destroy(&free_requests);
	percpu_counter_destroy(&made);
	return 0;
}

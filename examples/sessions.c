/* SPDX-License-Identifier: MIT */
/* Objects that many threads use and one takes away: freed after the last one has let go. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4 };

struct session {
	struct percpu_ref ref; /* first, so that it has the same address */
};

static long freed;
static int started;

static void free_session(struct percpu_ref *ref)
{
	__atomic_add_fetch(&freed, 1, __ATOMIC_RELAXED);
	free(ref);
}

/* Comes with a reference, and has some more for each request, until the session is killed. */
static void *serve(void *arg)
{
	struct session *session = (struct session *)arg;

	__atomic_add_fetch(&started, 1, __ATOMIC_RELAXED);
	while (percpu_ref_tryget_live(&session->ref))
		percpu_ref_put(&session->ref);
	percpu_ref_put(&session->ref);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct session *session = calloc(1, sizeof(*session));

	if (!session || percpu_ref_init(&session->ref, free_session) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++) {
		percpu_ref_get(&session->ref);
		pthread_create(&threads[i], NULL, serve, session);
	}
	while (__atomic_load_n(&started, __ATOMIC_RELAXED) < THREADS)
		;
	percpu_ref_kill(&session->ref);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	printf("%ld session freed\n", freed);
	return freed == 1 ? 0 : 1;
}

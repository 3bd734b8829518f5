/* SPDX-License-Identifier: MIT */
/*
 * A histogram whose buckets and sum belong together at every moment. The state is there twice: a
 * transaction fills the idle copy, and its one commit makes that the live one. The first stores go
 * where nobody looks.
 */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { BUCKETS = 6, THREADS = 4, REQUESTS = 100000 };

struct state {
	unsigned long bucket[BUCKETS], sum;
};

struct histogram {
	uintptr_t turn; /* bit 0: the live copy */
	struct state copy[2];
};

static struct histogram *latencies;

static void note(unsigned bucket, unsigned long ns)
{
	PERCPU_TXN(txn)
	{
		const struct histogram *here = percpu_txn_ptr(&txn, latencies);
		uintptr_t next = here->turn + 1;
		struct state state = here->copy[here->turn & 1];

		state.bucket[bucket]++;
		state.sum += ns;
		percpu_txn_commit_copy(&txn, &here->turn, next, &here->copy[next & 1], &state,
				       sizeof(state));
	}
}

/* Copies first and validates after: a turn that is still the same was the live one all the time. */
static void read_slot(unsigned slot, struct state *state)
{
	const struct histogram *here = percpu_ptr(latencies, slot);
	uintptr_t turn;

	do {
		turn = __atomic_load_n(&here->turn, __ATOMIC_ACQUIRE);
		memcpy(state, &here->copy[turn & 1], sizeof(*state));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (__atomic_load_n(&here->turn, __ATOMIC_RELAXED) != turn);
}

static void *serve(void *arg)
{
	for (unsigned i = 0; i < REQUESTS; i++)
		note(i % BUCKETS, 10 * (i % BUCKETS));
	return arg;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned long requests = 0, sum = 0, wanted = 0;

	latencies = percpu_new(struct histogram);
	if (!latencies)
		return 1;
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, NULL);
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		struct state state;

		read_slot(slot, &state);
		for (unsigned i = 0; i < BUCKETS; i++) {
			requests += state.bucket[i];
			wanted += 10ul * i * state.bucket[i];
		}
		sum += state.sum;
	}
	printf("%lu requests, %lu ns in all\n", requests, sum);
	percpu_free(latencies);
	return requests == (unsigned long)THREADS * REQUESTS && sum == wanted ? 0 : 1;
}

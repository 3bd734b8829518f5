/* SPDX-License-Identifier: MIT */
/*
 * A token bucket per CPU: it fills with time, up to a burst, and each request takes a token or is
 * turned away. Tokens and time change together, so they are kept twice, as in bucket_and_sum.c.
 */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, TICKS = 2000, BURST = 20, RATE = 3 /* tokens in a tick */ };

struct state {
	long tokens, tick, granted;
};

struct bucket {
	uintptr_t turn; /* bit 0: the live copy */
	struct state copy[2];
};

static struct bucket *buckets;

/* The time is read before: the body makes no system call, and a clock may be one. */
static int take(long now)
{
	int granted = 0;

	PERCPU_TXN(txn)
	{
		const struct bucket *here = percpu_txn_ptr(&txn, buckets);
		uintptr_t next = here->turn + 1;
		struct state state = here->copy[here->turn & 1];

		if (now > state.tick) {
			state.tokens += (now - state.tick) * RATE;
			state.tokens = state.tokens > BURST ? BURST : state.tokens;
			state.tick = now;
		}
		granted = state.tokens > 0;
		if (!granted) {
			percpu_txn_cancel(&txn);
			continue;
		}
		state.tokens--;
		state.granted++;
		percpu_txn_commit_copy(&txn, &here->turn, next, &here->copy[next & 1], &state,
				       sizeof(state));
	}
	return granted;
}

static void *serve(void *arg)
{
	long *granted = (long *)arg;

	for (long now = 1; now <= TICKS; now++)
		for (int i = 0; i < 10; i++)
			*granted += take(now);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	long granted[THREADS] = {0}, total = 0, counted = 0;
	int wrong = 0;

	buckets = percpu_new(struct bucket);
	if (!buckets)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, serve, &granted[i]);
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		total += granted[i];
	}
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const struct bucket *here = percpu_ptr(buckets, slot);
		const struct state *state = &here->copy[here->turn & 1];

		wrong |= state->granted > (long)TICKS * RATE;
		counted += state->granted;
	}
	printf("%ld of %d requests\n", total, THREADS * TICKS * 10);
	percpu_free(buckets);
	return wrong || total != counted || total == 0;
}

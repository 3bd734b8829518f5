/* SPDX-License-Identifier: MIT */
/*
 * The least and the greatest latency: two registers per CPU that only go up. What is compared and
 * what is stored is plain C in a transaction; most calls change nothing, and cancel.
 */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, REQUESTS = 100000 };

/* New memory is zero: so is a greatest value of nothing, and the complement of a least one. */
struct extremes {
	unsigned long greatest, least_complement;
};

static struct extremes *latencies;

static void note(unsigned long ns)
{
	PERCPU_TXN(txn)
	{
		const struct extremes *here = percpu_txn_ptr(&txn, latencies);

		if (here->greatest >= ns)
			percpu_txn_cancel(&txn);
		else
			percpu_txn_commit(&txn, &here->greatest, ns);
	}
	PERCPU_TXN(txn)
	{
		const struct extremes *here = percpu_txn_ptr(&txn, latencies);

		if (here->least_complement >= ~ns)
			percpu_txn_cancel(&txn);
		else
			percpu_txn_commit(&txn, &here->least_complement, ~ns);
	}
}

static void *serve(void *arg)
{
	unsigned long first = *(const unsigned long *)arg;

	for (unsigned long i = 0; i < REQUESTS; i++)
		note(first + (i * 7919) % 1000);
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned long first[THREADS], greatest = 0, complement = 0;

	latencies = percpu_new(struct extremes);
	if (!latencies)
		return 1;
	for (unsigned i = 0; i < THREADS; i++) {
		first[i] = 500 + 100ul * i;
		pthread_create(&threads[i], NULL, serve, &first[i]);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		const struct extremes *here = percpu_ptr(latencies, slot);

		greatest = here->greatest > greatest ? here->greatest : greatest;
		complement =
			here->least_complement > complement ? here->least_complement : complement;
	}
	printf("between %lu and %lu ns\n", ~complement, greatest);
	percpu_free(latencies);
	return ~complement == 500 && greatest == 1799 ? 0 : 1;
}

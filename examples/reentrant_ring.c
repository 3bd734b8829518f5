/* SPDX-License-Identifier: MIT */
/*
 * A ring of records that a thread writes, and its signal handler on top of it, in the middle of
 * anything: each takes a place with one add_return and fills it in. Checksums and numbers tell that
 * no record was lost and none is torn. RING_ATOMIC chooses the fallback, an atomic add_return: it
 * does the same, at a higher price.
 */
#if defined(RING_ATOMIC)
#define PERCPU_LOCAL_ATOMIC_WAY atomic
#endif
#define PERCPU_LOCAL_SHORT_NAMES
#include <percpu/local.h>

#include <signal.h>
#include <stdio.h>
#include <sys/time.h>

enum { PLACES = 64, WORDS = 4, THREAD = 0, HANDLER = 1, WRITERS = 2 };
enum { THREAD_RECORDS = 1000000, HANDLER_RECORDS = 500 };

struct record {
	unsigned long writer, number, word[WORDS], checksum;
};

static struct {
	DECLARE_LOCAL_ATOMIC(unsigned long, taken); /* places, ever: the next one is this one */
	DECLARE_LOCAL_ATOMIC(unsigned long, given); /* back, ever: records that were read */
	struct record place[PLACES];
} ring;

static unsigned long written[WRITERS], seen[WRITERS], wrong;

static unsigned long checksum(const struct record *r)
{
	unsigned long sum = r->writer * 31 + r->number;

	for (int i = 0; i < WORDS; i++)
		sum = sum * 31 + r->word[i];
	return sum;
}

/* False: the ring is full, and nothing has changed. What comes on top of the two steps that find
 * that out finds the same, and is over before the second. */
static bool ring_write(unsigned long writer)
{
	unsigned long at = local_atomic_add_return(unsigned long, &ring.taken, 1) - 1;
	struct record *r = &ring.place[at % PLACES];

	if (at - local_atomic_read(unsigned long, &ring.given) >= PLACES) {
		local_atomic_sub(unsigned long, &ring.taken, 1);
		return false;
	}
	r->writer = writer;
	r->number = written[writer]++;
	for (int i = 0; i < WORDS; i++)
		r->word[i] = at ^ r->number << i;
	r->checksum = checksum(r);
	return true;
}

/* By the thread when it is not writing: handlers have returned, so what is taken is complete. */
static void ring_read(void)
{
	unsigned long at = local_atomic_read(unsigned long, &ring.given);
	unsigned long end = local_atomic_read(unsigned long, &ring.taken);

	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* what handlers wrote is read after `taken` */
	for (; at != end; at++) {
		const struct record *r = &ring.place[at % PLACES];

		if (r->writer >= WRITERS || r->checksum != checksum(r) ||
		    r->number != seen[r->writer]++)
			wrong++;
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST); /* and before they may write there again */
	local_atomic_set(unsigned long, &ring.given, end);
}

static void on_alarm(int sig)
{
	(void)sig;
	(void)ring_write(HANDLER);
}

int main(void)
{
	const struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
	volatile unsigned long *handled = &written[HANDLER];

	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &often, NULL);
	while (written[THREAD] < THREAD_RECORDS || *handled < HANDLER_RECORDS)
		if (!ring_write(THREAD))
			ring_read();
	setitimer(ITIMER_REAL, &never, NULL);
	ring_read();
	printf("%lu records by the thread, %lu by its handler, %lu wrong\n", seen[THREAD],
	       seen[HANDLER], wrong);
	return wrong || seen[THREAD] != written[THREAD] || seen[HANDLER] != written[HANDLER];
}

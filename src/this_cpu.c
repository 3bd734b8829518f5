/* SPDX-License-Identifier: MIT */
/*
 * Operations on words in shared slots, and the sequences as calls.
 *
 * A shared slot has a lock word of its own (I2), taken with one atomic exchange for the length of
 * one operation. Inside it the operation is what its sequence does, in plain C with the commit
 * last. Nobody waits for a lock that is held: not by another thread, and not by the code that a
 * signal handler interrupted; he takes the next slot. So handlers need no signals held off (I8),
 * at the price of two atomic stores an operation.
 *
 *	S1  a word in a shared slot is written only by the holder of that slot's lock
 *	S2  a holder enters no kernel, calls nothing and takes no second lock
 *	S3  one committing store, the last: a child forked while another thread was inside finds
 *	    the lock free (the words are wiped by fork) and the operation done or not begun
 *
 * All slots held at once means as many threads preempted or interrupted inside as there are slots:
 * then the processor is offered to them.
 */
#include "internal.h"

#include <time.h>

#include <percpu/this_cpu.h>

struct shared_lock {
	uint32_t held;
	char pad[60];
};

static struct shared_lock locks_without_page[PERCPU__SHARED_MIN];
static struct shared_lock *locks = locks_without_page;

size_t percpu__shared_size(unsigned slots)
{
	return slots * sizeof(*locks);
}

unsigned percpu__shared_start(void *memory, unsigned slots)
{
	if (!memory)
		return PERCPU__SHARED_MIN;
	locks = memory;
	return slots;
}

bool percpu__shared_try_hold(uint32_t slot)
{
	uint32_t *held = &locks[slot - percpu__rt_writable.ncpus].held;

	return __atomic_exchange_n(held, 1, __ATOMIC_ACQUIRE) == 0;
}

/* A signal handler may move the thread to another slot at any instruction: work on a copy. */
static COLD uint32_t hold_another(void)
{
	uint32_t shared = percpu__rt_writable.nslots - percpu__rt_writable.ncpus;
	uint32_t tried = 0;

	for (;;) {
		uint32_t slot = percpu__shared_move();
		if (percpu__shared_try_hold(slot))
			return slot;
		if (++tried % shared == 0)
			percpu__yield();
	}
}

uint32_t percpu__shared_slot(void)
{
	while (!percpu__thread_ready())
		percpu__yield();
	return *(volatile uint32_t *)&percpu__self.shared;
}

/* A holder of lower priority on this CPU gets on only while this thread sleeps. */
COLD void percpu__shared_wait_hold(uint32_t slot)
{
	const struct timespec pause = {0, 50000};
	int saved = errno;

	for (unsigned tries = 0; !percpu__shared_try_hold(slot); tries++)
		if (tries < 10)
			percpu__yield();
		else
			(void)nanosleep(&pause, NULL);
	errno = saved;
}

uint32_t percpu__shared_hold(void)
{
	uint32_t slot = percpu__shared_slot();

	if (__builtin_expect(percpu__shared_try_hold(slot), 1))
		return slot;
	return hold_another();
}

void percpu__shared_release(uint32_t slot)
{
	__atomic_store_n(&locks[slot - percpu__rt_writable.ncpus].held, 0, __ATOMIC_RELEASE);
}

/* The value as a word of that size holds it. */
static inline percpu__word narrow(percpu__word value, size_t size)
{
	switch (size) {
	case 1:
		return (uint8_t)value;
	case 2:
		return (uint16_t)value;
	case 4:
		return (uint32_t)value;
	default:
		return value;
	}
}

percpu__word percpu__shared_read(const void *p, size_t size)
{
	while (!percpu__thread_ready())
		percpu__yield();
	return percpu__load_word(percpu__slot(p, percpu__self.shared), size);
}

void percpu__shared_add(void *p, percpu__word value, size_t size)
{
	uint32_t slot;

	(void)percpu__shared_add_return(p, value, size, &slot);
}

void percpu__shared_and(void *p, percpu__word value, size_t size)
{
	uint32_t slot = percpu__shared_hold();
	void *copy = percpu__slot(p, slot);

	percpu__store_word(copy, percpu__load_word(copy, size) & value, size);
	percpu__shared_release(slot);
}

void percpu__shared_or(void *p, percpu__word value, size_t size)
{
	uint32_t slot = percpu__shared_hold();
	void *copy = percpu__slot(p, slot);

	percpu__store_word(copy, percpu__load_word(copy, size) | value, size);
	percpu__shared_release(slot);
}

percpu__word percpu__shared_add_return(void *p, percpu__word value, size_t size, uint32_t *slot)
{
	uint32_t held = percpu__shared_hold();
	void *copy = percpu__slot(p, held);
	percpu__word sum = narrow(percpu__load_word(copy, size) + value, size);

	percpu__store_word(copy, sum, size);
	percpu__shared_release(held);
	*slot = held;
	return sum;
}

percpu__word percpu__shared_xchg(void *p, percpu__word value, size_t size, uint32_t *slot)
{
	uint32_t held = percpu__shared_hold();
	void *copy = percpu__slot(p, held);
	percpu__word previous = percpu__load_word(copy, size);

	percpu__store_word(copy, value, size);
	percpu__shared_release(held);
	*slot = held;
	return previous;
}

percpu__word percpu__shared_cmpxchg(void *p, percpu__word expect, percpu__word value, size_t size,
				    uint32_t *slot)
{
	uint32_t held = percpu__shared_hold();
	void *copy = percpu__slot(p, held);
	percpu__word previous = percpu__load_word(copy, size);

	if (previous == narrow(expect, size))
		percpu__store_word(copy, value, size);
	percpu__shared_release(held);
	*slot = held;
	return previous;
}

bool percpu__shared_cmpxchg2(void *p, percpu__word expect, percpu__word value, void *p2,
			     percpu__word expect2, size_t size, uint32_t *slot)
{
	uint32_t held = percpu__shared_hold();
	void *copy = percpu__slot(p, held);
	bool equal = percpu__load_word(percpu__slot(p2, held), size) == narrow(expect2, size) &&
		     percpu__load_word(copy, size) == narrow(expect, size);

	if (equal)
		percpu__store_word(copy, value, size);
	percpu__shared_release(held);
	*slot = held;
	return equal;
}

void percpu__outline_add(void *p, percpu__word value, size_t size)
{
	percpu__word_add(p, value, size);
}

void percpu__outline_and(void *p, percpu__word value, size_t size)
{
	percpu__word_and(p, value, size);
}

void percpu__outline_or(void *p, percpu__word value, size_t size)
{
	percpu__word_or(p, value, size);
}

percpu__word percpu__outline_add_return(void *p, percpu__word value, size_t size, uint32_t *slot)
{
	return percpu__word_add_return(p, value, size, slot);
}

percpu__word percpu__outline_xchg(void *p, percpu__word value, size_t size, uint32_t *slot)
{
	return percpu__word_xchg(p, value, size, slot);
}

percpu__word percpu__outline_cmpxchg(void *p, percpu__word expect, percpu__word value, size_t size,
				     uint32_t *slot)
{
	return percpu__word_cmpxchg(p, expect, value, size, slot);
}

bool percpu__outline_cmpxchg2(void *p, percpu__word expect, percpu__word value, void *p2,
			      percpu__word expect2, size_t size, uint32_t *slot)
{
	return percpu__word_cmpxchg2(p, expect, value, p2, expect2, size, slot);
}

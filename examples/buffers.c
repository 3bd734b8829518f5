/* SPDX-License-Identifier: MIT */
/* A buffer of log lines per CPU: threads append under their CPU's lock, one thread drains them all. */
#include <percpu/percpu.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, LINES = 50000, ROOM = 64 };

struct buffer {
	unsigned used;
	int lines[ROOM];
};

static PERCPU_LOCK(lock);
static struct buffer *buffers;
static long written; /* by whoever holds the slot that it comes from, so an atomic */

static void flush(struct buffer *buffer)
{
	__atomic_add_fetch(&written, buffer->used, __ATOMIC_RELAXED);
	buffer->used = 0;
}

static void *work(void *arg)
{
	for (int i = 0; i < LINES; i++) {
		int slot = percpu_lock(&lock);
		struct buffer *buffer;

		if (slot < 0)
			return NULL;
		buffer = percpu_locked_ptr(buffers, slot);
		if (buffer->used == ROOM)
			flush(buffer);
		buffer->lines[buffer->used++] = i;
		percpu_unlock(&lock, slot);
	}
	return arg;
}

/* From outside, while the threads go on. */
static void drain(void)
{
	for (int slot = 0; slot < (int)percpu_nslots(); slot++) {
		if (percpu_lock_remote(&lock, slot) != 0)
			continue;
		flush(percpu_locked_ptr(buffers, slot));
		percpu_unlock_remote(&lock, slot);
	}
}

int main(void)
{
	pthread_t threads[THREADS];

	buffers = percpu_new(struct buffer);
	if (!buffers)
		return 1;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, work, NULL);
	for (int i = 0; i < 20; i++)
		drain();
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	drain();
	printf("%ld lines\n", written);
	percpu_lock_destroy(&lock);
	percpu_free(buffers);
	return written == (long)THREADS * LINES ? 0 : 1;
}

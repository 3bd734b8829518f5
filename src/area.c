/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU memory in chunks. A chunk is one mapping with a copy of the same PERCPU_STRIDE bytes for
 * every slot; an object has the same offset in all of them:
 *
 *	base    +STRIDE                          +nslots*STRIDE
 *	| CPU 0 | CPU 1 | ... | shared 0 | shared 1 | ... | notes |
 *	  ^ percpu pointer = base + offset
 *
 * Which offsets are taken is kept beside it, one bit per granule of 8 bytes, with a second bitmap
 * for where objects begin. All of it is under the library's lock. What must hold:
 *
 *	A1  free granules are zero in every slot
 *	A2  each change is ordered so that a child forked in the middle of it (_Fork, clone) loses
 *	    granules at worst: bits are set before an object exists and cleared after it is gone, and
 *	    granules are counted as taken before their bits are set and until they are cleared
 *	A3  no byte of a slot is touched before somebody writes it; the pages are never huge and
 *	    never locked ahead of use
 */
#include "internal.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULE 8u
#define GRANULES (PERCPU_STRIDE / GRANULE)
/* The tail of a slot keeps neighbours' lines apart; only objects that need it get it. */
#define GRANULES_SMALL (65536u / GRANULE)
#define WORD_BITS (8 * sizeof(unsigned long))
#define WORDS ((GRANULES + WORD_BITS - 1) / WORD_BITS)

struct chunk {
	char *base;
	struct chunk *next;
	size_t mapped;  /* bytes */
	unsigned taken; /* granules */
	unsigned low;   /* no granule below it is free */
	unsigned long used[WORDS];
	unsigned long first[WORDS];
};

static struct chunk *chunks;

static bool get(const unsigned long *map, unsigned i)
{
	return map[i / WORD_BITS] >> (i % WORD_BITS) & 1;
}

static void put(unsigned long *map, unsigned i, bool value)
{
	unsigned long bit = 1ul << (i % WORD_BITS);

	if (value)
		map[i / WORD_BITS] |= bit;
	else
		map[i / WORD_BITS] &= ~bit;
}

/* Address space without memory. PROT_NONE first: mlockall(MCL_FUTURE) would populate all of it. */
static char *reserve(size_t size)
{
	void *base =
		mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED)
		return NULL;
	(void)munlock(base, size);
	(void)madvise(base, size, MADV_NOHUGEPAGE);
	if (mprotect(base, size, PROT_READ | PROT_WRITE) != 0) {
		munmap(base, size);
		return NULL;
	}
	return base;
}

/* NULL without memory, and to an allocator that the library's start itself called: the number of
 * slots is not known yet. */
static struct chunk *chunk_new(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t slots = percpu__rt_writable.nslots + PERCPU__NOTE_SLOTS;
	size_t mapped = (slots * PERCPU_STRIDE + page - 1) / page * page;
	int saved = errno; /* a failure is told by the result */
	struct chunk *chunk;

	if (percpu__rt_writable.nslots == 0)
		return NULL;
	chunk = mmap(NULL, sizeof(*chunk), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		     0);
	if (chunk == MAP_FAILED) {
		errno = saved;
		return NULL;
	}
	chunk->mapped = mapped;
	chunk->base = reserve(mapped);
	errno = saved;
	if (!chunk->base) {
		munmap(chunk, sizeof(*chunk));
		return NULL;
	}
	chunk->next = chunks;
	__atomic_store_n(&chunks, chunk, __ATOMIC_RELEASE);
	return chunk;
}

static void chunk_free(struct chunk *chunk)
{
	struct chunk **at = &chunks;

	while (*at != chunk)
		at = &(*at)->next;
	*at = chunk->next;
	munmap(chunk->base, chunk->mapped);
	munmap(chunk, sizeof(*chunk));
}

/* The first run of n free granules at a multiple of align, or GRANULES. */
static unsigned find_run(const struct chunk *chunk, unsigned n, unsigned align)
{
	unsigned limit = n > GRANULES_SMALL ? GRANULES : GRANULES_SMALL;
	unsigned start = (chunk->low + align - 1) / align * align;
	unsigned i = start;

	while (start + n <= limit) {
		if (i == start + n)
			return start;
		if (i % WORD_BITS == 0 && chunk->used[i / WORD_BITS] == ~0ul)
			i += WORD_BITS;
		else if (get(chunk->used, i))
			i++;
		else {
			i++;
			continue;
		}
		start = (i + align - 1) / align * align;
		i = start;
	}
	return GRANULES;
}

/* Word by word: objects are whole granules. */
static bool is_zero(const char *p, size_t size)
{
	uint64_t word;

	for (size_t i = 0; i < size; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		if (word)
			return false;
	}
	return true;
}

#if defined(PERCPU_DEBUG)
static bool zero_in_every_slot(const char *p, size_t size)
{
	unsigned slots = percpu__rt_writable.nslots + PERCPU__NOTE_SLOTS;

	while (slots--)
		if (!is_zero(percpu__slot(p, slots), size))
			return false;
	return true;
}
#endif

static void take(struct chunk *chunk, unsigned start, unsigned n)
{
	chunk->taken += n;
	PERCPU__BARRIER(); /* A2, for the compiler; here and below */
	for (unsigned i = start; i < start + n; i++)
		put(chunk->used, i, true);
	PERCPU__BARRIER();
	put(chunk->first, start, true);
	while (chunk->low < GRANULES_SMALL && get(chunk->used, chunk->low))
		chunk->low++;
}

int percpu__alloc_locked(void **p, size_t size, size_t align)
{
	unsigned n = (unsigned)((size + GRANULE - 1) / GRANULE);
	unsigned step = align > GRANULE ? (unsigned)(align / GRANULE) : 1;
	struct chunk *chunk;
	unsigned start = GRANULES;

	for (chunk = chunks; chunk; chunk = chunk->next) {
		start = find_run(chunk, n, step);
		if (start != GRANULES)
			break;
	}
	if (!chunk) {
		chunk = chunk_new();
		if (!chunk)
			return -ENOMEM;
		start = find_run(chunk, n, step);
	}
	take(chunk, start, n);
	*p = chunk->base + (size_t)start * GRANULE;
	INVARIANT("A1", zero_in_every_slot(*p, (size_t)n * GRANULE));
	return 0;
}

static struct chunk *chunk_of(const void *p)
{
	struct chunk *chunk = chunks;

	while (chunk &&
	       ((const char *)p < chunk->base || (const char *)p >= chunk->base + PERCPU_STRIDE))
		chunk = chunk->next;
	return chunk;
}

void percpu__zero(void *p, size_t size)
{
	unsigned slots = percpu__rt_writable.nslots + PERCPU__NOTE_SLOTS;

	for (unsigned slot = 0; slot < slots; slot++) {
		void *copy = percpu__slot(p, slot);
		if (!is_zero(copy, size))
			memset(copy, 0, size);
	}
}

/* How many granules the object that begins at start has. */
static unsigned extent(const struct chunk *chunk, unsigned start)
{
	unsigned end = start + 1;

	while (end < GRANULES && get(chunk->used, end) && !get(chunk->first, end))
		end++;
	return end - start;
}

int percpu__free_locked(void *p)
{
	struct chunk *chunk = chunk_of(p);
	size_t offset = chunk ? (size_t)((char *)p - chunk->base) : 1;
	unsigned start = (unsigned)(offset / GRANULE);
	unsigned n;

	if (offset % GRANULE != 0 || !get(chunk->first, start))
		return -EINVAL;
	n = extent(chunk, start);
	percpu__zero(p, (size_t)n * GRANULE);
	INVARIANT("A2", get(chunk->used, start));
	put(chunk->first, start, false);
	PERCPU__BARRIER();
	for (unsigned i = start; i < start + n; i++)
		put(chunk->used, i, false);
	PERCPU__BARRIER();
	chunk->taken -= n;
	if (start < chunk->low)
		chunk->low = start;
	if (chunk->taken == 0 && (chunks != chunk || chunk->next))
		chunk_free(chunk);
	return 0;
}

int percpu_alloc(void **p, size_t size, size_t align)
{
	sigset_t saved;
	int result;

	if (!p)
		return -EINVAL;
	*p = NULL;
	if (size == 0 || size > PERCPU_SIZE_MAX || align == 0 || (align & (align - 1)) != 0 ||
	    align > PERCPU_ALIGN_MAX)
		return -EINVAL;
	percpu__start();
	percpu__lock(&saved);
	result = percpu__alloc_locked(p, size, align);
	percpu__unlock(&saved);
	return result;
}

int percpu_free(void *p)
{
	sigset_t saved;
	int result;

	if (!p)
		return 0;
	percpu__start();
	/* Aborts what is under way in it. Where there is no fence the caller's word must do. */
	(void)percpu_fence();
	percpu__lock(&saved);
	result = percpu__free_locked(p);
	percpu__unlock(&saved);
	return result;
}

int percpu_usage(struct percpu_usage_info *usage)
{
	sigset_t saved;

	if (!usage)
		return -EINVAL;
	usage->allocated = usage->reserved = 0;
	percpu__start();
	percpu__lock(&saved);
	for (const struct chunk *chunk = chunks; chunk; chunk = chunk->next) {
		usage->allocated += (size_t)chunk->taken * GRANULE;
		usage->reserved += chunk->mapped;
	}
	percpu__unlock(&saved);
	return 0;
}

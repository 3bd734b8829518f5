/* SPDX-License-Identifier: MIT */
/*
 * Histograms. In each slot one has these cells, of 64 bits each:
 *
 *	journal   (the sum as it shall be) * 2 + (whether the observed bucket was odd before)
 *	sum       of all values, and 1 for each observation; modulo 2^63
 *	buckets   how many observations each has
 *
 * An observation is three stores:
 *
 *	1  journal: from what it was to what comes. From here on it has happened.
 *	2  its bucket + 1
 *	3  sum = what the journal says
 *
 * Whoever finds that the sum is not the journal's has found an observation between 1 and 3: its value
 * is the difference, less 1; from that its bucket; and whether step 2 was done is told by the
 * bucket's parity. So the next writer finishes it, a reader adds it to what it copied, and a process
 * that is killed at any instruction leaves nothing half.
 *
 *	J1  Each store is a compare-exchange: in a CPU slot a sequence, in a shared slot an atomic. So
 *	    several may finish one observation at once, and only one of them does.
 *	J2  No cell ever has a value twice: a bucket counts up, the sum grows by at least 1 with each
 *	    observation, and the journal has that sum. So a compare-exchange that finds what was read
 *	    before finds that nothing has happened in between, however long ago that was. (The sum
 *	    comes round after 2^63.)
 *	J3  The journal changes only while the sum is its sum. So the bucket of an observation is
 *	    changed by nothing else while that is under way, and its parity means what it says.
 *	J4  The stores become visible in this order.
 *	J5  A sequence looks whether it is on the CPU whose cells were read: values of another CPU's
 *	    journal may be the same. The first word of each slot says whose it is. It is stored by
 *	    whoever finds it 0, and is never anything else.
 */
#include "events_state.h"

/* Times that a slot is tried before the next one is. */
#define TRIES 16

struct cells {
	uint64_t *journal, *sum, *buckets;
	const struct percpu__handle *cpu; /* the plane, in a CPU slot; NULL in a shared one */
	uint64_t owner;                   /* J5 */
};

#if ARCH_HAVE_SEQ_8

/* clang-format off */

/* If the slot's first word is owner and *p is expect: *p = value. p is an address in that slot. */
static inline bool cpu_replace(const struct percpu__handle *handle, uint64_t owner, uint64_t *p,
			uint64_t expect, uint64_t value)
{
	const long offset = percpu__rt_writable.rseq_offset;
	int answer = PERCPU__UNAVAILABLE;
	uint64_t data;
	PERCPU__DELAYS_LOCAL
	__asm__ volatile(PERCPU__DESCRIPTOR
			 PERCPU__EXIT_POINT("2f", "6f")
			 ARCH_ARM("5b")
			 "2:\n\t" PERCPU__POINT(1) ARCH_CPU(ARCH_CPU_A)
			 ARCH_LEAVE_UNLESS_BELOW_HANDLE("6f")
			 PERCPU__POINT(2) ARCH_SCALE_A ARCH_ADD_HANDLE_BASE PERCPU__POINT(3)
			 ARCH_LEAVE_IF_NE_BY(8, "owner", "data", "6f")
			 PERCPU__EXIT_POINT("2b", "6f")
			 ARCH_POINT_B("%[p]")
			 ARCH_LEAVE_IF_NE_B(8, "expect", "6f")
			 PERCPU__POINT_KEEPING_B(4) ARCH_STORE_B(8, "value", "data")
			 "3:\n\t" PERCPU__POINT(5)
			 PERCPU__COLD_BEGIN
			 PERCPU__ABORT_ENTRY("histogram")
			 "6:\n\t" ARCH_ANSWER("answer", "0") ARCH_JUMP("3b")
			 PERCPU__COLD_END
			 : [answer] ARCH_C_BUDGET(answer), [data] ARCH_C_OUT_8(data)
			 : [rseq] ARCH_C_RSEQ(offset), ARCH_C_HANDLE(handle),
			   [owner] ARCH_C_IN_8(owner), [p] ARCH_C_BASE(p),
			   [expect] ARCH_C_IN_8(expect), [value] ARCH_C_IN_8(value) PERCPU__DELAYS
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	return answer != 0;
}

#if ARCH_STORES_IN_ORDER
/* Steps 2 and 3 at once: if the slot's first word is owner and *sum is expect: *bucket = n, *sum =
 * value. The first store may be all that happens; then step 2 is done. Where sum is what it was, n
 * is what step 2 makes of the bucket, whoever does it (J3). */
static inline bool cpu_finish(const struct percpu__handle *handle, uint64_t owner, uint64_t *sum,
			      uint64_t expect, uint64_t value, uint64_t *bucket, uint64_t n)
{
	const long offset = percpu__rt_writable.rseq_offset;
	int answer = PERCPU__UNAVAILABLE;
	uint64_t data;
	PERCPU__DELAYS_LOCAL
	__asm__ volatile(PERCPU__DESCRIPTOR
			 PERCPU__EXIT_POINT("2f", "6f")
			 ARCH_ARM("5b")
			 "2:\n\t" PERCPU__POINT(1) ARCH_CPU(ARCH_CPU_A)
			 ARCH_LEAVE_UNLESS_BELOW_HANDLE("6f")
			 PERCPU__POINT(2) ARCH_SCALE_A ARCH_ADD_HANDLE_BASE PERCPU__POINT(3)
			 ARCH_LEAVE_IF_NE_BY(8, "owner", "data", "6f")
			 PERCPU__EXIT_POINT("2b", "6f")
			 ARCH_POINT_B("%[sum]")
			 ARCH_LEAVE_IF_NE_B(8, "expect", "6f")
			 ARCH_POINT_A("%[bucket]") ARCH_STORE(8, "n")
			 PERCPU__POINT_KEEPING_B(4) ARCH_STORE_B(8, "value", "data")
			 "3:\n\t" PERCPU__POINT(5)
			 PERCPU__COLD_BEGIN
			 PERCPU__ABORT_ENTRY("histogram_finish")
			 "6:\n\t" ARCH_ANSWER("answer", "0") ARCH_JUMP("3b")
			 PERCPU__COLD_END
			 : [answer] ARCH_C_BUDGET(answer), [data] ARCH_C_OUT_8(data)
			 : [rseq] ARCH_C_RSEQ(offset), ARCH_C_HANDLE(handle),
			   [owner] ARCH_C_IN_8(owner), [sum] ARCH_C_BASE(sum),
			   [expect] ARCH_C_IN_8(expect), [value] ARCH_C_IN_8(value),
			   [bucket] ARCH_C_BASE(bucket), [n] ARCH_C_IN_8(n) PERCPU__DELAYS
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	return answer != 0;
}
#endif

/* clang-format on */

#else

static inline bool cpu_replace(const struct percpu__handle *handle, uint64_t owner, uint64_t *p,
			       uint64_t expect, uint64_t value)
{
	return (void)handle, (void)owner, (void)p, (void)expect, (void)value, false;
}

#endif

/* J1, J4. On a CPU without 64-bit atomics sets are private, and cells have a lock (cell.c). */
static inline __attribute__((always_inline)) bool replace(const struct cells *cells, uint64_t *p,
							  uint64_t expect, uint64_t value)
{
	int64_t seen = (int64_t)expect;

	if (cells->cpu) {
		__atomic_thread_fence(__ATOMIC_RELEASE);
		return cpu_replace(cells->cpu, cells->owner, p, expect, value);
	}
#if ARCH_ATOMIC_64
	return __atomic_compare_exchange_n((percpu__cell *)p, &seen, (int64_t)value, false,
					   __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
#else
	return percpu__cell_replace((percpu__cell *)p, &seen, (int64_t)value);
#endif
}

static inline uint64_t load(const uint64_t *p)
{
#if ARCH_ATOMIC_64
	return (uint64_t)__atomic_load_n((const percpu__cell *)p, __ATOMIC_ACQUIRE);
#else
	return (uint64_t)percpu__cell_read((const percpu__cell *)p);
#endif
}

static inline unsigned bucket_of(const struct percpu__histogram *histogram, uint64_t value)
{
	return segment_bucket(value, histogram->shift, histogram->precision, histogram->last);
}

/* The observation that the journal has and the sum has not. */
static inline uint64_t pending(uint64_t journal, uint64_t sum)
{
	return ((journal >> 1) - sum - 1) & SEGMENT_SUM_MASK;
}

/* Steps 2 and 3 of somebody else's observation. */
static COLD void finish(const struct percpu__histogram *histogram, const struct cells *cells,
			uint64_t journal, uint64_t sum)
{
	uint64_t *bucket = &cells->buckets[bucket_of(histogram, pending(journal, sum))];
	uint64_t n = load(bucket);

	/* If it is another by now, that was finished, and n may be anything (J3). */
	if (load(cells->journal) != journal)
		return;
	if ((n & 1) == (journal & 1) && !replace(cells, bucket, n, n + 1) && cells->cpu)
		return; /* aborted, or done by another: look again */
	(void)replace(cells, cells->sum, sum, journal >> 1);
}

/* False: somebody intervened, nothing has happened. */
static bool observe(const struct percpu__histogram *histogram, const struct cells *cells,
		    uint64_t value)
{
	uint64_t journal = load(cells->journal);
	uint64_t sum = load(cells->sum);
	uint64_t *bucket = &cells->buckets[bucket_of(histogram, value)];
	uint64_t next = (sum + value + 1) & SEGMENT_SUM_MASK;
	uint64_t n;

	if (UNLIKELY(journal >> 1 != sum)) {
		finish(histogram, cells, journal, sum);
		return false;
	}
	n = load(bucket);
	if (!replace(cells, cells->journal, journal, next << 1 | (n & 1)))
		return false;
	/* It has happened. What is refused from here on is done by others. */
	if (replace(cells, bucket, n, n + 1) || !cells->cpu)
		(void)replace(cells, cells->sum, sum, next);
	return true;
}

static inline void find(struct cells *cells, char *copy)
{
	cells->journal = (uint64_t *)(void *)copy;
	cells->sum = cells->journal + 1;
	cells->buckets = cells->journal + SEGMENT_HISTOGRAM_CELLS;
}

static COLD void observe_shared(const struct percpu__histogram *histogram, uint32_t flags,
				char *block, uint64_t value)
{
	struct cells cells = {.cpu = NULL};

	while (!percpu__thread_ready())
		percpu__yield();
	for (unsigned tries = 1;; tries++) {
		find(&cells, events_shared_copy(block, flags));
		if (observe(histogram, &cells, value))
			return;
		if (tries % TRIES == 0)
			(void)percpu__shared_move();
	}
}

/* J5. */
static COLD void claim(uint64_t *first, uint64_t owner)
{
	if (load(first) == 0)
		percpu__store_word(first, (percpu__word)owner, sizeof(percpu__word));
}

/* Some tries in the CPU's slot, then in shared ones. */
static COLD void observe_again(const struct percpu__histogram *histogram,
			       const struct percpu__handle *plane, char *block, uint64_t value)
{
	struct cells cells = {.cpu = plane};

	for (unsigned tries = 0; tries < TRIES; tries++) {
		uint32_t cpu = (uint32_t)percpu_cpu_raw();

		if (cpu >= plane->bound)
			break;
		cells.owner = (uint64_t)cpu + 1;
		find(&cells, percpu__slot(block, cpu));
		if (observe(histogram, &cells, value))
			return;
		claim(percpu__slot(plane->base, cpu), cells.owner);
	}
	observe_shared(histogram, plane->flags, block, value);
}

/* observe() in a CPU slot with nothing to finish, in registers. */
void percpu__histogram_add(const struct percpu__histogram *histogram,
			   const struct percpu__handle *plane, char *block, uint64_t value)
{
#if ARCH_STORES_IN_ORDER && ARCH_HAVE_SEQ_8
	uint32_t cpu = (uint32_t)percpu_cpu_raw();

	if (__builtin_expect(cpu < plane->bound, 1)) {
		uint64_t owner = (uint64_t)cpu + 1;
		uint64_t *cells = percpu__slot(block, cpu);
		uint64_t *bucket = cells + SEGMENT_HISTOGRAM_CELLS + bucket_of(histogram, value);
		uint64_t journal = load(cells), sum = load(cells + 1), n = load(bucket);
		uint64_t next = (sum + value + 1) & SEGMENT_SUM_MASK;

		if (__builtin_expect(
			    journal >> 1 == sum &&
				    cpu_replace(plane, owner, cells, journal, next << 1 | (n & 1)),
			    1)) {
			(void)cpu_finish(plane, owner, cells + 1, sum, next, bucket, n + 1);
			return;
		}
	}
#endif
	observe_again(histogram, plane, block, value);
}

/* What observe() stores, read against its order: the journal first and last, the sum before the
 * buckets. Others may observe without pause: after some tries, what was found. */
uint64_t percpu__histogram_collect(const struct percpu__histogram *histogram, const void *block,
				   uint64_t *buckets, uint64_t *count)
{
	const uint64_t *journal = block, *cells = journal + SEGMENT_HISTOGRAM_CELLS;
	unsigned nbuckets = histogram->last + 1;
	uint64_t before, sum, n, seen = 0;
	unsigned pends = nbuckets;

	for (unsigned tries = 0; tries < TRIES; tries++) {
		before = load(journal);
		sum = load(journal + 1);
		if (before == 0)
			return 0;
		pends = before >> 1 == sum ? nbuckets : bucket_of(histogram, pending(before, sum));
		seen = 0;
		for (unsigned i = 0; i < nbuckets; i++) {
			n = load(&cells[i]);
			if (i == pends && (n & 1) == (before & 1))
				n++;
			buckets[i] = n;
			seen += n;
		}
		sum = before >> 1;
		if (load(journal) == before)
			break;
	}
	*count += seen;
	return (sum - seen) & SEGMENT_SUM_MASK;
}

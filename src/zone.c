/* SPDX-License-Identifier: MIT */
/*
 * Zoned counters.
 *
 * Z1  |difference| <= threshold in every slot: the one step that writes a difference is a
 *     compare-exchange with the value it was computed from, so a difference never wraps.
 * Z2  A fold takes the difference out (compare-exchange with 0) before it adds it to the total: in
 *     between the amount is in the folding call, so read and sum miss it, and never see it twice:
 *     the addition is a release and pairs with the acquire of a sum, which looks at the total first.
 */
#include "internal.h"

#include <percpu/zone.h>

#include "cell.h"

/* Exchanges lost in a row before the amount goes to the shared word. */
#define TRIES 100

static percpu__cell *total_of(const struct percpu_zone *zone)
{
	return (percpu__cell *)(uintptr_t)&zone->total;
}

int percpu_zone_init(struct percpu_zone *zone, unsigned bits, unsigned threshold)
{
	void *base;
	int result;

	if (!zone)
		return -EINVAL;
	*zone = (struct percpu_zone){0};
	if ((bits != 8 && bits != 16) || threshold == 0 ||
	    threshold > (bits == 8 ? (unsigned)INT8_MAX : (unsigned)INT16_MAX))
		return -EINVAL;
	result = percpu_alloc(&base, bits / 8, bits / 8);
	if (result != 0)
		return result;
	zone->base = base;
	zone->bytes = bits / 8;
	zone->threshold = threshold;
	return 0;
}

/* A difference as its width holds it, as a number. */
static int64_t difference(const struct percpu_zone *zone, percpu__word word)
{
	return zone->bytes == 1 ? (int8_t)word : (int16_t)word;
}

static int64_t sum_differences(const struct percpu_zone *zone)
{
	int64_t sum = 0;

	for (unsigned slot = 0; slot < percpu__rt_writable.nslots; slot++)
		sum += difference(zone,
				  percpu__load_word(percpu__slot(zone->base, slot), zone->bytes));
	return sum;
}

int percpu_zone_destroy(struct percpu_zone *zone)
{
	void *base;

	if (!zone || !zone->base)
		return -EINVAL;
	base = zone->base;
	(void)percpu__cell_add_return(total_of(zone), sum_differences(zone));
	zone->base = NULL;
	return percpu_free(base);
}

/* One attempt: the difference in this slot becomes its sum with n, or is taken out with it. */
static inline bool try_add(struct percpu_zone *zone, int64_t n, size_t bytes)
{
	percpu__word seen = percpu__word_read(zone->base, bytes);
	int64_t held = difference(zone, seen), sum = n + held;
	bool fold = sum > (int64_t)zone->threshold || sum < -(int64_t)zone->threshold;
	percpu__word next = fold ? 0 : (percpu__word)sum;
	uint32_t slot;

	INVARIANT("Z1", held <= (int64_t)zone->threshold && held >= -(int64_t)zone->threshold);
	if (percpu__word_cmpxchg(zone->base, seen, next, bytes, &slot) != seen)
		return false;
	if (fold)
		(void)percpu__cell_add_return_acq_rel(total_of(zone), sum);
	return true;
}

void percpu_zone_add(struct percpu_zone *zone, int64_t n)
{
	int64_t limit;

	if (!zone)
		return;
	limit = zone->threshold;
	if (zone->base && n <= limit && n >= -limit) {
		for (int tries = 0; tries < TRIES; tries++)
			if (zone->bytes == 1 ? try_add(zone, n, 1) : try_add(zone, n, 2))
				return;
	}
	(void)percpu__cell_add_return(total_of(zone), n);
}

int64_t percpu_zone_read(const struct percpu_zone *zone)
{
	return zone ? percpu__cell_read(total_of(zone)) : 0;
}

int64_t percpu_zone_sum(const struct percpu_zone *zone)
{
	int64_t total = zone ? percpu__cell_read_acquire(total_of(zone)) : 0;

	return zone && zone->base ? percpu__plus(total, sum_differences(zone)) : total;
}

int64_t percpu_zone_error(const struct percpu_zone *zone)
{
	return zone && zone->base ? (int64_t)zone->threshold * percpu__rt_writable.nslots : 0;
}

int percpu_zone_compare(const struct percpu_zone *zone, int64_t limit)
{
	int64_t total = percpu_zone_read(zone);
	int64_t off;

	if (__builtin_sub_overflow(total, limit, &off) || off > percpu_zone_error(zone) ||
	    off < -percpu_zone_error(zone))
		return total > limit ? 1 : -1;
	total = percpu_zone_sum(zone);
	return (total > limit) - (total < limit);
}

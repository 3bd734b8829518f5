/* SPDX-License-Identifier: MIT */
/*
 * Transactions.
 *
 *	txn    each takes the next number of its slot, and writes its amount down: every number once
 *	txn2   the same in two copies, of which the commit fills the idle one: number and check belong
 *	       together at every commit
 *	copy_txn  the same with copies of a structure
 */
#include "test.h"

#include "storm_engine.h"

#include <percpu/txn.h>

/* Half of all in the macro's loop, half by hand; what is refused counts as an abort. */
#define DEFINE_TXN(w, type)                                                                        \
	static void txn_##w(struct storm_context *c, unsigned calls)                               \
	{                                                                                          \
		type *p = c->plan->object;                                                         \
                                                                                                   \
		while (calls--) {                                                                  \
			uint32_t slot = 0;                                                         \
			type seen = 0;                                                             \
                                                                                                   \
			PERCPU_TXN(txn)                                                            \
			{                                                                          \
				const type *here = percpu_txn_ptr(&txn, p);                        \
                                                                                                   \
				slot = txn.slot;                                                   \
				seen = *here;                                                      \
				if (!percpu_txn_commit(&txn, here, (type)(seen + 1)))              \
					c->aborts++;                                               \
			}                                                                          \
			storm_count_slot(c, slot, 1, seen);                                        \
		}                                                                                  \
	}                                                                                          \
	static uint64_t measure_txn_##w(const struct storm_plan *plan, unsigned slot)              \
	{                                                                                          \
		return *(const type *)percpu__slot(plan->object, slot);                            \
	}
STORM_WIDTHS(DEFINE_TXN)

/* number & 1 says which check is the live one. */
#define DEFINE_TXN2(w, type)                                                                       \
	struct checked_##w {                                                                       \
		type number, check[2];                                                             \
	};                                                                                         \
	static type check_of_##w(type number)                                                      \
	{                                                                                          \
		return number ? (type)storm_mix(number) : 0;                                       \
	}                                                                                          \
	static void txn2_##w(struct storm_context *c, unsigned calls)                              \
	{                                                                                          \
		struct checked_##w *p = c->plan->object;                                           \
                                                                                                   \
		while (calls--) {                                                                  \
			uint32_t slot = 0;                                                         \
			type seen = 0, check = 0;                                                  \
                                                                                                   \
			PERCPU_TXN(txn)                                                            \
			{                                                                          \
				const struct checked_##w *here = percpu_txn_ptr(&txn, p);          \
				type next;                                                         \
                                                                                                   \
				slot = txn.slot;                                                   \
				seen = here->number;                                               \
				check = here->check[seen & 1];                                     \
				next = (type)(seen + 1);                                           \
				if (!percpu_txn_commit2(&txn, &here->number, next,                 \
							&here->check[next & 1],                    \
							check_of_##w(next)))                       \
					c->aborts++;                                               \
			}                                                                          \
			CHECK_EQ(check, check_of_##w(seen));                                       \
			storm_count_slot(c, slot, 1, seen);                                        \
		}                                                                                  \
	}                                                                                          \
	static uint64_t measure_txn2_##w(const struct storm_plan *plan, unsigned slot)             \
	{                                                                                          \
		return ((const struct checked_##w *)percpu__slot(plan->object, slot))->number;     \
	}
STORM_WIDTHS(DEFINE_TXN2)

#define PAYLOAD 61

struct copies {
	uintptr_t number;
	unsigned char copy[2][PAYLOAD + 3];
};

static void fill(unsigned char *payload, uintptr_t number)
{
	for (unsigned i = 0; i < PAYLOAD; i++)
		payload[i] = (unsigned char)(number ? storm_mix(number + i) : 0);
}

static void copy_txn(struct storm_context *c, unsigned calls)
{
	struct copies *p = c->plan->object;

	while (calls--) {
		unsigned char seen[PAYLOAD], wanted[PAYLOAD];
		uintptr_t number = 0;
		uint32_t slot = 0;

		PERCPU_TXN(txn)
		{
			const struct copies *here = percpu_txn_ptr(&txn, p);
			unsigned char next[PAYLOAD];

			slot = txn.slot;
			number = here->number;
			memcpy(seen, here->copy[number & 1], PAYLOAD);
			fill(next, number + 1);
			if (!percpu_txn_commit_copy(&txn, &here->number, number + 1,
						    here->copy[(number + 1) & 1], next, PAYLOAD))
				c->aborts++;
		}
		fill(wanted, number);
		CHECK(memcmp(seen, wanted, PAYLOAD) == 0);
		storm_count_slot(c, slot, 1, number);
	}
}

static uint64_t measure_copy_txn(const struct storm_plan *plan, unsigned slot)
{
	return ((const struct copies *)percpu__slot(plan->object, slot))->number;
}

/* In debug builds each makes some system calls. */
#if defined(PERCPU_DEBUG)
#define BATCH(calls) ((calls) / 15)
#else
#define BATCH(calls) (calls)
#endif
#define MASK(w) (~0ull >> (64 - 8 * (w)))
#define PLAN(op, w, bytes, calls)                                                                  \
	{                                                                                          \
		.name = #op "_" #w, .run = op##_##w, .batch = BATCH(calls), .size = (bytes),       \
		.width = (w), .mask = MASK(w), .measure = measure_##op##_##w, .by_slot = true,     \
		.each_once = true, .aborts = true                                                  \
	}
#define PLANS(w, type) PLAN(txn, w, w, 2000), PLAN(txn2, w, 3 * (w), 1500),

static struct storm_plan plans[] = {
	STORM_WIDTHS(PLANS){.name = "copy_txn",
			    .run = copy_txn,
			    .batch = BATCH(150),
			    .size = sizeof(struct copies),
			    .width = sizeof(uintptr_t),
			    .mask = MASK(sizeof(uintptr_t)),
			    .measure = measure_copy_txn,
			    .by_slot = true,
			    .each_once = true,
			    .aborts = true},
};
const struct storm_list storm_txn = {plans, sizeof(plans) / sizeof(plans[0])};

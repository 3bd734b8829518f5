/* SPDX-License-Identifier: MIT */
/*
 * Locks.
 *
 *	lock  whoever holds a slot is alone in it; workers lock, handlers try to, and now and then a
 *	      worker takes a slot from outside
 */
#include "test.h"

#include "storm_engine.h"

struct place {
	uint64_t inside; /* 0, or who */
	uint64_t count;
};

static struct percpu_lock lock;

static void prepare_lock(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_lock_init(&lock));
}

static void finish_lock(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_lock_destroy(&lock));
}

static struct place *place_of(const struct storm_context *c, int slot)
{
	return percpu_locked_ptr((struct place *)c->plan->object, slot);
}

static void be_inside(struct storm_context *c, int slot)
{
	volatile struct place *place = place_of(c, slot);
	uint64_t me = c->worker * STORM_LEVELS + c->level + 1;
	uint64_t amount = storm_random(c) & 0xff;

	if (place->inside != 0)
		test_fail(__FILE__, __LINE__, "lock: %u met %u in slot %d", (unsigned)me,
			  (unsigned)place->inside, slot);
	place->inside = me;
	place->count = place->count + amount;
	if (place->inside != me)
		test_fail(__FILE__, __LINE__, "lock: %u was not alone in slot %d", (unsigned)me,
			  slot);
	place->inside = 0;
	storm_count_slot(c, (uint32_t)slot, amount, 0);
}

static void lock_from_outside(struct storm_context *c)
{
	int slot = (int)(storm_random(c) % percpu_nslots());

	CHECK_OK(percpu_lock_remote(&lock, slot));
	be_inside(c, slot);
	CHECK_OK(percpu_unlock_remote(&lock, slot));
}

/* In a forked child: what other threads were in the middle of is over. */
static void throw_out_the_gone(const struct storm_context *c)
{
	for (int slot = 0; slot < (int)percpu_nslots(); slot++) {
		CHECK_OK(percpu_lock_remote(&lock, slot));
		place_of(c, slot)->inside = 0;
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	}
}

static void lock_and_unlock(struct storm_context *c, unsigned calls)
{
	if (c->worker == STORM_WORKERS)
		throw_out_the_gone(c);
	while (calls--) {
		int slot;

		if (c->level == 0 && storm_random(c) % 64 == 0) {
			lock_from_outside(c);
			continue;
		}
		slot = c->level == 0 ? percpu_lock(&lock) : percpu_trylock(&lock);
		if (slot == -EBUSY && c->level != 0)
			continue;
		CHECK(slot >= 0);
		be_inside(c, slot);
		CHECK_OK(percpu_unlock(&lock, slot));
	}
}

static uint64_t measure_lock(const struct storm_plan *plan, unsigned slot)
{
	return percpu_ptr((const struct place *)plan->object, slot)->count;
}

static struct storm_plan plans[] = {
	{.name = "lock",
	 .run = lock_and_unlock,
	 .batch = 300,
	 .size = sizeof(struct place),
	 .mask = ~0ull,
	 .measure = measure_lock,
	 .by_slot = true,
	 .prepare = prepare_lock,
	 .finish = finish_lock},
};
const struct storm_list storm_locks = {plans, sizeof(plans) / sizeof(plans[0])};

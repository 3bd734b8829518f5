/* SPDX-License-Identifier: MIT */
/*
 * Counters and their kin.
 *
 *	counter_*        the sum is what was added; sums of a counter that only goes up never go back
 *	counter_static   many of them, each used for the first time in the storm, by all at once
 *	id               no number twice
 *	limit            never above the limit, and in the end exactly as much room as there should be
 *	zone_8, zone_16  the sum is what was added, and read is no further off than it says
 */
#include "test.h"

#include <sys/mman.h>

#include "storm_engine.h"

/* ---- counters ---- */

static void prepare_counter(struct storm_plan *plan)
{
	struct percpu_counter *counter = malloc(sizeof(*counter));

	CHECK(counter);
	CHECK_OK(percpu_counter_init(counter));
	plan->object = counter;
}

static void finish_counter(struct storm_plan *plan)
{
	struct percpu_counter *counter = plan->object;
	int64_t sum = percpu_counter_sum(counter);

	CHECK_EQ(percpu_counter_read(counter), sum);
	CHECK_OK(percpu_counter_destroy(counter));
	CHECK_EQ(percpu_counter_sum(counter), sum);
	free(counter);
}

/* The engine adds up over slots: all of it is said to be in the first one. */
static uint64_t measure_counter(const struct storm_plan *plan, unsigned slot)
{
	return slot == 0 ? (uint64_t)percpu_counter_sum(plan->object) : 0;
}

static void watch_counter(struct storm_plan *plan)
{
	int64_t sum = percpu_counter_sum(plan->object);

	if (sum < (int64_t)plan->seen)
		test_fail(__FILE__, __LINE__, "%s: a sum went back from %lld to %lld", plan->name,
			  (long long)plan->seen, (long long)sum);
	plan->seen = (uint64_t)sum;
}

static inline void direct_add(struct storm_context *c, struct percpu_counter *counter, int64_t n)
{
	if (!storm_done_at_once(c, percpu__seq_add_handle_8(&counter->cpu_base, n)))
		percpu_counter_add(counter, n);
}

#define DEFINE_COUNTER(name, call, amount)                                                         \
	static void counter_##name(struct storm_context *c, unsigned calls)                        \
	{                                                                                          \
		struct percpu_counter *counter = c->plan->object;                                  \
                                                                                                   \
		while (calls--) {                                                                  \
			int64_t n = (int64_t)(storm_random(c) & 0xffffff);                         \
                                                                                                   \
			if (calls & 1)                                                             \
				call;                                                              \
			else                                                                       \
				direct_add(c, counter, (amount));                                  \
			storm_count(c, (uint64_t)(amount));                                        \
			(void)n;                                                                   \
		}                                                                                  \
	}
DEFINE_COUNTER(add, percpu_counter_add(counter, n), n)
DEFINE_COUNTER(sub, percpu_counter_sub(counter, n), -n)
DEFINE_COUNTER(inc, percpu_counter_inc(counter), 1)
DEFINE_COUNTER(dec, percpu_counter_dec(counter), -1)

/* ---- static counters ---- */

#define STATICS 64u
/* Every context moves on to its next one after so many calls. */
#define STATIC_CALLS 8000u

static struct percpu_counter statics[STATICS];

static void prepare_statics(struct storm_plan *plan)
{
	(void)plan;
	for (unsigned i = 0; i < STATICS; i++)
		statics[i] = (struct percpu_counter)PERCPU_COUNTER_INIT;
}

static void finish_statics(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_counter_destroy_many(statics, STATICS));
}

/* Handlers are ahead of what they interrupt, by one: theirs is the first use, now and then. */
static void counter_static(struct storm_context *c, unsigned calls)
{
	while (calls--) {
		unsigned i = (unsigned)(*c->job / STATIC_CALLS + c->level) % STATICS;

		percpu_counter_inc(&statics[i]);
		if (c->level == 0)
			++*c->job;
		storm_count(c, 1);
	}
}

static uint64_t measure_statics(const struct storm_plan *plan, unsigned slot)
{
	uint64_t sum = 0;

	(void)plan;
	for (unsigned i = 0; slot == 0 && i < STATICS; i++)
		sum += (uint64_t)percpu_counter_sum(&statics[i]);
	return sum;
}

/* ---- ids ---- */

/* One bit a number, those of a slot side by side; where there are none there is no memory. */
#define ID_VALUES (1ull << 25)

static struct percpu_id id;

static size_t id_bytes(void)
{
	/* One more row for the numbers that were made without slots. */
	return (size_t)(ID_VALUES / 8 * (percpu_nslots() + 1));
}

static void prepare_ids(struct storm_plan *plan)
{
	size_t size = id_bytes();

	id = (struct percpu_id)PERCPU_ID_INIT;
	plan->object = mmap(NULL, size, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	CHECK(plan->object != MAP_FAILED);
}

static void finish_ids(struct storm_plan *plan)
{
	munmap(plan->object, id_bytes());
	CHECK_OK(percpu_id_destroy(&id));
}

static void id_next(struct storm_context *c, unsigned calls)
{
	uint32_t *bitmap = c->plan->object;

	while (calls--) {
		uint64_t number = percpu_id_next(&id);
		bool aside = number >> 63;
		uint64_t value = aside ? number << 1 >> 1 : number / percpu_nslots();
		uint64_t row = aside ? percpu_nslots() : number % percpu_nslots();
		uint64_t at = row * ID_VALUES + value;
		uint32_t bit = 1u << (at % 32);

		if (number == 0 || value >= ID_VALUES)
			test_fail(__FILE__, __LINE__, "id: %llx is out of range",
				  (unsigned long long)number);
		if (__atomic_fetch_or(&bitmap[at / 32], bit, __ATOMIC_RELAXED) & bit)
			test_fail(__FILE__, __LINE__, "id: %llx was there before",
				  (unsigned long long)number);
		storm_count(c, 0);
	}
}

/* ---- limit ---- */

#define LIMIT 200

static struct percpu_limit limit;
/* What has been added for certain: raised after each add, lowered before each sub. */
static long limit_held;

static void prepare_limit(struct storm_plan *plan)
{
	(void)plan;
	limit_held = 0;
	CHECK_OK(percpu_limit_init(&limit, LIMIT));
}

static void finish_limit(struct storm_plan *plan)
{
	(void)plan;
	CHECK_OK(percpu_limit_destroy(&limit));
}

static void add_to_limit(struct storm_context *c, int64_t n)
{
	int result = percpu_limit_add(&limit, n);

	if (result == -EAGAIN)
		return;
	CHECK_OK(result);
	if (__atomic_add_fetch(&limit_held, (long)n, __ATOMIC_RELAXED) > LIMIT)
		test_fail(__FILE__, __LINE__, "limit: passed");
	c->total += (uint64_t)n;
}

static void take_from_limit(struct storm_context *c, int64_t n)
{
	(void)__atomic_sub_fetch(&limit_held, (long)n, __ATOMIC_RELAXED);
	CHECK_OK(percpu_limit_sub(&limit, n));
	c->total -= (uint64_t)n;
}

/* Up to a tenth of the limit a context, so that all together are refused often. */
static void limit_add_sub(struct storm_context *c, unsigned calls)
{
	while (calls--) {
		int64_t n = (int64_t)(storm_random(c) % 8);

		if (calls % 4 == 3)
			take_from_limit(c, (int64_t)c->total);
		else if ((int64_t)c->total + n <= LIMIT / 5)
			add_to_limit(c, n);
		c->calls++;
	}
}

static uint64_t measure_limit(const struct storm_plan *plan, unsigned slot)
{
	(void)plan;
	return slot == 0 ? (uint64_t)percpu_limit_sum(&limit) : 0;
}

static void watch_limit(struct storm_plan *plan)
{
	(void)plan;
	if (percpu_limit_sum(&limit) > LIMIT)
		test_fail(__FILE__, __LINE__, "limit: a sum is above it");
}

static void check_limit(struct storm_plan *plan, const struct storm_context *contexts,
			unsigned count)
{
	int64_t sum = percpu_limit_sum(&limit);

	(void)plan, (void)contexts, (void)count;
	CHECK_OK(percpu_limit_add(&limit, LIMIT - sum));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	CHECK_EQ(percpu_limit_sum(&limit), LIMIT);
	CHECK_OK(percpu_limit_sub(&limit, LIMIT));
	CHECK_OK(percpu_limit_add(&limit, LIMIT));
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
}

/* ---- zones ---- */

static void make_zone(struct storm_plan *plan)
{
	struct percpu_zone *zone = malloc(sizeof(*zone));

	CHECK(zone);
	CHECK_OK(percpu_zone_init(zone, plan->width * 8, plan->width == 1 ? 100 : 1000));
	plan->object = zone;
}

static void finish_zone(struct storm_plan *plan)
{
	struct percpu_zone *zone = plan->object;
	int64_t sum = percpu_zone_sum(zone);

	CHECK_OK(percpu_zone_destroy(zone));
	CHECK_EQ(percpu_zone_sum(zone), sum);
	free(zone);
}

static void zone_add(struct storm_context *c, unsigned calls)
{
	struct percpu_zone *zone = c->plan->object;

	while (calls--) {
		int64_t n = (int64_t)(storm_random(c) % 256) - 100;

		percpu_zone_add(zone, n);
		percpu_zone_sub(zone, n / 2);
		percpu_zone_inc(zone);
		percpu_zone_inc(zone);
		percpu_zone_dec(zone);
		storm_count(c, (uint64_t)(n - n / 2 + 1));
	}
}

static uint64_t measure_zone(const struct storm_plan *plan, unsigned slot)
{
	return slot == 0 ? (uint64_t)percpu_zone_sum(plan->object) : 0;
}

static void check_zone(struct storm_plan *plan, const struct storm_context *contexts,
		       unsigned count)
{
	struct percpu_zone *zone = plan->object;
	int64_t off = percpu_zone_read(zone) - percpu_zone_sum(zone);

	(void)contexts, (void)count;
	CHECK(off <= percpu_zone_error(zone) && off >= -percpu_zone_error(zone));
}

/* ---- The table ---- */

#define COUNTER_PLAN(op, ...)                                                                      \
	{                                                                                          \
		.name = "counter_" #op, .run = counter_##op, .batch = 8000, .mask = ~0ull,         \
		.measure = measure_counter, .aborts = true, .prepare = prepare_counter,            \
		.finish = finish_counter, __VA_ARGS__                                              \
	}
#define ZONE_PLAN(bits, bytes)                                                                     \
	{                                                                                          \
		.name = "zone_" #bits, .run = zone_add, .batch = 600, .width = (bytes),            \
		.mask = ~0ull, .measure = measure_zone, .prepare = make_zone, .check = check_zone, \
		.finish = finish_zone                                                              \
	}

static struct storm_plan plans[] = {
	COUNTER_PLAN(add, .watch = watch_counter),
	COUNTER_PLAN(inc, .watch = watch_counter),
	COUNTER_PLAN(sub, ),
	COUNTER_PLAN(dec, ),
	{.name = "counter_static",
	 .run = counter_static,
	 .batch = 8000,
	 .mask = ~0ull,
	 .measure = measure_statics,
	 .prepare = prepare_statics,
	 .finish = finish_statics},
	{.name = "id", .run = id_next, .batch = 1500, .prepare = prepare_ids, .finish = finish_ids},
	{.name = "limit",
	 .run = limit_add_sub,
	 .batch = 300,
	 .mask = ~0ull,
	 .measure = measure_limit,
	 .watch = watch_limit,
	 .prepare = prepare_limit,
	 .check = check_limit,
	 .finish = finish_limit},
	ZONE_PLAN(8, 1),
	ZONE_PLAN(16, 2),
};
const struct storm_list storm_products = {plans, sizeof(plans) / sizeof(plans[0])};

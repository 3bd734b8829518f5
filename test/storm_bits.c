/* SPDX-License-Identifier: MIT */
/*
 * percpu_this_or and percpu_this_and: every bit is set (or cleared) by one call in the whole storm,
 * so a call whose effect is lost shows as a bit that no slot has.
 *
 * Workers go through the words of some large objects side by side; each has bits of its own in
 * every word, and does them one after the other, so that a handler's bit falls into the word that
 * the code under it is about to change. A group is as many workers as share a word.
 */
#include "test.h"

#include "storm_engine.h"

#define OBJECTS 2u

/* Every slot of every object is looked at in the end: less of it where there are many. */
static unsigned object_bytes(void)
{
	return percpu_nslots() > 100 ? 4096 : 65536;
}

struct share {
	unsigned bits;  /* of each worker in each word */
	unsigned first; /* the worker's first one */
	unsigned group;
	unsigned group_words;
};

static struct share share_of(const struct storm_plan *plan, unsigned worker)
{
	unsigned width_bits = 8 * plan->width;
	unsigned members = width_bits / 2 < STORM_WORKERS ? width_bits / 2 : STORM_WORKERS;
	struct share share;

	worker %= STORM_WORKERS;
	share.bits = width_bits / members;
	share.first = worker % members * share.bits;
	share.group = worker / members;
	share.group_words = OBJECTS * object_bytes() / plan->width / (STORM_WORKERS / members);
	return share;
}

static void *word_of(const struct storm_plan *plan, const struct share *share, uint64_t word)
{
	uint64_t byte = (share->group * (uint64_t)share->group_words + word) * plan->width;
	void *const *objects = plan->object;

	return (char *)objects[byte / object_bytes()] + byte % object_bytes();
}

/* The next bit that this worker is to do; false when it has done them all. */
static inline bool next_job(struct storm_context *c, const struct share *share, void **word,
			    unsigned *bit)
{
	unsigned long job = __atomic_fetch_add(c->job, 1, __ATOMIC_RELAXED);

	if (job / share->bits >= share->group_words)
		return false;
	*word = word_of(c->plan, share, job / share->bits);
	*bit = share->first + (unsigned)(job % share->bits);
	return true;
}

#define DEFINE_BITS(name, w, type, value)                                                          \
	static void name##_##w(struct storm_context *c, unsigned calls)                            \
	{                                                                                          \
		struct share share = share_of(c->plan, c->worker);                                 \
		void *word;                                                                        \
		unsigned bit;                                                                      \
                                                                                                   \
		while (calls-- && next_job(c, &share, &word, &bit)) {                              \
			type *p = word;                                                            \
			type one = (type)((type)1 << bit);                                         \
                                                                                                   \
			if (calls & 1)                                                             \
				percpu_this_##name(p, (type)(value));                              \
			else if (!storm_done_at_once(c,                                            \
						     percpu__seq_##name##_##w(p, (type)(value))))  \
				percpu__shared_##name(p, (type)(value), w);                        \
			storm_count(c, 0);                                                         \
		}                                                                                  \
	}
#define DEFINE_OR_AND(w, type)                                                                     \
	DEFINE_BITS(or, w, type, one)                                                              \
	DEFINE_BITS(and, w, type, ~one)
STORM_WIDTHS(DEFINE_OR_AND)

static bool clears(const struct storm_plan *plan)
{
	return plan->name[0] == 'a';
}

static void prepare_objects(struct storm_plan *plan)
{
	void **objects = calloc(OBJECTS, sizeof(*objects));

	CHECK(objects);
	for (unsigned i = 0; i < OBJECTS; i++) {
		CHECK_OK(percpu_alloc(&objects[i], object_bytes(), PERCPU_ALIGN_MAX));
		for (unsigned slot = 0; clears(plan) && slot < percpu_nslots(); slot++)
			memset(percpu__slot(objects[i], slot), 0xff, object_bytes());
	}
	plan->object = objects;
}

static void finish_objects(struct storm_plan *plan)
{
	void **objects = plan->object;

	for (unsigned i = 0; i < OBJECTS; i++)
		CHECK_OK(percpu_free(objects[i]));
	free(objects);
}

/* The bits that some slot has set, or cleared. */
static uint64_t bits_done(const struct storm_plan *plan, const void *word)
{
	uint64_t done = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		uint64_t bits = percpu__load_word(percpu__slot(word, slot), plan->width);

		done |= clears(plan) ? ~bits : bits;
	}
	return done;
}

/* The words that a worker did as a whole: all of its bits are there. */
static void check_worker(const struct storm_plan *plan, unsigned worker, uint64_t jobs)
{
	struct share share = share_of(plan, worker);
	uint64_t own = ((1ull << share.bits) - 1) << share.first;
	uint64_t words = jobs / share.bits;

	if (words > share.group_words)
		words = share.group_words;
	for (uint64_t i = 0; i < words; i++) {
		uint64_t missing = own & ~bits_done(plan, word_of(plan, &share, i));

		if (missing)
			test_fail(__FILE__, __LINE__,
				  "%s: worker %u: bits %llx of word %llu are lost", plan->name,
				  worker, (unsigned long long)missing, (unsigned long long)i);
	}
}

static void check_bits(struct storm_plan *plan, const struct storm_context *contexts,
		       unsigned count)
{
	for (unsigned i = 0; i < count; i += STORM_LEVELS)
		check_worker(plan, contexts[i].worker, *contexts[i].job);
}

#define BITS_PLAN(op, w)                                                                           \
	{                                                                                          \
		.name = #op "_" #w, .run = op##_##w, .batch = 600, .width = (w), .aborts = true,   \
		.prepare = prepare_objects, .check = check_bits, .finish = finish_objects          \
	}
#define BITS_PLANS(w, type) BITS_PLAN(or, w), BITS_PLAN(and, w),

static struct storm_plan plans[] = {STORM_WIDTHS(BITS_PLANS)};
const struct storm_list storm_bits = {plans, sizeof(plans) / sizeof(plans[0])};

/* SPDX-License-Identifier: MIT */
/*
 * Every this_cpu operation on words of every width. Half of the calls go through the public name,
 * the other half through the sequence itself, which tells about its aborts; where the sequence is
 * not to be had, through the library's shared slots, as the public name does.
 *
 *	additions      the words add up to what was added
 *	add_return     the same in each slot, and each value was returned once
 *	xchg           each value put into a slot was taken out of it once, or is still there
 *	cmpxchg        a loop that adds 1: as add_return, by what was compared
 *	cmpxchg2       two words; each success adds 1 to one of them and compared both, so it saw a sum
 *	               of both that no other success saw
 *	write          what is read was written, and is whole
 */
#include "test.h"

#include "storm_engine.h"

#define MASK(w) (~0ull >> (64 - 8 * (w)))

static uint64_t word_at(const struct storm_plan *plan, unsigned index, unsigned slot)
{
	const char *copy = percpu__slot(plan->object, slot);

	return percpu__load_word(copy + index * plan->width, plan->width);
}

static uint64_t measure_word(const struct storm_plan *plan, unsigned slot)
{
	return word_at(plan, 0, slot);
}

static uint64_t measure_two_words(const struct storm_plan *plan, unsigned slot)
{
	return word_at(plan, 0, slot) + word_at(plan, 1, slot);
}

static uint64_t measure_token(const struct storm_plan *plan, unsigned slot)
{
	return storm_mix(word_at(plan, 0, slot));
}

/* ---- add, sub, inc, dec ---- */

#define DEFINE_DIRECT_ADD(w, type)                                                                 \
	static inline void direct_add_##w(struct storm_context *c, type *p, type n)                \
	{                                                                                          \
		if (!storm_done_at_once(c, percpu__seq_add_##w(p, n)))                             \
			percpu__shared_add(p, n, w);                                               \
	}
STORM_WIDTHS(DEFINE_DIRECT_ADD)

#define DEFINE_ADDITION(name, w, type, call, amount)                                               \
	static void name##_##w(struct storm_context *c, unsigned calls)                            \
	{                                                                                          \
		type *p = c->plan->object;                                                         \
                                                                                                   \
		while (calls--) {                                                                  \
			type n = (type)storm_random(c);                                            \
                                                                                                   \
			if (calls & 1)                                                             \
				call;                                                              \
			else                                                                       \
				direct_add_##w(c, p, (type)(amount));                              \
			storm_count(c, (type)(amount));                                            \
			(void)n;                                                                   \
		}                                                                                  \
	}
#define DEFINE_ADDITIONS(w, type)                                                                  \
	DEFINE_ADDITION(add, w, type, percpu_this_add(p, n), n)                                    \
	DEFINE_ADDITION(sub, w, type, percpu_this_sub(p, n), 0 - n)                                \
	DEFINE_ADDITION(inc, w, type, percpu_this_inc(p), 1)                                       \
	DEFINE_ADDITION(dec, w, type, percpu_this_dec(p), -1)
STORM_WIDTHS(DEFINE_ADDITIONS)

/* ---- add_return ---- */

#define DEFINE_ADD_RETURN(w, type)                                                                 \
	static inline type direct_add_return_##w(struct storm_context *c, type *p, uint32_t *slot) \
	{                                                                                          \
		type sum = 0;                                                                      \
                                                                                                   \
		if (!storm_done(c, percpu__seq_add_return_##w(p, 1, &sum, slot)))                  \
			sum = (type)percpu__shared_add_return(p, 1, w, slot);                      \
		return sum;                                                                        \
	}                                                                                          \
	static void add_return_##w(struct storm_context *c, unsigned calls)                        \
	{                                                                                          \
		type *p = c->plan->object;                                                         \
                                                                                                   \
		while (calls--) {                                                                  \
			uint32_t slot = 0;                                                         \
			type sum = (calls & 1) ? percpu_this_add_return_slot(p, 1, &slot)          \
					       : direct_add_return_##w(c, p, &slot);               \
                                                                                                   \
			storm_count_slot(c, slot, 1, (type)(sum - 1));                             \
		}                                                                                  \
	}
STORM_WIDTHS(DEFINE_ADD_RETURN)

/* ---- xchg ---- */

#define DEFINE_XCHG(w, type)                                                                       \
	static inline type direct_xchg_##w(struct storm_context *c, type *p, type v,               \
					   uint32_t *slot)                                         \
	{                                                                                          \
		type seen = 0;                                                                     \
                                                                                                   \
		if (!storm_done(c, percpu__seq_xchg_##w(p, v, &seen, slot)))                       \
			seen = (type)percpu__shared_xchg(p, v, w, slot);                           \
		return seen;                                                                       \
	}                                                                                          \
	static void xchg_##w(struct storm_context *c, unsigned calls)                              \
	{                                                                                          \
		type *p = c->plan->object;                                                         \
                                                                                                   \
		while (calls--) {                                                                  \
			type put = (type)storm_random(c);                                          \
			uint32_t slot = 0;                                                         \
			type got = (calls & 1) ? percpu_this_xchg_slot(p, put, &slot)              \
					       : direct_xchg_##w(c, p, put, &slot);                \
                                                                                                   \
			storm_count_slot(c, slot, storm_mix(put) - storm_mix(got), 0);             \
		}                                                                                  \
	}
STORM_WIDTHS(DEFINE_XCHG)

/* ---- cmpxchg ---- */

#define DEFINE_CMPXCHG(w, type)                                                                    \
	static inline type direct_cmpxchg_##w(struct storm_context *c, type *p, type old,          \
					      type new_, uint32_t *slot)                           \
	{                                                                                          \
		type seen = 0;                                                                     \
		int answer = percpu__seq_cmpxchg_##w(p, old, new_, &seen, slot);                   \
                                                                                                   \
		if (!storm_done(c, answer) && answer != PERCPU__REFUSED)                           \
			seen = (type)percpu__shared_cmpxchg(p, old, new_, w, slot);                \
		return seen;                                                                       \
	}                                                                                          \
	static void cmpxchg_##w(struct storm_context *c, unsigned calls)                           \
	{                                                                                          \
		type *p = c->plan->object;                                                         \
                                                                                                   \
		while (calls--) {                                                                  \
			uint32_t slot = 0;                                                         \
			type old, seen;                                                            \
                                                                                                   \
			do {                                                                       \
				type next;                                                         \
                                                                                                   \
				old = percpu_this_read(p);                                         \
				next = (type)(old + 1);                                            \
				seen = (calls & 1) ? percpu_this_cmpxchg_slot(p, old, next, &slot) \
						   : direct_cmpxchg_##w(c, p, old, next, &slot);   \
			} while (seen != old);                                                     \
			storm_count_slot(c, slot, 1, old);                                         \
		}                                                                                  \
	}
STORM_WIDTHS(DEFINE_CMPXCHG)

/* ---- cmpxchg2 ---- */

#define DEFINE_CMPXCHG2(w, type)                                                                   \
	static inline bool direct_cmpxchg2_##w(struct storm_context *c, type *p, type old,         \
					       type *p2, type old2, uint32_t *slot)                \
	{                                                                                          \
		int answer = percpu__seq_cmpxchg2_##w(p, old, (type)(old + 1), p2, old2, slot);    \
                                                                                                   \
		if (storm_done(c, answer) || answer == PERCPU__REFUSED)                            \
			return answer > 0;                                                         \
		return percpu__shared_cmpxchg2(p, old, (type)(old + 1), p2, old2, w, slot);        \
	}                                                                                          \
	static void cmpxchg2_##w(struct storm_context *c, unsigned calls)                          \
	{                                                                                          \
		type *word = c->plan->object;                                                      \
		bool second = storm_random(c) & 1;                                                 \
		type *p = word + (second ? 1 : 0);                                                 \
		type *p2 = word + (second ? 0 : 1);                                                \
                                                                                                   \
		while (calls--) {                                                                  \
			uint32_t slot = 0;                                                         \
			type old, old2;                                                            \
			bool done;                                                                 \
                                                                                                   \
			do {                                                                       \
				old = percpu_this_read(p);                                         \
				old2 = percpu_this_read(p2);                                       \
				done = (calls & 1)                                                 \
					       ? percpu_this_cmpxchg2_slot(                        \
							 p, old, (type)(old + 1), p2, old2, &slot) \
					       : direct_cmpxchg2_##w(c, p, old, p2, old2, &slot);  \
			} while (!done);                                                           \
			storm_count_slot(c, slot, 1, (type)(old + old2));                          \
		}                                                                                  \
	}
STORM_WIDTHS(DEFINE_CMPXCHG2)

/* ---- write and read ---- */

/* Values that show when two are mixed: the upper half is the lower one inverted. */
static uint64_t whole(uint64_t lower, unsigned width)
{
	unsigned bits = 4 * width;
	uint64_t half = ~0ull >> (64 - bits);

	return (~lower & half) << bits | (lower & half);
}

static void must_be_whole(const struct storm_context *c, uint64_t value)
{
	if (value != 0 && value != whole(value, c->plan->width))
		test_fail(__FILE__, __LINE__, "%s: read %llx, which nobody wrote", c->plan->name,
			  (unsigned long long)value);
}

#define DEFINE_WRITE(w, type)                                                                      \
	static void write_##w(struct storm_context *c, unsigned calls)                             \
	{                                                                                          \
		type *p = c->plan->object;                                                         \
                                                                                                   \
		while (calls--) {                                                                  \
			must_be_whole(c, percpu_this_read(p));                                     \
			if (calls % 4 == 0)                                                        \
				percpu_this_write(p, (type)whole(storm_random(c), w));             \
			if (calls % 4 == 2)                                                        \
				must_be_whole(c, percpu_this_xchg(p, 0));                          \
			storm_count(c, 0);                                                         \
		}                                                                                  \
	}
STORM_WIDTHS(DEFINE_WRITE)

/* ---- The table ---- */

#define WORD_PLAN(op, w, calls, ...)                                                               \
	{                                                                                          \
		.name = #op "_" #w, .run = op##_##w, .batch = (calls), .size = 2 * (w),            \
		.width = (w), .mask = MASK(w), __VA_ARGS__                                         \
	}
#define ADDITION_PLAN(op, w) WORD_PLAN(op, w, 6000, .measure = measure_word, .aborts = true)
#define WORD_PLANS(w, type)                                                                        \
	ADDITION_PLAN(add, w), ADDITION_PLAN(sub, w), ADDITION_PLAN(inc, w),                       \
		ADDITION_PLAN(dec, w),                                                             \
		WORD_PLAN(add_return, w, 5000, .measure = measure_word, .by_slot = true,           \
			  .each_once = true, .aborts = true),                                      \
		WORD_PLAN(cmpxchg, w, 3000, .measure = measure_word, .by_slot = true,              \
			  .each_once = true, .aborts = true),                                      \
		WORD_PLAN(cmpxchg2, w, 3000, .measure = measure_two_words, .by_slot = true,        \
			  .each_once = true, .aborts = true),                                      \
		WORD_PLAN(write, w, 6000),                                                         \
		{.name = "xchg_" #w,                                                               \
		 .run = xchg_##w,                                                                  \
		 .batch = 4000,                                                                    \
		 .size = (w),                                                                      \
		 .width = (w),                                                                     \
		 .mask = ~0ull,                                                                    \
		 .measure = measure_token,                                                         \
		 .by_slot = true,                                                                  \
		 .aborts = true},

static struct storm_plan plans[] = {STORM_WIDTHS(WORD_PLANS)};
const struct storm_list storm_words = {plans, sizeof(plans) / sizeof(plans[0])};

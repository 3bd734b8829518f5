/* SPDX-License-Identifier: MIT */
/*
 * The sequences that no public name of the base uses yet: store-then-commit, copy-then-commit,
 * push and pop. They have no form on shared slots: a thread without a CPU slot sits out.
 *
 *	store_commit,   a generation and two copies of what belongs to it; a call fills the copy of
 *	copy_commit     the next generation and commits its number. The copy of the generation that
 *	                is current is right at every moment, whoever looks.
 *	push_pop        nodes are in one list, or in one context's hand
 */
#include "test.h"

#include "storm_engine.h"

#if ARCH_HAVE_SEQ

/*
 * Committed words: the upper half is the generation's number, the lower one a mark of whoever
 * made it, so that what belongs to a generation differs from what a late caller would have made.
 */
#define SHIFT(plan) (4 * (plan)->width)

static uint64_t measure_generation(const struct storm_plan *plan, unsigned slot)
{
	return percpu__load_word(percpu__slot(plan->object, slot), plan->width) >> SHIFT(plan);
}

static uint64_t next_generation(struct storm_context *c, uint64_t old)
{
	uint64_t mark = storm_random(c) & c->plan->mask;

	return ((old >> SHIFT(c->plan)) + 1) << SHIFT(c->plan) | mark;
}

/* ---- store_commit ---- */

#define DEFINE_STORE_COMMIT(w, type)                                                               \
	struct pair_##w {                                                                          \
		type generation, copy[2];                                                          \
	};                                                                                         \
	static type *copy_of_##w(struct pair_##w *pair, type generation)                           \
	{                                                                                          \
		return &pair->copy[generation >> (4 * (w)) & 1];                                   \
	}                                                                                          \
	static void must_belong_##w(const struct storm_plan *plan, unsigned slot)                  \
	{                                                                                          \
		struct pair_##w *pair = percpu__slot(plan->object, slot);                          \
		const volatile type *generation = &pair->generation;                               \
		type before = *generation;                                                         \
		type copy = *(const volatile type *)copy_of_##w(pair, before);                     \
                                                                                                   \
		if (*generation == before && copy != (type)storm_mix(before))                      \
			test_fail(__FILE__, __LINE__, "%s: the live copy was written",             \
				  plan->name);                                                     \
	}                                                                                          \
	static void store_commit_##w(struct storm_context *c, unsigned calls)                      \
	{                                                                                          \
		struct pair_##w *pair = c->plan->object;                                           \
                                                                                                   \
		while (calls--) {                                                                  \
			type old = percpu_this_read(&pair->generation);                            \
			type next = (type)next_generation(c, old);                                 \
			uint32_t slot = 0;                                                         \
			int answer = percpu__seq_store_commit_##w(&pair->generation, old, next,    \
								  copy_of_##w(pair, next),         \
								  (type)storm_mix(next), &slot);   \
                                                                                                   \
			if (storm_done(c, answer))                                                 \
				storm_count_slot(c, slot, 1, (uint64_t)old >> (4 * (w)));          \
			else if (answer == PERCPU__REFUSED && (w) > 1)                             \
				must_belong_##w(c->plan, slot);                                    \
		}                                                                                  \
	}                                                                                          \
	/* Narrow generations come round again while somebody looks. */                            \
	static void watch_store_commit_##w(struct storm_plan *plan)                                \
	{                                                                                          \
		for (unsigned slot = 0; (w) > 1 && slot < percpu_ncpus(); slot++)                  \
			must_belong_##w(plan, slot);                                               \
	}                                                                                          \
	static void check_store_commit_##w(struct storm_plan *plan,                                \
					   const struct storm_context *contexts, unsigned count)   \
	{                                                                                          \
		(void)contexts, (void)count;                                                       \
		for (unsigned slot = 0; slot < percpu_ncpus(); slot++)                             \
			must_belong_##w(plan, slot);                                               \
	}
STORM_WIDTHS(DEFINE_STORE_COMMIT)

/* ---- copy_commit ---- */

/* Words and a rest of bytes. */
#define PAYLOAD 61

struct copies {
	uintptr_t generation;
	unsigned char copy[2][PAYLOAD + 3];
};

static unsigned char *copy_of(struct copies *copies, uintptr_t generation)
{
	return copies->copy[generation >> (4 * sizeof(generation)) & 1];
}

static void fill(unsigned char *payload, uintptr_t generation)
{
	for (unsigned i = 0; i < PAYLOAD; i++)
		payload[i] = (unsigned char)(generation ? storm_mix(generation + i) : 0);
}

static void copy_commit(struct storm_context *c, unsigned calls)
{
	struct copies *copies = c->plan->object;

	while (calls--) {
		uintptr_t old = percpu_this_read(&copies->generation);
		uintptr_t next = (uintptr_t)next_generation(c, old);
		unsigned char payload[PAYLOAD];
		uint32_t slot = 0;

		fill(payload, next);
		if (storm_done(c, percpu__seq_copy_commit(&copies->generation, old, next,
							  copy_of(copies, next), payload, PAYLOAD,
							  &slot)))
			storm_count_slot(c, slot, 1, old >> SHIFT(c->plan));
	}
}

static void watch_copies(struct storm_plan *plan)
{
	for (unsigned slot = 0; slot < percpu_ncpus(); slot++) {
		struct copies *copies = percpu__slot(plan->object, slot);
		const volatile uintptr_t *generation = &copies->generation;
		uintptr_t before = *generation;
		unsigned char seen[PAYLOAD], wanted[PAYLOAD];

		memcpy(seen, copy_of(copies, before), PAYLOAD);
		PERCPU__BARRIER();
		if (*generation != before)
			continue;
		fill(wanted, before);
		if (memcmp(seen, wanted, PAYLOAD) != 0)
			test_fail(__FILE__, __LINE__, "copy_commit: the live copy was written");
	}
}

static void check_copies(struct storm_plan *plan, const struct storm_context *contexts,
			 unsigned count)
{
	(void)contexts, (void)count;
	watch_copies(plan);
}

/* ---- push and pop ---- */

#define NODES 64

struct node {
	struct node *next;
	uint32_t taken;
};

static struct node nodes[NODES];

static void prepare_list(struct storm_plan *plan)
{
	memset(nodes, 0, sizeof(nodes));
	for (unsigned i = 0; i < NODES; i++) {
		struct node **head = percpu__slot(plan->object, i % percpu_ncpus());

		nodes[i].next = *head;
		*head = &nodes[i];
	}
}

static void push_pop(struct storm_context *c, unsigned calls)
{
	const struct percpu__handle handle = {.base = c->plan->object, .bound = percpu__rt.bound};

	while (calls--) {
		struct node *node = c->held;
		void *popped = NULL;

		if (node) {
			__atomic_store_n(&node->taken, 0, __ATOMIC_RELAXED);
			if (storm_done(c, percpu__seq_list_push(&handle, node, node)))
				c->held = NULL;
			else
				__atomic_store_n(&node->taken, 1, __ATOMIC_RELAXED);
		} else if (storm_done(c, percpu__seq_list_pop(&handle, &popped))) {
			node = popped;
			if (__atomic_exchange_n(&node->taken, 1, __ATOMIC_RELAXED) != 0)
				test_fail(__FILE__, __LINE__, "push_pop: popped twice");
			c->held = node;
		}
		storm_count(c, 0);
	}
}

static void check_list(struct storm_plan *plan, const struct storm_context *contexts,
		       unsigned count)
{
	unsigned found = 0;

	for (unsigned slot = 0; slot < percpu_ncpus(); slot++) {
		struct node *const *head = percpu__slot(plan->object, slot);

		for (struct node *node = *head; node; node = node->next) {
			if (found++ >= NODES || node->taken)
				test_fail(__FILE__, __LINE__, "push_pop: a node is in two places");
		}
	}
	for (unsigned i = 0; i < count; i++)
		found += contexts[i].held != NULL;
	CHECK_EQ(found, NODES);
}

/* ---- The table ---- */

#define STORE_COMMIT_PLAN(w, type)                                                                 \
	{.name = "store_commit_" #w,                                                               \
	 .run = store_commit_##w,                                                                  \
	 .batch = 3000,                                                                            \
	 .size = sizeof(struct pair_##w),                                                          \
	 .width = (w),                                                                             \
	 .measure = measure_generation,                                                            \
	 .mask = ~0ull >> (64 - 4 * (w)),                                                          \
	 .by_slot = true,                                                                          \
	 .each_once = true,                                                                        \
	 .aborts = true,                                                                           \
	 .watch = watch_store_commit_##w,                                                          \
	 .check = check_store_commit_##w},

static struct storm_plan plans[] = {
	/* clang-format off */
	STORM_WIDTHS(STORE_COMMIT_PLAN)
	/* clang-format on */
	{.name = "copy_commit",
	 .run = copy_commit,
	 .batch = 300,
	 .size = sizeof(struct copies),
	 .width = sizeof(uintptr_t),
	 .measure = measure_generation,
	 .mask = UINTPTR_MAX >> (4 * sizeof(uintptr_t)),
	 .by_slot = true,
	 .each_once = true,
	 .aborts = true,
	 .watch = watch_copies,
	 .check = check_copies},
	{.name = "push_pop",
	 .run = push_pop,
	 .batch = 4000,
	 .size = 2 * sizeof(struct node *),
	 .aborts = true,
	 .prepare = prepare_list,
	 .check = check_list},
};
const struct storm_list storm_sequences = {plans, sizeof(plans) / sizeof(plans[0])};

#else

const struct storm_list storm_sequences = {NULL, 0};

#endif

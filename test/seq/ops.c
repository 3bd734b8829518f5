/* SPDX-License-Identifier: MIT */
#include "ops.h"

#include <stdio.h>
#include <string.h>

#include <percpu/area.h>
#include <percpu/seq.h>

#if ARCH_HAVE_SEQ

/* ---- The sequences as functions ---- */

#define RUN(name)                                                                                  \
	static __attribute__((noinline)) void run_##name(const struct seq_args *a,                 \
							 struct seq_result *r)

/* The answers of seq.h in words of the pseudo-code. */
static void answer(struct seq_result *r, int left, uint32_t slot, uint64_t value)
{
	r->answer = left > 0                      ? PSEUDO_DONE
		    : left == PERCPU__UNAVAILABLE ? PSEUDO_UNAVAILABLE
		    : left == PERCPU__REFUSED     ? PSEUDO_REFUSED
						  : PSEUDO_ABORTED;
	r->slot = slot;
	r->value = value;
}

static void answer_done(struct seq_result *r, bool done)
{
	answer(r, done, NO_SLOT, 0);
}

#define RUN_RMW(name, w, type)                                                                     \
	RUN(name##_##w)                                                                            \
	{                                                                                          \
		answer_done(r, percpu__seq_##name##_##w(a->base, (type)a->value));                 \
	}

#define RUN_WORD(w, type)                                                                          \
	RUN_RMW(add, w, type)                                                                      \
	RUN_RMW(and, w, type)                                                                      \
	RUN_RMW(or, w, type)                                                                       \
	RUN(add_return_##w)                                                                        \
	{                                                                                          \
		uint32_t slot = NO_SLOT;                                                           \
		type sum = 0;                                                                      \
		int left = percpu__seq_add_return_##w(a->base, (type)a->value, &sum, &slot);       \
                                                                                                   \
		answer(r, left, slot, sum);                                                        \
	}                                                                                          \
	RUN(xchg_##w)                                                                              \
	{                                                                                          \
		uint32_t slot = NO_SLOT;                                                           \
		type old = 0;                                                                      \
		int left = percpu__seq_xchg_##w(a->base, (type)a->value, &old, &slot);             \
                                                                                                   \
		answer(r, left, slot, old);                                                        \
	}                                                                                          \
	RUN(cmpxchg_##w)                                                                           \
	{                                                                                          \
		uint32_t slot = NO_SLOT;                                                           \
		type old = 0;                                                                      \
		int left = percpu__seq_cmpxchg_##w(a->base, (type)a->expect, (type)a->value, &old, \
						   &slot);                                         \
                                                                                                   \
		answer(r, left, slot, old);                                                        \
	}                                                                                          \
	RUN(cmpxchg2_##w)                                                                          \
	{                                                                                          \
		uint32_t slot = NO_SLOT;                                                           \
		int left = percpu__seq_cmpxchg2_##w(a->base, (type)a->expect, (type)a->value,      \
						    a->base2, (type)a->expect2, &slot);            \
                                                                                                   \
		answer(r, left, slot, 0);                                                          \
	}                                                                                          \
	RUN(store_commit_##w)                                                                      \
	{                                                                                          \
		uint32_t slot = NO_SLOT;                                                           \
		int left = percpu__seq_store_commit_##w(a->base, (type)a->expect, (type)a->value,  \
							a->base2, (type)a->value2, &slot);         \
                                                                                                   \
		answer(r, left, slot, 0);                                                          \
	}

RUN_WORD(1, uint8_t)
RUN_WORD(2, uint16_t)
RUN_WORD(4, uint32_t)
#if ARCH_HAVE_SEQ_8
RUN_WORD(8, uint64_t)
#endif

/* Of a narrow cell it is the low word, and steps are short: seq_prepare() sees to it. */
RUN(add_handle_8)
{
	void *const cells = a->base;

	answer_done(r, percpu__seq_add_handle_8(&cells, (int64_t)a->value));
}
#if !PERCPU__NARROW_CELLS

RUN(event_add_8)
{
	const struct percpu__handle handle = {.base = a->base, .bound = percpu__rt.bound};

	answer_done(r, percpu__seq_event_add_8(&handle, (int64_t)a->value));
}
#endif

static struct percpu__handle handle_of(const struct seq_args *a)
{
	return (struct percpu__handle){.base = a->base, .bound = percpu__rt.bound};
}

RUN(list_pop)
{
	const struct percpu__handle handle = handle_of(a);
	void *node = NULL;
	int left = percpu__seq_list_pop(&handle, &node);

	answer(r, left, NO_SLOT, left == PERCPU__UNAVAILABLE ? 0 : (uintptr_t)node);
}

RUN(list_push)
{
	const struct percpu__handle handle = handle_of(a);

	answer(r, percpu__seq_list_push(&handle, a->node, a->last), NO_SLOT, 0);
	if (r->answer == PSEUDO_REFUSED)
		r->value = UINTPTR_MAX;
}

RUN(list_take)
{
	const struct percpu__handle handle = handle_of(a);
	void *node = NULL;
	int left = percpu__seq_list_take(&handle, &node);

	answer(r, left, NO_SLOT, left == PERCPU__UNAVAILABLE ? 0 : (uintptr_t)node);
}

RUN(stack_pop)
{
	const struct percpu__handle handle = handle_of(a);
	uintptr_t next = 0;
	void *item = NULL;
	int left = percpu__seq_stack_pop(&handle, &item, &next);

	answer(r, left, NO_SLOT, left > 0 ? (uintptr_t)item : next);
}

RUN(stack_push)
{
	const struct percpu__handle handle = handle_of(a);
	uintptr_t next = 0;
	int left = percpu__seq_stack_push(&handle, (void *)(uintptr_t)a->value, &next);

	answer(r, left, NO_SLOT, left > 0 ? 0 : next);
}

RUN(values_pop)
{
	const struct percpu__handle handle = handle_of(a);
	uintptr_t next = 0;
	int left = percpu__seq_values_pop(&handle, a->source, a->count, a->room, &next);

	answer(r, left, NO_SLOT, left > 0 ? 0 : next);
}

RUN(values_push)
{
	const struct percpu__handle handle = handle_of(a);
	uintptr_t next = 0;
	int left = percpu__seq_values_push(&handle, a->source, a->count, a->room, &next);

	answer(r, left, NO_SLOT, left > 0 ? 0 : next);
}

/* A function, as compilers unroll the loop around it: a debugger looks for the one range. */
static __attribute__((noinline)) int lock_once(void *const *words, uintptr_t me)
{
	return percpu__seq_lock(words, me);
}

/* As often as the others try by themselves. */
RUN(lock)
{
	void *const words = a->base;
	int slot = PERCPU__ABORTED_ONCE;

	for (int left = PERCPU__ATTEMPTS; left > 0 && slot == PERCPU__ABORTED_ONCE; left--)
		slot = lock_once(&words, (uintptr_t)a->value);
	answer(r, slot >= 0 ? 1 : slot, (uint32_t)slot, 0);
}

RUN(copy_commit)
{
	uint32_t slot = NO_SLOT;
	int left = percpu__seq_copy_commit(a->base, (uintptr_t)a->expect, (uintptr_t)a->value,
					   a->base2, a->source, a->count, &slot);

	answer(r, left, slot, 0);
}

#define POINTER_WIDTH ((unsigned)sizeof(void *))

/* clang-format off */
#define OPS_OF_WIDTH(w)                                                                            \
	{ "add_" #w, w, PSEUDO_ADD, true, false, run_add_##w },                                           \
	{ "and_" #w, w, PSEUDO_AND, true, false, run_and_##w },                                           \
	{ "or_" #w, w, PSEUDO_OR, true, false, run_or_##w },                                              \
	{ "add_return_" #w, w, PSEUDO_ADD_RETURN, false, false, run_add_return_##w },                     \
	{ "xchg_" #w, w, PSEUDO_XCHG, false, false, run_xchg_##w },                                       \
	{ "cmpxchg_" #w, w, PSEUDO_CMPXCHG, false, false, run_cmpxchg_##w },                              \
	{ "cmpxchg2_" #w, w, PSEUDO_CMPXCHG2, false, false, run_cmpxchg2_##w },                           \
	{ "store_commit_" #w, w, PSEUDO_STORE_COMMIT, false, false, run_store_commit_##w }

const struct seq_op seq_ops[] = {
	OPS_OF_WIDTH(1),
	OPS_OF_WIDTH(2),
	OPS_OF_WIDTH(4),
#if ARCH_HAVE_SEQ_8
	OPS_OF_WIDTH(8),
#endif
	{ "add_handle_8", PERCPU__NARROW_CELLS ? 4 : 8, PSEUDO_ADD, true, false, run_add_handle_8 },
#if !PERCPU__NARROW_CELLS
	{ "event_add_8", 8, PSEUDO_ADD, true, false, run_event_add_8 },
#endif
	{ "copy_commit", POINTER_WIDTH, PSEUDO_COPY_COMMIT, false, false, run_copy_commit },
	{ "list_pop", POINTER_WIDTH, PSEUDO_LIST_POP, false, true, run_list_pop },
	{ "list_push", POINTER_WIDTH, PSEUDO_LIST_PUSH, false, true, run_list_push },
	{ "list_take", POINTER_WIDTH, PSEUDO_LIST_TAKE, false, true, run_list_take },
	{ "stack_pop", POINTER_WIDTH, PSEUDO_STACK_POP, false, true, run_stack_pop },
	{ "stack_push", POINTER_WIDTH, PSEUDO_STACK_PUSH, false, true, run_stack_push },
	{ "values_pop", POINTER_WIDTH, PSEUDO_VALUES_POP, false, true, run_values_pop },
	{ "values_push", POINTER_WIDTH, PSEUDO_VALUES_PUSH, false, true, run_values_push },
	{ "lock", POINTER_WIDTH, PSEUDO_LOCK, false, false, run_lock },
};
/* clang-format on */

bool seq_op_reads_base(const struct seq_op *op)
{
	return op->run == run_add_handle_8 || op->run == run_lock;
}

bool seq_op_needs_room(const struct seq_op *op)
{
	return PERCPU__NARROW_CELLS && op->run == run_add_handle_8;
}

#else

const struct seq_op seq_ops[1];

bool seq_op_needs_room(const struct seq_op *op)
{
	return (void)op, false;
}

#endif

const unsigned seq_op_count = ARCH_HAVE_SEQ ? sizeof(seq_ops) / sizeof(seq_ops[0]) : 0;

/* ---- Cases ---- */

static uint64_t random_word(void)
{
	static uint64_t x = 88172645463325252u;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static uint64_t truncated(uint64_t value, unsigned width)
{
	return width == 8 ? value : value & ((UINT64_C(1) << (8 * width)) - 1);
}

static bool compares(const struct seq_op *op)
{
	return op->op == PSEUDO_CMPXCHG || op->op == PSEUDO_CMPXCHG2 ||
	       op->op == PSEUDO_STORE_COMMIT || op->op == PSEUDO_COPY_COMMIT;
}

static bool of_list(const struct seq_op *op)
{
	return op->op == PSEUDO_LIST_POP || op->op == PSEUDO_LIST_PUSH ||
	       op->op == PSEUDO_LIST_TAKE;
}

static bool of_stack(const struct seq_op *op)
{
	return op->op >= PSEUDO_STACK_POP && op->op <= PSEUDO_VALUES_PUSH;
}

static bool of_lock(const struct seq_op *op)
{
	return op->op == PSEUDO_LOCK;
}

/* Works on a slot of two words and what lies behind them. */
static bool of_two(const struct seq_op *op)
{
	return of_list(op) || of_stack(op) || of_lock(op);
}

bool seq_case_done(const struct seq_op *op, struct seq_case *c)
{
	*c = (struct seq_case){.word = 0x1122334455667788u,
			       .second = 0x99aabbccddeeff00u,
			       .value = 0x0f1e2d3c4b5a6978u,
			       .value2 = 0x2468ace02468ace0u,
			       .offset = 16,
			       .count = 2 * sizeof(void *) + 3};
	c->expect = c->word;
	c->expect2 = c->second;
	if (of_list(op))
		c->word = 1;
	if (of_lock(op))
		c->word = 0;
	if (of_stack(op)) {
		c->word = 6;
		c->second = STACK_ROOM / sizeof(void *);
	}
	return true;
}

bool seq_case_refused(const struct seq_op *op, struct seq_case *c)
{
	seq_case_done(op, c);
	c->expect ^= UINT64_C(1) << (8 * op->width - 1);
	if (of_list(op))
		c->word = 0;
	c->closed = op->op == PSEUDO_LIST_PUSH;
	if (op->op == PSEUDO_STACK_POP || op->op == PSEUDO_VALUES_POP)
		c->word = 0;
	if (op->op == PSEUDO_STACK_PUSH || op->op == PSEUDO_VALUES_PUSH)
		c->word = c->second;
	if (of_lock(op))
		c->word = c->second;
	return compares(op) || of_two(op);
}

bool seq_case_two_words(const struct seq_op *op, struct seq_case *c)
{
	seq_case_done(op, c);
	c->count = 2 * sizeof(void *);
	return op->op == PSEUDO_COPY_COMMIT || op->op == PSEUDO_VALUES_POP ||
	       op->op == PSEUDO_VALUES_PUSH;
}

static uint64_t edge(unsigned number, unsigned width)
{
	uint64_t top = UINT64_C(1) << (8 * width - 1);
	const uint64_t edges[] = {0, 1, top - 1, top, top + 1, UINT64_MAX, 0x5a5a5a5a5a5a5a5au};

	return edges[number % 7];
}

void seq_case_number(const struct seq_op *op, unsigned number, struct seq_case *c)
{
	static const size_t sizes[] = {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 63, 64, 255, 256};
	const uint64_t bits = UINT64_C(8) * op->width;
	bool edges = number < 7 * 7 * 4;

	seq_case_done(op, c);
	c->word = edges ? edge(number, op->width) : random_word();
	c->value = edges ? edge(number / 7, op->width) : random_word();
	c->second = random_word();
	c->value2 = random_word();
	c->expect = c->word;
	c->expect2 = c->second;
	/* Half of the comparisons meet another value, one that differs in one bit only. */
	if (number / 49 & 1)
		c->expect ^= UINT64_C(1) << random_word() % bits;
	if (number / 49 & 2)
		c->expect2 ^= UINT64_C(1) << random_word() % bits;
	c->offset = random_word() % 8 * sizeof(void *);
	c->count = sizes[number % 16];
	if (of_list(op))
		c->word = number % 3;
	if (of_stack(op)) {
		c->second = STACK_ROOM / sizeof(void *);
		c->word = random_word() % (c->second + 1);
	}
	if (of_lock(op))
		c->word = number % 3 == 0 ? UINT64_C(1) << random_word() % bits : 0;
	c->closed = number % 5 == 4;
}

/* ---- Memory ---- */

static unsigned char *window_of(unsigned char *memory, uint32_t slot)
{
	return memory + (size_t)slot * PERCPU_STRIDE;
}

static void put(unsigned char *at, uint64_t value, unsigned width)
{
	uint8_t one = (uint8_t)value;
	uint16_t two = (uint16_t)value;
	uint32_t four = (uint32_t)value;

	if (width == 1)
		memcpy(at, &one, 1);
	else if (width == 2)
		memcpy(at, &two, 2);
	else if (width == 4)
		memcpy(at, &four, 4);
	else
		memcpy(at, &value, 8);
}

void seq_prepare(const struct seq_op *op, const struct seq_case *c, unsigned char *memory,
		 uint32_t slot, struct seq_args *args)
{
	unsigned char *window = window_of(memory, slot);
	unsigned char *second = window + AT_SECOND;
	uint64_t word = c->word, behind = 0;
	unsigned i;

	for (i = 0; i < WINDOW; i++)
		window[i] = (unsigned char)(i * 7 + slot + 0x31);
	if (of_list(op) && word)
		word = (uintptr_t)(window + AT_NODES + (word - 1) * NODE_SIZE);
	if (of_list(op))
		behind = c->closed ? UINT64_MAX : 0;
	if (of_lock(op))
		behind = c->closed ? UINT64_C(1) << c->second % (8 * op->width) : 0;
	if (of_stack(op)) {
		word *= sizeof(void *);
		behind = c->closed ? 0 : c->second * sizeof(void *);
	}
	put(window + AT_WORD, word, op->width);
	put(second, c->second, op->width);
	if (of_two(op)) {
		put(window + AT_DATA, word, op->width);
		put(window + AT_DATA + op->width, behind, op->width);
	}
	*args = (struct seq_args){.value = c->value,
				  .value2 = c->value2,
				  .expect = c->expect,
				  .expect2 = c->expect2,
				  .base = memory + (of_two(op) ? AT_DATA : AT_WORD),
				  .base2 = memory +
					   (op->op == PSEUDO_CMPXCHG2 ? AT_SECOND : AT_DATA),
				  .node = window + AT_NODES,
				  .last = window + AT_NODES + c->offset % 2 * NODE_SIZE,
				  .source = window + AT_SOURCE + c->offset % 8,
				  .count = c->count};
	if (seq_op_needs_room(op)) {
		put(window + AT_WORD + 4, word, 4);
		args->value = (uint64_t)((int32_t)c->value / 64);
	}
	args->room = (c->count + sizeof(void *)) / sizeof(void *) * sizeof(void *);
}

void seq_take_room(unsigned char *window)
{
	window[AT_WORD + 4] ^= 0x80;
	window[AT_WORD + 7] ^= 0x80;
}

static void find_scratch(const struct seq_op *op, const struct seq_args *args,
			 const unsigned char *window, struct seq_expected *expected)
{
	expected->scratch = AT_DATA;
	expected->scratch_size = 0;
	if (op->op == PSEUDO_STORE_COMMIT)
		expected->scratch_size = op->width;
	if (op->op == PSEUDO_COPY_COMMIT)
		expected->scratch_size = args->count;
	if (op->op == PSEUDO_LIST_PUSH) {
		expected->scratch = (size_t)((unsigned char *)args->last - window);
		expected->scratch_size = op->width;
	}
	if (op->op == PSEUDO_VALUES_POP) {
		expected->scratch = (size_t)((unsigned char *)args->source - window);
		expected->scratch_size = args->count;
	}
	/* Above the top. */
	if (op->op == PSEUDO_STACK_PUSH || op->op == PSEUDO_VALUES_PUSH) {
		uintptr_t top;

		memcpy(&top, window + AT_DATA, sizeof(top));
		expected->scratch = AT_DATA + 2 * sizeof(void *) + top;
		expected->scratch_size = op->op == PSEUDO_STACK_PUSH ? sizeof(void *) : args->count;
	}
}

void seq_expect(const struct seq_op *op, const struct seq_args *args, const unsigned char *memory,
		uint32_t slot, struct seq_expected *expected)
{
	const unsigned char *window = memory + (size_t)slot * PERCPU_STRIDE;
	struct pseudo_memory image = {(uintptr_t)window, WINDOW, expected->window};
	/* The slot's copies as if it were slot 0 of 1, so that the window is memory enough. */
	const uint64_t arg[R_ARGS] = {
		[R_BASE] = (uintptr_t)window + (size_t)((unsigned char *)args->base - memory),
		[R_BASE2] = (uintptr_t)window + (size_t)((unsigned char *)args->base2 - memory),
		[R_VALUE] = truncated(args->value, op->width),
		[R_VALUE2] = truncated(args->value2, op->width),
		[R_EXPECT] = args->expect,
		[R_EXPECT2] = args->expect2,
		[R_NODE] = (uintptr_t)args->node,
		[R_LAST] = (uintptr_t)args->last,
		[R_ONES] = truncated(UINT64_MAX, op->width),
		[R_SOURCE] = (uintptr_t)args->source,
		[R_COUNT] = op->op == PSEUDO_STACK_POP || op->op == PSEUDO_STACK_PUSH
				    ? sizeof(void *)
				    : args->count,
		[R_ROOM] = args->room,
	};
	const struct pseudo_env env = {&image, arg, 0, 1, PERCPU_STRIDE, op->width};

	memcpy(expected->window, window, WINDOW);
	expected->result = pseudo_run(op->op, &env);
	find_scratch(op, args, window, expected);
}

const char *seq_compare(const unsigned char *window, const struct seq_expected *expected,
			const unsigned char *wanted, bool without_scratch)
{
	static char text[80];
	size_t i;

	for (i = 0; i < WINDOW; i++) {
		bool scratch =
			i >= expected->scratch && i < expected->scratch + expected->scratch_size;

		if (window[i] == wanted[i] || (scratch && without_scratch))
			continue;
		(void)snprintf(text, sizeof(text), "byte %zu is 0x%02x, not 0x%02x", i, window[i],
			       wanted[i]);
		return text;
	}
	return NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * The programs of pseudo.h and the interpreter that runs them.
 *
 * Every program of the closed set keeps these rules, which test_model.c checks:
 *	- it arms, and everything from "cpu = cpu_id" to the commit is in the range;
 *	- the commit is the last step of the range, and the only store that anybody looks at;
 *	- an abort goes back to before the arming, so everything is read again.
 */
#include "pseudo.h"
#include "steps.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
/* The begin of every sequence; its range starts behind the arming. */
#define ENTER			ARM, LOAD_CPU, LEAVE_UNLESS_BELOW, SLOT(P, BASE)
#define RANGE(steps)		.start = 1, .post_commit = 4 + (steps), .restart = 0

const struct pseudo_program pseudo_programs[PSEUDO_OPS] = {
	[PSEUDO_ADD] = { "add", {
		ENTER,
		COMMIT_ADD(P, VALUE),
		DONE(ZERO) }, RANGE(1) },

	[PSEUDO_AND] = { "and", {
		ENTER,
		COMMIT_AND(P, VALUE),
		DONE(ZERO) }, RANGE(1) },

	[PSEUDO_OR] = { "or", {
		ENTER,
		COMMIT_OR(P, VALUE),
		DONE(ZERO) }, RANGE(1) },

	[PSEUDO_ADD_RETURN] = { "add_return", {
		ENTER,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		COMMIT(P, NEXT),
		DONE(NEXT) }, RANGE(3) },

	[PSEUDO_XCHG] = { "xchg", {
		ENTER,
		LOAD(SEEN, P),
		COMMIT(P, VALUE),
		DONE(SEEN) }, RANGE(2) },

	[PSEUDO_CMPXCHG] = { "cmpxchg", {
		ENTER,
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, SEEN),
		COMMIT(P, VALUE),
		DONE(SEEN) }, RANGE(3) },

	[PSEUDO_CMPXCHG2] = { "cmpxchg2", {
		ENTER,
		SLOT(Q, BASE2),
		LOAD(SEEN, Q),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT2, ZERO),
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, ZERO),
		COMMIT(P, VALUE),
		DONE(ZERO) }, RANGE(6) },

	[PSEUDO_STORE_COMMIT] = { "store_commit", {
		ENTER,
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, ZERO),
		SLOT(Q, BASE2),
		STORE(Q, VALUE2),
		COMMIT(P, VALUE),
		DONE(ZERO) }, RANGE(5) },

	[PSEUDO_COPY_COMMIT] = { "copy_commit", {
		ENTER,
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, ZERO),
		SLOT(Q, BASE2),
		COPY(I, ZERO),
		GOTO_IF_EQUAL(I, COUNT, +5),
		LOAD_BYTE(NEXT, SOURCE, I),
		STORE_BYTE(Q, I, NEXT),
		INCREMENT(I),
		GOTO(-4),
		COMMIT(P, VALUE),
		DONE(ZERO) }, RANGE(10) },

	[PSEUDO_LIST_POP] = { "list_pop", {
		ENTER,
		SECOND(Q, P),
		LOAD(I, Q),
		LOAD(SEEN, P),
		REFUSE_UNLESS_ABOVE(SEEN, I, SEEN),
		LOAD(NEXT, SEEN),
		COMMIT(P, NEXT),
		DONE(SEEN) }, RANGE(6) },

	[PSEUDO_LIST_PUSH] = { "list_push", {
		ENTER,
		SECOND(Q, P),
		LOAD(SEEN, Q),
		REFUSE_IF_DIFFERENT(SEEN, ZERO, SEEN),
		LOAD(SEEN, P),
		STORE(LAST, SEEN),
		COMMIT(P, NODE),
		DONE(ZERO) }, RANGE(6) },

	[PSEUDO_LIST_TAKE] = { "list_take", {
		ENTER,
		SECOND(Q, P),
		LOAD(I, Q),
		LOAD(SEEN, P),
		REFUSE_UNLESS_ABOVE(SEEN, I, SEEN),
		COMMIT(P, ZERO),
		DONE(SEEN) }, RANGE(5) },

	[PSEUDO_STACK_POP] = { "stack_pop", {
		ENTER,
		SECOND(Q, P),
		LOAD(I, Q),
		LOAD(SEEN, P),
		SUBTRACT(NEXT, SEEN, COUNT),
		REFUSE_UNLESS_BELOW(NEXT, I, NEXT),
		SECOND(Q, Q),
		ADDRESS(Q, Q, NEXT),
		LOAD(SEEN, Q),
		COMMIT(P, NEXT),
		DONE(SEEN) }, RANGE(9) },

	[PSEUDO_STACK_PUSH] = { "stack_push", {
		ENTER,
		SECOND(Q, P),
		LOAD(I, Q),
		LOAD(SEEN, P),
		REFUSE_UNLESS_BELOW(SEEN, I, SEEN),
		SECOND(Q, Q),
		ADDRESS(Q, Q, SEEN),
		STORE(Q, VALUE),
		ADD(NEXT, SEEN, COUNT),
		COMMIT(P, NEXT),
		DONE(ZERO) }, RANGE(9) },

	[PSEUDO_VALUES_POP] = { "values_pop", {
		ENTER,
		SECOND(Q, P),
		LOAD(I, Q),
		LOAD(SEEN, P),
		SUBTRACT(NEXT, SEEN, ROOM),
		REFUSE_UNLESS_BELOW(NEXT, I, NEXT),
		SECOND(Q, Q),
		ADDRESS(Q, Q, NEXT),
		COPY(I, ZERO),
		GOTO_IF_EQUAL(I, COUNT, +5),
		LOAD_BYTE(SEEN, Q, I),
		STORE_BYTE(SOURCE, I, SEEN),
		INCREMENT(I),
		GOTO(-4),
		COMMIT(P, NEXT),
		DONE(ZERO) }, RANGE(14) },

	[PSEUDO_VALUES_PUSH] = { "values_push", {
		ENTER,
		SECOND(Q, P),
		LOAD(I, Q),
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, ROOM),
		REFUSE_IF_ABOVE(NEXT, I, NEXT),
		SECOND(Q, Q),
		ADDRESS(Q, Q, SEEN),
		COPY(I, ZERO),
		GOTO_IF_EQUAL(I, COUNT, +5),
		LOAD_BYTE(SEEN, SOURCE, I),
		STORE_BYTE(Q, I, SEEN),
		INCREMENT(I),
		GOTO(-4),
		COMMIT(P, NEXT),
		DONE(ZERO) }, RANGE(14) },

	[PSEUDO_LOCK] = { "lock", {
		ENTER,
		SECOND(Q, P),
		LOAD(I, Q),
		LOAD(SEEN, P),
		OR(SEEN, SEEN, I),
		REFUSE_IF_DIFFERENT(SEEN, ZERO, ZERO),
		COMMIT(P, VALUE),
		DONE(ZERO) }, RANGE(6) },

	[PSEUDO_TXN_ADD] = { "txn add", {
		ENTER,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		UNLESS_ARMED(FIRST, +4),
		COMMIT(P, NEXT),
		TXN_DONE(NEXT),
		TXN_REFUSED }, .start = 6, .post_commit = 8, .restart = 10 },

	/* The instruction between the ranges stands for the way from one to the other. */
	[PSEUDO_TXN_TWO] = { "txn two", {
		TXN_TWO_BODY,
		UNLESS_ARMED(FIRST, +8),
		CHANGE,
		COPY(Q, Q),
		UNLESS_ARMED(TWO, +5),
		STORE(Q, VALUE2),
		COMMIT(P, NEXT),
		TXN_DONE(I),
		TXN_REFUSED }, .start = 12, .post_commit = 14, .restart = 20,
		.start2 = 15, .post_commit2 = 18, .second = DESCRIPTOR_TWO },

	[PSEUDO_TXN_COPY] = { "txn copy", {
		ENTER,
		LOAD(SEEN, P),
		GOTO_IF_EQUAL(SEEN, EXPECT, +3),
		CLEAR, /* cancelled */
		REFUSE_IF_EQUAL(ZERO, ZERO, ZERO),
		SLOT(Q, BASE2),
		UNLESS_ARMED(FIRST, +12),
		CHANGE,
		UNLESS_ARMED(COPY, +10),
		COPY(I, ZERO),
		GOTO_IF_EQUAL(I, COUNT, +5),
		LOAD_BYTE(NEXT, SOURCE, I),
		STORE_BYTE(Q, I, NEXT),
		INCREMENT(I),
		GOTO(-4),
		COMMIT(P, VALUE),
		TXN_DONE(ZERO),
		TXN_REFUSED }, .start = 9, .post_commit = 11, .restart = 21,
		.start2 = 11, .post_commit2 = 19, .second = DESCRIPTOR_COPY },
};

const struct pseudo_program pseudo_list_drain = { "drain", {
	COPY(CPU, SHARED),
	SLOT(P, BASE),
	SECOND(Q, P),
	STORE(Q, ONES),
	FENCE,
	LOAD(SEEN, P),
	STORE(P, ZERO),
	STORE(Q, ZERO),
	DONE(SEEN) }, .start = 0 };

/* The first item stands for all: what was taken must be what was there. */
const struct pseudo_program pseudo_stack_drain = { "drain", {
	COPY(CPU, SHARED),
	SLOT(P, BASE),
	SECOND(Q, P),
	LOAD(NEXT, Q),
	STORE(Q, ZERO),
	FENCE,
	LOAD(SEEN, P),
	SECOND(I, Q),
	LOAD(I, I),
	STORE(P, ZERO),
	STORE(Q, NEXT),
	GOTO_IF_EQUAL(SEEN, ZERO, +2),
	DONE(I),
	DONE(ZERO) }, .start = 0 };

/* What it reads is who holds the slot besides. */
const struct pseudo_program pseudo_lock_take = { "take", {
	COPY(CPU, SHARED),
	SLOT(P, BASE),
	SECOND(Q, P),
	STORE(Q, VALUE),
	FENCE,
	LOAD(SEEN, P),
	DONE(SEEN) }, .start = 0 };

const struct pseudo_program pseudo_shared[PSEUDO_OPS] = {
	[PSEUDO_ADD] = { "shared add", {
		SHARED_SLOT(P, BASE),
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		ATOMIC_STORE_IF(P, SEEN, NEXT, -1),
		DONE(ZERO) }, .start = 0 },

	[PSEUDO_AND] = { "shared and", {
		SHARED_SLOT(P, BASE),
		LOAD(SEEN, P),
		AND(NEXT, SEEN, VALUE),
		ATOMIC_STORE_IF(P, SEEN, NEXT, -1),
		DONE(ZERO) }, .start = 0 },

	[PSEUDO_OR] = { "shared or", {
		SHARED_SLOT(P, BASE),
		LOAD(SEEN, P),
		OR(NEXT, SEEN, VALUE),
		ATOMIC_STORE_IF(P, SEEN, NEXT, -1),
		DONE(ZERO) }, .start = 0 },

	[PSEUDO_ADD_RETURN] = { "shared add_return", {
		SHARED_SLOT(P, BASE),
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		ATOMIC_STORE_IF(P, SEEN, NEXT, -1),
		DONE(NEXT) }, .start = 0 },

	[PSEUDO_XCHG] = { "shared xchg", {
		SHARED_SLOT(P, BASE),
		LOAD(SEEN, P),
		ATOMIC_STORE_IF(P, SEEN, VALUE, 0),
		DONE(SEEN) }, .start = 0 },

	[PSEUDO_CMPXCHG] = { "shared cmpxchg", {
		SHARED_SLOT(P, BASE),
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, SEEN),
		ATOMIC_STORE_IF(P, SEEN, VALUE, -1),
		DONE(SEEN) }, .start = 0 },
};
/* clang-format on */

/* The bytes at an address, or NULL with the fault noted. */
static unsigned char *at(const struct pseudo_env *env, struct pseudo_context *context,
			 uint64_t address, unsigned width)
{
	const struct pseudo_memory *memory = env->memory;
	uint64_t offset = address - memory->origin;

	if (offset >= memory->size || memory->size - offset < width) {
		context->fault = 1;
		return NULL;
	}
	return memory->byte + offset;
}

static uint64_t truncated(const struct pseudo_env *env, uint64_t value)
{
	return env->width == 8 ? value : value & ((UINT64_C(1) << (8 * env->width)) - 1);
}

static uint64_t load(const struct pseudo_env *env, struct pseudo_context *context, uint64_t address,
		     unsigned width)
{
	const unsigned char *byte = at(env, context, address, width);
	uint8_t one;
	uint16_t two;
	uint32_t four;
	uint64_t eight;

	if (!byte)
		return 0;
	switch (width) {
	case 1:
		memcpy(&one, byte, sizeof(one));
		return one;
	case 2:
		memcpy(&two, byte, sizeof(two));
		return two;
	case 4:
		memcpy(&four, byte, sizeof(four));
		return four;
	default:
		memcpy(&eight, byte, sizeof(eight));
		return eight;
	}
}

static void store(const struct pseudo_env *env, struct pseudo_context *context, uint64_t address,
		  uint64_t value, unsigned width)
{
	unsigned char *byte = at(env, context, address, width);
	uint8_t one = (uint8_t)value;
	uint16_t two = (uint16_t)value;
	uint32_t four = (uint32_t)value;

	if (!byte)
		return;
	switch (width) {
	case 1:
		memcpy(byte, &one, sizeof(one));
		break;
	case 2:
		memcpy(byte, &two, sizeof(two));
		break;
	case 4:
		memcpy(byte, &four, sizeof(four));
		break;
	default:
		memcpy(byte, &value, sizeof(value));
	}
}

static uint64_t reg(const struct pseudo_env *env, const struct pseudo_context *context, unsigned r)
{
	return r < R_ARGS ? env->arg[r] : context->reg[r - R_ARGS];
}

static void set(struct pseudo_context *context, unsigned r, uint64_t value)
{
	context->reg[r - R_ARGS] = value;
}

/*
 * An instruction that reads, changes and writes one word without a lock: to the kernel one
 * instruction, to other CPUs a load and a store. What it read waits in next.
 */
static void read_modify_write(const struct pseudo_step *s, const struct pseudo_env *env,
			      struct pseudo_context *context)
{
	uint64_t address = reg(env, context, s->a), value = reg(env, context, s->b);
	uint64_t old = reg(env, context, R_NEXT);

	if (!context->half) {
		set(context, R_NEXT, load(env, context, address, env->width));
		context->half = 1;
		return;
	}
	context->half = 0;
	if (s->kind == K_COMMIT_ADD)
		value += old;
	else if (s->kind == K_COMMIT_AND)
		value &= old;
	else
		value |= old;
	store(env, context, address, value, env->width);
	context->pc++;
}

/* The steps that only compute; returns 0 if this is none of them. */
static int compute(const struct pseudo_step *s, const struct pseudo_env *env,
		   struct pseudo_context *context)
{
	uint64_t b = reg(env, context, s->b), c = reg(env, context, s->c);

	switch (s->kind) {
	case K_SLOT:
		set(context, s->a, b + c * env->stride);
		return 1;
	case K_ADDRESS:
	case K_ADD:
		set(context, s->a, b + c);
		return 1;
	case K_SECOND:
		set(context, s->a, b + env->width);
		return 1;
	case K_SUBTRACT:
		set(context, s->a, truncated(env, b - c));
		return 1;
	case K_AND:
		set(context, s->a, b & c);
		return 1;
	case K_OR:
		set(context, s->a, b | c);
		return 1;
	case K_COPY:
		set(context, s->a, b);
		return 1;
	case K_INCREMENT:
		set(context, s->a, reg(env, context, s->a) + 1);
		return 1;
	default:
		return 0;
	}
}

/* The steps that touch memory or the kernel's area; returns 0 if this is none of them. */
static int access_memory(const struct pseudo_step *s, const struct pseudo_env *env,
			 struct pseudo_context *context)
{
	uint64_t a = reg(env, context, s->a), b = reg(env, context, s->b);
	uint64_t c = reg(env, context, s->c), seen;

	switch (s->kind) {
	case K_ARM:
		context->armed = DESCRIPTOR_FIRST;
		return 1;
	case K_CLEAR:
		context->armed = DESCRIPTOR_NONE;
		return 1;
	case K_FENCE: /* explore.c does it */
		return 1;
	case K_LOAD_CPU:
		set(context, s->a, env->cpu);
		return 1;
	case K_LOAD:
		set(context, s->a, load(env, context, b, env->width));
		return 1;
	case K_LOAD_BYTE:
		set(context, s->a, load(env, context, b + c, 1));
		return 1;
	case K_STORE:
	case K_COMMIT:
		store(env, context, a, b, env->width);
		return 1;
	case K_STORE_BYTE:
		store(env, context, a + c, b, 1);
		return 1;
	case K_ATOMIC_STORE_IF:
		seen = load(env, context, a, env->width);
		if (seen == truncated(env, b)) {
			store(env, context, a, c, env->width);
			return 1;
		}
		set(context, s->b, seen);
		context->pc = (uint8_t)(context->pc + s->target - 1);
		return 1;
	default:
		return 0;
	}
}

static int branch(const struct pseudo_step *s, const struct pseudo_env *env,
		  struct pseudo_context *context, uint64_t *value)
{
	uint64_t a = reg(env, context, s->a), b = reg(env, context, s->b);
	int equal = truncated(env, a) == truncated(env, b);

	*value = truncated(env, reg(env, context, s->c));
	switch (s->kind) {
	case K_LEAVE_UNLESS_BELOW:
		*value = 0;
		return a < env->bound ? 0 : PSEUDO_UNAVAILABLE;
	case K_REFUSE_IF_DIFFERENT:
		return equal ? 0 : PSEUDO_REFUSED;
	case K_REFUSE_IF_EQUAL:
		return equal ? PSEUDO_REFUSED : 0;
	case K_REFUSE_UNLESS_BELOW:
		return truncated(env, a) < truncated(env, b) ? 0 : PSEUDO_REFUSED;
	case K_REFUSE_UNLESS_ABOVE:
		return truncated(env, a) > truncated(env, b) ? 0 : PSEUDO_REFUSED;
	case K_REFUSE_IF_ABOVE:
		return truncated(env, a) > truncated(env, b) ? PSEUDO_REFUSED : 0;
	case K_GOTO_IF_EQUAL:
		/* A count, not a word: compared in full. */
		context->pc = (uint8_t)(context->pc + (a == b ? s->target - 1 : 0));
		return 0;
	case K_GOTO:
		context->pc = (uint8_t)(context->pc + s->target - 1);
		return 0;
	case K_GOTO_UNLESS_ARMED:
		context->pc = (uint8_t)(context->pc + (context->armed == s->a ? 0 : s->target - 1));
		return 0;
	case K_ABORTED:
		*value = 0;
		return PSEUDO_ABORTED;
	default:
		*value = truncated(env, a);
		return PSEUDO_DONE;
	}
}

int pseudo_step(const struct pseudo_program *program, const struct pseudo_env *env,
		struct pseudo_context *context, uint64_t *value)
{
	const struct pseudo_step *s = &program->step[context->pc];
	int answer = 0;

	if (s->kind == K_COMMIT_ADD || s->kind == K_COMMIT_AND || s->kind == K_COMMIT_OR) {
		read_modify_write(s, env, context);
		return 0;
	}
	if (s->kind == K_CHANGE)
		context->armed = program->second;
	else if (!compute(s, env, context) && !access_memory(s, env, context))
		answer = branch(s, env, context, value);
	context->pc++;
	return answer;
}

int pseudo_in_range(const struct pseudo_program *program, const struct pseudo_context *context)
{
	uint8_t pc = context->pc;

	if (context->armed == DESCRIPTOR_FIRST)
		return pc >= program->start && pc < program->post_commit;
	if (program->second && context->armed == program->second)
		return pc >= program->start2 && pc < program->post_commit2;
	return 0;
}

struct pseudo_result pseudo_run(enum pseudo_op op, const struct pseudo_env *env)
{
	struct pseudo_context context = {.pc = 0};
	struct pseudo_result result = {PSEUDO_DONE, 0};
	int answer = 0;

	while (!answer && !context.fault)
		answer = pseudo_step(&pseudo_programs[op], env, &context, &result.value);
	result.answer = (enum pseudo_answer)(context.fault ? 0 : answer);
	return result;
}

static const char *reg_name(unsigned r)
{
	static const char *const names[R_ALL] = {
		[R_ZERO] = "0",          [R_BASE] = "base",     [R_BASE2] = "base2",
		[R_VALUE] = "value",     [R_VALUE2] = "value2", [R_EXPECT] = "expect",
		[R_EXPECT2] = "expect2", [R_NODE] = "node",     [R_LAST] = "last",
		[R_ONE] = "1",           [R_ONES] = "~0",       [R_ROOM] = "room",
		[R_SHARED] = "shared",   [R_SOURCE] = "source", [R_COUNT] = "count",
		[R_CPU] = "cpu",         [R_P] = "p",           [R_Q] = "q",
		[R_SEEN] = "seen",       [R_NEXT] = "next",     [R_I] = "i",
	};

	return names[r];
}

void pseudo_text(const struct pseudo_step *s, char *text, size_t size)
{
	/* Each pattern names registers by letter: A, B, C. */
	static const char *const pattern[] = {
		[K_ARM] = "rseq_cs = descriptor",
		[K_LOAD_CPU] = "A = cpu_id",
		[K_LEAVE_UNLESS_BELOW] = "if (A >= bound) leave UNAVAILABLE",
		[K_SLOT] = "A = B + C * stride",
		[K_ADDRESS] = "A = B + C",
		[K_SECOND] = "A = B + word",
		[K_LOAD] = "A = *B",
		[K_STORE] = "*A = B",
		[K_LOAD_BYTE] = "A = B[C]",
		[K_STORE_BYTE] = "A[C] = B",
		[K_COPY] = "A = B",
		[K_ADD] = "A = B + C",
		[K_SUBTRACT] = "A = B - C",
		[K_AND] = "A = B & C",
		[K_OR] = "A = B | C",
		[K_INCREMENT] = "A++",
		[K_REFUSE_IF_DIFFERENT] = "if (A != B) leave REFUSED",
		[K_REFUSE_IF_EQUAL] = "if (A == B) leave REFUSED",
		[K_REFUSE_UNLESS_BELOW] = "if (A >= B) leave REFUSED",
		[K_REFUSE_UNLESS_ABOVE] = "if (A <= B) leave REFUSED",
		[K_REFUSE_IF_ABOVE] = "if (A > B) leave REFUSED",
		[K_GOTO_IF_EQUAL] = "if (A == B) goto",
		[K_GOTO] = "goto",
		[K_COMMIT] = "*A = B  (commit)",
		[K_COMMIT_ADD] = "*A += B  (commit)",
		[K_COMMIT_AND] = "*A &= B  (commit)",
		[K_COMMIT_OR] = "*A |= B  (commit)",
		[K_ATOMIC_STORE_IF] = "atomic: if (*A == B) *A = C; else { B = *A; goto }",
		[K_FENCE] = "fence",
		[K_DONE] = "return DONE, A",
		[K_CLEAR] = "rseq_cs = 0",
		[K_CHANGE] = "rseq_cs = second descriptor",
		[K_GOTO_UNLESS_ARMED] = "if (rseq_cs != descriptor) goto",
		[K_ABORTED] = "not done",
	};
	const char *from = pattern[s->kind];
	size_t used = 0;
	char letter[2] = "";

	text[0] = '\0';
	for (; *from && used + 1 < size; from++) {
		/* A register's letter stands alone; the ones inside words do not. */
		int alone = *from >= 'A' && *from <= 'C' && !(from[1] >= 'A' && from[1] <= 'Z') &&
			    !(from > pattern[s->kind] && from[-1] >= 'A' && from[-1] <= 'Z');
		unsigned r = *from == 'A' ? s->a : *from == 'B' ? s->b : s->c;

		letter[0] = *from;
		used += (size_t)snprintf(text + used, size - used, "%s",
					 alone ? reg_name(r) : letter);
	}
}

const char *pseudo_answer_name(int answer)
{
	static const char *const names[] = {"not ended", "DONE", "REFUSED", "UNAVAILABLE",
					    "ABORTED"};

	return answer >= 0 && answer <= PSEUDO_ABORTED ? names[answer] : "no answer";
}

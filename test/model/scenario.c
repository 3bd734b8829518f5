/* SPDX-License-Identifier: MIT */
/*
 * The memory that scenarios begin with, and the arguments each actor uses, chosen so that every
 * order of any three calls leaves a different trace, and no number made on the way is a pointer to
 * nowhere.
 */
#include "explore.h"

#include <string.h>

/* The first word of slot 0: a number, or a node. */
#define NUMBER 0x87
#define NODE 0x81
#define SECOND 0x55 /* the second word of every slot */

static void put(struct scenario *scenario, unsigned address, unsigned value)
{
	scenario->memory[address - ORIGIN] = (uint8_t)value;
}

/* One item in each slot, and room for another. */
static void put_stacks(struct scenario *scenario)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		put(scenario, WORD_AT + slot * STRIDE, 1);
		put(scenario, SECOND_AT + slot * STRIDE, STACK_LIMIT);
		put(scenario, DATA_AT + slot * STRIDE, 0xd0 + slot);
	}
}

/* Nobody holds any. */
static void put_locks(struct scenario *scenario)
{
	for (unsigned slot = 0; slot < SLOTS; slot++) {
		put(scenario, WORD_AT + slot * STRIDE, 0);
		put(scenario, SECOND_AT + slot * STRIDE, 0);
	}
}

/* Each slot has nodes of its own, and is open. */
static void put_lists(struct scenario *scenario)
{
	for (unsigned slot = 0; slot < SLOTS; slot++)
		put(scenario, SECOND_AT + slot * STRIDE, 0);
	put(scenario, WORD_AT, NODE);
	put(scenario, NODE, 0x82);
	put(scenario, WORD_AT + STRIDE, 0x85);
	put(scenario, 0x85, 0x86);
	put(scenario, WORD_AT + 2 * STRIDE, 0x89);
}

void scenario_init(struct scenario *scenario, enum content content)
{
	unsigned slot, i;

	memset(scenario, 0, sizeof(*scenario));
	scenario->cpus = 2;
	scenario->attempts = 1;
	scenario->pointers = content == POINTERS;
	for (i = 0; i < ACTORS; i++)
		scenario->script[i].registered = 1;
	for (slot = 0; slot < SLOTS; slot++) {
		put(scenario, WORD_AT + slot * STRIDE, NUMBER);
		put(scenario, SECOND_AT + slot * STRIDE, SECOND);
	}
	scenario->stacks = content == STACKS;
	if (content == POINTERS)
		put_lists(scenario);
	if (content == STACKS)
		put_stacks(scenario);
	if (content == LOCKS)
		put_locks(scenario);
	for (i = 0; i < 6; i++)
		put(scenario, SOURCE_AT + i, 0xc0 + i);
}

/* Small steps and low bits, so that a pointer stays one. */
static unsigned operand(const struct scenario *scenario, enum actor actor, enum pseudo_op op)
{
	static const uint8_t step[ACTORS] = {1, 4, 2}, bit[ACTORS] = {2, 6, 4};

	switch (op) {
	case PSEUDO_ADD:
	case PSEUDO_ADD_RETURN:
	case PSEUDO_TXN_ADD:
		return step[actor];
	case PSEUDO_AND:
		return 0xffu & ~(unsigned)step[actor];
	case PSEUDO_OR:
		return scenario->pointers ? bit[actor] : 8u << actor;
	default:
		return 0x8du + actor;
	}
}

struct call *scenario_call(struct scenario *scenario, enum actor actor, enum pseudo_op op)
{
	struct script *script = &scenario->script[actor];
	struct call *call = &script->call[script->length++];

	memset(call, 0, sizeof(*call));
	call->op = op;
	call->arg[R_BASE] = WORD_AT;
	call->arg[R_BASE2] = op == PSEUDO_CMPXCHG2 ? SECOND_AT : DATA_AT;
	call->arg[R_VALUE] = operand(scenario, actor, op);
	call->arg[R_VALUE2] = 0xb0u + actor;
	call->arg[R_EXPECT] = scenario->pointers ? NODE : NUMBER;
	call->arg[R_EXPECT2] = scenario->pointers ? 0 : SECOND;
	call->arg[R_NODE] = PRIVATE_AT + actor;
	call->arg[R_LAST] = call->arg[R_NODE];
	call->arg[R_ONE] = 1;
	call->arg[R_ONES] = 0xff;
	call->arg[R_SOURCE] = SOURCE_AT + 2u * actor;
	call->arg[R_COUNT] = scenario->stacks ? 1 : 2;
	call->arg[R_ROOM] = 1;
	call->arg[R_SHARED] = SHARED_SLOT_INDEX;
	if (op > PSEUDO_OPS) {
		call->instead = op == PSEUDO_LIST_DRAIN    ? &pseudo_list_drain
				: op == PSEUDO_STACK_DRAIN ? &pseudo_stack_drain
							   : &pseudo_lock_take;
		call->arg[R_SHARED] = 0;
	}
	return call;
}

void call_swap_words(struct call *call)
{
	uint64_t expect = call->arg[R_EXPECT];

	call->arg[R_BASE] = SECOND_AT;
	call->arg[R_EXPECT] = call->arg[R_EXPECT2];
	call->arg[R_BASE2] = WORD_AT;
	call->arg[R_EXPECT2] = expect;
}

/* SPDX-License-Identifier: MIT */
/*
 * What each operation means, in plain C on plain memory, and the search for one order of the calls
 * that explains a history. Nothing here knows of steps, aborts or CPUs: a call chose a slot and
 * happened there at once, or did not happen at all.
 */
#include "explore.h"

#include <string.h>

/* Memory as it would be, and which of its words anybody may look at. */
struct image {
	uint8_t word[MEMORY_SIZE];
	uint8_t visible[MEMORY_SIZE];
};

struct meaning {
	uint8_t answer, value;
};

static unsigned place(uint64_t address)
{
	return (unsigned)((uint8_t)address - ORIGIN) % MEMORY_SIZE;
}

static struct meaning done(uint8_t value)
{
	return (struct meaning){PSEUDO_DONE, value};
}

static struct meaning refused(uint8_t value)
{
	return (struct meaning){PSEUDO_REFUSED, value};
}

static void show(struct image *image, unsigned where, uint8_t value)
{
	image->word[where] = value;
	image->visible[where] = 1;
}

/* A node that was taken is its new owner's: who may write into it at once. */
static struct meaning list_pop(struct image *image, uint8_t *word)
{
	uint8_t head = *word;

	if (!head)
		return refused(0);
	*word = image->word[place(head)];
	image->visible[place(head)] = 0;
	return done(head);
}

static struct meaning list_push(struct image *image, uint8_t *word, const uint64_t *arg)
{
	show(image, place(arg[R_LAST]), *word);
	*word = (uint8_t)arg[R_NODE];
	return done(0);
}

static struct meaning list_take(struct image *image, uint8_t *word)
{
	uint8_t head = *word, node = head;

	for (unsigned length = 0; node && length < MEMORY_SIZE; length++) {
		image->visible[place(node)] = 0;
		node = image->word[place(node)];
	}
	*word = 0;
	return head ? done(head) : refused(0);
}

/* Items that are taken, or not there yet, are anybody's. */
static struct meaning stack_pop(struct image *image, uint8_t *top, const uint64_t *arg,
				enum pseudo_op op)
{
	uint8_t *item = top + 2, limit = top[1], value = 0;
	uint8_t size = (uint8_t)arg[op == PSEUDO_STACK_POP ? R_COUNT : R_ROOM];
	uint8_t next = (uint8_t)(*top - size);

	if (next >= limit)
		return refused(next);
	for (unsigned i = 0; i < size; i++) {
		if (op == PSEUDO_VALUES_POP && i < arg[R_COUNT])
			show(image, place(arg[R_SOURCE] + i), item[next + i]);
		image->visible[item + next + i - image->word] = 0;
	}
	if (op == PSEUDO_STACK_POP)
		value = item[next];
	*top = next;
	return done(value);
}

static struct meaning stack_push(struct image *image, uint8_t *top, const uint64_t *arg,
				 enum pseudo_op op)
{
	unsigned item = (unsigned)(top + 2 - image->word) + *top;
	uint8_t size = (uint8_t)arg[op == PSEUDO_STACK_PUSH ? R_COUNT : R_ROOM];
	uint8_t limit = top[1], next = (uint8_t)(*top + size);

	if (op == PSEUDO_STACK_PUSH ? *top >= limit : next > limit)
		return refused(op == PSEUDO_STACK_PUSH ? *top : next);
	if (op == PSEUDO_STACK_PUSH)
		show(image, item, (uint8_t)arg[R_VALUE]);
	for (unsigned i = 0; op == PSEUDO_VALUES_PUSH && i < arg[R_COUNT]; i++)
		show(image, item + i, image->word[place(arg[R_SOURCE] + i)]);
	*top = next;
	return done(0);
}

static struct meaning stack_drain(struct image *image, uint8_t *top)
{
	uint8_t first = *top ? top[2] : 0;

	memset(&image->visible[top + 2 - image->word], 0, 2);
	*top = 0;
	return done(first);
}

static struct meaning copy(struct image *image, uint8_t *word, const uint64_t *arg, uint64_t shift)
{
	unsigned i;

	if (*word != arg[R_EXPECT])
		return refused(0);
	for (i = 0; i < arg[R_COUNT]; i++)
		show(image, place(arg[R_BASE2] + shift + i), image->word[place(arg[R_SOURCE] + i)]);
	*word = (uint8_t)arg[R_VALUE];
	return done(0);
}

/* Bit 0 of the word says which of two copies is the live one; the other is filled and becomes it. */
static struct meaning flip(struct image *image, uint8_t *word, const uint64_t *arg, uint64_t shift)
{
	unsigned live = place(arg[R_BASE2] + shift + (*word & 1));

	*word = (uint8_t)(*word + 1);
	show(image, place(arg[R_BASE2] + shift + (*word & 1)), (uint8_t)arg[R_VALUE2]);
	image->visible[live] = 0;
	return done(image->word[live]);
}

static struct meaning replace(uint8_t *word, const uint64_t *arg, int equal, uint8_t value)
{
	if (!equal)
		return refused(value);
	*word = (uint8_t)arg[R_VALUE];
	return done(value);
}

static struct meaning apply(struct image *image, enum pseudo_op op, const uint64_t *arg,
			    unsigned slot)
{
	uint64_t shift = (uint64_t)slot * STRIDE;
	uint8_t *word = &image->word[place(arg[R_BASE] + shift)];
	uint8_t second = image->word[place(arg[R_BASE2] + shift)];
	uint8_t old = *word;

	switch (op) {
	case PSEUDO_ADD:
		*word = (uint8_t)(old + arg[R_VALUE]);
		return done(0);
	case PSEUDO_AND:
		*word = (uint8_t)(old & arg[R_VALUE]);
		return done(0);
	case PSEUDO_OR:
		*word = (uint8_t)(old | arg[R_VALUE]);
		return done(0);
	case PSEUDO_ADD_RETURN:
	case PSEUDO_TXN_ADD:
		*word = (uint8_t)(old + arg[R_VALUE]);
		return done(*word);
	case PSEUDO_XCHG:
		*word = (uint8_t)arg[R_VALUE];
		return done(old);
	case PSEUDO_CMPXCHG:
		return replace(word, arg, old == arg[R_EXPECT], old);
	case PSEUDO_CMPXCHG2:
		return replace(word, arg, old == arg[R_EXPECT] && second == arg[R_EXPECT2], 0);
	case PSEUDO_STORE_COMMIT:
		if (old == arg[R_EXPECT])
			show(image, place(arg[R_BASE2] + shift), (uint8_t)arg[R_VALUE2]);
		return replace(word, arg, old == arg[R_EXPECT], 0);
	case PSEUDO_TXN_TWO:
		return flip(image, word, arg, shift);
	case PSEUDO_COPY_COMMIT:
	case PSEUDO_TXN_COPY:
		return copy(image, word, arg, shift);
	case PSEUDO_LIST_POP:
		return list_pop(image, word);
	case PSEUDO_LIST_PUSH:
		return list_push(image, word, arg);
	case PSEUDO_LIST_TAKE:
		return list_take(image, word);
	case PSEUDO_LIST_DRAIN:
		(void)list_take(image, word);
		return done(old);
	case PSEUDO_STACK_POP:
	case PSEUDO_VALUES_POP:
		return stack_pop(image, word, arg, op);
	case PSEUDO_STACK_PUSH:
	case PSEUDO_VALUES_PUSH:
		return stack_push(image, word, arg, op);
	case PSEUDO_STACK_DRAIN:
		return stack_drain(image, word);
	case PSEUDO_LOCK:
		return replace(word, arg, old == 0 && word[1] == 0, 0);
	case PSEUDO_LOCK_TAKE:
		word[1] = (uint8_t)arg[R_VALUE];
		return done(old);
	default:
		return (struct meaning){0, 0};
	}
}

/* The call with this number; its arguments as they were when it ran. */
static const struct call *numbered(const struct history *history, unsigned number, uint64_t *arg)
{
	unsigned actor = number == 2 * SCRIPT_MAX ? ACTOR_HANDLER
			 : number < SCRIPT_MAX    ? ACTOR_A
						  : ACTOR_B;
	const struct call *call = &history->scenario->script[actor]
					   .call[actor == ACTOR_HANDLER ? 0 : number % SCRIPT_MAX];

	memcpy(arg, call->arg, sizeof(call->arg));
	if (call->node_from)
		arg[R_NODE] = arg[R_LAST] =
			history->record[call_index(actor, call->node_from - 1u)].value;
	return call;
}

/* Refused because a drainer had closed the slot, as the caller can tell from what was seen. */
static int found_closed(enum pseudo_op op, const struct record *record)
{
	if (record->answer != PSEUDO_REFUSED)
		return 0;
	switch (op) {
	case PSEUDO_LIST_POP:
	case PSEUDO_LIST_PUSH:
	case PSEUDO_LIST_TAKE:
		return record->value != 0;
	case PSEUDO_STACK_POP:
	case PSEUDO_VALUES_POP:
		return (int8_t)record->value >= 0;
	case PSEUDO_STACK_PUSH:
		return record->value < STACK_LIMIT;
	case PSEUDO_VALUES_PUSH:
		return record->value <= STACK_LIMIT;
	default:
		return 0;
	}
}

/* Calls that did something or saw something. The others must have left no trace. */
static unsigned effective(const struct history *history)
{
	uint64_t arg[R_ARGS];
	unsigned set = 0, i;

	for (i = 0; i < CALLS_MAX; i++) {
		uint8_t answer = history->record[i].answer;

		if ((answer == PSEUDO_DONE || answer == PSEUDO_REFUSED) &&
		    !found_closed(numbered(history, i, arg)->op, &history->record[i]))
			set |= 1u << i;
	}
	return set;
}

static int same_memory(const struct image *image, const uint8_t *memory)
{
	unsigned i;

	for (i = 0; i < MEMORY_SIZE; i++)
		if (image->visible[i] && image->word[i] != memory[i])
			return 0;
	return 1;
}

/*
 * 1 if the calls in the set, applied to the image in some permitted order, explain the end. As deep
 * as there are calls.
 */
// NOLINTNEXTLINE(misc-no-recursion)
static int explained(const struct history *history, unsigned set, const struct image *image)
{
	uint64_t arg[R_ARGS];
	unsigned i;

	if (!set)
		return same_memory(image, history->memory);
	for (i = 0; i < CALLS_MAX; i++) {
		const struct record *record = &history->record[i];
		const struct call *call;
		struct image next;
		struct meaning meaning;

		if (!(set & 1u << i) || (record->before & set))
			continue;
		call = numbered(history, i, arg);
		next = *image;
		meaning = apply(&next, call->op, arg, record->slot);
		if (meaning.answer == record->answer && meaning.value == record->value &&
		    explained(history, set & ~(1u << i), &next))
			return 1;
	}
	return 0;
}

/* Adds up how often a node is in the lists of a memory. */
static unsigned listed(const uint8_t *memory, uint8_t node)
{
	unsigned slot, found = 0, length;

	for (slot = 0; slot < SLOTS; slot++) {
		uint8_t at = memory[place(WORD_AT + slot * STRIDE)];

		/* A cycle counts the node often, which is as wrong as it should be. */
		for (length = 0; at && length < 64; length++) {
			found += at == node;
			at = memory[place(at)];
		}
	}
	return found;
}

/* Where pops and pushes are all there is: lists before + pushed - popped = lists after. */
static const char *count_nodes(const struct history *history)
{
	unsigned node, i;

	for (node = NODES_AT; node < SOURCE_AT; node++) {
		unsigned before = listed(history->scenario->memory, (uint8_t)node);
		unsigned after = listed(history->memory, (uint8_t)node);

		for (i = 0; i < CALLS_MAX; i++) {
			uint64_t arg[R_ARGS];
			const struct call *call = numbered(history, i, arg);

			if (history->record[i].answer != PSEUDO_DONE)
				continue;
			if (call->op == PSEUDO_LIST_PUSH)
				before += arg[R_NODE] == node;
			else
				after += history->record[i].value == node;
		}
		if (after > before)
			return "a node is in a list and in somebody's hand, or in two hands";
		if (after < before)
			return "a node is lost";
	}
	return NULL;
}

const char *oracle_check(const struct history *history)
{
	struct image image;
	const char *wrong = history->scenario->lists ? count_nodes(history) : NULL;

	if (wrong)
		return wrong;
	memcpy(image.word, history->scenario->memory, MEMORY_SIZE);
	memset(image.visible, 1, MEMORY_SIZE);
	for (unsigned slot = 0; slot < SLOTS; slot++)
		memset(&image.visible[place(DATA_AT + slot * STRIDE)], 0, 2);
	memset(&image.visible[place(PRIVATE_AT)], 0, ACTORS);
	/* Items are there from the begin; and what is popped is written to whatever comes of it. */
	for (unsigned slot = 0; history->scenario->stacks && slot < SLOTS; slot++)
		memset(&image.visible[place(DATA_AT + slot * STRIDE)], 1,
		       image.word[place(WORD_AT + slot * STRIDE)]);
	if (history->scenario->stacks)
		memset(&image.visible[place(SOURCE_AT)], 0, 6);
	if (!explained(history, effective(history), &image))
		return "no order of the calls explains the answers and the memory";
	return NULL;
}

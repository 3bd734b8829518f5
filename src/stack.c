/* SPDX-License-Identifier: MIT */
/*
 * Stacks of pointers and of values per CPU. Per slot:
 *
 *	opened  not 0: this CPU's array has been opened for the first time
 *	(pad)
 *	top     bytes of items that are there                      <- what the handle's base is
 *	limit   bytes that have room; 0: closed; only in CPU slots
 *	items   side by side
 *
 * P1  An item is in one slot, below its top, or in the hands of one caller. Above the top anybody
 *     who may write top writes what he likes.
 * P2  top of a CPU slot is written by sequences on that CPU that loaded limit as open before, and by
 *     the drainer (P3); of a shared slot by the holder of that slot's lock (S1). top <= limit of the
 *     object.
 * P3  opened and limit are written under the library's lock alone. Close, fence, take, open: what a
 *     sequence loaded before the fence came to its CPU is forgotten with it. One that begins after
 *     the fence and loads limit as open sees it opened, and so the top that was stored before: it
 *     loads limit first, then top, and opening is a release. Where CPUs do not load in order there
 *     is a second fence before opening.
 * P4  Fresh memory is zero, so an array that was never used is closed, and no page of it is there.
 *     The first push on its CPU opens it; opening needs no fence.
 * P5  A slot found closed under the lock, and opened once, was left so by a fence that failed or by
 *     another process before a fork: the next drain goes through all of P3 again.
 */
#include "internal.h"

#include <limits.h>
#include <string.h>

#include <percpu/stack.h>

struct slot {
	uintptr_t opened;
	uintptr_t pad;
	/* From here on what sequences see: seq.h. */
	uintptr_t top;
	uintptr_t limit;
	unsigned char items[];
};
#define BEFORE_BASE offsetof(struct slot, top)

/* Looks at the hint of how many items there are, and one sequence with that many. */
#define POP_TRIES 4

static struct slot *slot_of(const struct percpu__stack *stack, unsigned slot)
{
	return (struct slot *)(void *)((char *)percpu__slot(stack->handle.base, slot) -
				       BEFORE_BASE);
}

static uintptr_t top_of(const struct percpu__stack *stack, unsigned slot)
{
	return __atomic_load_n(&slot_of(stack, slot)->top, __ATOMIC_RELAXED);
}

static void set_top(struct slot *slot, uintptr_t top)
{
	__atomic_store_n(&slot->top, top, __ATOMIC_RELAXED);
}

static size_t item_size(const struct percpu__stack *stack)
{
	return stack->handle.flags;
}

static int init(struct percpu__stack *stack, unsigned capacity, size_t size)
{
	void *base;
	int result;

	*stack = (struct percpu__stack){0};
	if (size == 0 || size > PERCPU_VALUE_SIZE_MAX || capacity == 0 ||
	    capacity > PERCPU_STACK_BYTES_MAX / size)
		return -EINVAL;
	result = percpu_alloc(&base, sizeof(struct slot) + capacity * size, PERCPU_ALIGN_MAX);
	if (result != 0)
		return result;
	stack->limit = (uint32_t)(capacity * size);
	stack->handle.base = (char *)base + BEFORE_BASE;
	stack->handle.flags = (uint32_t)size;
	stack->handle.bound = percpu__has_fence() ? percpu__rt_writable.bound : 0;
	return 0;
}

static int destroy(struct percpu__stack *stack)
{
	void *base;

	if (!stack->handle.base)
		return -EINVAL;
	for (unsigned slot = 0; slot < percpu__rt_writable.nslots; slot++)
		if (top_of(stack, slot) != 0)
			return -EBUSY;
	base = (char *)stack->handle.base - BEFORE_BASE;
	*stack = (struct percpu__stack){0};
	return percpu_free(base);
}

/* ---- Push ---- */

/* P4, if nobody is at the lock. A CPU number that is no longer true does no harm. */
static bool open_first(struct percpu__stack *stack)
{
	uint32_t cpu = (uint32_t)percpu_cpu_raw();
	struct slot *slot;
	sigset_t saved;

	if (cpu >= stack->handle.bound)
		return false;
	slot = slot_of(stack, cpu);
	if (__atomic_load_n(&slot->opened, __ATOMIC_RELAXED) || !percpu__trylock(&saved))
		return false;
	if (!slot->opened) {
		__atomic_store_n(&slot->opened, 1, __ATOMIC_RELAXED);
		__atomic_store_n(&slot->limit, stack->limit, __ATOMIC_RELEASE);
	}
	percpu__unlock(&saved);
	return true;
}

static int push_shared(struct percpu__stack *stack, const void *source, size_t size)
{
	uint32_t held = percpu__shared_hold();
	struct slot *slot = slot_of(stack, held);
	uintptr_t top = slot->top;
	bool fits = size <= stack->limit - top;

	INVARIANT("P2", top <= stack->limit);
	if (fits) {
		memcpy(slot->items + top, source, size);
		set_top(slot, top + size);
	}
	percpu__shared_release(held);
	return fits ? 0 : -ENOSPC;
}

/* next: where the top would have been. */
COLD int percpu__stack_push_slow(struct percpu__stack *stack, const void *source, size_t size,
				 int answer, uintptr_t next)
{
	if (!stack->handle.base)
		return -EINVAL;
	/* As often as a slot is opened for the first time, which the thread may migrate to. */
	while ((answer == PERCPU__UNAVAILABLE && percpu__has_cpu_slot(&stack->handle)) ||
	       (answer == PERCPU__REFUSED && next <= stack->limit && open_first(stack))) {
		answer = percpu__seq_values_push(&stack->handle, source, size, size, &next);
		if (answer > 0)
			return 0;
		if (answer == PERCPU__UNAVAILABLE)
			break;
	}
	if (answer == PERCPU__REFUSED && next > stack->limit)
		return -ENOSPC;
	return push_shared(stack, source, size);
}

static int push_n(struct percpu__stack *stack, const void *source, size_t n)
{
	size_t size = n * item_size(stack);
	uintptr_t next = 0;
	int answer;

	if (n == 0 || n > PERCPU__COPY_MAX || size == 0 || size > PERCPU__COPY_MAX)
		return -EINVAL;
	answer = percpu__seq_values_push(&stack->handle, source, size, size, &next);
	if (__builtin_expect(answer > 0, 1))
		return 0;
	return percpu__stack_push_slow(stack, source, size, answer, next);
}

/* ---- Pop ---- */

/* Takes items of a slot that is the caller's (held, or closed and fenced): how many bytes. */
static size_t take(const struct percpu__stack *stack, struct slot *slot, void *target, size_t size)
{
	size_t top = slot->top;
	size_t got = top < size ? top : size;

	INVARIANT("P2", top <= stack->limit);
	(void)stack;
	memcpy(target, slot->items + (top - got), got);
	set_top(slot, top - got);
	return got;
}

/* How many bytes of at most size; -EAGAIN: somebody else is at this slot. */
static int pop_shared_slot(struct percpu__stack *stack, uint32_t slot, void *target, size_t size)
{
	size_t got;

	/* No lock is needed to see that there is nothing. */
	if (top_of(stack, slot) == 0)
		return -ENOENT;
	if (!percpu__shared_try_hold(slot))
		return -EAGAIN;
	got = take(stack, slot_of(stack, slot), target, size);
	percpu__shared_release(slot);
	return got > 0 ? (int)got : -ENOENT;
}

/* From this thread's shared slot on, all of them. */
static int pop_shared(struct percpu__stack *stack, void *target, size_t size)
{
	uint32_t first = percpu__rt_writable.ncpus, shared = percpu__rt_writable.nslots - first;
	uint32_t own = percpu__shared_slot() - first;
	int result = -ENOENT;

	for (uint32_t i = 0; i < shared; i++) {
		int answer = pop_shared_slot(stack, first + (own + i) % shared, target, size);

		if (answer > 0)
			return answer;
		if (answer == -EAGAIN)
			result = answer;
	}
	return result;
}

/* Bytes that were taken, of at most size. next: what the sequence said when it refused (seq.h). */
COLD int percpu__stack_pop_slow(struct percpu__stack *stack, void *target, size_t size, int answer,
				uintptr_t next)
{
	size_t one = item_size(stack);
	int result;

	if (!stack->handle.base)
		return -EINVAL;
	if (answer == PERCPU__UNAVAILABLE && percpu__has_cpu_slot(&stack->handle)) {
		answer = percpu__seq_values_pop(&stack->handle, target, one, one, &next);
		if (answer > 0)
			return (int)one;
	}
	result = pop_shared(stack, target, size);
	/* The CPU's own array: closed, or aborted too often to know. */
	if (result == -ENOENT &&
	    ((answer == PERCPU__REFUSED && (intptr_t)next >= 0) || answer == PERCPU__ABORTED))
		result = -EAGAIN;
	return result;
}

/* What a look at this CPU's array says, as a size to pop: at least one item. */
static size_t hint(const struct percpu__stack *stack, size_t size)
{
	uint32_t cpu = (uint32_t)percpu_cpu_raw();
	uintptr_t top = cpu < stack->handle.bound ? top_of(stack, cpu) : 0;

	if (top < item_size(stack))
		return item_size(stack);
	return top < size ? top : size;
}

static int pop_n(struct percpu__stack *stack, void *target, size_t n)
{
	size_t one = item_size(stack), size = n * one, part;
	uintptr_t next = 0;
	int answer = PERCPU__REFUSED, result;

	if (n == 0 || n > PERCPU__COPY_MAX || size == 0 || size > PERCPU__COPY_MAX)
		return -EINVAL;
	for (int tries = 0; answer == PERCPU__REFUSED && tries < POP_TRIES; tries++) {
		part = tries < POP_TRIES - 1 ? hint(stack, size) : one;
		answer = percpu__seq_values_pop(&stack->handle, target, part, part, &next);
		if (answer > 0)
			return (int)(part / one);
		if (part == one)
			break;
	}
	result = percpu__stack_pop_slow(stack, target, size, answer, next);
	return result > 0 ? result / (int)one : result;
}

/* ---- Draining ---- */

/* Where what is taken goes. */
struct target {
	unsigned char *at;
	size_t left; /* bytes */
};

static void take_to(const struct percpu__stack *stack, struct slot *slot, struct target *target)
{
	size_t got = take(stack, slot, target->at, target->left);

	target->at += got;
	target->left -= got;
}

/* CPU slots that one fence is for. */
#define AT_ONCE 64u

/* Those that have something to give, or to be opened again; the others are left alone. */
static unsigned close_some(struct percpu__stack *stack, unsigned *first, unsigned end,
			   unsigned *closed)
{
	unsigned count = 0;

	for (; *first < end && count < AT_ONCE; ++*first) {
		struct slot *slot = slot_of(stack, *first);
		bool left_closed = slot->opened && slot->limit == 0;

		if (top_of(stack, *first) == 0 && !left_closed)
			continue;
		__atomic_store_n(&slot->limit, 0, __ATOMIC_RELAXED);
		closed[count++] = *first;
	}
	return count;
}

/* P3. */
static int take_from_cpus(struct percpu__stack *stack, unsigned first, unsigned end,
			  struct target *target)
{
	unsigned closed[AT_ONCE];
	sigset_t saved;
	int result = 0;

	while (first < end && target->left > 0 && result == 0) {
		unsigned count;

		percpu__lock(&saved);
		count = close_some(stack, &first, end, closed);
		if (count > 0 && percpu_fence() != 0)
			result = -EPERM;
		for (unsigned i = 0; i < count && result == 0; i++)
			take_to(stack, slot_of(stack, closed[i]), target);
		if (count > 0 && result == 0 && percpu__fence_before_opening() != 0)
			result = -EPERM;
		for (unsigned i = 0; i < count && result == 0; i++)
			__atomic_store_n(&slot_of(stack, closed[i])->limit, stack->limit,
					 __ATOMIC_RELEASE);
		percpu__unlock(&saved);
	}
	return result;
}

static void take_from_shared(struct percpu__stack *stack, uint32_t slot, struct target *target)
{
	if (top_of(stack, slot) == 0)
		return;
	percpu__shared_wait_hold(slot);
	take_to(stack, slot_of(stack, slot), target);
	percpu__shared_release(slot);
}

/* Where a later fence fails, what the earlier ones got is handed out all the same. */
static int drain(struct percpu__stack *stack, unsigned first, unsigned end, void *items, size_t n)
{
	unsigned ncpus = percpu__rt_writable.ncpus;
	unsigned bound = end < stack->handle.bound ? end : stack->handle.bound;
	size_t wanted = n < INT_MAX / PERCPU_VALUE_SIZE_MAX ? n : INT_MAX / PERCPU_VALUE_SIZE_MAX;
	struct target target = {items, wanted * item_size(stack)};
	size_t got;

	if (take_from_cpus(stack, first, bound, &target) != 0 && target.at == items)
		return -EPERM;
	for (unsigned slot = first > ncpus ? first : ncpus; slot < end && target.left > 0; slot++)
		take_from_shared(stack, slot, &target);
	got = (size_t)(target.at - (unsigned char *)items) / item_size(stack);
	return got > 0 ? (int)got : -ENOENT;
}

static int drain_all(struct percpu__stack *stack, void *items, size_t n)
{
	if (!stack->handle.base || !items || n == 0)
		return -EINVAL;
	(void)percpu__shared_slot();
	return drain(stack, 0, percpu__rt_writable.nslots, items, n);
}

static int drain_slot(struct percpu__stack *stack, unsigned slot, void *items, size_t n)
{
	if (!stack->handle.base || !items || n == 0 || slot >= percpu__rt_writable.nslots)
		return -EINVAL;
	(void)percpu__shared_slot();
	return drain(stack, slot, slot + 1, items, n);
}

/* ---- The calls, for pointers and for values ---- */

int percpu_stack_init(struct percpu_stack *stack, unsigned capacity)
{
	return stack ? init(&stack->items, capacity, sizeof(void *)) : -EINVAL;
}

int percpu_stack_destroy(struct percpu_stack *stack)
{
	return stack ? destroy(&stack->items) : -EINVAL;
}

int percpu_stack_push_n(struct percpu_stack *stack, void *const *items, unsigned n)
{
	return stack && items ? push_n(&stack->items, items, n) : -EINVAL;
}

int percpu_stack_pop_n(struct percpu_stack *stack, void **items, unsigned n)
{
	return stack && items ? pop_n(&stack->items, items, n) : -EINVAL;
}

int percpu_stack_drain(struct percpu_stack *stack, void **items, size_t n)
{
	return stack ? drain_all(&stack->items, items, n) : -EINVAL;
}

int percpu_stack_take_slot(struct percpu_stack *stack, unsigned slot, void **items, size_t n)
{
	return stack ? drain_slot(&stack->items, slot, items, n) : -EINVAL;
}

int percpu_values_init(struct percpu_values *values, unsigned capacity, size_t size)
{
	return values ? init(&values->items, capacity, size) : -EINVAL;
}

int percpu_values_destroy(struct percpu_values *values)
{
	return values ? destroy(&values->items) : -EINVAL;
}

int percpu_values_push_n(struct percpu_values *values, const void *source, unsigned n)
{
	return values && source ? push_n(&values->items, source, n) : -EINVAL;
}

int percpu_values_pop_n(struct percpu_values *values, void *target, unsigned n)
{
	return values && target ? pop_n(&values->items, target, n) : -EINVAL;
}

int percpu_values_drain(struct percpu_values *values, void *target, size_t n)
{
	return values ? drain_all(&values->items, target, n) : -EINVAL;
}

int percpu_values_take_slot(struct percpu_values *values, unsigned slot, void *target, size_t n)
{
	return values ? drain_slot(&values->items, slot, target, n) : -EINVAL;
}

int percpu__outline_stack_push(struct percpu_stack *stack, void *item)
{
	return percpu__stack_push(stack, item);
}

int percpu__outline_stack_pop(struct percpu_stack *stack, void **item)
{
	return percpu__stack_pop(stack, item);
}

int percpu__outline_values_push(struct percpu_values *values, const void *value)
{
	return percpu__values_push(values, value);
}

int percpu__outline_values_pop(struct percpu_values *values, void *value)
{
	return percpu__values_pop(values, value);
}

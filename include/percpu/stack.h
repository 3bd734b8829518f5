/* SPDX-License-Identifier: MIT */
/*
 * Bounded arrays per CPU, last in first out: stacks of pointers, and of values of 1 to 64 bytes.
 *
 * Each CPU has an array of its own in every object, and so has each shared slot (threads without
 * sequences). Capacities are a number of items in each of them. Memory is populated for the CPUs
 * that push.
 *
 * Promises: an item is handed out to one caller, whoever calls, in every mode. Several items go in
 * or come out in one step: nobody sees some of them. Every call ends; full, empty and "could not
 * look" are three answers.
 *
 * Does not promise: that a pop finds an item that is somewhere. It looks into the array of the CPU
 * that it runs on and then into the shared ones, not into other CPUs' arrays. "Empty" (-ENOENT)
 * means that each array it looked into was empty at some moment of the call, not all at the same
 * one. "Full" (-ENOSPC) is said of one array, though there may be room in others. Threads without
 * sequences use shared arrays only. percpu_stack_drain() gets at everything.
 *
 * A pop writes to the caller's memory while it can still be interrupted: whatever it answers, what
 * was in that memory (all n items of it) may be overwritten, and only what the answer says is there
 * means anything. Memory of values may have any alignment.
 *
 *	call                       thread   signal handler   other process   after fork
 *	push, push_n, pop, pop_n   yes      yes              no              yes, child's copy
 *	drain, take_slot           yes      no               no              yes, child's copy
 *	init, destroy              yes      no               no              yes
 *
 * In a child that was forked behind libc's back (_Fork, clone) while another thread drained, CPU
 * arrays may be closed: pushes go to shared ones then, pops answer -EAGAIN, until the child drains.
 */
#ifndef PERCPU_STACK_H
#define PERCPU_STACK_H

#include <errno.h>

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Of both kinds. The size of an item is in the handle's flags. */
struct percpu__stack {
	struct percpu__handle handle;
	uint32_t limit; /* bytes of items in an array */
	uint32_t reserved;
};

struct percpu_stack {
	struct percpu__stack items;
};
struct percpu_values {
	struct percpu__stack items;
};

/* Items that push_n and pop_n move in one step: PERCPU__COPY_MAX bytes. */
#define PERCPU_STACK_BATCH_MAX (PERCPU__COPY_MAX / sizeof(void *))
#define PERCPU_VALUES_BATCH_MAX(size) (PERCPU__COPY_MAX / (size))
#define PERCPU_VALUE_SIZE_MAX 64
/* Bytes of items that fit into an array. */
#define PERCPU_STACK_BYTES_MAX (PERCPU_SIZE_MAX - 64)

int percpu__stack_push_slow(struct percpu__stack *stack, const void *source, size_t size,
			    int answer, uintptr_t next);
int percpu__stack_pop_slow(struct percpu__stack *stack, void *target, size_t size, int answer,
			   uintptr_t next);
int percpu__outline_stack_push(struct percpu_stack *stack, void *item);
int percpu__outline_stack_pop(struct percpu_stack *stack, void **item);
int percpu__outline_values_push(struct percpu_values *values, const void *value);
int percpu__outline_values_pop(struct percpu_values *values, void *value);

PERCPU__INLINE int percpu__stack_push(struct percpu_stack *stack, void *item)
{
	uintptr_t top = 0;
	int answer;

	if (__builtin_expect(!stack, 0))
		return -EINVAL;
	answer = percpu__seq_stack_push(&stack->items.handle, item, &top);
	if (__builtin_expect(answer <= 0, 0)) {
		void *copy = item;

		return percpu__stack_push_slow(&stack->items, &copy, sizeof(copy), answer,
					       top + sizeof(copy));
	}
	return 0;
}

/* The slow path works on a variable of its own: the caller's can stay in a register then. */
PERCPU__INLINE int percpu__stack_pop(struct percpu_stack *stack, void **item)
{
	uintptr_t next = 0;
	void *found = NULL;
	int answer;

	if (__builtin_expect(!stack || !item, 0))
		return -EINVAL;
	answer = percpu__seq_stack_pop(&stack->items.handle, &found, &next);
	if (__builtin_expect(answer <= 0, 0)) {
		void *slow = NULL;
		int result =
			percpu__stack_pop_slow(&stack->items, &slow, sizeof(slow), answer, next);

		*item = slow;
		return result < 0 ? result : 0;
	}
	*item = found;
	return 0;
}

PERCPU__INLINE int percpu__values_push(struct percpu_values *values, const void *value)
{
	uintptr_t next = 0;
	size_t size;
	int answer;

	if (__builtin_expect(!values || !value, 0))
		return -EINVAL;
	size = values->items.handle.flags;
	answer = percpu__seq_values_push(&values->items.handle, value, size, size, &next);
	if (__builtin_expect(answer > 0, 1))
		return 0;
	return percpu__stack_push_slow(&values->items, value, size, answer, next);
}

PERCPU__INLINE int percpu__values_pop(struct percpu_values *values, void *value)
{
	uintptr_t next = 0;
	size_t size;
	int answer, result;

	if (__builtin_expect(!values || !value, 0))
		return -EINVAL;
	size = values->items.handle.flags;
	answer = percpu__seq_values_pop(&values->items.handle, value, size, size, &next);
	if (__builtin_expect(answer > 0, 1))
		return 0;
	result = percpu__stack_pop_slow(&values->items, value, size, answer, next);
	return result < 0 ? result : 0;
}

#if defined(PERCPU_OUTLINE)
#define PERCPU__STACK_CALL(name) percpu__outline_##name
#else
#define PERCPU__STACK_CALL(name) percpu__##name
#endif

/* Arrays for capacity pointers each. 0; -EINVAL for NULL, no capacity, or more than
 * PERCPU_STACK_BYTES_MAX bytes; -ENOMEM. After a failure other calls answer -EINVAL. */
int percpu_stack_init(struct percpu_stack *stack, unsigned capacity);
/* The caller makes sure that no call is under way. 0; -EBUSY: items are in it, nothing was done;
 * -EINVAL for NULL or one not initialised. */
int percpu_stack_destroy(struct percpu_stack *stack);

/* Puts a pointer (any value) on this CPU's array, or on a shared one: 0. -ENOSPC: that one is
 * full. -EINVAL for NULL or a stack that is not initialised. */
PERCPU__INLINE int percpu_stack_push(struct percpu_stack *stack, void *item)
{
	return PERCPU__STACK_CALL(stack_push)(stack, item);
}

/*
 * Takes the last pointer off this CPU's array, or else off a shared one, to *item: 0. Otherwise
 * *item is NULL: -ENOENT: all of these are empty. -EAGAIN: nothing was found, and one of them could
 * not be looked at just now (it is being drained, another thread is at it, or a debugger or a storm
 * of signals interrupts every attempt). -EINVAL as above: *item stays as it was.
 */
PERCPU__INLINE int percpu_stack_pop(struct percpu_stack *stack, void **item)
{
	return PERCPU__STACK_CALL(stack_pop)(stack, item);
}

/* Puts n pointers (1 to PERCPU_STACK_BATCH_MAX) on one array, in one step, all or none: items[n - 1]
 * is the next to be popped. Answers as percpu_stack_push() does. */
int percpu_stack_push_n(struct percpu_stack *stack, void *const *items, unsigned n);
/* Takes 1 to n pointers off one array, in one step: how many. They are in the order in which they
 * were pushed. Other answers as percpu_stack_pop(). */
int percpu_stack_pop_n(struct percpu_stack *stack, void **items, unsigned n);

/*
 * Takes up to n pointers (at most INT_MAX) off all arrays, or off that of one slot, whatever CPU it
 * belongs to: how many. Again, until it answers -ENOENT: nothing was there. The CPUs' arrays are
 * closed meanwhile (pushes go to shared ones), and fences interrupt every CPU that runs this
 * process: for slow paths. -EINVAL for NULL, n = 0, a slot that does not exist, or a stack that is
 * not initialised. -EPERM: the fence failed, nothing was taken, and the arrays stay closed until a
 * drain succeeds.
 */
int percpu_stack_drain(struct percpu_stack *stack, void **items, size_t n);
int percpu_stack_take_slot(struct percpu_stack *stack, unsigned slot, void **items, size_t n);

/* The same of values of size bytes, 1 to PERCPU_VALUE_SIZE_MAX. Pointers to values are pointers to
 * size bytes, or to n times as many, side by side; n is up to PERCPU_VALUES_BATCH_MAX(size). */
int percpu_values_init(struct percpu_values *values, unsigned capacity, size_t size);
int percpu_values_destroy(struct percpu_values *values);
int percpu_values_push_n(struct percpu_values *values, const void *source, unsigned n);
int percpu_values_pop_n(struct percpu_values *values, void *target, unsigned n);
int percpu_values_drain(struct percpu_values *values, void *target, size_t n);
int percpu_values_take_slot(struct percpu_values *values, unsigned slot, void *target, size_t n);

PERCPU__INLINE int percpu_values_push(struct percpu_values *values, const void *value)
{
	return PERCPU__STACK_CALL(values_push)(values, value);
}

PERCPU__INLINE int percpu_values_pop(struct percpu_values *values, void *value)
{
	return PERCPU__STACK_CALL(values_pop)(values, value);
}

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Lists per CPU. Per slot, CPU and shared alike:
 *
 *	head    first node, each links to the next, the last one to NULL
 *	closed  0: open. CLOSED: sequences refuse; only in CPU slots
 *
 * Q1  A node is in one slot's list, or in the hands of one caller. A node in nobody's list links to
 *     itself as long as its user leaves it alone (debug builds check it: the memory of nodes is
 *     type-stable).
 * Q2  head of a CPU slot is written by sequences on that CPU that loaded closed as 0 before, and by
 *     the drainer (Q3); of a shared slot by the holder of that slot's lock (S1).
 * Q3  closed is written under the library's lock alone. Close, fence, take, open: what a sequence
 *     loaded before the fence came to its CPU is forgotten with it. One that begins after the fence
 *     and loads closed as 0 sees it opened, and so the empty head that was stored before: it loads
 *     closed first, then head, and opening is a release. Where CPUs do not load in order there is a
 *     second fence before opening, so that no sequence has a head from before and a closed from
 *     after it.
 * Q4  A slot found closed under the lock was left so, by a fence that failed or by another process
 *     before a fork: the next drain goes through all of Q3 again.
 */
#include "internal.h"

#include <percpu/list.h>

/* Above any head, as 0 is below: one compare finds a list empty or closed. */
#define CLOSED UINTPTR_MAX

struct slot {
	struct percpu_list_node *head;
	uintptr_t closed;
};

static struct slot *slot_of(const struct percpu_list *list, unsigned slot)
{
	return percpu__slot(list->handle.base, slot);
}

static struct percpu_list_node *head_of(const struct percpu_list *list, unsigned slot)
{
	return __atomic_load_n(&slot_of(list, slot)->head, __ATOMIC_RELAXED);
}

static void set_head(struct slot *slot, struct percpu_list_node *head)
{
	__atomic_store_n(&slot->head, head, __ATOMIC_RELAXED);
}

int percpu_list_init(struct percpu_list *list)
{
	void *base;
	int result;

	if (!list)
		return -EINVAL;
	*list = (struct percpu_list){0};
	result = percpu_alloc(&base, sizeof(struct slot), PERCPU_ALIGN_MAX);
	if (result != 0)
		return result;
	list->handle.base = base;
	list->handle.bound = percpu__has_fence() ? percpu__rt_writable.bound : 0;
	return 0;
}

int percpu_list_destroy(struct percpu_list *list)
{
	void *base;

	if (!list || !list->handle.base)
		return -EINVAL;
	for (unsigned slot = 0; slot < percpu__rt_writable.nslots; slot++)
		if (head_of(list, slot))
			return -EBUSY;
	base = list->handle.base;
	list->handle.bound = 0;
	list->handle.base = NULL;
	return percpu_free(base);
}

static void push_shared(struct percpu_list *list, struct percpu_list_node *first,
			struct percpu_list_node *last)
{
	uint32_t held = percpu__shared_hold();
	struct slot *slot = slot_of(list, held);

	last->next = slot->head;
	set_head(slot, first);
	percpu__shared_release(held);
}

COLD int percpu__list_push_slow(struct percpu_list *list, struct percpu_list_node *first,
				struct percpu_list_node *last)
{
	if (!list->handle.base)
		return -EINVAL;
	if (!percpu__has_cpu_slot(&list->handle) ||
	    percpu__seq_list_push(&list->handle, first, last) <= 0)
		push_shared(list, first, last);
	return 0;
}

/* -EAGAIN: somebody else is at this slot. */
static int pop_shared_slot(struct percpu_list *list, uint32_t number,
			   struct percpu_list_node **node, bool all)
{
	struct slot *slot = slot_of(list, number);
	struct percpu_list_node *head;

	/* No lock is needed to see that there is nothing. */
	if (!head_of(list, number))
		return -ENOENT;
	if (!percpu__shared_try_hold(number))
		return -EAGAIN;
	head = slot->head;
	if (head)
		set_head(slot, all ? NULL : head->next);
	percpu__shared_release(number);
	*node = head;
	return head ? 0 : -ENOENT;
}

/* From this thread's shared slot on, all of them. */
static int pop_shared(struct percpu_list *list, struct percpu_list_node **node, bool all)
{
	uint32_t first = percpu__rt_writable.ncpus, shared = percpu__rt_writable.nslots - first;
	uint32_t own = percpu__shared_slot() - first;
	int result = -ENOENT;

	for (uint32_t i = 0; i < shared; i++) {
		int answer = pop_shared_slot(list, first + (own + i) % shared, node, all);

		if (answer == 0)
			return 0;
		if (answer == -EAGAIN)
			result = answer;
	}
	return result;
}

static int pop_on_cpu(struct percpu_list *list, void **head, bool all)
{
	return all ? percpu__seq_list_take(&list->handle, head)
		   : percpu__seq_list_pop(&list->handle, head);
}

/* *node is what the sequence saw when it was refused (seq.h). */
COLD int percpu__list_pop_slow(struct percpu_list *list, struct percpu_list_node **node, int answer,
			       bool all)
{
	void *head = *node;
	int result;

	*node = NULL;
	if (!list->handle.base)
		return -EINVAL;
	if (answer == PERCPU__UNAVAILABLE && percpu__has_cpu_slot(&list->handle)) {
		answer = pop_on_cpu(list, &head, all);
		if (answer > 0) {
			*node = head;
			return 0;
		}
	}
	result = pop_shared(list, node, all);
	/* The CPU's own list: closed, or aborted too often to know. */
	if (result == -ENOENT && ((answer == PERCPU__REFUSED && head) || answer == PERCPU__ABORTED))
		result = -EAGAIN;
	return result;
}

int percpu_list_pop_all(struct percpu_list *list, struct percpu_list_node **first)
{
	void *head = NULL;
	int answer;

	if (UNLIKELY(!list || !first))
		return -EINVAL;
	answer = percpu__seq_list_take(&list->handle, &head);
	*first = head;
	if (__builtin_expect(answer > 0, 1))
		return 0;
	return percpu__list_pop_slow(list, first, answer, true);
}

/* Q1, for all of a chain. A chain that does not reach its last node has none. */
static bool chain_is_right(const struct percpu_list_node *first,
			   const struct percpu_list_node *last)
{
	while (first && first != last && first != first->next)
		first = first->next;
	return first == last;
}

int percpu_list_splice(struct percpu_list *list, struct percpu_list_node *first,
		       struct percpu_list_node *last)
{
	if (UNLIKELY(!list || !first || !last))
		return -EINVAL;
	INVARIANT("Q1", chain_is_right(first, last));
	(void)chain_is_right;
	if (__builtin_expect(percpu__seq_list_push(&list->handle, first, last) > 0, 1))
		return 0;
	return percpu__list_push_slow(list, first, last);
}

/* ---- Draining ---- */

static struct percpu_list_node *last_of(struct percpu_list_node *node)
{
	while (node->next)
		node = node->next;
	return node;
}

/* Puts a list before a chain. Lists are walked here, with nothing closed or held. */
static void add_to_chain(struct percpu_list_node **chain, struct percpu_list_node *head)
{
	if (!head)
		return;
	last_of(head)->next = *chain;
	*chain = head;
}

/* CPU slots that one fence is for. */
#define AT_ONCE 64u

/* Those that have something to give, or to be opened again. The others are left alone: a write would
 * populate memory of CPUs that nobody uses. */
static unsigned close_some(struct percpu_list *list, unsigned *first, unsigned end,
			   unsigned *closed)
{
	unsigned count = 0;

	for (; *first < end && count < AT_ONCE; ++*first) {
		struct slot *slot = slot_of(list, *first);

		if (!head_of(list, *first) && !slot->closed)
			continue;
		__atomic_store_n(&slot->closed, CLOSED, __ATOMIC_RELAXED);
		closed[count++] = *first;
	}
	return count;
}

/* Q3. */
static int take_from_cpus(struct percpu_list *list, unsigned first, unsigned end,
			  struct percpu_list_node **chain)
{
	struct percpu_list_node *heads[AT_ONCE];
	unsigned closed[AT_ONCE];
	sigset_t saved;
	int result = 0;

	while (first < end && result == 0) {
		unsigned count, taken = 0;

		percpu__lock(&saved);
		count = close_some(list, &first, end, closed);
		if (count > 0 && percpu_fence() != 0)
			result = -EPERM;
		for (; taken < count && result == 0; taken++) {
			heads[taken] = slot_of(list, closed[taken])->head;
			set_head(slot_of(list, closed[taken]), NULL);
		}
		if (taken > 0 && percpu__fence_before_opening() != 0)
			result = -EPERM;
		for (unsigned i = 0; i < taken && result == 0; i++)
			__atomic_store_n(&slot_of(list, closed[i])->closed, 0, __ATOMIC_RELEASE);
		percpu__unlock(&saved);
		for (unsigned i = 0; i < taken; i++)
			add_to_chain(chain, heads[i]);
	}
	return result;
}

static void take_from_shared(struct percpu_list *list, uint32_t slot,
			     struct percpu_list_node **chain)
{
	struct percpu_list_node *head;

	if (!head_of(list, slot))
		return;
	percpu__shared_wait_hold(slot);
	head = slot_of(list, slot)->head;
	set_head(slot_of(list, slot), NULL);
	percpu__shared_release(slot);
	add_to_chain(chain, head);
}

/* Where a later fence fails, what the earlier ones got is handed out all the same. */
static int drain(struct percpu_list *list, unsigned first, unsigned end,
		 struct percpu_list_node **chain)
{
	unsigned ncpus = percpu__rt_writable.ncpus;
	unsigned bound = end < list->handle.bound ? end : list->handle.bound;

	if (first < bound && take_from_cpus(list, first, bound, chain) != 0 && !*chain)
		return -EPERM;
	for (unsigned slot = first > ncpus ? first : ncpus; slot < end; slot++)
		take_from_shared(list, slot, chain);
	return *chain ? 0 : -ENOENT;
}

int percpu_list_drain(struct percpu_list *list, struct percpu_list_node **first)
{
	if (!list || !first)
		return -EINVAL;
	*first = NULL;
	if (!list->handle.base)
		return -EINVAL;
	(void)percpu__shared_slot();
	return drain(list, 0, percpu__rt_writable.nslots, first);
}

int percpu_list_take_slot(struct percpu_list *list, unsigned slot, struct percpu_list_node **first)
{
	if (!list || !first)
		return -EINVAL;
	*first = NULL;
	if (!list->handle.base || slot >= percpu__rt_writable.nslots)
		return -EINVAL;
	(void)percpu__shared_slot();
	return drain(list, slot, slot + 1, first);
}

/* ---- The calls out of line: PERCPU_OUTLINE, and all of them in debug builds ---- */

int percpu__outline_list_push(struct percpu_list *list, struct percpu_list_node *node)
{
	INVARIANT("Q1", !node || node->next == node);
	return percpu__list_push(list, node);
}

int percpu__outline_list_pop(struct percpu_list *list, struct percpu_list_node **node)
{
	int result = percpu__list_pop(list, node);

	if (result == 0) {
		INVARIANT("Q1", (*node)->next != *node);
		percpu_list_node_init(*node);
	}
	return result;
}

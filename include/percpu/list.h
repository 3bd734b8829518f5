/* SPDX-License-Identifier: MIT */
/*
 * A list of nodes per CPU, last in first out, without a shared line.
 *
 * A node is embedded in the user's object and is in one list at a time. Each CPU has a list of its
 * own in every object, and so has each shared slot (threads without sequences).
 *
 * Promises: a node is handed out to one caller, whoever calls, in every mode. Push never fails for
 * lack of anything. Every call ends, and pop tells "empty" from "could not look".
 *
 * Does not promise: that a pop finds a node that is somewhere. It looks into the list of the CPU
 * that it runs on and then into the shared ones, not into other CPUs' lists: a thread that
 * migrates leaves what it pushed behind. "Empty" (-ENOENT) means that each list it looked into was
 * empty at some moment of the call, not all at the same one. Threads without sequences look into
 * shared lists only. percpu_list_drain() gets at everything. No order of nodes between lists.
 *
 * Memory of nodes: from its first push to the end of the list a node stays a node. Its memory is
 * not unmapped and not used for anything else, and the link in it belongs to the list even while
 * the node is out of it. A node is initialised once (percpu_list_node_init), before its first push.
 * Builds with PERCPU_DEBUG stop where a node is pushed that is in a list already, or whose link was
 * written by somebody else since it was handed out.
 *
 *	call                    thread   signal handler   other process   after fork
 *	push, splice, pop       yes      yes              no              yes, child's copy
 *	pop_all                 yes      yes              no              yes, child's copy
 *	drain, take_slot        yes      no               no              yes, child's copy
 *	init, destroy           yes      no               no              yes
 *
 * In a child that was forked behind libc's back (_Fork, clone) while another thread drained, CPU
 * lists may be closed: pushes go to shared lists then, pops answer -EAGAIN, until the child drains.
 */
#ifndef PERCPU_LIST_H
#define PERCPU_LIST_H

#include <errno.h>

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct percpu_list_node {
	struct percpu_list_node *next;
};

struct percpu_list {
	struct percpu__handle handle;
};

/* The object around a node: percpu_list_entry(node, struct request, node). */
#define percpu_list_entry(pointer, type, member)                                                   \
	((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* 0; -EINVAL for NULL; -ENOMEM. After a failure other calls answer -EINVAL. */
int percpu_list_init(struct percpu_list *list);
/* The caller makes sure that no call is under way. 0; -EBUSY: nodes are in it, nothing was done;
 * -EINVAL for NULL or one not initialised. */
int percpu_list_destroy(struct percpu_list *list);

/* A node that is in no list refers to itself. */
PERCPU__INLINE void percpu_list_node_init(struct percpu_list_node *node)
{
	if (node)
		node->next = node;
}

/*
 * Chains: nodes that one thread holds, linked first to last, the last one's next being NULL. This
 * is what splice takes, and pop_all, drain and take_slot give.
 *
 * Takes the first node off a chain: NULL if there is none.
 */
PERCPU__INLINE struct percpu_list_node *percpu_list_chain_pop(struct percpu_list_node **first)
{
	struct percpu_list_node *node = first ? *first : NULL;

	if (node) {
		*first = node->next;
		node->next = node;
	}
	return node;
}

/* Puts a node before a chain. */
PERCPU__INLINE void percpu_list_chain_push(struct percpu_list_node **first,
					   struct percpu_list_node *node)
{
	if (!first || !node)
		return;
	node->next = *first;
	*first = node;
}

/* Walks a chain; the body may read the nodes and must leave them in it. */
#define PERCPU_LIST_WALK(node, first)                                                              \
	for (struct percpu_list_node *node = (first); node; node = node->next)

int percpu__list_push_slow(struct percpu_list *list, struct percpu_list_node *first,
			   struct percpu_list_node *last);
int percpu__list_pop_slow(struct percpu_list *list, struct percpu_list_node **node, int answer,
			  bool all);
int percpu__outline_list_push(struct percpu_list *list, struct percpu_list_node *node);
int percpu__outline_list_pop(struct percpu_list *list, struct percpu_list_node **node);

PERCPU__INLINE int percpu__list_push(struct percpu_list *list, struct percpu_list_node *node)
{
	if (__builtin_expect(!list || !node, 0))
		return -EINVAL;
	if (__builtin_expect(percpu__seq_list_push(&list->handle, node, node) > 0, 1))
		return 0;
	return percpu__list_push_slow(list, node, node);
}

/* Slow paths work on a variable of their own: the caller's can stay in a register then. */
PERCPU__INLINE int percpu__list_pop(struct percpu_list *list, struct percpu_list_node **node)
{
	void *head = NULL;
	int answer;

	if (__builtin_expect(!list || !node, 0))
		return -EINVAL;
	answer = percpu__seq_list_pop(&list->handle, &head);
	if (__builtin_expect(answer <= 0, 0)) {
		struct percpu_list_node *found = (struct percpu_list_node *)head;

		answer = percpu__list_pop_slow(list, &found, answer, false);
		*node = found;
		return answer;
	}
	if (!head)
		__builtin_unreachable();
	*node = (struct percpu_list_node *)head;
	return 0;
}

#if defined(PERCPU_OUTLINE) || defined(PERCPU_DEBUG)
#define PERCPU__LIST_CALL(name) percpu__outline_list_##name
#else
#define PERCPU__LIST_CALL(name) percpu__list_##name
#endif

/* Makes the node the first of this CPU's list, or of a shared one: 0. -EINVAL for NULL or a list
 * that is not initialised. */
PERCPU__INLINE int percpu_list_push(struct percpu_list *list, struct percpu_list_node *node)
{
	return PERCPU__LIST_CALL(push)(list, node);
}

/*
 * Takes the first node of this CPU's list, or else of a shared one, to *node: 0. Otherwise *node is
 * NULL: -ENOENT: all of these are empty. -EAGAIN: none was found, and one of them could not be
 * looked at just now (it is being drained, another thread is at it, or a debugger or a storm of
 * signals interrupts every attempt). -EINVAL as above: *node stays as it was.
 */
PERCPU__INLINE int percpu_list_pop(struct percpu_list *list, struct percpu_list_node **node)
{
	return PERCPU__LIST_CALL(pop)(list, node);
}

/* Puts a whole chain before one list, in one step: first to last, as percpu_list_push() otherwise.
 * -EINVAL also for a chain without one of its ends. */
int percpu_list_splice(struct percpu_list *list, struct percpu_list_node *first,
		       struct percpu_list_node *last);
/* Takes a whole list, in one step: this CPU's, or if that is empty a shared one. *first is the chain.
 * Answers as percpu_list_pop() does. */
int percpu_list_pop_all(struct percpu_list *list, struct percpu_list_node **first);

/*
 * Takes the nodes of all slots, or of one, whatever CPU it belongs to, as a chain. The CPUs' lists
 * are closed meanwhile (pushes go to shared ones), and fences interrupt every CPU that runs
 * this process: for slow paths. 0; -ENOENT: nothing was there; -EINVAL for NULL, a slot that does
 * not exist, or a list that is not initialised. -EPERM: the fence failed, nothing was taken, and
 * the lists stay closed until a drain succeeds.
 */
int percpu_list_drain(struct percpu_list *list, struct percpu_list_node **first);
int percpu_list_take_slot(struct percpu_list *list, unsigned slot, struct percpu_list_node **first);

#ifdef __cplusplus
}
#endif

#endif

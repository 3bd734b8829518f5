/* SPDX-License-Identifier: MIT */
/*
 * Reference counts whose get and put are one plain addition to the CPU's own memory, until the
 * object is killed; from then on they are one atomic on one word, and the last put is found.
 *
 *	percpu_ref_init(&object->ref, free_object);    the maker's own reference: 1
 *	percpu_ref_get(&object->ref);                  by who has one
 *	percpu_ref_put(&object->ref);
 *	percpu_ref_kill(&object->ref);                 the maker's goes; nobody finds it any more
 *
 * Promises: exact in every mode. After percpu_ref_kill() has taken the maker's reference, zero is
 * reached once, by exactly one call, put or kill, and that call runs the release function before
 * it returns (and put says so). What was done under any reference happens before that. From when
 * kill has returned 0, percpu_ref_tryget_live() is refused.
 *
 * Does not promise: to know the count before it is killed; a count that is not killed never
 * reaches zero. Nothing about get without a reference, or put without one: debug builds
 * (PERCPU_DEBUG) stop where the count shows it, which is after the kill.
 *
 * Costs per slot what a counter costs until the kill, nothing afterwards, so the release function may
 * free the memory that the struct is in.
 *
 *	call                     thread   signal handler   other process   after fork
 *	get, tryget*, put        yes      yes              no              yes, child's copy
 *	is_zero, is_dying        yes      yes              no              yes
 *	kill                     yes      no               no              yes
 *	init, destroy            yes      no               no              yes
 *
 * In a forked child the references of the parent's other threads are still counted. A kill of
 * another thread is done in the child or has not begun; behind libc's back (_Fork, clone) it may be
 * half done, and never end.
 */
#ifndef PERCPU_REF_H
#define PERCPU_REF_H

#include <percpu/counter.h>

#ifdef __cplusplus
extern "C" {
#endif

struct percpu_ref;
typedef void percpu_ref_release(struct percpu_ref *ref);

struct percpu_ref {
	void *cpu_base; /* as base while sequences count, otherwise NULL: everything goes to count */
	void *base;     /* cell of slot 0 */
	uint32_t state;
	percpu_ref_release *release;
	/* What no cell has: a large bias more until the kill. */
	int64_t count __attribute__((aligned(8)));
};

/*
 * One reference, the maker's. release is called when there is none any more; NULL: nobody is, see
 * percpu_ref_put() and percpu_ref_is_zero(). 0; -EINVAL for NULL; -ENOMEM.
 */
int percpu_ref_init(struct percpu_ref *ref, percpu_ref_release *release);

/*
 * Takes the maker's reference away and ends the cheap mode: a fence, a look at every slot.
 * 0, and the release function has run if that was the last one.
 * -EINVAL: NULL, or destroyed. -EALREADY: killed before; debug builds stop.
 * -EPERM: the fence failed. The reference is still there, all calls use one atomic from now on,
 * and kill may be tried again.
 */
int percpu_ref_kill(struct percpu_ref *ref);

/* Gives the memory back without killing: for an object that nobody else ever saw, or after the
 * kill, where there is nothing to give. 0; -EINVAL for NULL or one destroyed before. */
int percpu_ref_destroy(struct percpu_ref *ref);

void percpu__ref_get_cold(struct percpu_ref *ref);
bool percpu__ref_tryget_cold(struct percpu_ref *ref, bool live);
bool percpu__ref_put_cold(struct percpu_ref *ref);
void percpu__ref_get_outline(struct percpu_ref *ref);
bool percpu__ref_tryget_outline(struct percpu_ref *ref, bool live);
bool percpu__ref_put_outline(struct percpu_ref *ref);

/* Adds to the cell of this CPU. True: done. What was done before stays before, on this CPU; to
 * others the fence in the kill, or the atomic that follows it, makes it so. */
PERCPU__INLINE bool percpu__ref_add(struct percpu_ref *ref, int64_t n)
{
	bool done;

	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	done = percpu__seq_add_handle_8(&ref->cpu_base, n);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return __builtin_expect(done, 1);
}

/* One more, by who has one. NULL is ignored, here and below. */
PERCPU__INLINE void percpu_ref_get(struct percpu_ref *ref)
{
	if (__builtin_expect(!ref, 0))
		return;
#if ARCH_INLINE_COUNTER && !defined(PERCPU_OUTLINE)
	if (!percpu__ref_add(ref, 1))
		percpu__ref_get_cold(ref);
#else
	percpu__ref_get_outline(ref);
#endif
}

/* One more, by who may have none, if there is any: false when zero was reached. */
PERCPU__INLINE bool percpu_ref_tryget(struct percpu_ref *ref)
{
	if (__builtin_expect(!ref, 0))
		return false;
#if ARCH_INLINE_COUNTER && !defined(PERCPU_OUTLINE)
	return percpu__ref_add(ref, 1) || percpu__ref_tryget_cold(ref, false);
#else
	return percpu__ref_tryget_outline(ref, false);
#endif
}

/* The same, false from the kill on. For lookups: what is dying is not found any more. */
PERCPU__INLINE bool percpu_ref_tryget_live(struct percpu_ref *ref)
{
	if (__builtin_expect(!ref, 0))
		return false;
#if ARCH_INLINE_COUNTER && !defined(PERCPU_OUTLINE)
	return percpu__ref_add(ref, 1) || percpu__ref_tryget_cold(ref, true);
#else
	return percpu__ref_tryget_outline(ref, true);
#endif
}

/* One less. True: it was the last one; the release function has run. */
PERCPU__INLINE bool percpu_ref_put(struct percpu_ref *ref)
{
	if (__builtin_expect(!ref, 0))
		return false;
#if ARCH_INLINE_COUNTER && !defined(PERCPU_OUTLINE)
	return !percpu__ref_add(ref, -1) && percpu__ref_put_cold(ref);
#else
	return percpu__ref_put_outline(ref);
#endif
}

/* Killed, and no reference is left. A release function may have freed it: ask where there is none. */
bool percpu_ref_is_zero(const struct percpu_ref *ref);
/* The kill has taken the maker's reference. */
bool percpu_ref_is_dying(const struct percpu_ref *ref);

#ifdef __cplusplus
}
#endif

#endif

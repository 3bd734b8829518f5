/* SPDX-License-Identifier: MIT */
/*
 * Locks per CPU: each slot of per-CPU memory has a lock of its own, and taking the one of the CPU
 * that one is on costs no atomic operation and no fence.
 *
 *	int slot = percpu_lock(&lock);
 *	percpu_locked_ptr(data, slot)->n++;
 *	percpu_unlock(&lock, slot);
 *
 * Promises: a slot is held by one at a time, whoever takes it in whichever way. What was written
 * under a slot's lock is seen by whoever holds it next (acquire and release). The holder may
 * migrate and be preempted; a thread that finds its CPU's slot held or closed takes a shared slot
 * instead of waiting, so a holder that does not run keeps nobody from running but those who want
 * that very slot, and they sleep. Nobody spins for long: no thread of a real-time class can keep
 * the holder that it waits for from running.
 *
 * Does not promise: which slot. Data lies in the slots that were returned, of both kinds: a reader
 * visits all of them, each under percpu_lock_remote(). No fairness. Real-time priorities are not
 * inherited. A lock is held by a thread and given back by it; it may not be copied or moved.
 *
 *	call                  thread   signal handler   other process   after fork
 *	lock                  yes      no (trylock)     no              yes, child's copy
 *	trylock               yes      yes              no              yes, child's copy
 *	unlock                yes      what it took     no              yes, what it held
 *	lock_remote           yes      no               no              yes
 *	unlock_remote         yes      no               no              yes
 *	init, destroy         yes      no               no              yes
 *
 * A handler takes another slot than the code it interrupted: trylock says -EBUSY when the slot of
 * its CPU and all shared ones are held. (lock would wait then, perhaps for what it interrupted.)
 * Handlers that take locks return (no siglongjmp), and have unlocked before.
 *
 * A lock may be held over fork(). In the child, what the forking thread held is held, by it; what
 * other threads held is free, and the data under it unspecified. (A child made without fork(), by
 * _Fork() or clone(), makes its first call of this library in the thread that forked.)
 *
 * Debug builds (PERCPU_DEBUG) stop the process when a thread unlocks what it does not hold, locks
 * in a thread that holds a slot of the same lock, or destroys a lock that is held.
 */
#ifndef PERCPU_LOCK_H
#define PERCPU_LOCK_H

#include <errno.h>

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

struct percpu_lock {
	void *cpu_words; /* as words, if sequences take CPU slots of it, otherwise NULL */
	void *words;     /* those of slot 0, struct percpu__lock_words */
	uint32_t state;
	uint32_t generation; /* of the process that looked after the holders last */
};

/* A lock that works before any init call: static PERCPU_LOCK(lock); */
#define PERCPU_LOCK_INIT                                                                           \
	{                                                                                          \
		NULL, NULL, 0, 0                                                                   \
	}
#define PERCPU_LOCK(name) struct percpu_lock name = PERCPU_LOCK_INIT

/* 0; -EINVAL for NULL; -ENOMEM. */
int percpu_lock_init(struct percpu_lock *lock);
/* The caller makes sure that no call is under way. 0; -EINVAL for NULL or one destroyed before;
 * -EBUSY: a slot is held, nothing was done. */
int percpu_lock_destroy(struct percpu_lock *lock);

/* What each slot has, and whose it is, by the thread's number (percpu__shared.id). 0: nobody's. */
struct percpu__lock_words {
	percpu__word held;
	percpu__word closed; /* the one who has taken this CPU slot, or takes it, from outside */
	uint32_t waiters;    /* who sleep, or are about to */
	uint32_t wakes;      /* what they sleep on: how often they were woken */
};

/* No thread's number: nobody holds the slot, but sequences leave it alone (lock.c, M2). */
#define PERCPU__LOCK_NOBODY 1

int percpu__lock_cold(struct percpu_lock *lock);
int percpu__lock_try_cold(struct percpu_lock *lock);
int percpu__lock_outline(struct percpu_lock *lock);
int percpu__lock_try_outline(struct percpu_lock *lock);
int percpu__unlock_outline(struct percpu_lock *lock, int slot);
int percpu__unlock_cold(struct percpu_lock *lock, int slot);
void percpu__lock_wake(struct percpu_lock *lock, struct percpu__lock_words *words);

/* Takes the slot of this CPU if nobody has it: the slot, or below 0 what a sequence answers. */
PERCPU__INLINE int percpu__lock_on_cpu(struct percpu_lock *lock)
{
	uintptr_t me = percpu__shared.id;

	if (__builtin_expect(me == 0, 0))
		return PERCPU__UNAVAILABLE;
	/* No barrier behind it: who gives a slot back sees to it that none is needed (lock.c, M2). */
	return percpu__seq_lock(&lock->cpu_words, me);
}

/*
 * What the holder leaves in held: 0 on the slot's own CPU. There, what follows an acquire comes
 * after what he did without more ado. Elsewhere it does so only where CPUs load in order. The
 * number of the CPU is read behind all that was done with the slot held, and may be stale when it is
 * used: between, the thread has passed the scheduler on that CPU.
 */
PERCPU__INLINE percpu__word percpu__lock_left(int slot)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return ARCH_LOADS_IN_ORDER || percpu_cpu_raw() == slot ? 0 : PERCPU__LOCK_NOBODY;
}

/*
 * The store and the load may pass each other here: the fence is on the side of who waits, between
 * his store to waiters and his look at held (lock.c, M3).
 */
PERCPU__INLINE int percpu__unlock_on_cpu(struct percpu_lock *lock, int slot)
{
	struct percpu__lock_words *words = (struct percpu__lock_words *)lock->cpu_words;

	/* The process's bound is in a register in loops; a lock without CPU slots gave none out. */
	if (__builtin_expect((unsigned)slot >= percpu__rt.bound || !words, 0))
		return percpu__unlock_cold(lock, slot);
	words = (struct percpu__lock_words *)percpu__slot(words, (unsigned)slot);
	__atomic_store_n(&words->held, percpu__lock_left(slot), __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (__builtin_expect(__atomic_load_n(&words->waiters, __ATOMIC_RELAXED) != 0, 0))
		percpu__lock_wake(lock, words);
	return 0;
}

/* A function of the structure's name: C++ has room for both, and g++ warns of it. */
#if defined(__cplusplus) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
#endif

/*
 * Takes a slot: this CPU's, or a shared one where that cannot be had. The slot (0 and above);
 * -EINVAL: NULL or destroyed; -ENOMEM: a static lock's first use found no memory.
 */
PERCPU__INLINE int percpu_lock(struct percpu_lock *lock)
{
#if defined(PERCPU_OUTLINE) || defined(PERCPU_DEBUG)
	return percpu__lock_outline(lock);
#else
	int slot;

	if (__builtin_expect(!lock, 0))
		return -EINVAL;
	slot = percpu__lock_on_cpu(lock);
	return __builtin_expect(slot >= 0, 1) ? slot : percpu__lock_cold(lock);
#endif
}

#if defined(__cplusplus) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* The same without waiting. -EBUSY: the slot of this CPU is held or closed, the shared ones too. */
PERCPU__INLINE int percpu_trylock(struct percpu_lock *lock)
{
#if defined(PERCPU_OUTLINE) || defined(PERCPU_DEBUG)
	return percpu__lock_try_outline(lock);
#else
	int slot;

	if (__builtin_expect(!lock, 0))
		return -EINVAL;
	slot = percpu__lock_on_cpu(lock);
	return __builtin_expect(slot >= 0, 1) ? slot : percpu__lock_try_cold(lock);
#endif
}

/* Gives back what percpu_lock() or percpu_trylock() returned. 0; -EINVAL: NULL, destroyed, or no
 * slot; -EPERM: a shared slot that the caller does not hold. A CPU slot that another thread holds is
 * freed under it: only debug builds notice. A thread that ends keeps what it holds. */
PERCPU__INLINE int percpu_unlock(struct percpu_lock *lock, int slot)
{
#if defined(PERCPU_OUTLINE) || defined(PERCPU_DEBUG)
	return percpu__unlock_outline(lock, slot);
#else
	return __builtin_expect(lock != NULL, 1) ? percpu__unlock_on_cpu(lock, slot) : -EINVAL;
#endif
}

/*
 * Takes the slot that is asked for, of either kind, from anywhere, and waits for it as long as
 * that takes. For the rare side: microseconds, a fence for a CPU slot. Threads on that CPU use
 * shared slots meanwhile. 0; -EINVAL: NULL, destroyed, or no slot; -EDEADLK: the caller holds it;
 * -ENOMEM: as percpu_lock();
 * -EPERM: the fence failed, and the slot stays closed to percpu_lock() until percpu_lock_remote()
 * has succeeded and it was unlocked again.
 */
int percpu_lock_remote(struct percpu_lock *lock, int slot);
/* Gives it back; with a fence once more where CPUs do not load in order (if it fails, the slot stays
 * closed to percpu_lock(), as above). 0; -EINVAL as above; -EPERM: the caller does not hold it in
 * this way. */
int percpu_unlock_remote(struct percpu_lock *lock, int slot);

/* The copy in a slot that the caller holds: to be written as well. */
#define percpu_locked_ptr(p, slot) ((__typeof__(*(p)) *)percpu__slot((p), (unsigned)(slot)))

#ifdef __cplusplus
}
#endif

#endif

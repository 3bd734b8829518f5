/* SPDX-License-Identifier: MIT */
/*
 * Transactions on this CPU's copy of an object: begin, plain C, commit.
 *
 * The body reads the copy and computes; the commit stores one word (or one word, or some bytes,
 * where nobody looks yet, and then one word). It commits only if nothing came in between since the
 * begin: no other thread on this CPU, no signal handler, no migration. If something did, it says so
 * and the body runs again; after PERCPU_TXN_TRIES times it runs on a shared slot, alone, with all
 * signals held off. So every loop ends.
 *
 *	PERCPU_TXN (txn) {
 *		const struct extremes *here = percpu_txn_ptr(&txn, extremes);
 *
 *		if (here->max >= value)
 *			percpu_txn_cancel(&txn);
 *		else
 *			percpu_txn_commit(&txn, &here->max, value);
 *	}
 *
 * Promises: a commit that says true happened at one moment at which all that the body read was
 * still so. In every mode; threads with and without rseq may be mixed.
 * Does not promise: which slot, as percpu/this_cpu.h; any order to other CPUs, but for the
 * ..._release forms: what the thread stored before is seen by whoever reads the word with acquire.
 *
 * Rules of a body. The first six are what it means to be interrupted and run again.
 *	1  It stores to the thread's own variables only. The object is changed by the commit.
 *	2  It may see a mixed state after it has been interrupted: it bounds loops, indices and
 *	   divisors, and follows pointers only into memory that stays readable.
 *	   percpu_txn_valid() asks half way.
 *	3  No system call. Kernels from 7.0 on do not notice a switch inside one, and updates are
 *	   lost. raise() is one, too, though the handler it calls is noticed. Debug builds stop with
 *	   SIGSYS there, where the kernel can do that.
 *	4  No other operation of this library, no transaction inside: on a CPU slot the commit is
 *	   refused then, and in the end the body runs on a shared slot. Debug builds stop at a
 *	   second begin.
 *	5  Short: one that is longer than the time between two signals never commits on a CPU slot.
 *	6  One commit or one cancel for each begin, in the same function. A body left by break or
 *	   return is cancelled before; continue tries again.
 *	7  What the first store of a commit of two goes to is not looked at by anybody before the
 *	   second has been: state of several words is kept twice, and the commit fills the inactive
 *	   copy and flips the index.
 *
 *	call            thread   signal handler   other process   after fork
 *	percpu_txn_*    yes      yes              no              yes, on the child's copy
 *
 * On a shared slot the body is alone on that slot; handlers wait until it ends. Handlers that use
 * transactions may be nested less deep than there are shared slots.
 */
#ifndef PERCPU_TXN_H
#define PERCPU_TXN_H

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Times that a body is tried on a CPU slot. */
#define PERCPU_TXN_TRIES 100

enum percpu__txn_state {
	PERCPU__TXN_IDLE,
	PERCPU__TXN_ON_CPU,
	PERCPU__TXN_ON_SHARED,
	PERCPU__TXN_ENDED, /* committed or cancelled */
};

struct percpu_txn {
	unsigned slot;
	unsigned state; /* enum percpu__txn_state */
	unsigned tries;
};
#define PERCPU_TXN_INIT                                                                            \
	{                                                                                          \
		0, 0, 0                                                                            \
	}

/* Calls get what they need by value, so that a transaction can live in registers. */
unsigned percpu__txn_begin_shared(void);
void percpu__txn_end_shared(unsigned slot);
uintptr_t percpu__txn_commit_word(void *p, uintptr_t value); /* 0: done */
bool percpu__txn_commit_size(unsigned state, void *p, percpu__word value, size_t size);
bool percpu__txn_commit_two(unsigned state, void *p, percpu__word value, void *first_p,
			    percpu__word first, size_t size);
bool percpu__txn_commit_copy(unsigned state, void *p, uintptr_t value, void *to, const void *from,
			     size_t size);
/* Debug builds: no second begin, no system call, until the end. */
void percpu__txn_watch(void);
void percpu__txn_unwatch(void);

#if defined(PERCPU_DEBUG)
#define PERCPU__TXN_WATCH() percpu__txn_watch()
#define PERCPU__TXN_UNWATCH() percpu__txn_unwatch()
#else
#define PERCPU__TXN_WATCH() ((void)0)
#define PERCPU__TXN_UNWATCH() ((void)0)
#endif

/* Points 1 and 2 of a build with PERCPU_INJECT (percpu/seq.h); the commit has the others. */
#if defined(PERCPU_INJECT)
#define PERCPU__POINT_IN_C(n)                                                                      \
	for (unsigned long left_ = percpu__rt.delay[n]; left_; left_--)                            \
	__asm__ volatile("")
#else
#define PERCPU__POINT_IN_C(n) ((void)0)
#endif

/*
 * Begins, and returns the slot. What the body reads comes after the number of the CPU, which comes
 * after rseq_cs was set: whatever intervenes from then on takes that pointer away.
 */
PERCPU__INLINE unsigned percpu_txn_begin(struct percpu_txn *txn)
{
#if ARCH_HAVE_SEQ
	if (__builtin_expect(txn->tries < PERCPU_TXN_TRIES, 1)) {
		uint32_t cpu;

		PERCPU__TXN_WATCH();
		ARCH_SET_CS(percpu__rt.rseq_offset, percpu__rt.txn_cs);
		PERCPU__POINT_IN_C(1);
		ARCH_LOAD_CPU_ID(cpu, percpu__rt.rseq_offset);
		PERCPU__BARRIER();
		PERCPU__POINT_IN_C(2);
		if (__builtin_expect(cpu < percpu__rt.bound, 1)) {
			txn->tries++;
			txn->slot = cpu;
			txn->state = PERCPU__TXN_ON_CPU;
			return cpu;
		}
		PERCPU__TXN_UNWATCH();
	}
#endif
	txn->slot = percpu__txn_begin_shared();
	txn->state = PERCPU__TXN_ON_SHARED;
	return txn->slot;
}

/* Is all that the body has read so far still so? */
PERCPU__INLINE bool percpu_txn_valid(const struct percpu_txn *txn)
{
	PERCPU__BARRIER();
#if ARCH_HAVE_SEQ
	if (txn->state == PERCPU__TXN_ON_CPU) {
		uintptr_t cs;

		ARCH_LOAD_CS(cs, percpu__rt.rseq_offset);
		return cs == percpu__rt.txn_cs;
	}
#endif
	return txn->state == PERCPU__TXN_ON_SHARED;
}

/* On a CPU slot it forgets the pointer: a transaction that this one interrupted, or one that comes
 * later, would find it and commit. */
PERCPU__INLINE void percpu__txn_end(struct percpu_txn *txn, bool done)
{
	if (__builtin_expect(txn->state == PERCPU__TXN_ON_SHARED, 0))
		percpu__txn_end_shared(txn->slot);
#if ARCH_HAVE_SEQ
	else {
		ARCH_CLEAR_CS(percpu__rt.rseq_offset);
		PERCPU__TXN_UNWATCH();
	}
#endif
	txn->state = done ? PERCPU__TXN_ENDED : PERCPU__TXN_IDLE;
}

PERCPU__INLINE bool percpu__txn_is_open(const struct percpu_txn *txn)
{
	return txn->state == PERCPU__TXN_ON_CPU || txn->state == PERCPU__TXN_ON_SHARED;
}

/* Ends it, and nothing has happened. */
PERCPU__INLINE void percpu_txn_cancel(struct percpu_txn *txn)
{
	if (percpu__txn_is_open(txn))
		percpu__txn_end(txn, true);
	txn->state = PERCPU__TXN_ENDED;
}

PERCPU__INLINE bool percpu__txn_commit(struct percpu_txn *txn, const void *p, percpu__word value,
				       size_t size)
{
	void *to = (void *)(uintptr_t)p;
	bool done = false;

	if (!percpu__txn_is_open(txn))
		return false;
	if (__builtin_expect(txn->state == PERCPU__TXN_ON_CPU, 1) && size == sizeof(void *))
		done = percpu__txn_commit_word(to, (uintptr_t)value) == 0;
	else
		done = percpu__txn_commit_size(txn->state, to, value, size);
	percpu__txn_end(txn, done);
	return done;
}

PERCPU__INLINE bool percpu__txn_commit2(struct percpu_txn *txn, const void *p, percpu__word value,
					const void *first_p, percpu__word first, size_t size)
{
	bool done;

	if (!percpu__txn_is_open(txn))
		return false;
	done = percpu__txn_commit_two(txn->state, (void *)(uintptr_t)p, value,
				      (void *)(uintptr_t)first_p, first, size);
	percpu__txn_end(txn, done);
	return done;
}

PERCPU__INLINE bool percpu__txn_commit3(struct percpu_txn *txn, const void *p, percpu__word value,
					const void *to, const void *from, size_t size)
{
	bool done;

	if (!percpu__txn_is_open(txn))
		return false;
	done = percpu__txn_commit_copy(txn->state, (void *)(uintptr_t)p, (uintptr_t)value,
				       (void *)(uintptr_t)to, from, size);
	percpu__txn_end(txn, done || size > PERCPU__COPY_MAX);
	return done;
}

/* This slot's copy of what the percpu pointer p points at, to read. */
#define percpu_txn_ptr(txn, p) ((PERCPU__TYPE(p) const *)percpu__slot((p), (txn)->slot))

/*
 * Commits: p points into what percpu_txn_ptr() gave, at a word as percpu/this_cpu.h takes it. True:
 * done, the transaction has ended. False: something came in between, nothing has happened, begin
 * again. A transaction that is not open (cancelled, committed before) is not done either.
 */
#define percpu_txn_commit(txn, p, v)                                                               \
	__extension__({                                                                            \
		PERCPU__CHECK_WORD(p);                                                             \
		PERCPU__TYPE(p) txn_v_ = (v);                                                      \
		percpu__txn_commit((txn), (p), percpu__to_word(&txn_v_, sizeof(txn_v_)),           \
				   sizeof(txn_v_));                                                \
	})

/* For the store of a sequence; that to a shared slot is a release by itself. */
PERCPU__INLINE void percpu__txn_release(void)
{
#if ARCH_HAVE_SEQ
	__atomic_thread_fence(__ATOMIC_RELEASE);
#endif
}

/* The same, after everything that the thread stored before: pairs with a load with acquire. */
#define percpu_txn_commit_release(txn, p, v)                                                       \
	__extension__({                                                                            \
		percpu__txn_release();                                                             \
		percpu_txn_commit(txn, p, v);                                                      \
	})

/* *first_p = first, where nobody looks yet (rule 7), then *p = v. Both words have one size. */
#define percpu_txn_commit2(txn, p, v, first_p, first)                                              \
	__extension__({                                                                            \
		PERCPU__CHECK_WORD(p);                                                             \
		PERCPU__CHECK_WORD(first_p);                                                       \
		PERCPU__STATIC_ASSERT(sizeof(*(p)) == sizeof(*(first_p)),                          \
				      "percpu: both words must have one size");                    \
		PERCPU__TYPE(p) txn_v_ = (v);                                                      \
		PERCPU__TYPE(first_p) txn_first_ = (first);                                        \
		percpu__txn_commit2((txn), (p), percpu__to_word(&txn_v_, sizeof(txn_v_)),          \
				    (first_p), percpu__to_word(&txn_first_, sizeof(txn_first_)),   \
				    sizeof(txn_v_));                                               \
	})

/*
 * Copies size bytes from the thread's memory to where nobody looks yet, then *p = v, a word of the
 * size of a pointer. Of more than PERCPU_TXN_COPY_MAX bytes nothing is copied: false, and the
 * transaction is cancelled, because it would be aborted for ever.
 */
#define PERCPU_TXN_COPY_MAX PERCPU__COPY_MAX
#define percpu_txn_commit_copy(txn, p, v, to, from, size)                                          \
	__extension__({                                                                            \
		PERCPU__CHECK_WORD(p);                                                             \
		PERCPU__STATIC_ASSERT(sizeof(*(p)) == sizeof(void *),                              \
				      "percpu: the word must have the size of a pointer");         \
		PERCPU__TYPE(p) txn_v_ = (v);                                                      \
		percpu__txn_commit3((txn), (p), percpu__to_word(&txn_v_, sizeof(txn_v_)), (to),    \
				    (from), (size));                                               \
	})

/* Begins, unless it has been committed or cancelled; one that is still open begins again. */
PERCPU__INLINE bool percpu__txn_again(struct percpu_txn *txn)
{
	if (txn->state == PERCPU__TXN_ENDED)
		return false;
	if (__builtin_expect(txn->state != PERCPU__TXN_IDLE, 0))
		percpu_txn_cancel(txn);
	(void)percpu_txn_begin(txn);
	return true;
}

/* The loop around a body: again until it has been committed or cancelled. */
#define PERCPU_TXN(txn) for (struct percpu_txn txn = PERCPU_TXN_INIT; percpu__txn_again(&txn);)

#ifdef __cplusplus
}
#endif

#endif

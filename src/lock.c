/* SPDX-License-Identifier: MIT */
/*
 * Locks per CPU. Per slot (struct percpu__lock_words):
 *
 *	held     0, or the number of the thread that holds the slot; NOBODY: free, but M2
 *	closed   0, or the number of the remote taker; NOBODY after a fence that failed
 *	waiters  how many sleep, or are about to; 0 nearly always
 *	wakes    futex word: changes with every wake
 *
 * A CPU slot is taken in two ways. On its CPU by the sequence
 *
 *	if (closed == 0 && held == 0) held = me;
 *
 * and from elsewhere by closed = me (an atomic), fence, wait until held is 0. A shared slot, and
 * every slot of a lock that cannot fence (its cpu_words are NULL), is taken by an atomic on held.
 *
 *   M1  One holder. Let S be a sequence on the slot's CPU and T a taker whose fence has returned.
 *       The fence interrupts S's CPU, or S's thread is not on a CPU; either is a full barrier
 *       there and aborts a sequence that has not committed. If S committed before it, its store to
 *       held comes before the barrier, and T reads it after its fence. If not, S starts again
 *       behind the barrier, reads closed, which T wrote before its fence, and is refused. Takers
 *       exclude each other by the atomic on closed, sequences each other by being sequences.
 *       Without the fence S's read of closed may come before T's store and T's read of held before
 *       S's store becomes visible: both would go in (test/model/lock.pml shows it).
 *   M2  What the holder before wrote is seen. He gives back by a release store, and whoever takes
 *       by an atomic acquires with it. Sequences have no barrier. Where CPUs load in order they
 *       need none. Elsewhere loads of theirs may be made early, before held or closed are read, but
 *       not before the last full barrier on their CPU, and each of these has one in between:
 *       - the holder unlocked on the slot's CPU, or was there when he looked, behind all that he
 *         did: another thread of that CPU comes after a switch, which is a barrier behind it;
 *       - he unlocked elsewhere: he leaves NOBODY instead of 0. Sequences refuse that, and the slow
 *         path takes it from NOBODY by one with a barrier behind it;
 *       - a taker: he fences before he opens the slot. A sequence that loaded anything before that
 *         fence and did not commit is aborted, and none committed, because the slot was closed.
 *   M3  No wake-up is lost. The holder stores 0 to held and loads waiters, without a fence between;
 *       the load may come first. A sleeper adds 1 to waiters, reads wakes, fences, reads held and
 *       sleeps while wakes is what it was. The barrier that the fence makes on the holder's CPU
 *       falls before the holder's load, and then the load sees waiters, or behind it, and then
 *       the store to held, which is older in program order, is visible before the sleeper looks.
 *       The holder that sees waiters changes wakes before it wakes, so a sleeper that read wakes
 *       earlier does not fall asleep. Each sleeper counts for itself and takes nothing from
 *       others' counts, so none can use up another's wake-up by going elsewhere.
 *       Shared slots and takers' unlocking use sequentially consistent atomics on both sides
 *       instead. Where the fence fails, sleepers look again by themselves after a while.
 *   M4  A number stands for one thread of one process: numbers are counted up, and those of other
 *       threads from before a fork are of nobody (percpu__is_gone()). Words that hold them are
 *       set to 0 in the first slow call that meets the lock in a child. That a thread holds a slot
 *       is known from the word that makes it so, in the same store: there is no moment in between.
 *   M5  Slots are given back by who holds them, nobody waits for what he holds himself, and a lock
 *       that is destroyed is free. Refused otherwise; debug builds stop.
 */
#include "internal.h"

#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <percpu/lock.h>

/* Numbers of threads begin above it. */
#define NOBODY PERCPU__LOCK_NOBODY
/* Looks at a slot before sleeping: a holder that runs is often about to unlock. */
#define LOOKS 200
/* Between two looks where no fence makes sure that one is woken. */
#define UNFENCED_NS 1000000

enum { EMPTY, READY, DESTROYED };

static struct percpu__lock_words *words_of(const struct percpu_lock *lock, unsigned slot)
{
	return percpu__slot(lock->words, slot);
}

static bool ready(const struct percpu_lock *lock)
{
	return __atomic_load_n(&lock->state, __ATOMIC_ACQUIRE) == READY;
}

/* Is this a slot that sequences take? */
static bool on_cpu(const struct percpu_lock *lock, unsigned slot)
{
	return lock->cpu_words && slot < percpu__rt_writable.bound;
}

static int make_ready_locked(struct percpu_lock *lock)
{
	void *base;
	int result = percpu__alloc_locked(&base, sizeof(struct percpu__lock_words),
					  sizeof(percpu__word));

	if (result != 0)
		return result;
	lock->words = base;
	lock->generation = percpu__generation();
	/* Before READY: who finds the lock ready must know in which way its CPU slots are taken. */
	if (percpu__has_fence() && percpu__rt_writable.bound > 0)
		__atomic_store_n(&lock->cpu_words, base, __ATOMIC_RELEASE);
	__atomic_store_n(&lock->state, READY, __ATOMIC_RELEASE);
	return 0;
}

/* A static lock's first use gives it slots. */
static COLD int make_ready(struct percpu_lock *lock)
{
	sigset_t saved;
	int result;

	percpu__lock(&saved);
	if (lock->state == DESTROYED)
		result = -EINVAL;
	else
		result = lock->state == READY ? 0 : make_ready_locked(lock);
	percpu__unlock(&saved);
	return result;
}

/* M4: in a child, what belongs to nobody any more. Words of the living stay as they are. */
static void free_of_the_gone(percpu__word *word)
{
	percpu__word holder = __atomic_load_n(word, __ATOMIC_RELAXED);

	if (holder > NOBODY && percpu__is_gone(holder))
		(void)__atomic_compare_exchange_n(word, &holder, 0, false, __ATOMIC_RELAXED,
						  __ATOMIC_RELAXED);
}

static COLD void adopt(struct percpu_lock *lock)
{
	uint32_t generation = percpu__generation();
	sigset_t saved;

	percpu__lock(&saved);
	if (lock->generation != generation) {
		for (unsigned slot = 0; slot < percpu__rt_writable.nslots; slot++) {
			struct percpu__lock_words *words = words_of(lock, slot);

			/* Read first: most slots were never written, and stay unpopulated. */
			if (__atomic_load_n(&words->waiters, __ATOMIC_RELAXED) != 0)
				__atomic_store_n(&words->waiters, 0, __ATOMIC_RELAXED);
			free_of_the_gone(&words->held);
			free_of_the_gone(&words->closed);
		}
		__atomic_store_n(&lock->generation, generation, __ATOMIC_RELEASE);
	}
	percpu__unlock(&saved);
}

/* What each slow call begins with: 0, or the error that it ends with. */
static int prepare(struct percpu_lock *lock)
{
	if (UNLIKELY(!percpu__thread_ready()))
		return -ENOMEM;
	if (UNLIKELY(!ready(lock))) {
		int result = make_ready(lock);

		if (result != 0)
			return result;
	}
	if (UNLIKELY(__atomic_load_n(&lock->generation, __ATOMIC_ACQUIRE) != percpu__generation()))
		adopt(lock);
	return 0;
}

/* ---- Sleeping ---- */

static void futex_wait(uint32_t *word, uint32_t value, const struct timespec *limit)
{
	(void)syscall(SYS_futex, word, FUTEX_WAIT | FUTEX_PRIVATE_FLAG, value, limit, NULL, 0);
}

COLD void percpu__lock_wake(struct percpu_lock *lock, struct percpu__lock_words *words)
{
	int saved = errno;

	if (__atomic_load_n(&lock->generation, __ATOMIC_ACQUIRE) != percpu__generation())
		adopt(lock);
	(void)__atomic_add_fetch(&words->wakes, 1, __ATOMIC_SEQ_CST);
	(void)syscall(SYS_futex, &words->wakes, FUTEX_WAKE | FUTEX_PRIVATE_FLAG, INT_MAX, NULL,
		      NULL, 0);
	errno = saved;
}

/* Behind a sequentially consistent store that may have let somebody in. */
static void wake_if_any(struct percpu_lock *lock, struct percpu__lock_words *words)
{
	if (UNLIKELY(__atomic_load_n(&words->waiters, __ATOMIC_SEQ_CST) != 0))
		percpu__lock_wake(lock, words);
}

/* M3. Returns when the word was once what a taker can take, 0 or NOBODY, or may be by now. */
static void sleep_on(struct percpu__lock_words *words, const percpu__word *word, bool fenced)
{
	const struct timespec a_while = {0, UNFENCED_NS};
	const struct timespec *limit = NULL;
	uint32_t wakes;

	(void)__atomic_add_fetch(&words->waiters, 1, __ATOMIC_SEQ_CST);
	wakes = __atomic_load_n(&words->wakes, __ATOMIC_SEQ_CST);
	if (fenced && percpu_fence() != 0)
		limit = &a_while;
	if (__atomic_load_n(word, __ATOMIC_SEQ_CST) > NOBODY)
		futex_wait(&words->wakes, wakes, limit);
	(void)__atomic_sub_fetch(&words->waiters, 1, __ATOMIC_RELAXED);
}

static COLD void wait_for(struct percpu__lock_words *words, const percpu__word *word, bool fenced)
{
	int saved = errno;

	for (int looks = 0; looks < LOOKS; looks++)
		if (__atomic_load_n(word, __ATOMIC_RELAXED) <= NOBODY)
			return;
	sleep_on(words, word, fenced);
	errno = saved;
}

/* ---- Taking a slot ---- */

#if defined(PERCPU_DEBUG)
static bool holds_a_slot(const struct percpu_lock *lock)
{
	percpu__word me = percpu__shared.id;

	for (unsigned slot = 0; ready(lock) && slot < percpu__rt_writable.nslots; slot++)
		if (me && __atomic_load_n(&words_of(lock, slot)->held, __ATOMIC_RELAXED) == me)
			return true;
	return false;
}
#endif

static bool mine(const percpu__word *word)
{
	return __atomic_load_n(word, __ATOMIC_RELAXED) == percpu__shared.id;
}

static bool take(percpu__word *word, percpu__word from)
{
	return __atomic_compare_exchange_n(word, &from, percpu__shared.id, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_RELAXED);
}

/*
 * A shared slot, beginning with the thread's own: the slot, or -EBUSY when each was held. A signal
 * handler may move the thread to another slot at any instruction: work on a copy.
 */
static int take_shared(struct percpu_lock *lock)
{
	uint32_t shared = percpu__rt_writable.nslots - percpu__rt_writable.ncpus;
	uint32_t slot = *(volatile uint32_t *)&percpu__self.shared;

	for (uint32_t tried = 0; tried <= shared; tried++) {
		if (take(&words_of(lock, slot)->held, 0))
			return (int)slot;
		slot = percpu__shared_move();
	}
	return -EBUSY;
}

#if PERCPU__WORD_MAX == 8
#define SEQ_CMPXCHG2 percpu__seq_cmpxchg2_8
#else
#define SEQ_CMPXCHG2 percpu__seq_cmpxchg2_4
#endif

/* M2: this CPU's slot, if its holder gave it back elsewhere. */
static int take_from_nobody(struct percpu_lock *lock)
{
	struct percpu__lock_words *words = lock->cpu_words;
	uint32_t slot;

	if (!words ||
	    SEQ_CMPXCHG2(&words->held, NOBODY, percpu__shared.id, &words->closed, 0, &slot) <= 0)
		return PERCPU__REFUSED;
#if ARCH_HAVE_SEQ
	__atomic_thread_fence(__ATOMIC_ACQUIRE); /* pairs with the release of that holder */
#endif
	return (int)slot;
}

/* This CPU's slot, as sequences answer, after some more attempts than one. */
static int take_on_cpu(struct percpu_lock *lock)
{
	int slot = PERCPU__ABORTED_ONCE;

	for (int left = PERCPU__ATTEMPTS; left > 0 && slot == PERCPU__ABORTED_ONCE; left--)
		slot = percpu__lock_on_cpu(lock);
	return slot == PERCPU__REFUSED ? take_from_nobody(lock) : slot;
}

COLD int percpu__lock_try_cold(struct percpu_lock *lock)
{
	int result = prepare(lock);
	int slot;

	if (result != 0)
		return result;
	slot = take_on_cpu(lock);
	return slot >= 0 ? slot : take_shared(lock);
}

/* When all are held, one waits for the thread's own shared slot: any would do. */
COLD int percpu__lock_cold(struct percpu_lock *lock)
{
	int slot;

	while ((slot = percpu__lock_try_cold(lock)) == -EBUSY) {
		struct percpu__lock_words *words =
			words_of(lock, *(volatile uint32_t *)&percpu__self.shared);

		wait_for(words, &words->held, false);
	}
	return slot;
}

/* A slot that sequences do not take, or a wrong call. */
COLD int percpu__unlock_cold(struct percpu_lock *lock, int slot)
{
	struct percpu__lock_words *words;

	if (!ready(lock) || (unsigned)slot >= percpu__rt_writable.nslots)
		return -EINVAL;
	words = words_of(lock, (unsigned)slot);
	INVARIANT("M5", mine(&words->held));
	if (!mine(&words->held))
		return -EPERM;
	__atomic_store_n(&words->held, 0, __ATOMIC_SEQ_CST);
	wake_if_any(lock, words);
	return 0;
}

int percpu__lock_outline(struct percpu_lock *lock)
{
	int slot;

	if (UNLIKELY(!lock))
		return -EINVAL;
	INVARIANT("M5", !holds_a_slot(lock));
	slot = percpu__lock_on_cpu(lock);
	return slot >= 0 ? slot : percpu__lock_cold(lock);
}

int percpu__lock_try_outline(struct percpu_lock *lock)
{
	int slot;

	if (UNLIKELY(!lock))
		return -EINVAL;
	slot = percpu__lock_on_cpu(lock);
	return slot >= 0 ? slot : percpu__lock_try_cold(lock);
}

int percpu__unlock_outline(struct percpu_lock *lock, int slot)
{
	INVARIANT("M5", !lock || !on_cpu(lock, (unsigned)slot) ||
				mine(&words_of(lock, (unsigned)slot)->held));
	return __builtin_expect(lock != NULL, 1) ? percpu__unlock_on_cpu(lock, slot) : -EINVAL;
}

/* ---- Remote ---- */

static void take_word(struct percpu__lock_words *words, percpu__word *word)
{
	while (!take(word, 0) && !take(word, NOBODY))
		wait_for(words, word, false);
}

static void open_slot(struct percpu_lock *lock, struct percpu__lock_words *words,
		      percpu__word state)
{
	__atomic_store_n(&words->closed, state, __ATOMIC_SEQ_CST);
	wake_if_any(lock, words);
}

/* M1. */
static int take_from_cpu(struct percpu_lock *lock, struct percpu__lock_words *words)
{
	take_word(words, &words->closed);
	if (percpu_fence() != 0) {
		open_slot(lock, words, NOBODY);
		return -EPERM;
	}
	while (__atomic_load_n(&words->held, __ATOMIC_ACQUIRE) > NOBODY)
		wait_for(words, &words->held, true);
	return 0;
}

/* 0, and the words of a slot to be taken or given back from outside. */
static int remote_words(struct percpu_lock *lock, int slot, struct percpu__lock_words **words)
{
	int result = lock ? prepare(lock) : -EINVAL;

	if (result == 0 && (unsigned)slot >= percpu__rt_writable.nslots)
		result = -EINVAL;
	if (result == 0)
		*words = words_of(lock, (unsigned)slot);
	return result;
}

int percpu_lock_remote(struct percpu_lock *lock, int slot)
{
	struct percpu__lock_words *words;
	int result = remote_words(lock, slot, &words);

	if (result != 0)
		return result;
	INVARIANT("M5", !mine(&words->held) && !mine(&words->closed));
	if (mine(&words->held) || mine(&words->closed))
		return -EDEADLK;
	if (on_cpu(lock, (unsigned)slot))
		return take_from_cpu(lock, words);
	take_word(words, &words->held);
	return 0;
}

int percpu_unlock_remote(struct percpu_lock *lock, int slot)
{
	struct percpu__lock_words *words;
	int result = remote_words(lock, slot, &words);

	if (result != 0)
		return result;
	if (!on_cpu(lock, (unsigned)slot))
		return percpu__unlock_cold(lock, slot);
	INVARIANT("M5", mine(&words->closed));
	if (!mine(&words->closed))
		return -EPERM;
	/* M2; where the fence fails now, the slot stays closed to sequences. */
	open_slot(lock, words, percpu__fence_before_opening() == 0 ? 0 : NOBODY);
	return 0;
}

/* ---- Begin and end ---- */

int percpu_lock_init(struct percpu_lock *lock)
{
	if (!lock)
		return -EINVAL;
	*lock = (struct percpu_lock)PERCPU_LOCK_INIT;
	return prepare(lock);
}

static bool held_by_anybody(const struct percpu_lock *lock)
{
	for (unsigned slot = 0; slot < percpu__rt_writable.nslots; slot++) {
		const struct percpu__lock_words *words = words_of(lock, slot);

		if (__atomic_load_n(&words->held, __ATOMIC_ACQUIRE) > NOBODY ||
		    __atomic_load_n(&words->closed, __ATOMIC_ACQUIRE) > NOBODY)
			return true;
	}
	return false;
}

int percpu_lock_destroy(struct percpu_lock *lock)
{
	int result = lock ? prepare(lock) : -EINVAL;
	void *base;

	if (result != 0)
		return result;
	INVARIANT("M5", !held_by_anybody(lock));
	if (held_by_anybody(lock))
		return -EBUSY;
	base = lock->words;
	lock->cpu_words = NULL;
	lock->words = NULL;
	__atomic_store_n(&lock->state, DESTROYED, __ATOMIC_RELEASE);
	return percpu_free(base);
}

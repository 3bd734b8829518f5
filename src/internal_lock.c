/* SPDX-License-Identifier: MIT */
/*
 * The library's one lock, and which process this is: two words on a page that fork wipes.
 *
 * The lock is a futex word (0 free, 1 held, 2 held and somebody sleeps). However a child comes
 * about, fork(), _Fork() or a raw clone, the word is 0 there. The atfork handlers take it over
 * fork(), so that what it protects is whole in the child; after the other kinds a half-done
 * allocation is lost to the child, and nothing else (area.c, A2).
 *
 * The generation is 0 in a new child; its first call gives it another number. Threads have numbers
 * that are counted up over forks, so those up to the last one at a fork are the parent's threads,
 * of which the child has one.
 */
#include "internal.h"

#include <linux/futex.h>
#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"

struct first_line {
	uint32_t word;
	uint32_t generation; /* 0: not looked at in this process; 1: somebody is at it */
	char pad[56];
};

static struct first_line without_page;
static uint32_t *word = &without_page.word;
static uint32_t *generation = &without_page.generation;

static struct {
	uint32_t generations;
	uintptr_t last;      /* number that was given to a thread */
	uintptr_t last_gone; /* at the fork that made this process */
	uintptr_t survivor;  /* of those up to it */
} threads = {.generations = 1, .last = 1};

static sigset_t fork_saved;

static void futex(int operation, uint32_t value)
{
	(void)syscall(SYS_futex, word, operation | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

/* By the system call itself: musl's function hides signals of its own in the old mask, and setting
 * that again would unblock them where they were blocked. */
static void change_mask(int how, const sigset_t *mask, sigset_t *old)
{
	int saved_errno = errno;

	(void)syscall(SYS_rt_sigprocmask, how, mask, old, (size_t)(_NSIG / 8));
	errno = saved_errno;
}

void percpu__signals_block(sigset_t *saved)
{
	sigset_t all;

	memset(&all, 0xff, sizeof(all));
	change_mask(SIG_SETMASK, &all, saved);
}

void percpu__signals_restore(const sigset_t *saved)
{
	change_mask(SIG_SETMASK, saved, NULL);
}

bool percpu__trylock(sigset_t *saved)
{
	uint32_t free_word = 0;

	percpu__signals_block(saved);
	if (__atomic_compare_exchange_n(word, &free_word, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED))
		return true;
	percpu__signals_restore(saved);
	return false;
}

void percpu__lock(sigset_t *saved)
{
	uint32_t seen = 0;
	int saved_errno = errno;

	percpu__signals_block(saved);
	if (__atomic_compare_exchange_n(word, &seen, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return;
	while (__atomic_exchange_n(word, 2, __ATOMIC_ACQUIRE) != 0)
		futex(FUTEX_WAIT, 2);
	errno = saved_errno;
}

void percpu__unlock(const sigset_t *saved)
{
	int saved_errno = errno;

	if (__atomic_exchange_n(word, 0, __ATOMIC_RELEASE) == 2)
		futex(FUTEX_WAKE, 1);
	errno = saved_errno;
	percpu__signals_restore(saved);
}

/* Signals are held off, or a handler could wait for the code that it interrupted. */
static COLD uint32_t begin_generation(void)
{
	uint32_t unknown = 0;
	sigset_t saved;

	percpu__signals_block(&saved);
	if (__atomic_compare_exchange_n(generation, &unknown, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) {
		threads.last_gone = __atomic_load_n(&threads.last, __ATOMIC_RELAXED);
		threads.survivor = percpu__shared.id;
		if (++threads.generations <= 1)
			threads.generations = 2;
		__atomic_store_n(generation, threads.generations, __ATOMIC_RELEASE);
	}
	percpu__signals_restore(&saved);
	while (__atomic_load_n(generation, __ATOMIC_ACQUIRE) == 1)
		percpu__yield();
	return __atomic_load_n(generation, __ATOMIC_ACQUIRE);
}

uint32_t percpu__generation(void)
{
	uint32_t now = __atomic_load_n(generation, __ATOMIC_ACQUIRE);

	return __builtin_expect(now > 1, 1) ? now : begin_generation();
}

uintptr_t percpu__thread_number(void)
{
	(void)percpu__generation();
	return __atomic_add_fetch(&threads.last, 1, __ATOMIC_RELAXED);
}

bool percpu__is_gone(uintptr_t number)
{
	return number <= threads.last_gone && number != threads.survivor;
}

static void before_fork(void)
{
	sigset_t saved;

	percpu__lock(&saved);
	percpu__cells_hold();
	fork_saved = saved;
}

static void after_fork(void)
{
	sigset_t saved = fork_saved;

	percpu__cells_release();
	percpu__unlock(&saved);
}

static void after_fork_in_child(void)
{
	after_fork();
	/* Here, where the calling thread is known to be the one that forked. */
	__atomic_store_n(generation, 0, __ATOMIC_RELAXED);
	(void)percpu__generation();
}

/* Without a page that fork wipes, a child may find a word held that nobody holds. */
void *percpu__lock_start(size_t more)
{
	size_t size = sizeof(struct first_line) + more;
	struct first_line *page =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
	if (page != MAP_FAILED && madvise(page, size, MADV_WIPEONFORK) != 0) {
		munmap(page, size);
		page = MAP_FAILED;
	}
	if (page != MAP_FAILED) {
		word = &page->word;
		generation = &page->generation;
	}
	(void)percpu__generation();
	return page == MAP_FAILED ? NULL : page + 1;
}

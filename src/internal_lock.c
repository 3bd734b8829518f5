/* SPDX-License-Identifier: MIT */
/*
 * The library's one lock: a futex word (0 free, 1 held, 2 held and somebody sleeps) on a page that
 * fork wipes. However a child comes about, fork(), _Fork() or a raw clone, the word is 0 there.
 * The atfork handlers take it over fork(), so that what it protects is whole in the child; after
 * the other kinds a half-done allocation is lost to the child, and nothing else (area.c, A2).
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
	char pad[60];
};

static uint32_t word_without_page;
static uint32_t *word = &word_without_page;
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

static void before_fork(void)
{
	sigset_t saved;

	percpu__lock(&saved);
	fork_saved = saved;
}

static void after_fork(void)
{
	sigset_t saved = fork_saved;

	percpu__unlock(&saved);
}

static void after_fork_in_child(void)
{
	percpu__cells_after_fork();
	after_fork();
}

/* Without a page that fork wipes, a child may find a word held that nobody holds. */
void *percpu__lock_start(size_t more)
{
	size_t size = sizeof(struct first_line) + more;
	struct first_line *page =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)pthread_atfork(before_fork, after_fork, after_fork_in_child);
	if (page == MAP_FAILED)
		return NULL;
	if (madvise(page, size, MADV_WIPEONFORK) != 0) {
		munmap(page, size);
		return NULL;
	}
	word = &page->word;
	return page + 1;
}

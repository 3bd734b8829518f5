/* SPDX-License-Identifier: MIT */
/*
 * Every CPU without sequences of its own: the library works on shared slots alone and is exact.
 */
#ifndef PERCPU_ARCH_NONE_H
#define PERCPU_ARCH_NONE_H

#define ARCH_NAME "none"
#define ARCH_HAVE_SEQ 0
#define ARCH_HAVE_SEQ_8 0
#define ARCH_HAVE_LOCAL 0
#define ARCH_ATOMIC_64 (__GCC_ATOMIC_LLONG_LOCK_FREE == 2)
/* Inline where a 64-bit atomic is one instruction. */
#define ARCH_INLINE_COUNTER ARCH_ATOMIC_64

/* Nothing is known: unlocking inlined from such a build is right with a library that has sequences. */
#define ARCH_LOADS_IN_ORDER 0

/* The baseline of every counter bench, as near to one unlocked add as C comes. */
#define ARCH_PLAIN_INC(ptr)                                                                        \
	do {                                                                                       \
		volatile __typeof__(*(ptr)) *inc_ = (ptr);                                         \
		*inc_ = *inc_ + 1;                                                                 \
	} while (0)

/*
 * A program that was built with sequences may get a library that was not: where its stores go is
 * found from the thread pointer (own_offset() in thread.c). gcc 12 says that it has the builtin on
 * every CPU, and refuses it on these; neither has sequences in any build.
 */
#if defined(__has_builtin) && !defined(__sparc__) && !defined(__powerpc__)
#if __has_builtin(__builtin_thread_pointer)
#define ARCH_THREAD_POINTER() ((char *)__builtin_thread_pointer())
#endif
#endif

/*
 * Where the third argument of a handler is no ucontext_t: the signals that are blocked when the
 * handler returns. 64-bit SPARC passes what libc calls struct sigcontext.
 */
#if defined(__sparc__) && defined(__arch64__)
#define ARCH_SIGNAL_MASK(context) ((void *)&((struct sigcontext *)(context))->sigc_mask)
#endif

#endif

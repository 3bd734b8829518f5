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

/* The baseline of every counter bench, as near to one unlocked add as C comes. */
#define ARCH_PLAIN_INC(ptr)                                                                        \
	do {                                                                                       \
		volatile __typeof__(*(ptr)) *inc_ = (ptr);                                         \
		*inc_ = *inc_ + 1;                                                                 \
	} while (0)

#endif

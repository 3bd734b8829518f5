/* SPDX-License-Identifier: MIT */
/*
 * Each operation of the atomic way on each width; with WITH_ORDER one that orders, to show that
 * order.sh would notice.
 */
#define PERCPU_LOCAL_COUNTER_WAY atomic
#define PERCPU_LOCAL_ATOMIC_WAY atomic
#include <percpu/local.h>

#define OPERATIONS(type, name)                                                                     \
	static PERCPU_DECLARE_LOCAL_COUNTER(type, counter_##name);                                 \
	static PERCPU_DECLARE_LOCAL_ATOMIC(type, atomic_##name);                                   \
	type use_##name(type a, type b);                                                           \
	type use_##name(type a, type b)                                                            \
	{                                                                                          \
		type seen = percpu_local_atomic_xchg(type, &atomic_##name, a);                     \
                                                                                                   \
		percpu_local_counter_add(type, &counter_##name, a);                                \
		percpu_local_counter_sub(type, &counter_##name, b);                                \
		percpu_local_atomic_set(type, &atomic_##name, b);                                  \
		percpu_local_atomic_add(type, &atomic_##name, a);                                  \
		seen ^= percpu_local_atomic_add_return(type, &atomic_##name, b);                   \
		seen ^= percpu_local_atomic_cmpxchg(type, &atomic_##name, a, b);                   \
		seen ^= percpu_local_atomic_add_unless(type, &atomic_##name, a, b);                \
		seen ^= percpu_local_atomic_read(type, &atomic_##name);                            \
		return seen ^ percpu_local_counter_read(type, &counter_##name);                    \
	}

OPERATIONS(unsigned char, byte)
OPERATIONS(unsigned short, half)
OPERATIONS(unsigned, word)
OPERATIONS(unsigned long, large)

#if defined(WITH_ORDER)
static long ordered;
long use_order(void);
long use_order(void)
{
	return __atomic_fetch_add(&ordered, 1, __ATOMIC_SEQ_CST);
}
#endif

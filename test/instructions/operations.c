/* SPDX-License-Identifier: MIT */
/*
 * One function per operation, each with one sequence, for test/instructions/count. The functions of
 * the commits of transactions are in src/txn.c.
 */
#include <stddef.h>
#include <stdint.h>

#include <percpu/percpu.h>
#include <percpu/seq.h>

void plain_inc(long *word);
void plain_inc(long *word)
{
	/* Labels of its own: it is C on some CPUs. */
	__asm__ volatile("count_begin.plain_inc:");
	ARCH_PLAIN_INC(word);
	__asm__ volatile("count_end.plain_inc:");
}

#if ARCH_HAVE_SEQ

#define RMW(name, w, type)                                                                         \
	bool name##_##w(void *base, type value);                                                   \
	bool name##_##w(void *base, type value)                                                    \
	{                                                                                          \
		return percpu__seq_##name##_##w(base, value);                                      \
	}

#define RETURNING(name, w, type)                                                                   \
	int name##_##w(void *base, type value, type *result, uint32_t *slot);                      \
	int name##_##w(void *base, type value, type *result, uint32_t *slot)                       \
	{                                                                                          \
		return percpu__seq_##name##_##w(base, value, result, slot);                        \
	}

#define WORD(w, type)                                                                              \
	RMW(add, w, type)                                                                          \
	RMW(and, w, type)                                                                          \
	RMW(or, w, type)                                                                           \
	RETURNING(add_return, w, type)                                                             \
	RETURNING(xchg, w, type)                                                                   \
	int cmpxchg_##w(void *base, type expect, type value, type *seen, uint32_t *slot);          \
	int cmpxchg_##w(void *base, type expect, type value, type *seen, uint32_t *slot)           \
	{                                                                                          \
		return percpu__seq_cmpxchg_##w(base, expect, value, seen, slot);                   \
	}                                                                                          \
	int cmpxchg2_##w(void *base, type expect, type value, void *base2, type expect2,           \
			 uint32_t *slot);                                                          \
	int cmpxchg2_##w(void *base, type expect, type value, void *base2, type expect2,           \
			 uint32_t *slot)                                                           \
	{                                                                                          \
		return percpu__seq_cmpxchg2_##w(base, expect, value, base2, expect2, slot);        \
	}                                                                                          \
	int store_commit_##w(void *base, type expect, type value, void *base2, type value2,        \
			     uint32_t *slot);                                                      \
	int store_commit_##w(void *base, type expect, type value, void *base2, type value2,        \
			     uint32_t *slot)                                                       \
	{                                                                                          \
		return percpu__seq_store_commit_##w(base, expect, value, base2, value2, slot);     \
	}

WORD(1, uint8_t)
WORD(2, uint16_t)
WORD(4, uint32_t)
#if ARCH_HAVE_SEQ_8
WORD(8, uint64_t)
#endif

bool counter_add(void *const *cells, int64_t value);
bool counter_add(void *const *cells, int64_t value)
{
	return percpu__seq_add_handle_8(cells, value);
}

int list_pop(const struct percpu__handle *handle, void **node);
int list_pop(const struct percpu__handle *handle, void **node)
{
	return percpu__seq_list_pop(handle, node);
}

int list_push(const struct percpu__handle *handle, void *first, void *last);
int list_push(const struct percpu__handle *handle, void *first, void *last)
{
	return percpu__seq_list_push(handle, first, last);
}

int list_pop_all(const struct percpu__handle *handle, void **first);
int list_pop_all(const struct percpu__handle *handle, void **first)
{
	return percpu__seq_list_take(handle, first);
}

int stack_pop(const struct percpu__handle *handle, void **item, uintptr_t *next);
int stack_pop(const struct percpu__handle *handle, void **item, uintptr_t *next)
{
	return percpu__seq_stack_pop(handle, item, next);
}

int stack_push(const struct percpu__handle *handle, void *item, uintptr_t *next);
int stack_push(const struct percpu__handle *handle, void *item, uintptr_t *next)
{
	return percpu__seq_stack_push(handle, item, next);
}

int lock(void *const *words, uintptr_t me);
int lock(void *const *words, uintptr_t me)
{
	return percpu__seq_lock(words, me);
}

#endif

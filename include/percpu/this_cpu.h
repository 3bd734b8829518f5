/* SPDX-License-Identifier: MIT */
/*
 * The kernel's this_cpu operations: change a word of this CPU's copy of an object.
 *
 * p is the address of a word inside percpu memory, formed from a percpu pointer: &object->field.
 * The word is an integer (1, 2, 4 or 8 bytes; 8 only on 64-bit CPUs) or, where nothing is added to
 * it, a bool or a pointer; anything else is a compile-time error. The same names work in C11 and in
 * C++14.
 *
 * Promises: each call is atomic against every other thread on that CPU and against signal
 * handlers, in every mode. Every call ends, as long as signal handlers that interrupt these calls
 * return (no siglongjmp, no asynchronous cancellation) and those that use them are nested less deep
 * than there are shared slots.
 * Does not promise: which slot. The thread may migrate between two calls, or work on a shared
 * slot, so a value that is returned is that slot's and never the total, and never an id (for ids:
 * percpu_id_next()). The ..._slot forms store the slot that was used. No order to other CPUs.
 *
 *	call            thread   signal handler   other process   after fork
 *	percpu_this_*   yes      yes              no              yes, on the child's copy
 *
 *	percpu_this_read(p)                            the word, as it was a moment ago
 *	percpu_this_write(p, v)
 *	percpu_this_add(p, v) _sub _and _or _inc(p) _dec(p)
 *	percpu_this_add_return(p, v)                   the sum
 *	percpu_this_xchg(p, v)                         the previous value
 *	percpu_this_cmpxchg(p, old, new)               the previous value; equal to old: stored
 *	percpu_this_cmpxchg2(p, old, new, p2, old2)    true: both were equal, new stored to p;
 *	                                               p and p2 have the same size, same slot
 *	the last four also as ..._slot(..., unsigned *slot)
 */
#ifndef PERCPU_THIS_CPU_H
#define PERCPU_THIS_CPU_H

#include <string.h>

#include <percpu/area.h>

/* PERCPU__TYPE: what p points at, without const and volatile. */
#ifdef __cplusplus
#include <type_traits>
#define PERCPU__TYPE(p) std::remove_cv_t<std::remove_reference_t<decltype(*(p))>>
#define PERCPU__STATIC_ASSERT(condition, text) static_assert(condition, text)
extern "C" {
#else
#define PERCPU__TYPE(p) __typeof__(((void)0, *(p)))
#define PERCPU__STATIC_ASSERT(condition, text) _Static_assert(condition, text)
#endif

/* The same operations on a shared slot, by width; values travel as the widest type. */
#if ARCH_HAVE_SEQ_8 || __SIZEOF_POINTER__ == 8
#define PERCPU__WORD_MAX 8
typedef uint64_t percpu__word;
#else
#define PERCPU__WORD_MAX 4
typedef uint32_t percpu__word;
#endif

percpu__word percpu__shared_read(const void *p, size_t size);
void percpu__shared_add(void *p, percpu__word value, size_t size);
void percpu__shared_and(void *p, percpu__word value, size_t size);
void percpu__shared_or(void *p, percpu__word value, size_t size);
percpu__word percpu__shared_add_return(void *p, percpu__word value, size_t size, uint32_t *slot);
percpu__word percpu__shared_xchg(void *p, percpu__word value, size_t size, uint32_t *slot);
percpu__word percpu__shared_cmpxchg(void *p, percpu__word expect, percpu__word value, size_t size,
				    uint32_t *slot);
bool percpu__shared_cmpxchg2(void *p, percpu__word expect, percpu__word value, void *p2,
			     percpu__word expect2, size_t size, uint32_t *slot);

/*
 * A word of any type to the widest integer, and back, by representation. Without optimisation gcc
 * warns of the branches for other sizes.
 */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#endif
PERCPU__INLINE percpu__word percpu__load_word(const volatile void *p, size_t size)
{
	switch (size) {
	case 1:
		return __atomic_load_n((const volatile uint8_t *)p, __ATOMIC_RELAXED);
	case 2:
		return __atomic_load_n((const volatile uint16_t *)p, __ATOMIC_RELAXED);
	case 4:
		return __atomic_load_n((const volatile uint32_t *)p, __ATOMIC_RELAXED);
	default:
		return __atomic_load_n((const volatile percpu__word *)p, __ATOMIC_RELAXED);
	}
}

PERCPU__INLINE void percpu__store_word(volatile void *p, percpu__word value, size_t size)
{
	switch (size) {
	case 1:
		__atomic_store_n((volatile uint8_t *)p, (uint8_t)value, __ATOMIC_RELAXED);
		break;
	case 2:
		__atomic_store_n((volatile uint16_t *)p, (uint16_t)value, __ATOMIC_RELAXED);
		break;
	case 4:
		__atomic_store_n((volatile uint32_t *)p, (uint32_t)value, __ATOMIC_RELAXED);
		break;
	default:
		__atomic_store_n((volatile percpu__word *)p, value, __ATOMIC_RELAXED);
		break;
	}
}

PERCPU__INLINE percpu__word percpu__to_word(const void *value, size_t size)
{
	uint8_t v1;
	uint16_t v2;
	uint32_t v4;
	percpu__word v8;

	switch (size) {
	case 1:
		memcpy(&v1, value, 1);
		return v1;
	case 2:
		memcpy(&v2, value, 2);
		return v2;
	case 4:
		memcpy(&v4, value, 4);
		return v4;
	default:
		memcpy(&v8, value, sizeof(v8));
		return v8;
	}
}

PERCPU__INLINE void percpu__from_word(void *value, percpu__word word, size_t size)
{
	uint8_t v1 = (uint8_t)word;
	uint16_t v2 = (uint16_t)word;
	uint32_t v4 = (uint32_t)word;

	switch (size) {
	case 1:
		memcpy(value, &v1, 1);
		break;
	case 2:
		memcpy(value, &v2, 2);
		break;
	case 4:
		memcpy(value, &v4, 4);
		break;
	default:
		memcpy(value, &word, sizeof(word));
		break;
	}
}

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

#if defined(PERCPU_OUTLINE)
/* Calls instead of inlined sequences: smaller programs, some nanoseconds each. */
void percpu__outline_add(void *p, percpu__word value, size_t size);
void percpu__outline_and(void *p, percpu__word value, size_t size);
void percpu__outline_or(void *p, percpu__word value, size_t size);
percpu__word percpu__outline_add_return(void *p, percpu__word value, size_t size, uint32_t *slot);
percpu__word percpu__outline_xchg(void *p, percpu__word value, size_t size, uint32_t *slot);
percpu__word percpu__outline_cmpxchg(void *p, percpu__word expect, percpu__word value, size_t size,
				     uint32_t *slot);
bool percpu__outline_cmpxchg2(void *p, percpu__word expect, percpu__word value, void *p2,
			      percpu__word expect2, size_t size, uint32_t *slot);
#define percpu__word_add percpu__outline_add
#define percpu__word_and percpu__outline_and
#define percpu__word_or percpu__outline_or
#define percpu__word_add_return percpu__outline_add_return
#define percpu__word_xchg percpu__outline_xchg
#define percpu__word_cmpxchg percpu__outline_cmpxchg
#define percpu__word_cmpxchg2 percpu__outline_cmpxchg2
#else

/* Dispatch by size: constant after inlining. One case a width, for the operation named call. */
#if PERCPU__WORD_MAX == 8
#define PERCPU__CASE_8(statement) statement
#else
#define PERCPU__CASE_8(statement) break;
#endif

#define PERCPU__DEFINE_WORD_RMW(name)                                                              \
	PERCPU__INLINE void percpu__word_##name(void *p, percpu__word value, size_t size)          \
	{                                                                                          \
		bool done = false;                                                                 \
		switch (size) {                                                                    \
		case 1:                                                                            \
			done = percpu__seq_##name##_1(p, (uint8_t)value);                          \
			break;                                                                     \
		case 2:                                                                            \
			done = percpu__seq_##name##_2(p, (uint16_t)value);                         \
			break;                                                                     \
		case 4:                                                                            \
			done = percpu__seq_##name##_4(p, (uint32_t)value);                         \
			break;                                                                     \
		default:                                                                           \
			PERCPU__CASE_8(done = percpu__seq_##name##_8(p, value);)                   \
			break;                                                                     \
		}                                                                                  \
		if (__builtin_expect(!done, 0))                                                    \
			percpu__shared_##name(p, value, size);                                     \
	}

PERCPU__DEFINE_WORD_RMW(add)
PERCPU__DEFINE_WORD_RMW(and)
PERCPU__DEFINE_WORD_RMW(or)

#define PERCPU__WORD_CASE(type, call, result)                                                      \
	{                                                                                          \
		type seen_ = 0;                                                                    \
		answer = call;                                                                     \
		result = seen_;                                                                    \
		break;                                                                             \
	}

PERCPU__INLINE percpu__word percpu__word_add_return(void *p, percpu__word value, size_t size,
						    uint32_t *slot)
{
	int answer = PERCPU__UNAVAILABLE;
	percpu__word sum = 0;

	switch (size) {
	case 1:
		PERCPU__WORD_CASE(uint8_t,
				  percpu__seq_add_return_1(p, (uint8_t)value, &seen_, slot), sum)
	case 2:
		PERCPU__WORD_CASE(uint16_t,
				  percpu__seq_add_return_2(p, (uint16_t)value, &seen_, slot), sum)
	case 4:
		PERCPU__WORD_CASE(uint32_t,
				  percpu__seq_add_return_4(p, (uint32_t)value, &seen_, slot), sum)
	default:
		PERCPU__CASE_8(PERCPU__WORD_CASE(
			uint64_t, percpu__seq_add_return_8(p, value, &seen_, slot), sum))
	}
	if (__builtin_expect(answer > 0, 1))
		return sum;
	return percpu__shared_add_return(p, value, size, slot);
}

PERCPU__INLINE percpu__word percpu__word_xchg(void *p, percpu__word value, size_t size,
					      uint32_t *slot)
{
	int answer = PERCPU__UNAVAILABLE;
	percpu__word previous = 0;

	switch (size) {
	case 1:
		PERCPU__WORD_CASE(uint8_t, percpu__seq_xchg_1(p, (uint8_t)value, &seen_, slot),
				  previous)
	case 2:
		PERCPU__WORD_CASE(uint16_t, percpu__seq_xchg_2(p, (uint16_t)value, &seen_, slot),
				  previous)
	case 4:
		PERCPU__WORD_CASE(uint32_t, percpu__seq_xchg_4(p, (uint32_t)value, &seen_, slot),
				  previous)
	default:
		PERCPU__CASE_8(PERCPU__WORD_CASE(
			uint64_t, percpu__seq_xchg_8(p, value, &seen_, slot), previous))
	}
	if (__builtin_expect(answer > 0, 1))
		return previous;
	return percpu__shared_xchg(p, value, size, slot);
}

PERCPU__INLINE percpu__word percpu__word_cmpxchg(void *p, percpu__word expect, percpu__word value,
						 size_t size, uint32_t *slot)
{
	int answer = PERCPU__UNAVAILABLE;
	percpu__word previous = 0;

	switch (size) {
	case 1:
		PERCPU__WORD_CASE(
			uint8_t,
			percpu__seq_cmpxchg_1(p, (uint8_t)expect, (uint8_t)value, &seen_, slot),
			previous)
	case 2:
		PERCPU__WORD_CASE(
			uint16_t,
			percpu__seq_cmpxchg_2(p, (uint16_t)expect, (uint16_t)value, &seen_, slot),
			previous)
	case 4:
		PERCPU__WORD_CASE(
			uint32_t,
			percpu__seq_cmpxchg_4(p, (uint32_t)expect, (uint32_t)value, &seen_, slot),
			previous)
	default:
		PERCPU__CASE_8(PERCPU__WORD_CASE(
			uint64_t, percpu__seq_cmpxchg_8(p, expect, value, &seen_, slot), previous))
	}
	if (__builtin_expect(answer > 0 || answer == PERCPU__REFUSED, 1))
		return previous;
	return percpu__shared_cmpxchg(p, expect, value, size, slot);
}

PERCPU__INLINE bool percpu__word_cmpxchg2(void *p, percpu__word expect, percpu__word value,
					  void *p2, percpu__word expect2, size_t size,
					  uint32_t *slot)
{
	int answer = PERCPU__UNAVAILABLE;

	switch (size) {
	case 1:
		answer = percpu__seq_cmpxchg2_1(p, (uint8_t)expect, (uint8_t)value, p2,
						(uint8_t)expect2, slot);
		break;
	case 2:
		answer = percpu__seq_cmpxchg2_2(p, (uint16_t)expect, (uint16_t)value, p2,
						(uint16_t)expect2, slot);
		break;
	case 4:
		answer = percpu__seq_cmpxchg2_4(p, (uint32_t)expect, (uint32_t)value, p2,
						(uint32_t)expect2, slot);
		break;
	default:
		PERCPU__CASE_8(answer =
				       percpu__seq_cmpxchg2_8(p, expect, value, p2, expect2, slot);)
		break;
	}
	if (__builtin_expect(answer > 0 || answer == PERCPU__REFUSED, 1))
		return answer > 0;
	return percpu__shared_cmpxchg2(p, expect, value, p2, expect2, size, slot);
}

#undef PERCPU__CASE_8
#undef PERCPU__WORD_CASE
#undef PERCPU__DEFINE_WORD_RMW

#endif

PERCPU__INLINE percpu__word percpu__word_read(const void *p, size_t size)
{
	int cpu = percpu_cpu_raw();

	if (__builtin_expect((uint32_t)cpu < percpu__rt.bound, 1))
		return percpu__load_word(percpu__slot(p, (unsigned)cpu), size);
	return percpu__shared_read(p, size);
}

/* Compile-time checks of the word that p points at: classes 1 to 4 are integers, 5 pointers. */
#define PERCPU__CHECK_SIZE(p)                                                                      \
	PERCPU__STATIC_ASSERT(sizeof(*(p)) == 1 || sizeof(*(p)) == 2 || sizeof(*(p)) == 4 ||       \
				      sizeof(*(p)) == PERCPU__WORD_MAX,                            \
			      "percpu: no such operation on a word of this size on this CPU")
#define PERCPU__CHECK_CLASS(p, last, text)                                                         \
	PERCPU__STATIC_ASSERT(__builtin_classify_type((PERCPU__TYPE(p))0) >= 1 &&                  \
				      __builtin_classify_type((PERCPU__TYPE(p))0) <= (last),       \
			      text)
#define PERCPU__CHECK_WORD(p)                                                                      \
	PERCPU__CHECK_SIZE(p);                                                                     \
	PERCPU__CHECK_CLASS(p, 5, "percpu: the word must be an integer or a pointer")
#define PERCPU__CHECK_INTEGER(p)                                                                   \
	PERCPU__CHECK_SIZE(p);                                                                     \
	PERCPU__CHECK_CLASS(p, 4, "percpu: the word must be an integer")
/* An addition would leave what no bool may hold. */
#define PERCPU__CHECK_NUMBER(p)                                                                    \
	PERCPU__CHECK_INTEGER(p);                                                                  \
	PERCPU__STATIC_ASSERT((PERCPU__TYPE(p))2 != (PERCPU__TYPE(p))1,                            \
			      "percpu: nothing can be added to a bool")

/* The address of a word to change: const is refused, volatile is implied anyway. */
#define PERCPU__ADDRESS(name, p) volatile void *name = (p)
#define PERCPU__PLAIN(name) ((void *)(uintptr_t)(name))

#define percpu_this_read(p)                                                                        \
	__extension__({                                                                            \
		PERCPU__CHECK_WORD(p);                                                             \
		const volatile void *pcp_p_read_ = (p);                                            \
		PERCPU__TYPE(p) pcp_v_read_;                                                       \
		percpu__from_word(                                                                 \
			&pcp_v_read_,                                                              \
			percpu__word_read(PERCPU__PLAIN(pcp_p_read_), sizeof(pcp_v_read_)),        \
			sizeof(pcp_v_read_));                                                      \
		pcp_v_read_;                                                                       \
	})

#define PERCPU__THIS_RMW(name, p, v)                                                               \
	__extension__({                                                                            \
		PERCPU__ADDRESS(pcp_p_rmw_, p);                                                    \
		PERCPU__TYPE(p) pcp_v_rmw_ = (PERCPU__TYPE(p))(v);                                 \
		percpu__word_##name(PERCPU__PLAIN(pcp_p_rmw_),                                     \
				    percpu__to_word(&pcp_v_rmw_, sizeof(pcp_v_rmw_)),              \
				    sizeof(pcp_v_rmw_));                                           \
	})
#define PERCPU__THIS_ADD(p, v)                                                                     \
	__extension__({                                                                            \
		PERCPU__CHECK_NUMBER(p);                                                           \
		PERCPU__THIS_RMW(add, p, v);                                                       \
	})
#define PERCPU__THIS_BITS(name, p, v)                                                              \
	__extension__({                                                                            \
		PERCPU__CHECK_INTEGER(p);                                                          \
		PERCPU__THIS_RMW(name, p, v);                                                      \
	})

#define percpu_this_add(p, v) PERCPU__THIS_ADD(p, v)
/* Negated as the widest unsigned type: the lowest value of a signed one has no opposite. */
#define percpu_this_sub(p, v) PERCPU__THIS_ADD(p, 0 - (uint64_t)(PERCPU__TYPE(p))(v))
#define percpu_this_inc(p) PERCPU__THIS_ADD(p, 1)
#define percpu_this_dec(p) PERCPU__THIS_ADD(p, -1)
#define percpu_this_and(p, v) PERCPU__THIS_BITS(and, p, v)
#define percpu_this_or(p, v) PERCPU__THIS_BITS(or, p, v)

#define percpu_this_add_return_slot(p, v, slot)                                                    \
	__extension__({                                                                            \
		PERCPU__CHECK_NUMBER(p);                                                           \
		PERCPU__ADDRESS(pcp_p_sum_, p);                                                    \
		PERCPU__TYPE(p) pcp_v_sum_ = (PERCPU__TYPE(p))(v);                                 \
		percpu__from_word(                                                                 \
			&pcp_v_sum_,                                                               \
			percpu__word_add_return(PERCPU__PLAIN(pcp_p_sum_),                         \
						percpu__to_word(&pcp_v_sum_, sizeof(pcp_v_sum_)),  \
						sizeof(pcp_v_sum_), (slot)),                       \
			sizeof(pcp_v_sum_));                                                       \
		pcp_v_sum_;                                                                        \
	})

#define percpu_this_xchg_slot(p, v, slot)                                                          \
	__extension__({                                                                            \
		PERCPU__CHECK_WORD(p);                                                             \
		PERCPU__ADDRESS(pcp_p_xchg_, p);                                                   \
		PERCPU__TYPE(p) pcp_v_xchg_ = (v);                                                 \
		percpu__from_word(                                                                 \
			&pcp_v_xchg_,                                                              \
			percpu__word_xchg(PERCPU__PLAIN(pcp_p_xchg_),                              \
					  percpu__to_word(&pcp_v_xchg_, sizeof(pcp_v_xchg_)),      \
					  sizeof(pcp_v_xchg_), (slot)),                            \
			sizeof(pcp_v_xchg_));                                                      \
		pcp_v_xchg_;                                                                       \
	})

#define percpu_this_cmpxchg_slot(p, old, new_, slot)                                               \
	__extension__({                                                                            \
		PERCPU__CHECK_WORD(p);                                                             \
		PERCPU__ADDRESS(pcp_p_cmpxchg_, p);                                                \
		PERCPU__TYPE(p) pcp_old_cmpxchg_ = (old);                                          \
		PERCPU__TYPE(p) pcp_v_cmpxchg_ = (new_);                                           \
		percpu__from_word(                                                                 \
			&pcp_v_cmpxchg_,                                                           \
			percpu__word_cmpxchg(                                                      \
				PERCPU__PLAIN(pcp_p_cmpxchg_),                                     \
				percpu__to_word(&pcp_old_cmpxchg_, sizeof(pcp_old_cmpxchg_)),      \
				percpu__to_word(&pcp_v_cmpxchg_, sizeof(pcp_v_cmpxchg_)),          \
				sizeof(pcp_v_cmpxchg_), (slot)),                                   \
			sizeof(pcp_v_cmpxchg_));                                                   \
		pcp_v_cmpxchg_;                                                                    \
	})

#define percpu_this_cmpxchg2_slot(p, old, new_, p2, old2, slot)                                    \
	__extension__({                                                                            \
		PERCPU__CHECK_WORD(p);                                                             \
		PERCPU__CHECK_WORD(p2);                                                            \
		PERCPU__STATIC_ASSERT(sizeof(*(p)) == sizeof(*(p2)),                               \
				      "percpu: both words must have one size");                    \
		PERCPU__ADDRESS(pcp_p_two_, p);                                                    \
		PERCPU__ADDRESS(pcp_p2_two_, p2);                                                  \
		PERCPU__TYPE(p) pcp_old_two_ = (old);                                              \
		PERCPU__TYPE(p) pcp_v_two_ = (new_);                                               \
		PERCPU__TYPE(p2) pcp_old2_two_ = (old2);                                           \
		percpu__word_cmpxchg2(PERCPU__PLAIN(pcp_p_two_),                                   \
				      percpu__to_word(&pcp_old_two_, sizeof(pcp_old_two_)),        \
				      percpu__to_word(&pcp_v_two_, sizeof(pcp_v_two_)),            \
				      PERCPU__PLAIN(pcp_p2_two_),                                  \
				      percpu__to_word(&pcp_old2_two_, sizeof(pcp_old2_two_)),      \
				      sizeof(pcp_v_two_), (slot));                                 \
	})

#define percpu_this_write(p, v)                                                                    \
	__extension__({                                                                            \
		unsigned pcp_slot_w_;                                                              \
		(void)percpu_this_xchg_slot(p, v, &pcp_slot_w_);                                   \
	})
#define percpu_this_add_return(p, v)                                                               \
	__extension__({                                                                            \
		unsigned pcp_slot_s_;                                                              \
		percpu_this_add_return_slot(p, v, &pcp_slot_s_);                                   \
	})
#define percpu_this_xchg(p, v)                                                                     \
	__extension__({                                                                            \
		unsigned pcp_slot_x_;                                                              \
		percpu_this_xchg_slot(p, v, &pcp_slot_x_);                                         \
	})
#define percpu_this_cmpxchg(p, old, new_)                                                          \
	__extension__({                                                                            \
		unsigned pcp_slot_c_;                                                              \
		percpu_this_cmpxchg_slot(p, old, new_, &pcp_slot_c_);                              \
	})
#define percpu_this_cmpxchg2(p, old, new_, p2, old2)                                               \
	__extension__({                                                                            \
		unsigned pcp_slot_d_;                                                              \
		percpu_this_cmpxchg2_slot(p, old, new_, p2, old2, &pcp_slot_d_);                   \
	})

#ifdef __cplusplus
}
#endif

#endif

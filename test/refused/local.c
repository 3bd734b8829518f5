/* SPDX-License-Identifier: MIT */
/*
 * Local operations that must not compile; as words.c. The ways that one family cannot be served by
 * are refused by a name that says which way does not return values.
 */
#if defined(REFUSE_PLAIN_ATOMIC_BY_TRIVALUE)
#define PERCPU_LOCAL_ATOMIC_WAY trivalue
#elif defined(REFUSE_PLAIN_ATOMIC_BY_TWOVALUE)
#define PERCPU_LOCAL_ATOMIC_WAY twovalue
#elif defined(REFUSE_PLAIN_UNKNOWN_WAY)
#define PERCPU_LOCAL_COUNTER_WAY magic
#elif defined(REFUSE_PLAIN_UNKNOWN_ATOMIC_WAY)
#define PERCPU_LOCAL_ATOMIC_WAY magic
#endif

#include <percpu/percpu.h>

struct small {
	int field;
};
struct odd {
	char bytes[3];
};

static PERCPU_DECLARE_LOCAL_COUNTER(int, counter);
static PERCPU_DECLARE_LOCAL_ATOMIC(int, atomic);
static PERCPU_DECLARE_LOCAL_ATOMIC(int *, pointer);

void use(int *p);

void use(int *p)
{
	percpu_local_counter_inc(int, &counter);
	percpu_local_counter_sub(int, &counter, 2);
	(void)percpu_local_atomic_add_return(int, &atomic, 1);
	(void)percpu_local_atomic_add_unless(int, &atomic, 1, 2);
	(void)percpu_local_atomic_xchg(int *, &pointer, p);
	(void)percpu_local_atomic_cmpxchg(int *, &pointer, p, (int *)0);
#if defined(REFUSE_POINTER_INC)
	percpu_local_atomic_inc(int *, &pointer);
#elif defined(REFUSE_POINTER_SUB)
	percpu_local_atomic_sub(int *, &pointer, 1);
#elif defined(REFUSE_POINTER_ADD_RETURN)
	(void)percpu_local_atomic_add_return(int *, &pointer, 1);
#elif defined(REFUSE_POINTER_ADD_UNLESS)
	(void)percpu_local_atomic_add_unless(int *, &pointer, 1, 0);
#elif defined(REFUSE_POINTER_COUNTER)
	static PERCPU_DECLARE_LOCAL_COUNTER(int *, wrong);
	percpu_local_counter_inc(int *, &wrong);
#elif defined(REFUSE_BOOL_INC)
	static PERCPU_DECLARE_LOCAL_COUNTER(bool, wrong);
	percpu_local_counter_inc(bool, &wrong);
#elif defined(REFUSE_BOOL_DEC_RETURN)
	static PERCPU_DECLARE_LOCAL_ATOMIC(bool, wrong);
	(void)percpu_local_atomic_dec_return(bool, &wrong);
#elif defined(REFUSE_BOOL_ADD_UNLESS)
	static PERCPU_DECLARE_LOCAL_ATOMIC(bool, wrong);
	(void)percpu_local_atomic_add_unless(bool, &wrong, 1, 0);
#elif defined(REFUSE_STRUCT_READ)
	static PERCPU_DECLARE_LOCAL_ATOMIC(struct small, wrong);
	(void)percpu_local_atomic_read(struct small, &wrong);
#elif defined(REFUSE_ODD_SIZE)
	static PERCPU_DECLARE_LOCAL_ATOMIC(struct odd, wrong);
	(void)percpu_local_atomic_read(struct odd, &wrong);
#elif defined(REFUSE_STRUCT_XCHG)
	static PERCPU_DECLARE_LOCAL_ATOMIC(struct small, wrong);
	const struct small value = {1};
	(void)percpu_local_atomic_xchg(struct small, &wrong, value);
#elif defined(REFUSE_PLAIN_STRUCT_ADD)
	static PERCPU_DECLARE_LOCAL_COUNTER(struct small, wrong);
	percpu_local_counter_add(struct small, &wrong, 1);
#elif defined(REFUSE_FLOAT_ADD)
	static PERCPU_DECLARE_LOCAL_COUNTER(float, wrong);
	percpu_local_counter_add(float, &wrong, 1);
#elif defined(REFUSE_FLOAT_READ)
	static PERCPU_DECLARE_LOCAL_ATOMIC(float, wrong);
	(void)percpu_local_atomic_read(float, &wrong);
#elif defined(REFUSE_SIXTEEN_BYTES)
	static PERCPU_DECLARE_LOCAL_ATOMIC(long double, wrong);
	(void)percpu_local_atomic_read(long double, &wrong);
#elif defined(REFUSE_EIGHT_BYTES_COUNTER)
	static PERCPU_DECLARE_LOCAL_COUNTER(uint64_t, wrong);
	percpu_local_counter_inc(uint64_t, &wrong);
#elif defined(REFUSE_EIGHT_BYTES_COUNTER_READ)
	static PERCPU_DECLARE_LOCAL_COUNTER(long long, wrong);
	(void)percpu_local_counter_read(long long, &wrong);
#elif defined(REFUSE_EIGHT_BYTES_SET)
	static PERCPU_DECLARE_LOCAL_ATOMIC(int64_t, wrong);
	percpu_local_atomic_set(int64_t, &wrong, 1);
#elif defined(REFUSE_EIGHT_BYTES_CMPXCHG)
	static PERCPU_DECLARE_LOCAL_ATOMIC(int64_t, wrong);
	(void)percpu_local_atomic_cmpxchg(int64_t, &wrong, 1, 2);
#elif defined(REFUSE_ANOTHER_SIZE)
	percpu_local_counter_inc(short, &counter);
#elif defined(REFUSE_ANOTHER_SIGN)
	(void)percpu_local_counter_read(unsigned, &counter);
#elif defined(REFUSE_ANOTHER_SIGN_OF_ATOMIC)
	percpu_local_atomic_set(unsigned, &atomic, 1);
#elif defined(REFUSE_ANOTHER_SIZE_IN_XCHG)
	(void)percpu_local_atomic_xchg(signed char, &atomic, 1);
#elif defined(REFUSE_ANOTHER_SIZE_IN_CMPXCHG)
	(void)percpu_local_atomic_cmpxchg(short, &atomic, 1, 2);
#elif defined(REFUSE_POINTER_AS_INTEGER)
	(void)percpu_local_atomic_add_return(intptr_t, &pointer, 4);
#elif defined(REFUSE_PLAIN_ANOTHER_POINTER)
	(void)percpu_local_atomic_xchg(int *, &pointer, &(struct small){1});
#elif defined(REFUSE_PLAIN_NO_VARIABLE)
	percpu_local_counter_inc(int, p);
#elif defined(REFUSE_PLAIN_CONST)
	const PERCPU_DECLARE_LOCAL_COUNTER(int, *view) = (const void *)&counter;
	percpu_local_counter_inc(int, view);
#elif defined(REFUSE_PLAIN_SHORT_NAMES_UNASKED)
	(void)local_counter_read(int, &counter);
#elif defined(REFUSE_PLAIN_SHORT_DECLARATION_UNASKED)
	static DECLARE_LOCAL_COUNTER(int, wrong);
#endif
}

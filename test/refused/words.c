/* SPDX-License-Identifier: MIT */
/*
 * Combinations that must not compile, one for each macro named REFUSE_...; and NONE of them, which
 * must. test_refused.sh compiles this file once for each, as C and as C++.
 */
#include <percpu/percpu.h>

struct small {
	int field;
};
struct odd {
	char bytes[3];
};
enum color { RED, GREEN };

void use(void *p);

void use(void *p)
{
	int *word = (int *)p;

	percpu_this_inc(word);
	(void)percpu_this_read((const int *)word);
	(void)percpu_this_xchg((enum color *)p, GREEN);
	(void)percpu_this_cmpxchg2(word, 1, 2, (unsigned *)p, 3u);
#if defined(REFUSE_STRUCT_READ)
	(void)percpu_this_read((struct small *)p);
#elif defined(REFUSE_STRUCT_ADD)
	percpu_this_inc((struct small *)p);
#elif defined(REFUSE_ODD_SIZE)
	(void)percpu_this_read((struct odd *)p);
#elif defined(REFUSE_FLOAT_ADD)
	percpu_this_add((float *)p, 1);
#elif defined(REFUSE_FLOAT_READ)
	(void)percpu_this_read((float *)p);
#elif defined(REFUSE_DOUBLE_XCHG)
	(void)percpu_this_xchg((double *)p, 1);
#elif defined(REFUSE_POINTER_INC)
	percpu_this_inc((void **)p);
#elif defined(REFUSE_POINTER_SUB)
	percpu_this_sub((char **)p, 1);
#elif defined(REFUSE_POINTER_OR)
	percpu_this_or((char **)p, 1);
#elif defined(REFUSE_POINTER_ADD_RETURN)
	(void)percpu_this_add_return((char **)p, 1);
#elif defined(REFUSE_BOOL_INC)
	percpu_this_inc((bool *)p);
#elif defined(REFUSE_BOOL_SUB)
	percpu_this_sub((bool *)p, true);
#elif defined(REFUSE_BOOL_ADD_RETURN)
	(void)percpu_this_add_return((bool *)p, true);
#elif defined(REFUSE_VOID_READ)
	(void)percpu_this_read(p);
#elif defined(REFUSE_SIXTEEN_BYTES)
	(void)percpu_this_read((long double *)p);
#elif defined(REFUSE_TWO_SIZES)
	(void)percpu_this_cmpxchg2(word, 1, 2, (char *)p, (char)3);
#elif defined(REFUSE_TWO_OF_A_STRUCT)
	(void)percpu_this_cmpxchg2(word, 1, 2, (struct small *)p, *(struct small *)p);
#elif defined(REFUSE_EIGHT_BYTES)
	(void)percpu_this_read((long long *)p);
#elif defined(REFUSE_EIGHT_BYTES_ADD)
	percpu_this_add((long long *)p, 1);
/* Here the compiler says no by itself. */
#elif defined(REFUSE_PLAIN_CONST_WRITE)
	percpu_this_write((const int *)word, 1);
#elif defined(REFUSE_PLAIN_CONST_INC)
	percpu_this_inc((const int *)word);
#elif defined(REFUSE_PLAIN_STORE_TO_A_COPY)
	*percpu_ptr(word, 0) = 1;
#elif defined(REFUSE_PLAIN_NUMBER_AS_POINTER)
	percpu_this_inc(1);
#endif
}

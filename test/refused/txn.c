/* SPDX-License-Identifier: MIT */
/*
 * Commits that must not compile, one for each macro named REFUSE_...; and NONE of them, which must.
 * test_refused.sh compiles this file once for each, as C and as C++.
 */
#include <percpu/percpu.h>

struct small {
	int field;
};
enum color { RED, GREEN };

void use(void *p, struct percpu_txn *txn);

void use(void *p, struct percpu_txn *txn)
{
	int *word = (int *)p;
	const uintptr_t *index = (const uintptr_t *)p;
	const struct small *small = percpu_txn_ptr(txn, (struct small *)p);

	/* What percpu_txn_ptr() gives is const, and is what commits take. */
	(void)percpu_txn_commit(txn, &small->field, 1);
	(void)percpu_txn_commit_release(txn, (const enum color *)p, GREEN);
	(void)percpu_txn_commit(txn, (const float *const *)p, (const float *)p);
	(void)percpu_txn_commit2(txn, &small->field, 1, (const unsigned *)p, 2u);
	(void)percpu_txn_commit_copy(txn, index, 1, small, word, sizeof(*small));
#if defined(REFUSE_STRUCT)
	(void)percpu_txn_commit(txn, small, *small);
#elif defined(REFUSE_STRUCT_RELEASE)
	(void)percpu_txn_commit_release(txn, small, *small);
#elif defined(REFUSE_FLOAT)
	(void)percpu_txn_commit(txn, (const float *)p, 1);
#elif defined(REFUSE_DOUBLE)
	(void)percpu_txn_commit(txn, (const double *)p, 1);
#elif defined(REFUSE_SIXTEEN_BYTES)
	(void)percpu_txn_commit(txn, (const long double *)p, 1);
#elif defined(REFUSE_TWO_SIZES)
	(void)percpu_txn_commit2(txn, word, 1, (const char *)p, (char)2);
#elif defined(REFUSE_FIRST_OF_A_STRUCT)
	(void)percpu_txn_commit2(txn, word, 1, small, *small);
#elif defined(REFUSE_FIRST_OF_A_FLOAT)
	(void)percpu_txn_commit2(txn, word, 1, (const float *)p, 2);
#elif defined(REFUSE_NARROW_COPY)
	(void)percpu_txn_commit_copy(txn, (const uint16_t *)p, 1, small, word, sizeof(*small));
#elif defined(REFUSE_COPY_OF_A_FLOAT)
	(void)percpu_txn_commit_copy(txn, (const float *)p, 1, small, word, sizeof(*small));
#elif defined(REFUSE_EIGHT_BYTES)
	(void)percpu_txn_commit(txn, (const long long *)p, 1);
#elif defined(REFUSE_EIGHT_BYTES_FIRST)
	(void)percpu_txn_commit2(txn, (const long long *)p, 1, (const long long *)p, 1);
/* Here the compiler says no by itself. */
#elif defined(REFUSE_PLAIN_STORE_IN_A_BODY)
	small->field = 1;
#elif defined(REFUSE_PLAIN_POINTER_FOR_A_NUMBER)
	(void)percpu_txn_commit(txn, word, p);
#elif defined(REFUSE_PLAIN_WRONG_POINTER)
	(void)percpu_txn_commit(txn, (float **)p, word);
#elif defined(REFUSE_PLAIN_NO_TRANSACTION)
	(void)percpu_txn_commit(p == index, word, 1);
#elif defined(REFUSE_PLAIN_COPY_INTO_A_CONSTANT_INDEX)
	(void)percpu_txn_commit_copy(txn, 0, 1, small, word, sizeof(*small));
#endif
}

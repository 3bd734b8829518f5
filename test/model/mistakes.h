/* SPDX-License-Identifier: MIT */
/*
 * Sequences that are wrong, each in one way that somebody once got wrong, to prove that the
 * checker would notice. Each stands in for one operation of the closed set.
 */
#ifndef PERCPU_TEST_MISTAKES_H
#define PERCPU_TEST_MISTAKES_H

#include "pseudo.h"

enum mistake {
	/* pop: head and next read before the range, only the head compared inside (ABA) */
	MISTAKE_NEXT_READ_OUTSIDE,
	/* list_push: pushes to a closed list */
	MISTAKE_CLOSED_NOT_LOOKED_AT,
	/* list_pop: loads the head first, and then whether the list is closed */
	MISTAKE_CLOSED_LOOKED_AT_LAST,
	/* stack_pop: loads the top first, and then the limit */
	MISTAKE_LIMIT_LOADED_LAST,
	/* drain: takes what a sequence under way may be taking */
	MISTAKE_DRAINED_WITHOUT_FENCE,
	/* lock: closed is looked at before the range */
	MISTAKE_LOCK_CLOSED_OUTSIDE,
	/* take: goes in beside a sequence under way */
	MISTAKE_TAKEN_WITHOUT_FENCE,
	/* store_commit: publishes first, then writes what it has published: two live stores */
	MISTAKE_COMMIT_NOT_LAST,
	/* store_commit: writes before it compares, when the word may be live already */
	MISTAKE_STORE_BEFORE_COMPARE,
	/* cmpxchg2: the second word compared before the range */
	MISTAKE_COMPARED_OUTSIDE,
	/* add_return: the value loaded before the range, and not again after an abort */
	MISTAKE_LOADED_OUTSIDE,
	/* add: the CPU number read before the range, and not compared inside */
	MISTAKE_CPU_READ_OUTSIDE,
	/* add_return: the abort handler goes on where the thread was */
	MISTAKE_ABORT_CONTINUES,
	/* add_return: the abort handler goes to the start of the range, behind the arming */
	MISTAKE_NOT_ARMED_AGAIN,
	/* add: load, add, store without a range */
	MISTAKE_NO_SECTION,
	/* add_return: the range ends before the commit */
	MISTAKE_RANGE_TOO_SHORT,
	/* add_return: the range goes on behind the commit */
	MISTAKE_RANGE_TOO_LONG,
	/* txn add: rseq_cs is not cleared behind the commit (T2) */
	MISTAKE_TXN_NOT_CLEARED,
	/* txn add: rseq_cs is not compared (T1) */
	MISTAKE_TXN_NOT_COMPARED,
	/* txn add: the CPU number read before rseq_cs is set */
	MISTAKE_TXN_CPU_READ_FIRST,
	/* txn add: the word read before rseq_cs is set */
	MISTAKE_TXN_READ_FIRST,
	/* txn two: the first store goes to the live copy */
	MISTAKE_TXN_LIVE_FIRST,
	/* txn two: the second descriptor is stored without looking at the first */
	MISTAKE_TXN_BLIND_CHANGE,
	/* txn two: the second range begins without a compare (T1) */
	MISTAKE_TXN_SECOND_NOT_COMPARED,
	MISTAKES
};

struct mistake_program {
	enum pseudo_op op;
	struct pseudo_program program;
};

extern const struct mistake_program mistakes[MISTAKES];

#endif

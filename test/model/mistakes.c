/* SPDX-License-Identifier: MIT */
#include "mistakes.h"
#include "steps.h"

/* clang-format off */
#define FIND_SLOT		LOAD_CPU, LEAVE_UNLESS_BELOW, SLOT(P, BASE)

const struct mistake_program mistakes[MISTAKES] = {
	[MISTAKE_NEXT_READ_OUTSIDE] = { PSEUDO_LIST_POP, { "bad pop", {
		FIND_SLOT,
		LOAD(SEEN, P),
		REFUSE_IF_EQUAL(SEEN, ZERO, ZERO),
		LOAD(NEXT, SEEN),
		ARM,
		FIND_SLOT,
		LOAD(I, P),
		GOTO_IF_EQUAL(I, SEEN, +2),
		GOTO(-12),
		COMMIT(P, NEXT),
		DONE(SEEN) }, .start = 7, .post_commit = 14, .restart = 0 } },

	[MISTAKE_CLOSED_NOT_LOOKED_AT] = { PSEUDO_LIST_PUSH, { "bad push", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		STORE(LAST, SEEN),
		COMMIT(P, NODE),
		DONE(ZERO) }, .start = 1, .post_commit = 7, .restart = 0 } },

	[MISTAKE_CLOSED_LOOKED_AT_LAST] = { PSEUDO_LIST_POP, { "bad pop", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		SECOND(Q, P),
		LOAD(I, Q),
		REFUSE_UNLESS_ABOVE(SEEN, I, SEEN),
		LOAD(NEXT, SEEN),
		COMMIT(P, NEXT),
		DONE(SEEN) }, .start = 1, .post_commit = 10, .restart = 0 } },

	[MISTAKE_LIMIT_LOADED_LAST] = { PSEUDO_STACK_POP, { "bad pop", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		SUBTRACT(NEXT, SEEN, COUNT),
		SECOND(Q, P),
		LOAD(I, Q),
		REFUSE_UNLESS_BELOW(NEXT, I, NEXT),
		SECOND(Q, Q),
		ADDRESS(Q, Q, NEXT),
		LOAD(SEEN, Q),
		COMMIT(P, NEXT),
		DONE(SEEN) }, .start = 1, .post_commit = 13, .restart = 0 } },

	[MISTAKE_DRAINED_WITHOUT_FENCE] = { PSEUDO_LIST_DRAIN, { "bad drain", {
		COPY(CPU, SHARED),
		SLOT(P, BASE),
		SECOND(Q, P),
		STORE(Q, ONES),
		LOAD(SEEN, P),
		STORE(P, ZERO),
		STORE(Q, ZERO),
		DONE(SEEN) }, .start = 0, .post_commit = 0, .restart = 0 } },

	[MISTAKE_LOCK_CLOSED_OUTSIDE] = { PSEUDO_LOCK, { "bad lock", {
		FIND_SLOT,
		SECOND(Q, P),
		LOAD(I, Q),
		REFUSE_IF_DIFFERENT(I, ZERO, ZERO),
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, ZERO, ZERO),
		COMMIT(P, VALUE),
		DONE(ZERO) }, .start = 7, .post_commit = 13, .restart = 6 } },

	[MISTAKE_TAKEN_WITHOUT_FENCE] = { PSEUDO_LOCK_TAKE, { "bad take", {
		COPY(CPU, SHARED),
		SLOT(P, BASE),
		SECOND(Q, P),
		STORE(Q, VALUE),
		LOAD(SEEN, P),
		DONE(SEEN) }, .start = 0, .post_commit = 0, .restart = 0 } },

	[MISTAKE_COMMIT_NOT_LAST] = { PSEUDO_STORE_COMMIT, { "bad store", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, ZERO),
		SLOT(Q, BASE2),
		COMMIT(P, VALUE),
		STORE(Q, VALUE2),
		DONE(ZERO) }, .start = 1, .post_commit = 9, .restart = 0 } },

	[MISTAKE_STORE_BEFORE_COMPARE] = { PSEUDO_STORE_COMMIT, { "bad store", {
		ARM,
		FIND_SLOT,
		SLOT(Q, BASE2),
		STORE(Q, VALUE2),
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, ZERO),
		COMMIT(P, VALUE),
		DONE(ZERO) }, .start = 1, .post_commit = 9, .restart = 0 } },

	[MISTAKE_COMPARED_OUTSIDE] = { PSEUDO_CMPXCHG2, { "bad cmpxchg2", {
		FIND_SLOT,
		SLOT(Q, BASE2),
		LOAD(SEEN, Q),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT2, ZERO),
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		REFUSE_IF_DIFFERENT(SEEN, EXPECT, ZERO),
		COMMIT(P, VALUE),
		DONE(ZERO) }, .start = 7, .post_commit = 13, .restart = 0 } },

	[MISTAKE_LOADED_OUTSIDE] = { PSEUDO_ADD_RETURN, { "bad add_ret", {
		FIND_SLOT,
		LOAD(SEEN, P),
		ARM,
		FIND_SLOT,
		ADD(NEXT, SEEN, VALUE),
		COMMIT(P, NEXT),
		DONE(NEXT) }, .start = 5, .post_commit = 10, .restart = 4 } },

	[MISTAKE_CPU_READ_OUTSIDE] = { PSEUDO_ADD, { "bad add", {
		FIND_SLOT,
		ARM,
		COMMIT_ADD(P, VALUE),
		DONE(ZERO) }, .start = 4, .post_commit = 5, .restart = 0 } },

	[MISTAKE_ABORT_CONTINUES] = { PSEUDO_ADD_RETURN, { "bad add_ret", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		COMMIT(P, NEXT),
		DONE(NEXT) }, .start = 1, .post_commit = 7, .restart = PSEUDO_CONTINUE } },

	[MISTAKE_NOT_ARMED_AGAIN] = { PSEUDO_ADD_RETURN, { "bad add_ret", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		COMMIT(P, NEXT),
		DONE(NEXT) }, .start = 1, .post_commit = 7, .restart = 1 } },

	[MISTAKE_NO_SECTION] = { PSEUDO_ADD, { "bad add", {
		FIND_SLOT,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		STORE(P, NEXT),
		DONE(ZERO) }, .start = 0, .post_commit = 0, .restart = 0 } },

	[MISTAKE_RANGE_TOO_SHORT] = { PSEUDO_ADD_RETURN, { "bad add_ret", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		COMMIT(P, NEXT),
		DONE(NEXT) }, .start = 1, .post_commit = 6, .restart = 0 } },

	[MISTAKE_RANGE_TOO_LONG] = { PSEUDO_ADD_RETURN, { "bad add_ret", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		COMMIT(P, NEXT),
		DONE(NEXT) }, .start = 1, .post_commit = 8, .restart = 0 } },

	[MISTAKE_TXN_NOT_CLEARED] = { PSEUDO_TXN_ADD, { "bad txn add", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		UNLESS_ARMED(FIRST, +3),
		COMMIT(P, NEXT),
		DONE(NEXT),
		NOT_DONE }, .start = 6, .post_commit = 8, .restart = 9 } },

	[MISTAKE_TXN_NOT_COMPARED] = { PSEUDO_TXN_ADD, { "bad txn add", {
		ARM,
		FIND_SLOT,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		COMMIT(P, NEXT),
		TXN_DONE(NEXT),
		TXN_REFUSED }, .start = 6, .post_commit = 7, .restart = 9 } },

	[MISTAKE_TXN_CPU_READ_FIRST] = { PSEUDO_TXN_ADD, { "bad txn add", {
		FIND_SLOT,
		ARM,
		LOAD(SEEN, P),
		ADD(NEXT, SEEN, VALUE),
		UNLESS_ARMED(FIRST, +4),
		COMMIT(P, NEXT),
		TXN_DONE(NEXT),
		TXN_REFUSED }, .start = 6, .post_commit = 8, .restart = 10 } },

	[MISTAKE_TXN_READ_FIRST] = { PSEUDO_TXN_ADD, { "bad txn add", {
		FIND_SLOT,
		LOAD(SEEN, P),
		ARM,
		LOAD_CPU,
		ADD(NEXT, SEEN, VALUE),
		UNLESS_ARMED(FIRST, +4),
		COMMIT(P, NEXT),
		TXN_DONE(NEXT),
		TXN_REFUSED }, .start = 7, .post_commit = 9, .restart = 11 } },

	[MISTAKE_TXN_LIVE_FIRST] = { PSEUDO_TXN_TWO, { "bad txn two", {
		TXN_TWO_BODY,
		UNLESS_ARMED(FIRST, +9),
		CHANGE,
		SLOT(Q, BASE2),
		UNLESS_ARMED(TWO, +6),
		STORE(Q, VALUE2),
		STORE_BYTE(Q, ONE, VALUE2),
		COMMIT(P, NEXT),
		TXN_DONE(I),
		TXN_REFUSED }, .start = 12, .post_commit = 14, .restart = 21,
		.start2 = 15, .post_commit2 = 19, .second = DESCRIPTOR_TWO } },

	[MISTAKE_TXN_BLIND_CHANGE] = { PSEUDO_TXN_TWO, { "bad txn two", {
		TXN_TWO_BODY,
		CHANGE,
		UNLESS_ARMED(TWO, +5),
		STORE(Q, VALUE2),
		COMMIT(P, NEXT),
		TXN_DONE(I),
		TXN_REFUSED }, .start = 12, .post_commit = 13, .restart = 18,
		.start2 = 13, .post_commit2 = 16, .second = DESCRIPTOR_TWO } },

	[MISTAKE_TXN_SECOND_NOT_COMPARED] = { PSEUDO_TXN_TWO, { "bad txn two", {
		TXN_TWO_BODY,
		UNLESS_ARMED(FIRST, +7),
		CHANGE,
		COPY(Q, Q),
		STORE(Q, VALUE2),
		COMMIT(P, NEXT),
		TXN_DONE(I),
		TXN_REFUSED }, .start = 12, .post_commit = 14, .restart = 19,
		.start2 = 15, .post_commit2 = 17, .second = DESCRIPTOR_TWO } },
};
/* clang-format on */

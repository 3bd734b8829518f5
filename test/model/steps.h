/* SPDX-License-Identifier: MIT */
/*
 * The words in which programs are written: one macro per kind of step, with the registers of
 * enum pseudo_reg named without their R_. Only for the files that hold programs.
 */
#ifndef PERCPU_TEST_STEPS_H
#define PERCPU_TEST_STEPS_H

#include "pseudo.h"

/* clang-format off */
#define ARM			{ K_ARM, 0, 0, 0, 0 }
#define LOAD_CPU		{ K_LOAD_CPU, R_CPU, 0, 0, 0 }
#define LEAVE_UNLESS_BELOW	{ K_LEAVE_UNLESS_BELOW, R_CPU, 0, 0, 0 }
#define SLOT(a, base)		{ K_SLOT, R_##a, R_##base, R_CPU, 0 }
#define SHARED_SLOT(a, base)	{ K_SLOT, R_##a, R_##base, R_SHARED, 0 }
#define ADDRESS(a, b, c)	{ K_ADDRESS, R_##a, R_##b, R_##c, 0 }
#define SECOND(a, b)		{ K_SECOND, R_##a, R_##b, 0, 0 }
#define LOAD(a, b)		{ K_LOAD, R_##a, R_##b, R_ZERO, 0 }
#define LOAD_BYTE(a, b, i)	{ K_LOAD_BYTE, R_##a, R_##b, R_##i, 0 }
#define STORE(a, b)		{ K_STORE, R_##a, R_##b, R_ZERO, 0 }
#define STORE_BYTE(a, i, b)	{ K_STORE_BYTE, R_##a, R_##b, R_##i, 0 }
#define COPY(a, b)		{ K_COPY, R_##a, R_##b, 0, 0 }
#define ADD(a, b, c)		{ K_ADD, R_##a, R_##b, R_##c, 0 }
#define SUBTRACT(a, b, c)	{ K_SUBTRACT, R_##a, R_##b, R_##c, 0 }
#define AND(a, b, c)		{ K_AND, R_##a, R_##b, R_##c, 0 }
#define OR(a, b, c)		{ K_OR, R_##a, R_##b, R_##c, 0 }
#define INCREMENT(a)		{ K_INCREMENT, R_##a, 0, 0, 0 }
#define REFUSE_IF_DIFFERENT(a, b, c) { K_REFUSE_IF_DIFFERENT, R_##a, R_##b, R_##c, 0 }
#define REFUSE_IF_EQUAL(a, b, c) { K_REFUSE_IF_EQUAL, R_##a, R_##b, R_##c, 0 }
#define REFUSE_UNLESS_BELOW(a, b, c) { K_REFUSE_UNLESS_BELOW, R_##a, R_##b, R_##c, 0 }
#define REFUSE_UNLESS_ABOVE(a, b, c) { K_REFUSE_UNLESS_ABOVE, R_##a, R_##b, R_##c, 0 }
#define REFUSE_IF_ABOVE(a, b, c) { K_REFUSE_IF_ABOVE, R_##a, R_##b, R_##c, 0 }
#define GOTO_IF_EQUAL(a, b, to)	{ K_GOTO_IF_EQUAL, R_##a, R_##b, 0, to }
#define GOTO(to)		{ K_GOTO, 0, 0, 0, to }
#define COMMIT(a, b)		{ K_COMMIT, R_##a, R_##b, R_ZERO, 0 }
#define COMMIT_ADD(a, b)	{ K_COMMIT_ADD, R_##a, R_##b, R_ZERO, 0 }
#define COMMIT_AND(a, b)	{ K_COMMIT_AND, R_##a, R_##b, R_ZERO, 0 }
#define COMMIT_OR(a, b)		{ K_COMMIT_OR, R_##a, R_##b, R_ZERO, 0 }
#define ATOMIC_STORE_IF(a, b, c, to) { K_ATOMIC_STORE_IF, R_##a, R_##b, R_##c, to }
#define FENCE			{ K_FENCE, 0, 0, 0, 0 }
#define DONE(a)			{ K_DONE, R_##a, 0, 0, 0 }
#define CLEAR			{ K_CLEAR, 0, 0, 0, 0 }
#define CHANGE			{ K_CHANGE, 0, 0, 0, 0 }
#define UNLESS_ARMED(which, to)	{ K_GOTO_UNLESS_ARMED, DESCRIPTOR_##which, 0, 0, to }
#define NOT_DONE		{ K_ABORTED, 0, 0, 0, 0 }

/* The two ends of a transaction. */
#define TXN_DONE(a)		CLEAR, DONE(a)
#define TXN_REFUSED		CLEAR, NOT_DONE
/* Body and idle copy of PSEUDO_TXN_TWO: steps 0 to 11. */
#define TXN_TWO_BODY		ARM, LOAD_CPU, LEAVE_UNLESS_BELOW, SLOT(P, BASE), SLOT(Q, BASE2), \
				LOAD(SEEN, P), AND(I, SEEN, ONE), ADDRESS(I, Q, I), LOAD(I, I), \
				ADD(NEXT, SEEN, ONE), AND(SEEN, NEXT, ONE), ADDRESS(Q, Q, SEEN)
/* clang-format on */

#endif

/* SPDX-License-Identifier: MIT */
/*
 * One sequence whose parts can be replaced from the command line, to show that
 * check_disassembly notices each mistake (s390x_mistakes has the list). The thread's area is at r2.
 */
#ifdef TRANSACTION /* armed by somebody else: the range begins with the question */
#ifndef ARM
#define ARM
#endif
#ifndef ASK
#define ASK clg %r1, 8(%r2); jgne 6f
#endif
#ifndef READ
#define READ
#endif
#else
#define ASK
#endif
#ifndef ARM
#define ARM stg %r1, 8(%r2)
#endif
#ifndef READ
#define READ llgf %r1, 4(%r2)
#endif
#ifndef BODY
#define BODY
#endif
#ifndef COMMIT
#define COMMIT stg %r0, 0(%r1)
#endif
#ifndef BEHIND
#define BEHIND
#endif
#ifndef NAME
#define NAME percpu_abort_add_1
#endif
#ifndef SIGNATURE
#define SIGNATURE 0xb2ff0fff
#endif
#ifndef VERSION
#define VERSION 0
#endif
#ifndef LENGTH
#define LENGTH (3b - 2b)
#endif
#ifndef ABORT
#define ABORT 4f
#endif
#ifndef LOADED
#define LOADED "aw"
#endif
#ifndef LISTED
#define LISTED .quad 5b
#endif
#ifndef EXIT
#define EXIT .quad 2b, 6f
#endif

	.text
	.globl sequence
sequence:
	larl %r1, 5f
	ARM
2:	ASK
	READ
	clfi %r1, 2
	jgnl 6f
	msgfi %r1, 65856
	agr %r1, %r3
	lg %r0, 0(%r1)
	aghi %r0, 1
	BODY
	COMMIT
3:	BEHIND
	br %r14

	.section __rseq_cs, LOADED
	.balign 32
5:	.long VERSION, 0
	.quad 2b, LENGTH, ABORT
	.section __rseq_cs_ptr_array, "aw"
	LISTED
	.section __rseq_exit_point_array, "aw"
	EXIT

	.section __rseq_failure, "ax"
	.long SIGNATURE
NAME:
4:	jg 6f
6:	jg 3b
	.section .note.GNU-stack, "", @progbits

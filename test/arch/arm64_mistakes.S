/* SPDX-License-Identifier: MIT */
/*
 * One sequence whose parts can be replaced from the command line, to show that
 * check_disassembly notices each mistake (arm64_mistakes has the list). The thread's area is at x1.
 */
#ifdef TRANSACTION /* armed by somebody else: the range begins with the question */
#ifndef ARM
#define ARM
#endif
#ifndef ASK
#define ASK ldr x17, [x1, #8]; cmp x17, x16; b.eq 1f; b 6f; 1:
#endif
#ifndef READ
#define READ
#endif
#else
#define ASK
#endif
#ifndef ARM
#define ARM str x16, [x1, #8]
#endif
#ifndef READ
#define READ ldr w16, [x1, #4]
#endif
#ifndef BODY
#define BODY
#endif
#ifndef COMMIT
#define COMMIT str x15, [x16]
#endif
#ifndef BEHIND
#define BEHIND
#endif
#ifndef NAME
#define NAME percpu_abort_add_1
#endif
#ifndef SIGNATURE
#define SIGNATURE 0xd428bc00
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
	adrp x16, 5f
	add x16, x16, :lo12:5f
	ARM
2:	ASK
	READ
	cmp w16, #2
	b.lo 1f
	b 6f
1:	madd x16, x16, x2, x0
	ldr x15, [x16]
	add x15, x15, #1
	BODY
	COMMIT
3:	BEHIND
	ret

	.section __rseq_cs, LOADED
	.balign 32
5:	.long VERSION, 0
	.quad 2b, LENGTH, ABORT
	.section __rseq_cs_ptr_array, "aw"
	LISTED
	.section __rseq_exit_point_array, "aw"
	EXIT

	.section __rseq_failure, "ax"
	.inst SIGNATURE
NAME:
4:	b 6f
6:	b 3b
	.section .note.GNU-stack, "", @progbits

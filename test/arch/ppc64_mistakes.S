/* SPDX-License-Identifier: MIT */
/*
 * One sequence whose parts can be replaced from the command line, to show that
 * check_disassembly notices each mistake (ppc64_mistakes has the list). Offsets of the thread's area: rseq_cs
 * in r4, cpu_id in r8.
 */
#ifdef TRANSACTION /* armed by somebody else: the range begins with the question */
#ifndef ARM
#define ARM
#endif
#ifndef ASK
#define ASK ldx 0, 13, 4; cmpld 0, 9; beq+ 1f; b 6f; 1:
#endif
#ifndef READ
#define READ
#endif
#else
#define ASK
#endif
#ifndef ARM
#define ARM stdx 9, 13, 4
#endif
#ifndef READ
#define READ lwzx 9, 13, 8
#endif
#ifndef BODY
#define BODY
#endif
#ifndef COMMIT
#define COMMIT std 0, 0(9)
#endif
#ifndef BEHIND
#define BEHIND
#endif
#ifndef NAME
#define NAME percpu_abort_add_1
#endif
#ifndef SIGNATURE
#define SIGNATURE 0x0fe5000b
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
	addis 9, 2, 5f@toc@ha
	addi 9, 9, 5f@toc@l
	ARM
2:	ASK
	READ
	cmplwi 9, 2
	blt+ 1f
	b 6f
1:	mulld 9, 9, 6
	add 9, 9, 5
	ld 0, 0(9)
	addi 0, 3, 1
	BODY
	COMMIT
3:	BEHIND
	blr

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
4:	b 6f
6:	b 3b
	.section .note.GNU-stack, "", @progbits

/* SPDX-License-Identifier: MIT */
/*
 * One sequence whose parts can be replaced from the command line, to show that
 * check_disassembly notices each mistake (riscv64_mistakes has the list). The thread's area is at a1.
 */
#ifdef TRANSACTION /* armed by somebody else: the range begins with the question */
#ifndef ARM
#define ARM
#endif
#ifndef ASK
#define ASK ld t1, 8(a1); beq t1, t0, 1f; jump 6f, t2; 1:
#endif
#ifndef READ
#define READ
#endif
#else
#define ASK
#endif
#ifndef ARM
#define ARM sd t0, 8(a1)
#endif
#ifndef READ
#define READ lwu t0, 4(a1)
#endif
#ifndef BODY
#define BODY
#endif
#ifndef COMMIT
#define COMMIT sd t2, 0(t0)
#endif
#ifndef BEHIND
#define BEHIND
#endif
#ifndef NAME
#define NAME percpu_abort_add_1
#endif
#ifndef SIGNATURE
#define SIGNATURE 0xf1401073
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
	lla t0, 5f
	ARM
2:	ASK
	READ
	li t1, 2
	bltu t0, t1, 1f
	jump 6f, t2
1:	mul t0, t0, a2
	add t0, t0, a0
	ld t2, 0(t0)
	addi t2, t2, 1
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
	.balign 4
	.4byte SIGNATURE
NAME:
4:	jump 6f, t2
6:	jump 3b, t2
	.section .note.GNU-stack, "", @progbits

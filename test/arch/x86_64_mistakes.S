/* SPDX-License-Identifier: MIT */
/*
 * One sequence whose parts can be replaced from the command line, to show that
 * check_disassembly notices each mistake (x86_64_mistakes has the list).
 */
#ifdef TRANSACTION /* armed by somebody else: the range begins with the question */
#ifndef ARM
#define ARM
#endif
#ifndef ASK
#define ASK cmpq %rax, %fs:8(%rdx); jne 6f
#endif
#ifndef READ
#define READ
#endif
#else
#define ASK
#endif
#ifndef ARM
#define ARM movq %rax, %fs:8(%rdx)
#endif
#ifndef READ
#define READ movl %fs:4(%rdx), %eax
#endif
#ifndef BODY
#define BODY
#endif
#ifndef COMMIT
#define COMMIT addq $1, (%rax)
#endif
#ifndef BEHIND
#define BEHIND
#endif
#ifndef NAME
#define NAME percpu_abort_add_1
#endif
#ifndef SIGNATURE
#define SIGNATURE 0x53053053
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
	leaq 5f(%rip), %rax
	ARM
2:	ASK
	READ
	cmpl $2, %eax
	jae 6f
	imulq $65856, %rax, %rax
	addq %rdi, %rax
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
	.byte 0x0f, 0xb9, 0x3d
	.long SIGNATURE
NAME:
4:	jmp 6f
6:	jmp 3b
	.section .note.GNU-stack, "", @progbits

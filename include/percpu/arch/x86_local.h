/* SPDX-License-Identifier: MIT */
/*
 * x86, 32 and 64 bit: one-step operations of one CPU on its own data, without the lock prefix.
 *
 * A signal is taken between instructions, so one instruction is atomic against handlers. The
 * operand's type chooses the width.
 */
#ifndef PERCPU_ARCH_X86_LOCAL_H
#define PERCPU_ARCH_X86_LOCAL_H

#define ARCH_HAVE_LOCAL 1

/* *p += v */
#define ARCH_LOCAL_ADD(p, v) __asm__ volatile("add %1, %0" : "+m"(*(p)) : "q"(v) : "cc")
/* v, *p = *p, *p + v */
#define ARCH_LOCAL_XADD(p, v) __asm__ volatile("xadd %1, %0" : "+m"(*(p)), "+q"(v) : : "cc")
/* if (*p == seen) *p = v; else seen = *p */
#define ARCH_LOCAL_CMPXCHG(p, seen, v)                                                             \
	__asm__ volatile("cmpxchg %2, %0" : "+m"(*(p)), "+a"(seen) : "q"(v) : "cc")

#endif

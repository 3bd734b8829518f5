/* SPDX-License-Identifier: MIT */
/*
 * Chooses the file with this CPU's assembly snippets: one line per port.
 *
 * PERCPU_ARCH_NONE (defined by the user or chosen here) builds without sequences: everything runs
 * on shared slots with real atomics and is exact there. ThreadSanitizer and MemorySanitizer see
 * nothing of what assembly does and would report what is right, so their builds take that side.
 */
#ifndef PERCPU_ARCH_H
#define PERCPU_ARCH_H

#if !defined(__linux__)
#error "percpu: restartable sequences and per-CPU areas are built for Linux"
#endif
#if !defined(__GNUC__)
#error "percpu: needs a compiler with GNU C inline assembly (gcc 12 or clang 14 and newer)"
#endif

#if !defined(PERCPU_ARCH_NONE)
#if defined(__SANITIZE_THREAD__)
#define PERCPU_ARCH_NONE 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define PERCPU_ARCH_NONE 1
#endif
#endif
#endif

/* Bytes between the copies of an object: see area.h. As text too, because assembly spells it. */
#define PERCPU__STRIDE 65856
#define PERCPU__STRIDE_TEXT "65856"

#if defined(PERCPU_ARCH_NONE)
#include <percpu/arch/none.h>
#elif defined(__x86_64__)
#include <percpu/arch/x86_64.h>
#elif defined(__i386__)
#include <percpu/arch/i386.h>
#elif defined(__arm__) && defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'A' &&              \
	__ARM_ARCH >= 7
#include <percpu/arch/arm.h>
#elif defined(__aarch64__)
#include <percpu/arch/arm64.h>
#elif defined(__riscv) && __riscv_xlen == 64 && defined(__riscv_mul)
#include <percpu/arch/riscv64.h>
#elif defined(__s390x__)
#include <percpu/arch/s390x.h>
#elif defined(__powerpc64__)
#include <percpu/arch/ppc64.h>
#elif defined(__powerpc__) && defined(__BIG_ENDIAN__)
#include <percpu/arch/ppc32.h>
#else
#include <percpu/arch/none.h>
#endif

/* Stores are seen by other CPUs in program order; a port need not say anything. */
#if !defined(ARCH_STORES_IN_ORDER)
#define ARCH_STORES_IN_ORDER 0
#endif

/* What every port must give, even one without sequences (doc/porting.md). */
#if !defined(ARCH_NAME) || !defined(ARCH_HAVE_SEQ) || !defined(ARCH_HAVE_SEQ_8) ||                 \
	!defined(ARCH_ATOMIC_64) || !defined(ARCH_INLINE_COUNTER) || !defined(ARCH_HAVE_LOCAL) ||  \
	!defined(ARCH_PLAIN_INC) || !defined(ARCH_LOADS_IN_ORDER)
#error "percpu: arch file incomplete: the names that even a port without sequences gives"
#endif
#if ARCH_HAVE_LOCAL &&                                                                             \
	(!defined(ARCH_LOCAL_ADD) || !defined(ARCH_LOCAL_XADD) || !defined(ARCH_LOCAL_CMPXCHG))
#error "percpu: arch file incomplete: operations of one instruction"
#endif

/* Where nothing stores 64 bits, sequences add to 32 bits of a counter's cell (src/cell.h). */
#if ARCH_HAVE_SEQ && defined(ARCH_ADD_NEAR)
#define PERCPU__NARROW_CELLS 1
#else
#define PERCPU__NARROW_CELLS 0
#endif

/* Where the commit can never fail. */
#if !defined(ARCH_LEAVE_UNLESS_STORED)
#define ARCH_LEAVE_UNLESS_STORED(w, label)
#endif

#if ARCH_HAVE_SEQ
#if !defined(ARCH_RSEQ_SIG) || !defined(ARCH_SIGNATURE) || !defined(ARCH_PTR64)
#error "percpu: arch file incomplete: signature and descriptor words"
#endif
#if !defined(ARCH_A) || !defined(ARCH_B) || !defined(ARCH_CLOBBER_A) ||                            \
	!defined(ARCH_CLOBBER_B) || !defined(ARCH_CLOBBER_DATA) || !defined(ARCH_CLOBBER_FLAGS)
#error "percpu: arch file incomplete: address registers and clobbers"
#endif
#if !defined(ARCH_C_RSEQ) || !defined(ARCH_C_BOUND) || !defined(ARCH_C_BASE) ||                    \
	!defined(ARCH_C_VALUE_4) || !defined(ARCH_C_IN_4) || !defined(ARCH_C_IN_POINTER) ||        \
	!defined(ARCH_C_OUT_4) || !defined(ARCH_C_BUDGET) || !defined(ARCH_C_HANDLE) ||            \
	!defined(ARCH_C_FAR) || !defined(ARCH_C_NEXT)
#error "percpu: arch file incomplete: operand constraints"
#endif
#if !defined(ARCH_ARM) || !defined(ARCH_CPU) || !defined(ARCH_CPU_A) || !defined(ARCH_SLOT) ||     \
	!defined(ARCH_LEAVE_UNLESS_BELOW) || !defined(ARCH_SCALE_A) ||                             \
	!defined(ARCH_SCALE_SLOT) || !defined(ARCH_ADD_BASE) || !defined(ARCH_ADD_BASE_B) ||       \
	!defined(ARCH_LEAVE_UNLESS_BELOW_HANDLE) || !defined(ARCH_ADD_HANDLE_BASE) ||              \
	!defined(ARCH_ADD_HANDLE_BASE_OR_LEAVE)
#error "percpu: arch file incomplete: entering a sequence and finding the slot"
#endif
#if !defined(ARCH_DO_ADD) || !defined(ARCH_DO_AND) || !defined(ARCH_DO_OR)
#error "percpu: arch file incomplete: names of operations"
#endif
#if !defined(ARCH_C_VALUE_1) || !defined(ARCH_C_VALUE_2) || !defined(ARCH_C_IN_1) ||               \
	!defined(ARCH_C_IN_2) || !defined(ARCH_C_OUT_1) || !defined(ARCH_C_OUT_2) ||               \
	(!defined(ARCH_ADD_NEAR) &&                                                                \
	 (!defined(ARCH_CLOBBER_RMW_8) || !defined(ARCH_HANDLE_LOCALS) ||                          \
	  !defined(ARCH_C_HANDLE_VALUE)))
#error "percpu: arch file incomplete: operand constraints by width"
#endif
#if ARCH_HAVE_SEQ_8 && (!defined(ARCH_C_VALUE_8) || !defined(ARCH_C_IN_8) || !defined(ARCH_C_OUT_8))
#error "percpu: arch file incomplete: operand constraints of 8 bytes"
#endif
#if !defined(ARCH_RMW) || !defined(ARCH_LOAD) || !defined(ARCH_STORE) || !defined(ARCH_STORE_B) || \
	!defined(ARCH_ADD) || !defined(ARCH_MOVE) || !defined(ARCH_LEAVE_IF_NE) ||                 \
	!defined(ARCH_LEAVE_IF_NE_B) || !defined(ARCH_LEAVE_IF_REG_NE) ||                          \
	!defined(ARCH_LEAVE_IF_NE_BY) || !defined(ARCH_LEAVE_IF_POINTER_NE) ||                     \
	!defined(ARCH_LOAD_POINTER) || !defined(ARCH_STORE_POINTER) ||                             \
	!defined(ARCH_STORE_FOLLOWING) || !defined(ARCH_STORE_NEXT) || !defined(ARCH_COPY) ||      \
	!defined(ARCH_LEAVE_UNLESS_BOTH_NULL) || !defined(ARCH_DELAY)
#error "percpu: arch file incomplete: bodies of sequences"
#endif
#if !defined(ARCH_LOAD_SECOND_B) || !defined(ARCH_LEAVE_IF_CLOSED) || !defined(ARCH_STORE_NULL) || \
	!defined(ARCH_LEAVE_UNLESS_ABOVE_B) || !defined(ARCH_LEAVE_UNLESS_BELOW_B) ||              \
	!defined(ARCH_LEAVE_IF_ABOVE_B) || !defined(ARCH_ADD_POINTER) ||                           \
	!defined(ARCH_SUBTRACT_POINTER) || !defined(ARCH_ADD_SIZE) ||                              \
	!defined(ARCH_SUBTRACT_SIZE) || !defined(ARCH_LOAD_ITEM) || !defined(ARCH_STORE_ITEM) ||   \
	!defined(ARCH_STORE_TOP) || !defined(ARCH_ITEM) || !defined(ARCH_ITEM_B) ||                \
	!defined(ARCH_MOVE_B) || !defined(ARCH_OP_POINTER)
#error "percpu: arch file incomplete: lists and stacks"
#endif
#if !defined(ARCH_CLOBBER_DELAY) || !defined(ARCH_C_DELAYS) || !defined(ARCH_DELAY_OF) ||          \
	!defined(ARCH_DELAY_OF_KEEPING_B)
#error "percpu: arch file incomplete: delays at the points of a build with PERCPU_INJECT"
#endif
#if !defined(ARCH_JUMP) || !defined(ARCH_ANSWER) || !defined(ARCH_RETRY)
#error "percpu: arch file incomplete: what follows an abort"
#endif
#if !defined(ARCH_FIND_DESCRIPTOR) || !defined(ARCH_TELL_DESCRIPTOR) ||                            \
	!defined(ARCH_LEAVE_UNLESS_ARMED) || !defined(ARCH_POINT_A) || !defined(ARCH_POINT_B)
#error "percpu: arch file incomplete: commits of transactions"
#endif
#if !defined(ARCH_THREAD_POINTER) || !defined(ARCH_LOAD_CPU_ID) || !defined(ARCH_CLEAR_CS) ||      \
	!defined(ARCH_SET_CS) || !defined(ARCH_LOAD_CS)
#error "percpu: arch file incomplete: the thread's rseq area"
#endif
#endif

#endif

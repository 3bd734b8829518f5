/* SPDX-License-Identifier: MIT */
/*
 * Chooses the file with what a debugger must know about this CPU: one line per port. Each gives
 *
 *	test_arch_registers       what PTRACE_GETREGSET reads
 *	TEST_ARCH_PC              its member that is the program counter
 *	TEST_ARCH_BREAKPOINT      bytes of an instruction that traps
 *	TEST_ARCH_PC_AFTER_TRAP   how far behind it the program counter is then
 *	TEST_ARCH_INSTRUCTION_MAX bytes of the longest instruction
 *
 * and, where the kernel cannot step over each instruction,
 *
 *	TEST_ARCH_NEXT            a test_arch_next_function
 *	TEST_ARCH_SKIPPED         the address of the next instruction of several that it takes as one
 *	TEST_ARCH_OTHER_BREAKPOINT of another instruction set, at addresses with bit 0 set
 */
#ifndef PERCPU_TEST_ARCH_H
#define PERCPU_TEST_ARCH_H

#include <elf.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Reads memory of the stopped thread. */
typedef void test_arch_read_function(void *thread, uint64_t address, void *into, size_t size);

/*
 * Where a stopped thread may be next; 0: the kernel can step. More than one instruction may lie in
 * between, where a stop among them would change what they do.
 */
#define TEST_ARCH_NEXT_MAX 4
struct test_arch_next {
	unsigned count;
	uint64_t address[TEST_ARCH_NEXT_MAX];
};

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__i386__)
#include "arch/i386.h"
#elif defined(__arm__)
#include "arch/arm.h"
#elif defined(__aarch64__)
#include "arch/arm64.h"
#elif defined(__riscv) && __riscv_xlen == 64
#include "arch/riscv64.h"
#elif defined(__s390x__)
#include "arch/s390x.h"
#elif defined(__powerpc64__)
#include "arch/ppc64.h"
#elif defined(__powerpc__)
#include "arch/ppc32.h"
#else
#error "test: this port has no test/arch file yet (see doc/porting.md)"
#endif

typedef void test_arch_next_function(const test_arch_registers *registers,
				     test_arch_read_function *read, void *thread,
				     struct test_arch_next *next);

/* Of a stopped thread. False: it is not there any more. */
static inline bool test_arch_get(pid_t thread, test_arch_registers *registers)
{
	struct iovec all = {registers, sizeof(*registers)};

	return ptrace(PTRACE_GETREGSET, thread, (void *)(uintptr_t)NT_PRSTATUS, &all) == 0;
}

static inline bool test_arch_set(pid_t thread, test_arch_registers *registers)
{
	struct iovec all = {registers, sizeof(*registers)};

	return ptrace(PTRACE_SETREGSET, thread, (void *)(uintptr_t)NT_PRSTATUS, &all) == 0;
}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * What the library asks of libc and the kernel, made to fail on order.
 *
 * For programs declared with percpu_fault_test(): they link the library compiled once more, in
 * which these calls go to faults.c. The test's own calls do not. Nothing fails and nothing is
 * redirected until it is asked for. Counts are exact with any number of threads.
 *
 * A start of the library that goes wrong is asked for in the environment of a new process:
 *	PERCPU_TEST_FAULTS="kind first times errno; ..."   as fault_arm(), kinds by number
 *	PERCPU_TEST_SYSFS=DIR                              DIR instead of /sys/devices/system/cpu
 */
#ifndef PERCPU_TEST_FAULTS_H
#define PERCPU_TEST_FAULTS_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>

enum fault {
	FAULT_MMAP,
	FAULT_MPROTECT,
	FAULT_MADVISE,
	FAULT_OPEN,
	FAULT_READ,
	FAULT_OPENDIR,
	FAULT_SYSCONF,    /* answers -1 */
	FAULT_RSEQ,       /* registrations and their opposite */
	FAULT_MEMBARRIER, /* all commands */
	FAULT_AFFINITY,   /* the system call that reads it */
	FAULT_KINDS
};

#define FAULT_ALWAYS UINT_MAX

/* From the first-th call on, 1 being the next, so many calls fail with error. Counts from 0. */
void fault_arm(enum fault kind, unsigned first, unsigned times, int error);
/* Nothing fails any more; counts from 0. */
void fault_clear(void);
/* Calls since then, failed or not. */
unsigned fault_calls(enum fault kind);

/* Reads give one byte at a time, each after an EINTR. */
void fault_read_byte_by_byte(int on);
/* DIR for /sys/devices/system/cpu, NULL for the real one. */
void fault_sysfs(const char *dir);
/* What sysconf() and getauxval() answer, whatever is asked; 0: the truth. */
void fault_sysconf_answers(long answer);
void fault_auxval_answers(unsigned long answer);

/* Called before and after each call of a kind that can fail; NULL for nobody. */
extern void (*fault_watcher)(enum fault kind, int after);

/* The registrations of this process that succeeded, and the ends of registrations. */
struct fault_registrations {
	unsigned began, ended;
	uint32_t last_length;
};
struct fault_registrations fault_registrations(void);

#endif

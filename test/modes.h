/* SPDX-License-Identifier: MIT */
/*
 * One storm in the ways that the library can work in. For programs of percpu_fault_test() with a
 * probe storms_in_this_mode, whose argument is "0" where no sequence may touch a CPU slot of the
 * object: it needs a fence, which is refused there.
 */
#ifndef PERCPU_TEST_MODES_H
#define PERCPU_TEST_MODES_H

#include "probe.h"

#include "faults/faults.h"

/* cpus: "PERCPU_CPUS=" and more than this machine has. */
static inline void check_storms_in_the_other_modes(const char *cpus)
{
	char no_fence[64];

	CHECK_PROBE("storms_in_this_mode", "0", "PERCPU_RSEQ=off");
	CHECK_PROBE("storms_in_this_mode", "", PROBE_NO_LIBC);
	CHECK_PROBE("storms_in_this_mode", "", cpus);
	snprintf(no_fence, sizeof(no_fence), "PERCPU_TEST_FAULTS=%d 1 %u %d", FAULT_MEMBARRIER,
		 FAULT_ALWAYS, ENOSYS);
	CHECK_PROBE("storms_in_this_mode", "0", no_fence);
}

#endif

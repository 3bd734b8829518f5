/* SPDX-License-Identifier: MIT */
/* Chooses the file with what a debugger must know about this CPU: one line per port. */
#ifndef PERCPU_TEST_ARCH_H
#define PERCPU_TEST_ARCH_H

#if defined(__x86_64__)
#include "arch/x86_64.h"
#elif defined(__i386__)
#include "arch/i386.h"
#else
#error "test: this port has no test/arch file yet (see doc/porting.md)"
#endif

#endif

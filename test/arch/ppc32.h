/* SPDX-License-Identifier: MIT */
/* What a debugger must know about 32-bit PowerPC. */
#ifndef PERCPU_TEST_ARCH_PPC32_H
#define PERCPU_TEST_ARCH_PPC32_H

#include <asm/ptrace.h>

typedef struct pt_regs test_arch_registers;

#include "powerpc_common.h"

#endif

// SPDX-License-Identifier: GPL-2.0
/*
 * The bare instructions below local_irq_save and local_irq_restore: those are patched at boot for
 * the hypervisor, and test before they switch on.
 */
#include <linux/irqflags.h>
#include <asm/asm.h>
#include <asm/cpufeature.h>

#include "percpu_local.h"

#define LOOP noinline __aligned(64)

/* statement, n times with interrupts off; they are found off at the end. */
#define LOOP_OFF(name, statement)                                                                  \
	static LOOP unsigned long name(unsigned long n)                                            \
	{                                                                                          \
		unsigned long outer, i, proved;                                                    \
                                                                                                   \
		local_irq_save(outer);                                                             \
		for (i = 0; i < n; i++)                                                            \
			statement;                                                                 \
		proved = irqs_disabled() ? n : 0;                                                  \
		local_irq_restore(outer);                                                          \
		return proved;                                                                     \
	}

/* statement, n times from interrupts on; they are found on at the end. */
#define LOOP_ON(name, statement)                                                                   \
	static LOOP unsigned long name(unsigned long n)                                            \
	{                                                                                          \
		unsigned long i, flags;                                                            \
                                                                                                   \
		local_save_flags(flags);                                                           \
		for (i = 0; i < n; i++)                                                            \
			statement;                                                                 \
		asm volatile("" : : "r"(flags));                                                   \
		return irqs_disabled() ? 0 : n;                                                    \
	}

LOOP_OFF(cli_loop, asm volatile("cli" : : : "memory"))
LOOP_ON(sti_loop, asm volatile("sti" : : : "memory"))
LOOP_ON(cli_sti_loop, asm volatile("cli; sti" : : : "memory"))
LOOP_ON(pushf_loop, asm volatile("pushf; pop %0" : "=r"(flags) : : "memory"))
LOOP_ON(popf_loop, asm volatile("push %0; popf" : : "r"(flags) : "memory", "cc"))
LOOP_ON(save_restore_loop, {
	asm volatile("pushf; pop %0; cli" : "=r"(flags) : : "memory");
	asm volatile("push %0; popf" : : "r"(flags) : "memory", "cc");
})

const struct probe bare_probes[] = {{"cli", cli_loop},
				    {"sti", sti_loop},
				    {"cli; sti", cli_sti_loop},
				    {"pushf; pop", pushf_loop},
				    {"push; popf", popf_loop},
				    {"pushf; pop; cli; push; popf", save_restore_loop},
				    {}};

/* In a Xen PV guest the instructions are not the kernel's to use. */
bool bare_probes_work(void)
{
	return !boot_cpu_has(X86_FEATURE_XENPV);
}

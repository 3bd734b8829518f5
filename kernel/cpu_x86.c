// SPDX-License-Identifier: GPL-2.0
/*
 * What only x86 has: the bare instructions below local_irq_save and local_irq_restore, which are
 * patched at boot for the hypervisor and test before they switch on; and CPUID, which tells the
 * size of the caches to modules, too.
 */
#include <linux/irqflags.h>
#include <asm/asm.h>
#include <asm/cpufeature.h>
#include <asm/processor.h>

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

#define CACHES_INTEL 4
#define CACHES_AMD 0x8000001d
#define MOST_CACHES 16

static bool is_amd(void)
{
	return boot_cpu_data.x86_vendor == X86_VENDOR_AMD ||
	       boot_cpu_data.x86_vendor == X86_VENDOR_HYGON;
}

/* Each leaf describes a cache; after the last there is one of type 0. Sizes minus one but sets. */
unsigned long last_level_cache(void)
{
	unsigned int leaf = is_amd() ? CACHES_AMD : CACHES_INTEL, last = 0, i, a, b, c, d;
	unsigned long size = 0;

	if (boot_cpu_data.cpuid_level < CACHES_INTEL ||
	    (is_amd() && !boot_cpu_has(X86_FEATURE_TOPOEXT)))
		return 0;
	for (i = 0; i < MOST_CACHES; i++) {
		cpuid_count(leaf, i, &a, &b, &c, &d);
		if (!(a & 31))
			break;
		if (((a >> 5) & 7) < last)
			continue;
		last = (a >> 5) & 7;
		size = ((b >> 22) + 1UL) * (((b >> 12) & 1023) + 1) * ((b & 4095) + 1) * (c + 1UL);
	}
	return size;
}

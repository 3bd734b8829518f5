/* SPDX-License-Identifier: MIT */
/*
 * The words that hot paths read, and the library's own rseq area.
 *
 * percpu__rt starts with the offset of that area as linked-in data: a static counter may be used
 * before any constructor has run, and a sequence stores to rseq_cs before it finds out that it
 * has no slot. The compiler cannot write a thread-local offset as data, the assembler can. This
 * file is built without link-time optimisation, which does not see symbols in assembly.
 */
#include "internal.h"

__thread struct percpu__rseq percpu__own_rseq
	__attribute__((tls_model("initial-exec"), visibility("hidden"), used)) = {
		.cpu_id = PERCPU__CPU_UNINITIALIZED,
};

#if ARCH_HAVE_SEQ
__asm__(".pushsection .data\n\t"
	".balign 64\n\t"
	".globl percpu__rt\n\t"
	".type percpu__rt, @object\n\t"
	".size percpu__rt, " PERCPU__RT_SIZE_TEXT "\n"
	"percpu__rt:\n\t"
	ARCH_TLS_OFFSET_DATA("percpu__own_rseq")
	".long 0, 0, 0, 0\n\t"
	".popsection");
#else
struct percpu__rt percpu__rt_writable __attribute__((visibility("default"))) __asm__("percpu__rt");
#endif

#if defined(__LP64__)
_Static_assert(sizeof(struct percpu__rt) == 24, "PERCPU__RT_SIZE_TEXT");
#else
_Static_assert(sizeof(struct percpu__rt) == 20, "PERCPU__RT_SIZE_TEXT");
#endif

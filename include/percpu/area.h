/* SPDX-License-Identifier: MIT */
/*
 * Per-CPU memory: address space for every CPU that can exist, pages only where a CPU writes.
 *
 * A percpu pointer is the address of an object's copy for CPU 0; the copy in slot k lies
 * k * PERCPU_STRIDE bytes behind it. Slots 0 to percpu_ncpus() - 1 belong to CPUs, the rest up to
 * percpu_nslots() - 1 are shared. Never read or write through the pointer itself: use
 * percpu/this_cpu.h to change and percpu_ptr() to look.
 *
 * Promises: memory is zero in every slot when it is handed out. Reading does not populate pages.
 * A failed call leaves nothing behind.
 * Does not promise: anything about a copy that its CPU changes while another looks at it, beyond
 * each aligned word being one that was stored.
 *
 *	call           thread   signal handler   other process   after fork
 *	percpu_alloc   yes      no               no              yes, a copy
 *	percpu_new     yes      no               no              yes, a copy
 *	percpu_free    yes      no               no              yes, a copy
 *	percpu_usage   yes      no               no              yes
 *	percpu_ptr     yes      yes              no              yes
 */
#ifndef PERCPU_AREA_H
#define PERCPU_AREA_H

#include <percpu/thread.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Bytes from one slot's copy to the next. Not a power of two: the copies of one object would all
 * fall into one set of the caches, and a sum over many slots would miss on every one.
 */
#define PERCPU_STRIDE PERCPU__STRIDE
/* An object can be this large, and aligned up to this much (the stride's own alignment). */
#define PERCPU_SIZE_MAX PERCPU_STRIDE
#define PERCPU_ALIGN_MAX 64

/*
 * Allocates size bytes (1 to PERCPU_SIZE_MAX) per slot, aligned to align (a power of two up to
 * PERCPU_ALIGN_MAX), and stores the percpu pointer in *p. 0; -EINVAL; -ENOMEM. On failure *p is
 * NULL. Objects need no padding: what lies on one line belongs to one slot.
 */
int percpu_alloc(void **p, size_t size, size_t align);

/*
 * Gives the memory back: fences first, so no sequence is under way in it. The caller makes sure
 * that nobody uses the object any more. 0; -EINVAL when p did not come from percpu_alloc(), or
 * was given back already. NULL is fine.
 */
int percpu_free(void *p);

/* Bytes of percpu memory handed out now (one slot's worth), and bytes of address space held. */
struct percpu_usage_info {
	size_t allocated;
	size_t reserved;
};
int percpu_usage(struct percpu_usage_info *usage);

PERCPU__INLINE void *percpu__slot(const volatile void *p, unsigned slot)
{
	return (char *)(uintptr_t)p + (size_t)slot * PERCPU_STRIDE;
}

/*
 * The shared slot that the calling thread uses: bytes from slot 0 to it, valid while the thread's
 * epoch is the process's. A new epoch sends every such thread to its slow path once, where it
 * looks whether it has the slot to itself and moves if not. New threads and sums begin one.
 */
struct percpu__shared {
	size_t offset;
	uint32_t epoch; /* 0: no slot chosen yet */
	uintptr_t id;   /* the thread's number, never another's in this process; 0: none yet */
};
extern __thread struct percpu__shared percpu__shared __attribute__((tls_model("initial-exec")));
extern uint32_t percpu__shared_epoch;

PERCPU__INLINE bool percpu__shared_valid(void)
{
	return percpu__shared.epoch == __atomic_load_n(&percpu__shared_epoch, __ATOMIC_RELAXED);
}

/* The copy in a slot, of p's type but const: a look at what a CPU counted. */
#define percpu_ptr(p, slot) ((__typeof__(*(p)) const *)(const void *)percpu__slot((p), (slot)))

PERCPU__INLINE void *percpu__new(size_t size, size_t align)
{
	void *p = NULL;
	(void)percpu_alloc(&p, size, align);
	return p;
}

/* A percpu pointer to one zeroed object of the type in every slot, or NULL. */
#define percpu_new(type) ((type *)percpu__new(sizeof(type), __alignof__(type)))

#ifdef __cplusplus
}
#endif

#endif

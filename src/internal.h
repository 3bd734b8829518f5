/* SPDX-License-Identifier: MIT */
/*
 * What the library's own files share. Nothing here is installed.
 */
#ifndef PERCPU_INTERNAL_H
#define PERCPU_INTERNAL_H

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The library is what the outlined calls call. */
#undef PERCPU_OUTLINE
#include <percpu/area.h>

#define COLD __attribute__((cold, noinline))
#define HIDDEN __attribute__((visibility("hidden")))
#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* Debug builds stop where an invariant does not hold; the text names it by its number. */
HIDDEN _Noreturn void percpu__broken(const char *invariant, const char *file, int line);
#if defined(PERCPU_DEBUG)
#define INVARIANT(number, condition)                                                               \
	((condition) ? (void)0 : percpu__broken(number ": " #condition, __FILE__, __LINE__))
#else
#define INVARIANT(number, condition) ((void)0)
#endif

/* The writable view of percpu__rt, for the constructor alone. */
extern struct percpu__rt percpu__rt_writable __asm__("percpu__rt");
extern long percpu__rseq_offset_writable __asm__("percpu__rseq_offset");

/* The kernel's rseq area: a copy of the ABI, so that no header's version changes behaviour. */
struct percpu__rseq {
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t flags;
	uint32_t node_id;
	uint32_t mm_cid;
	uint32_t later[9]; /* features of newer kernels: registered, never read */
};
/* Alignment of an area that may be registered with any length. */
#define PERCPU__RSEQ_ALIGN 64

#define PERCPU__CPU_UNINITIALIZED ((uint32_t)-1)
#define PERCPU__RSEQ_ORIGINAL_SIZE 32u
#define PERCPU__RSEQ_ORIGINAL_ACTIVE 20u

/* thread.c: the calling thread. */
struct percpu__self {
	uint32_t shared; /* the index of its shared slot */
	uint8_t state;   /* of its registration: enum in thread.c */
	uint8_t vfork;   /* length that percpu_vfork_begin() unregistered */
	uint8_t error;   /* errno of a registration that failed */
	bool starting;   /* this thread is inside the library's start */
};
extern __thread struct percpu__self percpu__self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* Slow part of the next: starts the library, registers the thread, chooses a shared slot. False
 * only when the start itself got here: an allocator that it called counts its allocations. */
HIDDEN bool percpu__thread_slow(void);
/* This thread's shared slot met somebody else: the next one is taken and returned. */
HIDDEN uint32_t percpu__shared_move(void);
/* Begins a new epoch, if any thread uses a shared slot (area.h). */
HIDDEN void percpu__shared_new_epoch(void);
/* The thread's part of it: is another thread adding to this word of its shared slot? */
HIDDEN void percpu__shared_look_around(void *base);
HIDDEN void percpu__shared_look_around_at(void *word);

/* txn.c: the descriptor that transactions begin with. */
HIDDEN uintptr_t percpu__txn_start(void);

/* this_cpu.c: memory for the locks of so many shared slots; which have them now. Without memory
 * there are PERCPU__SHARED_MIN. */
#define PERCPU__SHARED_MIN 16u
HIDDEN size_t percpu__shared_size(unsigned slots);
HIDDEN unsigned percpu__shared_start(void *memory, unsigned slots);

/* A shared slot that is the caller's alone until it is released; never waits for one that is held
 * (I2, and S1 to S3 in this_cpu.c). */
HIDDEN uint32_t percpu__shared_hold(void);
HIDDEN void percpu__shared_release(uint32_t slot);
/* One that is named: if nobody else holds it, or after waiting for him (not in handlers, whose own
 * thread it may be). */
HIDDEN bool percpu__shared_try_hold(uint32_t slot);
HIDDEN void percpu__shared_wait_hold(uint32_t slot);
/* The number of this thread's shared slot; the thread is made ready where it is not. */
HIDDEN uint32_t percpu__shared_slot(void);

/* True when the thread has a shared slot (percpu__self is filled in). */
static inline bool percpu__thread_ready(void)
{
	return __builtin_expect(percpu__shared.epoch != 0, 1) || percpu__thread_slow();
}

/* True when the calling thread has a CPU slot in this object now; its first call registers it. */
static inline bool percpu__has_cpu_slot(const struct percpu__handle *handle)
{
	(void)percpu__shared_slot();
	return (uint32_t)percpu_cpu_raw() < handle->bound;
}

/* The shared slot's copy of a word; only when the thread is ready. */
static inline void *percpu__shared_copy(void *base)
{
	return (char *)base + percpu__shared.offset;
}

/* All signals of the calling thread, libc's own included. The sets are the kernel's part only. */
HIDDEN void percpu__signals_block(sigset_t *saved);
HIDDEN void percpu__signals_restore(const sigset_t *saved);

/*
 * The library's one lock: short slow paths only (allocation, first use of a static object,
 * ceilings). All signals are held off while it is held, so a handler never finds its own thread
 * inside, and handlers may take it (I8). It lives on a page that fork wipes: whatever way a child
 * comes about, nobody holds it there.
 */
HIDDEN bool percpu__trylock(sigset_t *saved);
HIDDEN void percpu__lock(sigset_t *saved);
HIDDEN void percpu__unlock(const sigset_t *saved);
/* Makes that page; so many bytes behind the lock are the caller's. NULL: there is no such page. */
HIDDEN void *percpu__lock_start(size_t more);

/*
 * Which process this is: another number in a forked child than in its parent, however it came
 * about. The first call in a child takes the calling thread to be the one that forked.
 */
HIDDEN uint32_t percpu__generation(void);
/* A number for a thread (struct percpu__shared): larger than all before it, parents' included, and
 * larger than 1. */
HIDDEN uintptr_t percpu__thread_number(void);
/* Was it the number of another thread of a parent process than the one that forked? */
HIDDEN bool percpu__is_gone(uintptr_t number);

/* Offers the processor to others. A sandbox may refuse that, and errno is the caller's (I7). */
static inline void percpu__yield(void)
{
	int saved = errno;

	(void)sched_yield();
	errno = saved;
}

/* True when percpu_fence() is there. */
HIDDEN bool percpu__has_fence(void);

/*
 * Before a word is stored by which sequences know that others have been in a slot and are done.
 * Where CPUs do not load in order, a sequence may have loaded what it should find there before it
 * loads that word: this aborts it. 0, or -errno: then the slot stays closed.
 */
static inline int percpu__fence_before_opening(void)
{
	return ARCH_LOADS_IN_ORDER ? 0 : percpu_fence();
}

/* area.c, under the lock. */
HIDDEN int percpu__alloc_locked(void **p, size_t size, size_t align);
HIDDEN int percpu__free_locked(void *p);
/* Makes the memory zero again in every slot, without populating what nobody wrote. */
HIDDEN void percpu__zero(void *p, size_t size);

/* One slot of each chunk behind the shared ones is the library's own notebook: the last known sum
 * of a counter, away from the lines that hot paths read. */
#define PERCPU__NOTE_SLOTS 1
static inline void *percpu__note(void *base)
{
	return percpu__slot(base, percpu__rt_writable.nslots);
}

/* cpulist.c: text such as "0-3,7\n". Highest number or -EINVAL; how many numbers or -EINVAL. */
HIDDEN int percpu__cpulist_max(const char *text, size_t length);
HIDDEN int percpu__cpulist_count(const char *text, size_t length);
/* Highest possible CPU number + 1 and number of CPUs online, each with its fallbacks. */
HIDDEN unsigned percpu__cpus_possible(void);
HIDDEN unsigned percpu__cpus_online(void);
/* Highest online CPU number + 1; where that cannot be had, of the possible ones. */
HIDDEN unsigned percpu__cpus_online_end(void);
/* thread.c: what PERCPU_CPUS says, or 0. */
HIDDEN unsigned percpu__cpus_wanted(void);
HIDDEN unsigned percpu__cpus_allowed(void);

/* Bytes of the rseq area in use, from libc's __rseq_size and the kernel's AT_RSEQ_FEATURE_SIZE. */
HIDDEN unsigned percpu__feature_size(unsigned libc_size, unsigned long kernel_size);

#endif

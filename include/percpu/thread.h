/* SPDX-License-Identifier: MIT */
/*
 * Who registered rseq for this thread, which CPU it is on, and the fence between threads.
 *
 * Promises: nothing has to be called first. A thread that libc registered is used as it is; any
 * other registers by itself at its first slow call, or works on shared slots if that fails, and
 * every mix of these in one process is exact. Never aborts the process; slow calls keep errno.
 *
 * Does not promise: a CPU number is a hint and may be stale when it is returned (I5). A vfork
 * child, and a clone that shares memory and thread-local storage, look registered and are not:
 * see percpu_vfork_begin(). Without CLONE_SETTLS a raw clone is not supported at all.
 *
 *	call                    thread   signal handler   forked child   vfork child
 *	percpu_cpu*             yes      yes              yes            wrong number
 *	percpu_ncpus, _nslots   yes      yes              yes            yes
 *	percpu_mode             yes      yes              yes            no
 *	percpu_fence            yes      yes              yes            no
 *	percpu_self_test        yes      no               yes            no
 *	percpu_vfork_begin/end  yes      no               -              -
 *	percpu_cs_clear         yes      yes              yes            no
 *	percpu_owner_name       yes      yes              yes            yes
 *
 * Environment, read once at start and ignored in set-user-ID programs:
 *	PERCPU_RSEQ=off     shared slots only
 *	PERCPU_RSEQ=libc    use libc's registration, never register by itself
 *	PERCPU_CPUS=N       at least N CPU slots (CPUs that will be added later)
 *	PERCPU_VERBOSE=1    one line about the mode on standard error at start
 */
#ifndef PERCPU_THREAD_H
#define PERCPU_THREAD_H

#include <percpu/seq.h>

#ifdef __cplusplus
extern "C" {
#endif

enum percpu_owner {
	PERCPU_OWNER_NONE,  /* this thread is not registered */
	PERCPU_OWNER_LIBC,  /* libc registered it */
	PERCPU_OWNER_SELF,  /* this library registered it */
	PERCPU_OWNER_OTHER, /* somebody else holds the registration, at an unknown place */
};

struct percpu_mode_info {
	int sequences; /* 1: this thread works on CPU slots now */
	enum percpu_owner owner;
	unsigned feature_size;  /* bytes of the kernel's rseq area that are in use, 0: unknown */
	int fence;              /* 1: membarrier's RSEQ command is there */
	unsigned cpus_possible; /* highest possible CPU number + 1, as the system says */
	unsigned cpus_online;
	unsigned cpus_allowed; /* to this thread */
	unsigned cpu_slots;    /* of every object */
	unsigned shared_slots;
	const char *reason; /* in words, for ever valid */
};

/* Fills in the calling thread's mode; registers it first where that is this library's job.
 * 0, or -EINVAL for NULL. */
int percpu_mode(struct percpu_mode_info *mode);

/* "none", "libc", "self", "other"; "unknown" for anything else. */
const char *percpu_owner_name(enum percpu_owner owner);

/*
 * When it has returned 0, every sequence that ran in another thread of this process when it was
 * called has committed or will be aborted, and sees memory as the caller left it. A system call
 * and an interrupt of every CPU that runs this process: microseconds, for slow paths.
 * 0; -ENOSYS where the kernel has no such fence; -EPERM where it failed.
 */
int percpu_fence(void);

/*
 * Does this kernel abort sequences when it preempts them? Two threads on one CPU, for at most a
 * second. 0: yes, seen. 1: no, a sequence that was interrupted went on. -EAGAIN: no abort came
 * along. -ENOTSUP: this thread runs no sequences. -EINVAL: no why, and a size. Another -errno: no
 * memory or no thread to be had.
 * The finding in words goes to why (size bytes; may be NULL with size 0).
 */
int percpu_self_test(char *why, size_t size);

/*
 * Around vfork(), and around clone() with CLONE_VM and the parent's thread-local storage: takes
 * this thread's registration away, so that the child counts on shared slots, and gives it back.
 * Call both in the parent, in one thread; the child calls neither. 0 or -errno; when begin fails
 * nothing has changed. Not nestable: -EBUSY.
 */
int percpu_vfork_begin(void);
int percpu_vfork_end(void);

/*
 * Forgets the sequence that this thread ran last. For plugins that contain inlined sequences:
 * every thread that ran their code calls it before dlclose(), because the kernel reads the
 * descriptor of the last sequence, which lies in the plugin, at the next preemption. A plugin that
 * contains the library itself (the archive) must not be unloaded: link it with -z nodelete, as the
 * archive's CMake target and pkg-config --static do.
 */
void percpu_cs_clear(void);

/* The kernel's number of the CPU this thread is on: one load. Negative: not registered (yet).
 * Before the library's constructor has run it is no number at all. */
PERCPU__INLINE int percpu_cpu_raw(void)
{
#if ARCH_HAVE_SEQ
	int cpu;
	ARCH_LOAD_CPU_ID(cpu, percpu__rt.rseq_offset);
	return cpu;
#else
	return -1;
#endif
}

int percpu__cpu_slow(void);

/* The same for every thread: registers where it can, else asks the kernel. Never negative. */
PERCPU__INLINE int percpu_cpu(void)
{
	int cpu = percpu_cpu_raw();
	if (__builtin_expect(cpu < 0, 0))
		cpu = percpu__cpu_slow();
	return cpu;
}

/* All signals of this thread held off, for the parts of the library that cannot do without. The
 * kernel's signal set: strict ISO C knows no sigset_t. */
struct percpu__sigset {
	unsigned long words[16 / sizeof(unsigned long)];
};
void percpu__signals_hold(struct percpu__sigset *before);
void percpu__signals_release(const struct percpu__sigset *before);

void percpu__start(void);

#if defined(PERCPU_INJECT)
/* From now on so many turns at a point (percpu/seq.h), for functions that are called later. */
void percpu__inject(unsigned point, unsigned long turns);
#endif

/* CPU slots of every object; slots of both kinds. Constant while the process lives. */
PERCPU__INLINE unsigned percpu_ncpus(void)
{
	/* Pairs with the release in the library's start. */
	if (__builtin_expect(__atomic_load_n(&percpu__rt.nslots, __ATOMIC_ACQUIRE) == 0, 0))
		percpu__start();
	return *(const volatile uint32_t *)&percpu__rt.ncpus;
}

PERCPU__INLINE unsigned percpu_nslots(void)
{
	if (__builtin_expect(__atomic_load_n(&percpu__rt.nslots, __ATOMIC_ACQUIRE) == 0, 0))
		percpu__start();
	return *(const volatile uint32_t *)&percpu__rt.nslots;
}

#ifdef __cplusplus
}
#endif

#endif

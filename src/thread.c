/* SPDX-License-Identifier: MIT */
/*
 * The process's start, each thread's registration, the fence, and the mode.
 *
 *	process   IDLE -> STARTING -> STARTED           constructor, or the first call before it
 *	thread    NEW -> LIBC | OFF                     libc's registration, or none wanted
 *	          NEW -> SELF -> DEAD                   ours, until its TSD destructor runs
 *	          NEW -> FAILED                         the kernel or another owner said no
 *
 * percpu__rt is written between STARTING and STARTED and never again. Registration decides only
 * what cpu_id says; every operation looks at that alone, so no state here is needed to be exact:
 * it says what to try, and what to report.
 */
#include "internal.h"

#include <limits.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cell.h"

/* Auxiliary vector entries and commands by value: old headers lack them, kernels may not. */
#define AUXV_RSEQ_FEATURE_SIZE 27
#define MEMBARRIER_RSEQ (1 << 7)
#define MEMBARRIER_REGISTER_RSEQ (1 << 8)
#define RSEQ_UNREGISTER 1

/* Thread-specific data keys below this one are set without allocating, in every libc. */
#define KEYS_WITHOUT_MALLOC 32u

#define CPUS_MAX (sizeof(void *) > 4 ? 8192u : 256u)

enum process_state { IDLE, STARTING, STARTED };
enum thread_state { NEW, LIBC, OFF, SELF, FAILED, DEAD };

/* libc's word on where it registered: weak, so that a static program and an old libc link. */
extern const ptrdiff_t libc_rseq_offset __asm__("__rseq_offset") __attribute__((weak));
extern const unsigned libc_rseq_size __asm__("__rseq_size") __attribute__((weak));

static struct {
	int state;           /* enum process_state */
	bool libc_owns;      /* libc registers every thread it makes */
	bool self_registers; /* this library registers threads lazily */
	bool forced_off;     /* PERCPU_RSEQ=off */
	bool forced_libc;    /* PERCPU_RSEQ=libc */
	bool fence;          /* membarrier RSEQ registered */
	unsigned feature_size;
	unsigned possible;
	unsigned wanted;      /* PERCPU_CPUS */
	unsigned online;      /* 0: nobody has asked yet */
	pthread_key_t key;    /* its destructor unregisters a thread */
	uint32_t next_shared; /* round robin over shared slots */
} process;

/*
 * Nothing runs before the constructor but functions of .preinit_array, constructors of libraries
 * that were linked without naming this one, and an allocator that the dynamic linker calls. Their
 * adds store to rseq_cs before they find that nothing is ready, and a loop may keep the offset for
 * long, so even then it must be one where the store does no harm and no CPU is ever seen. That of
 * own_rseq would be, but linkers do not put it into a shared library's data. Other libcs have no
 * such words, and such callers must wait for the constructor.
 */
#if defined(__GLIBC__) && defined(ARCH_GLIBC_STAND_IN)
struct percpu__rt percpu__rt_writable = {.rseq_offset = ARCH_GLIBC_STAND_IN};
long percpu__rseq_offset_writable = ARCH_GLIBC_STAND_IN;
#else
struct percpu__rt percpu__rt_writable;
long percpu__rseq_offset_writable;
#endif

__thread struct percpu__shared percpu__shared __attribute__((tls_model("initial-exec")));
uint32_t percpu__shared_epoch = 1;

__thread struct percpu__self percpu__self
	__attribute__((tls_model("initial-exec"), visibility("hidden")));

/* What the library registers for threads that libc does not. */
static __thread struct percpu__rseq own_rseq
	__attribute__((tls_model("initial-exec"), aligned(PERCPU__RSEQ_ALIGN))) = {
		.cpu_id = PERCPU__CPU_UNINITIALIZED,
};

#if ARCH_HAVE_SEQ
static long rseq_call(struct percpu__rseq *area, uint32_t length, int flags)
{
	return syscall(SYS_rseq, area, length, flags, ARCH_RSEQ_SIG);
}
#else
static long rseq_call(struct percpu__rseq *area, uint32_t length, int flags)
{
	(void)area, (void)length, (void)flags;
	errno = ENOSYS;
	return -1;
}
#endif

/* The rseq area that percpu__rt points at, of the calling thread. */
static struct percpu__rseq *area_of_thread(void)
{
#if ARCH_HAVE_SEQ
	return (struct percpu__rseq *)(void *)(ARCH_THREAD_POINTER() +
					       percpu__rt_writable.rseq_offset);
#else
	return &own_rseq;
#endif
}

static bool registered(void)
{
	return *(volatile uint32_t *)&area_of_thread()->cpu_id <= INT_MAX;
}

/* 20 and 32 are what old libcs say whatever the kernel uses; anything else is the kernel's word. */
unsigned percpu__feature_size(unsigned libc_size, unsigned long kernel_size)
{
	if (libc_size != 0 && libc_size != PERCPU__RSEQ_ORIGINAL_ACTIVE &&
	    libc_size != PERCPU__RSEQ_ORIGINAL_SIZE)
		return libc_size;
	if (kernel_size == 0)
		return PERCPU__RSEQ_ORIGINAL_ACTIVE;
	if (libc_size != 0 && kernel_size > PERCPU__RSEQ_ORIGINAL_SIZE)
		return PERCPU__RSEQ_ORIGINAL_SIZE;
	return (unsigned)kernel_size;
}

/* What a kernel may have been told as the length: the original, or its own size rounded up. */
static uint32_t area_length(bool original)
{
	unsigned long size = getauxval(AUXV_RSEQ_FEATURE_SIZE);

	if (original || size <= PERCPU__RSEQ_ORIGINAL_SIZE || size > sizeof(struct percpu__rseq))
		return PERCPU__RSEQ_ORIGINAL_SIZE;
	return sizeof(struct percpu__rseq);
}

/*
 * Registers the library's own area, as libc made it for this thread: zero, and no CPU. Signals are
 * held off, or a handler could register it first and be taken for a refusal.
 */
static void register_self(void)
{
	struct percpu__rseq *area = &own_rseq;
	sigset_t saved;

	percpu__signals_block(&saved);
	if (percpu__self.state == NEW) {
		if (rseq_call(area, area_length(false), 0) == 0 ||
		    rseq_call(area, area_length(true), 0) == 0) {
			percpu__self.state = SELF;
			(void)pthread_setspecific(process.key, area);
		} else {
			percpu__self.error = (uint8_t)errno;
			percpu__self.state = FAILED;
		}
	}
	percpu__signals_restore(&saved);
}

/*
 * Thread-specific data destructor. libc may unmap the area after the last one, before the kernel's
 * last write to it, so the registration is taken away, for good: destructors that count after this
 * one use a shared slot. (A thread that counts for the first time in the last round of destructors
 * is not noticed: nothing is called after it.)
 */
static void thread_ends(void *area)
{
	if (percpu__self.state != SELF)
		return;
	percpu__self.state = DEAD;
	if (rseq_call(area, area_length(false), RSEQ_UNREGISTER) != 0)
		(void)rseq_call(area, area_length(true), RSEQ_UNREGISTER);
}

static void register_thread(void)
{
	if (process.libc_owns)
		percpu__self.state = LIBC;
	else if (!process.self_registers)
		percpu__self.state = OFF;
	else
		register_self();
}

uint32_t percpu__shared_move(void)
{
	uint32_t shared = percpu__rt_writable.nslots - percpu__rt_writable.ncpus;
	uint32_t k = __atomic_fetch_add(&process.next_shared, 1, __ATOMIC_RELAXED) % shared;

	k += percpu__rt_writable.ncpus;
	percpu__self.shared = k;
	percpu__shared.offset = (size_t)k * PERCPU_STRIDE;
	return k;
}

/* Lost updates do no harm: one new epoch is as good as two. 0 is for threads without a slot. */
void percpu__shared_new_epoch(void)
{
	uint32_t epoch = __atomic_load_n(&percpu__shared_epoch, __ATOMIC_RELAXED) + 1;

	if (__atomic_load_n(&process.next_shared, __ATOMIC_RELAXED) != 0)
		__atomic_store_n(&percpu__shared_epoch, epoch ? epoch : 1, __ATOMIC_RELAXED);
}

/* Somebody who adds without pause changes the word between a load and an exchange soon. */
#define LOOKS 16

void percpu__shared_look_around(void *base)
{
	percpu__shared_look_around_at(percpu__shared_copy(base));
}

void percpu__shared_look_around_at(void *word)
{
	percpu__cell *cell = word;

	percpu__shared.epoch = __atomic_load_n(&percpu__shared_epoch, __ATOMIC_RELAXED);
	for (int looks = 0; looks < LOOKS; looks++) {
		int64_t seen = percpu__cell_read(cell);

		if (!percpu__cell_replace(cell, &seen, seen)) {
			(void)percpu__shared_move();
			return;
		}
	}
}

static bool started(void);

bool percpu__thread_slow(void)
{
	int saved = errno;
	bool ready = started();

	if (ready) {
		if (percpu__self.state == NEW)
			register_thread();
		if (percpu__shared.id == 0)
			percpu__shared.id = percpu__thread_number();
		(void)percpu__shared_move();
		percpu__shared_new_epoch();
		percpu__shared.epoch = __atomic_load_n(&percpu__shared_epoch, __ATOMIC_RELAXED);
	}
	errno = saved;
	return ready;
}

int percpu__cpu_slow(void)
{
	int saved = errno;
	int cpu;

	(void)percpu__thread_ready();
	cpu = percpu_cpu_raw();
	if (cpu < 0)
		cpu = sched_getcpu();
	errno = saved;
	return cpu < 0 ? 0 : cpu;
}

static long membarrier_call(int command)
{
	return syscall(SYS_membarrier, command, 0, 0);
}

int percpu_fence(void)
{
	int saved = errno;
	int result = 0;

	percpu__start();
	if (!process.fence)
		return -ENOSYS;
	/* A restored or odd process may have lost its registration: once more, then give up. */
	if (membarrier_call(MEMBARRIER_RSEQ) != 0 &&
	    (membarrier_call(MEMBARRIER_REGISTER_RSEQ) != 0 ||
	     membarrier_call(MEMBARRIER_RSEQ) != 0))
		result = -EPERM;
	errno = saved;
	return result;
}

static bool fence_register(void)
{
	return membarrier_call(MEMBARRIER_REGISTER_RSEQ) == 0;
}

static void read_environment(void)
{
	const char *rseq = secure_getenv("PERCPU_RSEQ");
	const char *count = secure_getenv("PERCPU_CPUS");

	process.forced_off = rseq && strcmp(rseq, "off") == 0;
	process.forced_libc = rseq && strcmp(rseq, "libc") == 0;
	if (count && *count >= '0' && *count <= '9') {
		char *end;
		unsigned long n = strtoul(count, &end, 10);

		if (*end == '\0')
			process.wanted = n > CPUS_MAX ? CPUS_MAX : (unsigned)n;
	}
}

/*
 * Where the library's own area is. Without sequences nobody needs it but a program that was built
 * with them and got a library that was not: its stores to rseq_cs must do no harm.
 */
static long own_offset(void)
{
#if defined(ARCH_THREAD_POINTER)
	return (char *)&own_rseq - ARCH_THREAD_POINTER();
#else
	return 0;
#endif
}

/* Who owns the registrations of this process, and where its areas are. */
static void find_owner(void)
{
	unsigned libc_size = &libc_rseq_size ? libc_rseq_size : 0;

	process.feature_size = percpu__feature_size(libc_size, getauxval(AUXV_RSEQ_FEATURE_SIZE));
	process.libc_owns = libc_size != 0 && &libc_rseq_offset;
	percpu__rt_writable.rseq_offset =
		process.libc_owns && ARCH_HAVE_SEQ ? libc_rseq_offset : own_offset();
	percpu__rseq_offset_writable = percpu__rt_writable.rseq_offset;
	if (process.libc_owns || process.forced_off || process.forced_libc || !ARCH_HAVE_SEQ)
		return;
	/* A key beyond the first ones would make a handler's first operation allocate. */
	if (pthread_key_create(&process.key, thread_ends) == 0)
		process.self_registers = process.key < KEYS_WITHOUT_MALLOC;
}

unsigned percpu__cpus_wanted(void)
{
	return process.wanted;
}

static unsigned at_most(unsigned n, unsigned limit)
{
	return n > limit ? limit : n;
}

static unsigned cpus_online(void)
{
	unsigned online = __atomic_load_n(&process.online, __ATOMIC_RELAXED);

	if (online == 0) {
		online = percpu__cpus_online();
		__atomic_store_n(&process.online, online, __ATOMIC_RELAXED);
	}
	return online;
}

static void start(void)
{
	unsigned wanted, ncpus, shared;
	bool sequences;

	read_environment();
	wanted = process.wanted;
	process.possible = percpu__cpus_possible();
	ncpus = at_most(process.possible > wanted ? process.possible : wanted, CPUS_MAX);
	shared = PERCPU__SHARED_MIN;
	/* Reading a file takes longer than all the rest: not where its answer makes no difference. */
	if (2 * process.possible > shared)
		shared = at_most(2 * cpus_online(), CPUS_MAX);
	if (shared < PERCPU__SHARED_MIN)
		shared = PERCPU__SHARED_MIN;
	shared = percpu__shared_start(percpu__lock_start(percpu__shared_size(shared)), shared);
	find_owner();
	process.fence = fence_register();
	percpu__rt_writable.txn_cs = percpu__txn_start();

	sequences = ARCH_HAVE_SEQ && !process.forced_off &&
		    (process.libc_owns || process.self_registers);
	percpu__rt_writable.ncpus = ncpus;
	/* Pairs with the acquire in percpu_ncpus() and percpu_nslots(). */
	__atomic_store_n(&percpu__rt_writable.nslots, ncpus + shared, __ATOMIC_RELEASE);
	__atomic_store_n(&percpu__rt_writable.bound, sequences ? ncpus : 0, __ATOMIC_RELEASE);
}

/* With all signals held off: a handler that counts would wait for the code it interrupted. */
static void start_in_this_thread(void)
{
	sigset_t saved;
	int idle = IDLE;

	percpu__signals_block(&saved);
	if (__atomic_compare_exchange_n(&process.state, &idle, STARTING, false, __ATOMIC_ACQUIRE,
					__ATOMIC_RELAXED)) {
		percpu__self.starting = true;
		start();
		percpu__self.starting = false;
		__atomic_store_n(&process.state, STARTED, __ATOMIC_RELEASE);
	}
	percpu__signals_restore(&saved);
}

/* Waits until the library has started; false when this thread is starting it just now. */
static bool started(void)
{
	int saved = errno;

	while (__atomic_load_n(&process.state, __ATOMIC_ACQUIRE) != STARTED) {
		if (percpu__self.starting)
			return false;
		start_in_this_thread();
		if (__atomic_load_n(&process.state, __ATOMIC_ACQUIRE) == STARTING)
			sched_yield();
	}
	errno = saved;
	return true;
}

void percpu__start(void)
{
	(void)started();
}

COLD void percpu__broken(const char *invariant, const char *file, int line)
{
	fprintf(stderr, "percpu: invariant %s does not hold (%s:%d)\n", invariant, file, line);
	abort();
}

bool percpu__has_fence(void)
{
	return process.fence;
}

const char *percpu_owner_name(enum percpu_owner owner)
{
	switch (owner) {
	case PERCPU_OWNER_NONE:
		return "none";
	case PERCPU_OWNER_LIBC:
		return "libc";
	case PERCPU_OWNER_SELF:
		return "self";
	case PERCPU_OWNER_OTHER:
		return "other";
	}
	return "unknown";
}

/* A refused registration, in words. EINVAL and EBUSY are what a second owner gets. */
static const char *refusal(int error)
{
	switch (error) {
	case EINVAL:
	case EBUSY:
		return "the kernel refused the registration as a second one: another library holds "
		       "this thread's";
	case ENOSYS:
		return "the kernel, emulator or sandbox does not know rseq (ENOSYS)";
	case EPERM:
	case EACCES:
		return "a sandbox or another owner forbids the registration (EPERM)";
	default:
		return "the kernel refused the registration";
	}
}

static const char *reason_of_thread(bool sequences)
{
	if (!ARCH_HAVE_SEQ)
		return "built without sequences for this CPU or sanitizer";
	if (process.forced_off)
		return "PERCPU_RSEQ=off: shared slots were asked for";
	if (percpu__self.state == FAILED)
		return refusal(percpu__self.error);
	if (percpu__self.state == DEAD)
		return "this thread is ending: its registration was taken away";
	if (percpu__self.vfork != 0)
		return "between percpu_vfork_begin and percpu_vfork_end";
	if (sequences)
		return process.libc_owns ? "libc registered this thread"
					 : "libc did not register this thread, percpu did";
	if (registered())
		return "this CPU's number is beyond those the system announced";
	if (process.libc_owns)
		return "libc registers threads, but not this one";
	if (process.forced_libc)
		return "libc does not register threads, and PERCPU_RSEQ=libc forbids the library "
		       "to";
	return "no thread-specific key was left to unregister threads with";
}

static enum percpu_owner owner_of_thread(void)
{
	if (registered())
		return process.libc_owns ? PERCPU_OWNER_LIBC : PERCPU_OWNER_SELF;
	if (percpu__self.state == FAILED &&
	    (percpu__self.error == EINVAL || percpu__self.error == EBUSY))
		return PERCPU_OWNER_OTHER;
	return PERCPU_OWNER_NONE;
}

int percpu_mode(struct percpu_mode_info *mode)
{
	const struct percpu__rt *rt = &percpu__rt_writable;
	int saved = errno;

	if (!mode)
		return -EINVAL;
	percpu__start();
	(void)percpu__thread_ready();
	mode->sequences = registered() && area_of_thread()->cpu_id < rt->bound;
	mode->owner = owner_of_thread();
	mode->feature_size = mode->owner == PERCPU_OWNER_NONE ? 0 : process.feature_size;
	mode->fence = process.fence;
	mode->cpus_possible = process.possible;
	mode->cpus_online = cpus_online();
	mode->cpus_allowed = percpu__cpus_allowed();
	mode->cpu_slots = rt->ncpus;
	mode->shared_slots = rt->nslots - rt->ncpus;
	mode->reason = reason_of_thread(mode->sequences);
	errno = saved;
	return 0;
}

int percpu_vfork_begin(void)
{
	int saved = errno;
	int result = 0;

	percpu__start();
	(void)percpu__thread_ready();
	if (percpu__self.vfork != 0)
		return -EBUSY;
	if (registered()) {
		uint32_t length = area_length(false);

		if (rseq_call(area_of_thread(), length, RSEQ_UNREGISTER) != 0) {
			length = area_length(true);
			if (rseq_call(area_of_thread(), length, RSEQ_UNREGISTER) != 0)
				result = -errno;
		}
		if (result == 0)
			percpu__self.vfork = (uint8_t)length;
	}
	errno = saved;
	return result;
}

int percpu_vfork_end(void)
{
	int saved = errno;
	int result = 0;

	if (percpu__self.vfork != 0) {
		if (rseq_call(area_of_thread(), percpu__self.vfork, 0) != 0)
			result = -errno;
		else
			percpu__self.vfork = 0;
	}
	errno = saved;
	return result;
}

void percpu_cs_clear(void)
{
#if ARCH_HAVE_SEQ
	ARCH_CLEAR_CS(percpu__rt_writable.rseq_offset);
#endif
}

static void say_mode(void)
{
	struct percpu_mode_info mode;

	(void)percpu_mode(&mode);
	fprintf(stderr, "percpu: %s, owner %s, fence %s, %u CPU slots, %u shared slots: %s\n",
		mode.sequences ? "sequences" : "shared slots", percpu_owner_name(mode.owner),
		mode.fence ? "yes" : "no", mode.cpu_slots, mode.shared_slots, mode.reason);
}

/*
 * Before every other constructor of the program or library that it is linked into; the dynamic
 * linker runs the shared library's before those of all that depend on it. A sequence stores to
 * rseq_cs, for which percpu__rt must be right, before it finds out that an object is not ready.
 * Compilers keep such priorities to libraries like this one and warn about them.
 */
#pragma GCC diagnostic push
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wprio-ctor-dtor"
#endif
__attribute__((constructor(1))) static void constructor(void)
{
	const char *verbose;

	percpu__start();
	verbose = secure_getenv("PERCPU_VERBOSE");
	if (verbose && strcmp(verbose, "1") == 0)
		say_mode();
}
#pragma GCC diagnostic pop

#if defined(PERCPU_INJECT)
void percpu__inject(unsigned point, unsigned long turns)
{
	percpu__start();
	if (point >= 1 && point <= PERCPU__POINTS)
		percpu__rt_writable.delay[point] = turns;
}
#endif

/* SPDX-License-Identifier: MIT */
/*
 * Commits of transactions.
 *
 *	begin                  rseq_cs = descriptor of commit_word's range
 *	body                   outside of that range: the kernel clears rseq_cs when it preempts,
 *	                       migrates or signals the thread
 *	commit_word        2:  is rseq_cs still the descriptor?      the range begins
 *	                       *p = value                            its last instruction
 *	                   3:
 *	                       rseq_cs = 0, whatever came out of it
 *
 * begin knows one descriptor, that of commit_word. Commits of another width, of two words and of
 * copies have ranges of their own. They get there by a commit: commit_word stores their descriptor
 * in rseq_cs itself. From then on the same holds for them: whatever intervenes before their range
 * has begun clears rseq_cs, inside of it aborts it.
 *
 *	T1  a range begins with the compare of rseq_cs with its own descriptor
 *	T2  rseq_cs is 0 after each commit and cancel: a transaction that this one interrupted, in a
 *	    handler, must not find a pointer
 *	T3  each range is in the process once: these functions are neither inlined nor cloned
 *
 * On a shared slot: the slot is held (S1 in this_cpu.c) and all signals are held off from begin to
 * commit, so the body is alone. A body is the user's code, so S2 is his to keep (rules 3 to 5).
 */
#include "internal.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include <percpu/txn.h>

#if __has_attribute(noclone)
#define ONCE __attribute__((noinline, noclone))
#else
#define ONCE __attribute__((noinline))
#endif

/* ---- What debug builds watch ---- */

#if !defined(PR_SET_SYSCALL_USER_DISPATCH)
#define PR_SET_SYSCALL_USER_DISPATCH 59
#endif
#define DISPATCH_OFF 0
#define DISPATCH_ON 1
#define SELECT_ALLOW 0
#define SELECT_BLOCK 1

/*
 * From begin to commit a thread's system calls end in SIGSYS. Returns of signal handlers are system
 * calls as well, so signals wait meanwhile. Where the kernel cannot do it, nothing is stopped.
 */
static __thread struct {
	bool open;
	volatile char selector;
	struct percpu__sigset before;
} watch __attribute__((tls_model("initial-exec")));

/* With signals held off, or a handler would be taken for a body. */
static void open_once(void)
{
	if (watch.open) {
		watch.selector = SELECT_ALLOW; /* for the message */
		percpu__broken("one transaction at a time is open", __FILE__, __LINE__);
	}
	watch.open = true;
}

void percpu__txn_watch(void)
{
	struct percpu__sigset before;
	int saved = errno;

	if (watch.open)
		open_once();
	percpu__signals_hold(&before);
	open_once();
	watch.before = before;
	watch.selector = SELECT_ALLOW;
	if (prctl(PR_SET_SYSCALL_USER_DISPATCH, DISPATCH_ON, 0, 0, &watch.selector) == 0)
		watch.selector = SELECT_BLOCK;
	errno = saved;
}

void percpu__txn_unwatch(void)
{
	struct percpu__sigset before = watch.before;
	int saved = errno;

	if (!watch.open)
		return;
	watch.selector = SELECT_ALLOW;
	(void)prctl(PR_SET_SYSCALL_USER_DISPATCH, DISPATCH_OFF, 0, 0, 0);
	watch.open = false;
	percpu__signals_release(&before);
	errno = saved;
}

/* ---- On a CPU slot ---- */

#if ARCH_HAVE_SEQ

/* clang-format off */

/* T1. */
#define TXN_BEGIN										\
	PERCPU__DESCRIPTOR									\
	PERCPU__EXIT_POINT("2f", "7f")								\
	ARCH_FIND_DESCRIPTOR("5b")								\
	"2:\n\t" ARCH_LEAVE_UNLESS_ARMED("7f") PERCPU__POINT(3)

/* Not done: the answer is the descriptor's address. */
#define TXN_END(name)										\
	"3:\n\t" PERCPU__POINT(5)								\
	PERCPU__COLD_BEGIN									\
	PERCPU__ABORT_ENTRY(name)								\
	"7:\n\t" ARCH_FIND_DESCRIPTOR("5b") ARCH_TELL_DESCRIPTOR("answer") ARCH_JUMP("3b")	\
	PERCPU__COLD_END

#define TXN_OUT [answer] ARCH_C_BUDGET(answer)
#define TXN_IN [rseq] ARCH_C_RSEQ(rt.rseq_offset), [p] ARCH_C_BASE(p) PERCPU__DELAYS
#define TXN_CLOBBER PERCPU__CLOBBER, "memory"

/* Each returns 0 when it has committed, else its descriptor's address. */
#define DEFINE_ONE(storage, function, w, type)							\
	storage ONCE uintptr_t function(void *p, type value)					\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		uintptr_t answer = 0;								\
		__asm__ volatile(TXN_BEGIN							\
				 ARCH_POINT_A("%[p]") PERCPU__POINT(4) ARCH_STORE(w, "value")	\
				 TXN_END("txn_commit")						\
				 : TXN_OUT : TXN_IN, [value] ARCH_C_IN_##w(value) : TXN_CLOBBER);\
		return answer;									\
	}

#define DEFINE_TWO(w, type)									\
	static ONCE uintptr_t two_##w(void *p, type value, void *first_p, type first)		\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		uintptr_t answer = 0;								\
		type data;									\
		__asm__ volatile(TXN_BEGIN							\
				 ARCH_POINT_B("%[first_p]") ARCH_STORE_B(w, "first", "data")	\
				 ARCH_POINT_A("%[p]") PERCPU__POINT(4) ARCH_STORE(w, "value")	\
				 TXN_END("txn_commit2")						\
				 : TXN_OUT, [data] ARCH_C_OUT_##w(data)				\
				 : TXN_IN, [value] ARCH_C_IN_##w(value),			\
				   [first_p] ARCH_C_BASE(first_p), [first] ARCH_C_IN_##w(first)	\
				 : ARCH_CLOBBER_B TXN_CLOBBER);					\
		return answer;									\
	}

DEFINE_ONE(static, one_1, 1, uint8_t)
DEFINE_ONE(static, one_2, 2, uint16_t)
DEFINE_TWO(1, uint8_t)
DEFINE_TWO(2, uint16_t)
DEFINE_TWO(4, uint32_t)
#if ARCH_HAVE_SEQ_8
DEFINE_ONE(static, one_4, 4, uint32_t)
DEFINE_ONE(, percpu__txn_commit_word, 8, uint64_t)
DEFINE_TWO(8, uint64_t)
#else
DEFINE_ONE(, percpu__txn_commit_word, 4, uint32_t)
#endif

static ONCE uintptr_t copy(void *p, uintptr_t value, void *to, const void *source, size_t size)
{
	const struct percpu__rt rt = percpu__rt;
	uintptr_t answer = 0, from, data;
	const char *end = (const char *)source + size;
	const char *words = (const char *)source + size / sizeof(data) * sizeof(data);
	__asm__ volatile(TXN_BEGIN
			 ARCH_POINT_B("%[to]")
			 ARCH_MOVE("from", "source")
			 ARCH_COPY("from", ARCH_OP_POINTER("from"), "words", "end", "data")
			 ARCH_POINT_A("%[p]") PERCPU__POINT(4) ARCH_STORE_POINTER("value")
			 TXN_END("txn_commit_copy")
			 : TXN_OUT, [from] "=&r"(from), [data] ARCH_C_OUT_1(data)
			 : TXN_IN, [value] ARCH_C_IN_POINTER(value), [to] ARCH_C_BASE(to),
			   [source] ARCH_C_FAR(source), [words] ARCH_C_FAR(words), [end] ARCH_C_FAR(end)
			 : ARCH_CLOBBER_B TXN_CLOBBER);
	return answer;
}

/* clang-format on */

/* Descriptors by width, learned at start. */
static struct {
	uintptr_t one[sizeof(void *)], two[sizeof(void *) + 1], copy;
} descriptors;

/* Nothing is armed at start, so nothing is stored, and each says where its descriptor is. */
uintptr_t percpu__txn_start(void)
{
	descriptors.one[1] = one_1(&descriptors, 0);
	descriptors.one[2] = one_2(&descriptors, 0);
	descriptors.two[1] = two_1(&descriptors, 0, &descriptors, 0);
	descriptors.two[2] = two_2(&descriptors, 0, &descriptors, 0);
	descriptors.two[4] = two_4(&descriptors, 0, &descriptors, 0);
#if ARCH_HAVE_SEQ_8
	descriptors.one[4] = one_4(&descriptors, 0);
	descriptors.two[8] = two_8(&descriptors, 0, &descriptors, 0);
#endif
	descriptors.copy = copy(&descriptors, 0, &descriptors, &descriptors, 0);
	return percpu__txn_commit_word(&descriptors, 0);
}

/* Where a pointer lies in the 64 bits of rseq_cs: in their end, where the highest come first. */
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define POINTER_IN_CS (sizeof(uint64_t) - sizeof(void *))
#else
#define POINTER_IN_CS 0
#endif

/* From the range that begin armed to another one. */
static bool change_to(uintptr_t descriptor)
{
	char *area = ARCH_THREAD_POINTER() + percpu__rt_writable.rseq_offset;
	void *cs = area + offsetof(struct percpu__rseq, rseq_cs) + POINTER_IN_CS;

	return percpu__txn_commit_word(cs, descriptor) == 0;
}

static bool commit_one(void *p, percpu__word value, size_t size)
{
	if (!change_to(descriptors.one[size]))
		return false;
	switch (size) {
	case 1:
		return one_1(p, (uint8_t)value) == 0;
#if ARCH_HAVE_SEQ_8
	case 4:
		return one_4(p, (uint32_t)value) == 0;
#endif
	default:
		return one_2(p, (uint16_t)value) == 0;
	}
}

static bool commit_two(void *p, percpu__word value, void *first_p, percpu__word first, size_t size)
{
	if (!change_to(descriptors.two[size]))
		return false;
	switch (size) {
	case 1:
		return two_1(p, (uint8_t)value, first_p, (uint8_t)first) == 0;
	case 2:
		return two_2(p, (uint16_t)value, first_p, (uint16_t)first) == 0;
#if ARCH_HAVE_SEQ_8
	case 8:
		return two_8(p, value, first_p, first) == 0;
#endif
	default:
		return two_4(p, (uint32_t)value, first_p, (uint32_t)first) == 0;
	}
}

static bool commit_copy(void *p, uintptr_t value, void *to, const void *from, size_t size)
{
	return change_to(descriptors.copy) && copy(p, value, to, from, size) == 0;
}

#else /* no transaction is ever on a CPU slot */

uintptr_t percpu__txn_start(void)
{
	return 0;
}

uintptr_t percpu__txn_commit_word(void *p, uintptr_t value)
{
	return (void)p, (void)value, 1;
}

static bool commit_one(void *p, percpu__word value, size_t size)
{
	return (void)p, (void)value, (void)size, false;
}

static bool commit_two(void *p, percpu__word value, void *first_p, percpu__word first, size_t size)
{
	return (void)p, (void)value, (void)first_p, (void)first, (void)size, false;
}

static bool commit_copy(void *p, uintptr_t value, void *to, const void *from, size_t size)
{
	return (void)p, (void)value, (void)to, (void)from, (void)size, false;
}

#endif

/* ---- On a shared slot ---- */

/* One transaction at a time is open in a thread that has its signals held off. */
static __thread struct percpu__sigset signals_before __attribute__((tls_model("initial-exec")));
/* Transactions on shared slots that are open in this thread: more than one against rule 4. */
static __thread unsigned shared_open __attribute__((tls_model("initial-exec")));

COLD unsigned percpu__txn_begin_shared(void)
{
	struct percpu__sigset before;

	percpu_cs_clear();
	percpu__signals_hold(&before);
#if defined(PERCPU_DEBUG)
	open_once();
#endif
	/* What the outermost one found is what the last one to end puts back. */
	if (shared_open++ == 0)
		signals_before = before;
	return percpu__shared_hold();
}

COLD void percpu__txn_end_shared(unsigned slot)
{
	struct percpu__sigset before = signals_before;

	percpu__shared_release(slot);
	watch.open = false;
	if (--shared_open == 0)
		percpu__signals_release(&before);
}

/* ---- On either ---- */

/* What comes last. Release, for the ..._release forms: only sequences need a fence of theirs before. */
static void store_last(void *p, percpu__word value, size_t size)
{
	switch (size) {
	case 1:
		__atomic_store_n((uint8_t *)p, (uint8_t)value, __ATOMIC_RELEASE);
		break;
	case 2:
		__atomic_store_n((uint16_t *)p, (uint16_t)value, __ATOMIC_RELEASE);
		break;
	case 4:
		__atomic_store_n((uint32_t *)p, (uint32_t)value, __ATOMIC_RELEASE);
		break;
	default:
		__atomic_store_n((percpu__word *)p, value, __ATOMIC_RELEASE);
		break;
	}
}

bool percpu__txn_commit_size(unsigned state, void *p, percpu__word value, size_t size)
{
	if (state == PERCPU__TXN_ON_CPU)
		return commit_one(p, value, size);
	store_last(p, value, size);
	return true;
}

bool percpu__txn_commit_two(unsigned state, void *p, percpu__word value, void *first_p,
			    percpu__word first, size_t size)
{
	if (state == PERCPU__TXN_ON_CPU)
		return commit_two(p, value, first_p, first, size);
	percpu__store_word(first_p, first, size);
	store_last(p, value, size); /* a forked child sees them in this order, too */
	return true;
}

bool percpu__txn_commit_copy(unsigned state, void *p, uintptr_t value, void *to, const void *from,
			     size_t size)
{
	if (size > PERCPU_TXN_COPY_MAX)
		return false;
	if (state == PERCPU__TXN_ON_CPU)
		return commit_copy(p, value, to, from, size);
	memcpy(to, from, size);
	store_last(p, value, sizeof(void *));
	return true;
}

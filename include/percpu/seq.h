/* SPDX-License-Identifier: MIT */
/*
 * The closed set of restartable sequences, each written once over the snippets of arch/<cpu>.h.
 *
 * Internal: the structures are built on it, users call those. Each sequence is ONE asm statement
 * of this shape (I3; doc/design.md tells why and what it costs):
 *
 *	1: rseq_cs = &descriptor          enter, and enter again after an abort
 *	2: slot = cpu_id                  start of the range: read once, inside
 *	   if (slot >= bound) leave       one unsigned compare: -1, -2 and CPUs nobody announced
 *	   A = base + slot * stride
 *	   ...                            loads; stores only where nobody looks
 *	   commit                         the last instruction of the range
 *	3:
 *
 * The kernel resumes at the abort entry (4) instead whenever it preempted, migrated or signalled
 * the thread between 2 and 3. Everything is read again then. An answer is one of four:
 *
 *	DONE (> 0)      committed on CPU slot *slot
 *	REFUSED         the compared word differed; empty, full or closed; nothing was changed
 *	UNAVAILABLE     this thread has no CPU slot now: use a shared slot
 *	ABORTED         PERCPU__ATTEMPTS aborts in a row (I6): use a shared slot, or report
 *
 * The read-modify-write forms return a bool instead: false (not done: unavailable or aborted once)
 * sends them to a shared slot at once, where an addition counts just the same. A lock's answers
 * with the slot (0 and above), or with REFUSED, UNAVAILABLE or ABORTED_ONCE.
 *
 * No sequence promises an order to other CPUs. All but the counter's add are compiler barriers.
 */
#ifndef PERCPU_SEQ_H
#define PERCPU_SEQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <percpu/arch.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * An object that is ready, or not yet: base is its copy for CPU 0, bound its number of CPU slots.
 * While bound is 0 nobody reads base, so a zeroed handle is valid. It is filled in before others see
 * it, and sequences read bound first and base after it.
 */
struct percpu__handle {
	void *base;
	uint32_t bound;
	uint32_t flags;
};

/*
 * Where builds with PERCPU_INJECT can have a delay, so that what interrupts comes there: 1 it is
 * armed, 2 the CPU number is read, 3 the address is known, 4 before the commit, 5 after it. In other
 * builds there is nothing at these points.
 */
#define PERCPU__POINTS 5

/*
 * What hot paths read. Written once by the library's constructor, which runs before any other;
 * declared const so that compilers keep it in registers over loops.
 */
struct percpu__rt {
	long rseq_offset; /* of this process's rseq areas from the thread pointer */
	uint32_t bound;   /* CPU numbers below it have CPU slots; 0: shared slots only */
	uint32_t ncpus;   /* CPU slots of every object; the first shared slot has this index */
	uint32_t nslots;  /* CPU slots and shared slots */
	uint32_t reserved;
	uintptr_t txn_cs; /* what a transaction begins with (percpu/txn.h) */
	void *none;       /* base of an object that is never ready: stands in for that of NULL */
#if defined(PERCPU_INJECT)
	unsigned long delay[PERCPU__POINTS + 1]; /* turns of the loop at each point; none is 0 */
#endif
};
extern const struct percpu__rt percpu__rt;
/* percpu__rt.rseq_offset, for sequences that come in pairs (pop, then push): gcc loads a member once
 * more for the second, and stores that wait for that load cost a quarter of the pair. */
extern const long percpu__rseq_offset;

/* Aborts in a row after which a sequence gives up. */
#define PERCPU__ATTEMPTS 100

#define PERCPU__ABORTED 0
#define PERCPU__UNAVAILABLE (-1)
#define PERCPU__REFUSED (-2)
#define PERCPU__ABORTED_ONCE (-3)

/* The longest copy inside a sequence, in bytes: longer ones would be aborted for ever. */
#define PERCPU__COPY_MAX 256

#define PERCPU__INLINE static inline __attribute__((always_inline))

#if ARCH_HAVE_SEQ

/* Assembly text, a snippet a line: */
/* clang-format off */

/* Descriptor 5 of the range 2..3 with abort entry 4, and the array that debuggers read. */
#define PERCPU__DESCRIPTOR									\
	".pushsection __rseq_cs, \"aw?\"\n\t"							\
	".balign 32\n\t"									\
	"5:\n\t"										\
	".long 0, 0\n\t" ARCH_PTR64("2f") ARCH_PTR64("(3f - 2f)") ARCH_PTR64("4f")		\
	".popsection\n\t"									\
	".pushsection __rseq_cs_ptr_array, \"aw?\"\n\t" ARCH_PTR64("5b") ".popsection\n\t"

/* Where the range may be left other than by its commit. */
#define PERCPU__EXIT_POINT(start, target)							\
	".pushsection __rseq_exit_point_array, \"aw?\"\n\t" ARCH_PTR64(start) ARCH_PTR64(target) \
	".popsection\n\t"

#define PERCPU__COLD_BEGIN ".pushsection __rseq_failure, \"ax?\"\n\t"
#define PERCPU__COLD_END ".popsection\n\t"

/* The abort entry: named, so that a crash report points at the operation. */
#define PERCPU__ABORT_ENTRY(name)								\
	ARCH_SIGNATURE										\
	"percpu_abort_" name "_%=:\n\t"								\
	"4:\n\t"

#if defined(PERCPU_INJECT)
#define PERCPU__TEXT_OF(x) #x
#define PERCPU__TEXT(x) PERCPU__TEXT_OF(x)
#define PERCPU__DELAY(n) "%[rt]", "%c[delay]+" #n "*" PERCPU__TEXT(__SIZEOF_LONG__)
#define PERCPU__POINT_OF(snippet, ...) snippet(__VA_ARGS__)
#define PERCPU__POINT(n) PERCPU__POINT_OF(ARCH_DELAY_OF, PERCPU__DELAY(n))
#define PERCPU__POINT_KEEPING_B(n) PERCPU__POINT_OF(ARCH_DELAY_OF_KEEPING_B, PERCPU__DELAY(n))
/* As a whole: of parts that compilers do not optimise each takes a register. */
#define PERCPU__DELAYS										\
	, [rt] ARCH_C_DELAYS(rt), [delay] "i"(offsetof(struct percpu__rt, delay))
#define PERCPU__DELAYS_LOCAL const struct percpu__rt rt = percpu__rt;
#define PERCPU__CLOBBER_DELAY ARCH_CLOBBER_DELAY
#else
#define PERCPU__POINT(n)
#define PERCPU__POINT_KEEPING_B(n)
#define PERCPU__DELAYS
#define PERCPU__DELAYS_LOCAL
#define PERCPU__CLOBBER_DELAY
#endif

/* Begin of a sequence that answers: enter, read the number, leave if it has no CPU slot. */
#define PERCPU__ENTER										\
	PERCPU__DESCRIPTOR									\
	PERCPU__EXIT_POINT("2f", "6f")								\
	"1:\n\t" ARCH_ARM("5b")									\
	"2:\n\t" PERCPU__POINT(1) ARCH_CPU(ARCH_SLOT)						\
	ARCH_LEAVE_UNLESS_BELOW(ARCH_SLOT, "%[bound]", "6f")					\
	PERCPU__POINT(2) ARCH_SCALE_SLOT

/* A = this CPU's copy of base; B = its copy of base2, taken before. */
#define PERCPU__FIND ARCH_ADD_BASE("%[base]") PERCPU__POINT(3)
#define PERCPU__FIND_TWO									\
	ARCH_ADD_BASE_B("%[base2]") ARCH_ADD_BASE("%[base]") PERCPU__POINT_KEEPING_B(3)

/* End of a sequence that answers; 7 is where a refusal goes. */
#define PERCPU__LEAVE(name)									\
	"3:\n\t" PERCPU__POINT(5)								\
	PERCPU__COLD_BEGIN									\
	PERCPU__ABORT_ENTRY(name) ARCH_RETRY("1b") ARCH_JUMP("3b")				\
	"6:\n\t" ARCH_ANSWER("left", "-1") ARCH_JUMP("3b")					\
	PERCPU__COLD_END
#define PERCPU__LEAVE_OR_REFUSE(name)								\
	PERCPU__LEAVE(name)									\
	PERCPU__EXIT_POINT("2b", "7f")								\
	PERCPU__COLD_BEGIN									\
	"7:\n\t" ARCH_ANSWER("left", "-2") ARCH_JUMP("3b")					\
	PERCPU__COLD_END

#define PERCPU__OUT [left] ARCH_C_BUDGET(left), [slot] "=&r"(*slot)
/* rt is the sequence's own copy of percpu__rt, so that it costs no register to reach. */
#define PERCPU__IN										\
	[rseq] ARCH_C_RSEQ(rt.rseq_offset), [bound] ARCH_C_BOUND(rt.bound),			\
	    [base] ARCH_C_BASE(base) PERCPU__DELAYS
#define PERCPU__CLOBBER										\
	ARCH_CLOBBER_A, ARCH_CLOBBER_DATA PERCPU__CLOBBER_DELAY ARCH_CLOBBER_FLAGS

#define PERCPU__BARRIER() __asm__ volatile("" : : : "memory")

/* Read-modify-write, "*p = *p op value"; an abort goes where "no CPU slot" goes. */
#define PERCPU__RMW(name, w, body)								\
	PERCPU__DESCRIPTOR									\
	PERCPU__EXIT_POINT("2f", "%l[cold]")							\
	ARCH_ARM("5b")										\
	"2:\n\t" PERCPU__POINT(1) ARCH_CPU(ARCH_CPU_A) body					\
	"3:\n\t" ARCH_LEAVE_UNLESS_STORED(w, "%l[cold]") PERCPU__POINT(5)			\
	PERCPU__COLD_BEGIN									\
	PERCPU__ABORT_ENTRY(name) ARCH_JUMP("%l[cold]")						\
	PERCPU__COLD_END

#define PERCPU__RMW_BODY(op, w, find)								\
	ARCH_LEAVE_UNLESS_BELOW(ARCH_CPU_A, "%[bound]", "%l[cold]")				\
	PERCPU__POINT(2) ARCH_SCALE_A find PERCPU__POINT(3)					\
	PERCPU__POINT(4) ARCH_RMW(op, w, "value")

/* A port may have another one for the counter's add, with less instructions. */
#if defined(ARCH_FIND_COUNTER_OR_LEAVE)
#define PERCPU__COUNTER_BODY(w)									\
	PERCPU__POINT(2) ARCH_FIND_COUNTER_OR_LEAVE("%l[cold]") PERCPU__POINT(3)		\
	PERCPU__POINT(4) ARCH_ADD_TO_COUNTER(w)
#else
#define PERCPU__COUNTER_BODY(w)									\
	PERCPU__RMW_BODY(ARCH_DO_ADD, w, ARCH_ADD_HANDLE_BASE_OR_LEAVE("%l[cold]"))
#endif

#define PERCPU__DEFINE_RMW(name, op, w, type)							\
	PERCPU__INLINE bool percpu__seq_##name##_##w(void *base, type value)			\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		__asm__ goto(PERCPU__RMW(#name, w,						\
					 PERCPU__RMW_BODY(op, w, ARCH_ADD_BASE("%[base]")))	\
			     : /* no outputs: compilers get them wrong on the jump edge */	\
			     : PERCPU__IN, [value] ARCH_C_VALUE_##w(value)			\
			     : PERCPU__CLOBBER, "memory"					\
			     : cold);								\
		return true;									\
	cold:											\
		PERCPU__BARRIER();								\
		return false;									\
	}

/* Where registers are few and an operand in memory takes one for its address. */
#if !defined(ARCH_ON_THE_STACK)
#define ARCH_ON_THE_STACK(variable) (void)(variable)
#endif

/*
 * The counter's add: cells points to that of slot 0, and is read inside the range; NULL: sequences
 * add to none. Not a compiler barrier: nobody reads the cells of counters but the library.
 */
#define PERCPU__DEFINE_ADD_HANDLE(w, type)							\
	PERCPU__INLINE bool percpu__seq_add_handle_##w(void *const *cells, type value)		\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		long offset = rt.rseq_offset;							\
		uint32_t bound = rt.bound;							\
		ARCH_HANDLE_LOCALS(value);							\
		ARCH_ON_THE_STACK(offset);							\
		ARCH_ON_THE_STACK(bound);							\
		__asm__ goto(PERCPU__RMW("add_handle", w, PERCPU__COUNTER_BODY(w))		\
			     :									\
			     : [rseq] ARCH_C_RSEQ(offset), [bound] ARCH_C_BOUND(bound),		\
			       ARCH_C_HANDLE(cells),						\
			       ARCH_C_HANDLE_VALUE(value) PERCPU__DELAYS			\
			     : ARCH_CLOBBER_B PERCPU__CLOBBER ARCH_CLOBBER_RMW_##w		\
			     : cold);								\
		return true;									\
	cold:											\
		PERCPU__BARRIER();								\
		return false;									\
	}

/* *p += value, and the sum is returned. */
#define PERCPU__DEFINE_ADD_RETURN(w, type)							\
	PERCPU__INLINE int percpu__seq_add_return_##w(void *base, type value, type *sum,	\
						      uint32_t *slot)				\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		int left = PERCPU__ATTEMPTS;							\
		type result;									\
		__asm__ volatile(PERCPU__ENTER PERCPU__FIND					\
				 ARCH_LOAD(w, "result")						\
				 ARCH_ADD(w, "value", "result")					\
				 PERCPU__POINT(4) ARCH_STORE(w, "result")			\
				 PERCPU__LEAVE("add_return")					\
				 : PERCPU__OUT, [result] ARCH_C_OUT_##w(result)			\
				 : PERCPU__IN, [value] ARCH_C_IN_##w(value)			\
				 : PERCPU__CLOBBER, "memory");					\
		*sum = result;									\
		return left;									\
	}

/* previous = *p, *p = value. */
#define PERCPU__DEFINE_XCHG(w, type)								\
	PERCPU__INLINE int percpu__seq_xchg_##w(void *base, type value, type *previous,		\
						uint32_t *slot)					\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		int left = PERCPU__ATTEMPTS;							\
		type seen;									\
		__asm__ volatile(PERCPU__ENTER PERCPU__FIND					\
				 ARCH_LOAD(w, "seen")						\
				 PERCPU__POINT(4) ARCH_STORE(w, "value")			\
				 PERCPU__LEAVE("xchg")						\
				 : PERCPU__OUT, [seen] ARCH_C_OUT_##w(seen)			\
				 : PERCPU__IN, [value] ARCH_C_IN_##w(value)			\
				 : PERCPU__CLOBBER, "memory");					\
		*previous = seen;								\
		return left;									\
	}

/* if (*p == expect) *p = value; what was seen is returned either way. */
#define PERCPU__DEFINE_CMPXCHG(w, type)								\
	PERCPU__INLINE int percpu__seq_cmpxchg_##w(void *base, type expect, type value,		\
						   type *previous, uint32_t *slot)		\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		int left = PERCPU__ATTEMPTS;							\
		type seen;									\
		__asm__ volatile(PERCPU__ENTER PERCPU__FIND					\
				 ARCH_LOAD(w, "seen")						\
				 ARCH_LEAVE_IF_REG_NE(w, "expect", "seen", "7f")		\
				 PERCPU__POINT(4) ARCH_STORE(w, "value")			\
				 PERCPU__LEAVE_OR_REFUSE("cmpxchg")				\
				 : PERCPU__OUT, [seen] ARCH_C_OUT_##w(seen)			\
				 : PERCPU__IN, [expect] ARCH_C_IN_##w(expect),			\
				   [value] ARCH_C_IN_##w(value)					\
				 : PERCPU__CLOBBER, "memory");					\
		*previous = seen;								\
		return left;									\
	}

/* if (*p == expect && *p2 == expect2) *p = value; both words in the same slot. */
#define PERCPU__DEFINE_CMPXCHG2(w, type)							\
	PERCPU__INLINE int percpu__seq_cmpxchg2_##w(void *base, type expect, type value,	\
						    void *base2, type expect2, uint32_t *slot)	\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		int left = PERCPU__ATTEMPTS;							\
		__asm__ volatile(PERCPU__ENTER PERCPU__FIND_TWO					\
				 ARCH_LEAVE_IF_NE_B(w, "expect2", "7f")				\
				 ARCH_LEAVE_IF_NE(w, "expect", "7f")				\
				 PERCPU__POINT(4) ARCH_STORE(w, "value")			\
				 PERCPU__LEAVE_OR_REFUSE("cmpxchg2")				\
				 : PERCPU__OUT							\
				 : PERCPU__IN, [base2] ARCH_C_BASE(base2),			\
				   [expect] ARCH_C_IN_##w(expect),				\
				   [expect2] ARCH_C_IN_##w(expect2),				\
				   [value] ARCH_C_IN_##w(value)					\
				 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");			\
		return left;									\
	}

/* if (*p == expect) { *p2 = first, where nobody looks yet; *p = value; } */
#define PERCPU__DEFINE_STORE_COMMIT(w, type)							\
	PERCPU__INLINE int percpu__seq_store_commit_##w(void *base, type expect, type value,	\
							void *base2, type first, uint32_t *slot)\
	{											\
		const struct percpu__rt rt = percpu__rt;					\
		int left = PERCPU__ATTEMPTS;							\
		type data;									\
		__asm__ volatile(PERCPU__ENTER PERCPU__FIND_TWO					\
				 ARCH_LEAVE_IF_NE_BY(w, "expect", "data", "7f")			\
				 ARCH_STORE_B(w, "first", "data")				\
				 PERCPU__POINT(4) ARCH_STORE(w, "value")			\
				 PERCPU__LEAVE_OR_REFUSE("store_commit")			\
				 : PERCPU__OUT, [data] ARCH_C_OUT_##w(data)			\
				 : PERCPU__IN, [base2] ARCH_C_BASE(base2),			\
				   [expect] ARCH_C_IN_##w(expect), [first] ARCH_C_IN_##w(first),\
				   [value] ARCH_C_IN_##w(value)					\
				 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");			\
		return left;									\
	}

#define PERCPU__DEFINE_SEQUENCES(w, type)							\
	PERCPU__DEFINE_RMW(add, ARCH_DO_ADD, w, type)						\
	PERCPU__DEFINE_RMW(and, ARCH_DO_AND, w, type)						\
	PERCPU__DEFINE_RMW(or, ARCH_DO_OR, w, type)						\
	PERCPU__DEFINE_ADD_RETURN(w, type)							\
	PERCPU__DEFINE_XCHG(w, type)								\
	PERCPU__DEFINE_CMPXCHG(w, type)								\
	PERCPU__DEFINE_CMPXCHG2(w, type)							\
	PERCPU__DEFINE_STORE_COMMIT(w, type)

PERCPU__DEFINE_SEQUENCES(1, uint8_t)
PERCPU__DEFINE_SEQUENCES(2, uint16_t)
PERCPU__DEFINE_SEQUENCES(4, uint32_t)
#if ARCH_HAVE_SEQ_8
PERCPU__DEFINE_SEQUENCES(8, uint64_t)
#endif
#if PERCPU__NARROW_CELLS
/*
 * The same with a cell { low, near }, whose first word is the low half of a count that moves in steps
 * of less than PERCPU__NEAR / 2 and stays within PERCPU__NEAR of the second word, which whoever
 * knows the whole count sets to what the first was (src/cell.h). What is farther is not added.
 */
#define PERCPU__NEAR (1 << 29)
PERCPU__INLINE bool percpu__seq_add_handle_8(void *const *cells, int64_t value)
{
	const struct percpu__rt rt = percpu__rt;
	const int32_t step = (int32_t)value;
	if (__builtin_expect(value >= PERCPU__NEAR / 2 || value <= -PERCPU__NEAR / 2, 0))
		return false;
	__asm__ goto(PERCPU__RMW("add_handle", 4,
				 ARCH_LEAVE_UNLESS_BELOW(ARCH_CPU_A, "%[bound]", "%l[cold]")
				 PERCPU__POINT(2) ARCH_SCALE_A
				 ARCH_ADD_HANDLE_BASE_OR_LEAVE("%l[cold]") PERCPU__POINT(3)
				 PERCPU__POINT(4) ARCH_ADD_NEAR("%l[cold]"))
		     :
		     : [rseq] ARCH_C_RSEQ(rt.rseq_offset), [bound] ARCH_C_BOUND(rt.bound),
		       ARCH_C_HANDLE(cells), [value] ARCH_C_VALUE_4(step) PERCPU__DELAYS
		     : ARCH_CLOBBER_B PERCPU__CLOBBER
		     : cold);
	return true;
cold:
	PERCPU__BARRIER();
	return false;
}
#elif ARCH_HAVE_SEQ_8 || defined(ARCH_CLOBBER_RMW_8)
PERCPU__DEFINE_ADD_HANDLE(8, int64_t)
#endif

#undef PERCPU__DEFINE_SEQUENCES
#undef PERCPU__DEFINE_STORE_COMMIT
#undef PERCPU__DEFINE_CMPXCHG2
#undef PERCPU__DEFINE_CMPXCHG
#undef PERCPU__DEFINE_XCHG
#undef PERCPU__DEFINE_ADD_RETURN
#undef PERCPU__DEFINE_ADD_HANDLE
#undef PERCPU__DEFINE_RMW
#undef PERCPU__COUNTER_BODY
#undef PERCPU__RMW_BODY
#undef PERCPU__RMW

/*
 * Lists and stacks: the object's copies are found from its handle, and begin with two words,
 *
 *	list	{ head, closed }		closed: all ones, above any head; open: 0, below
 *	stack	{ top, limit, items ... }	closed: limit is 0; top and limit count bytes
 *
 * the second of which only a drainer writes: he closes the slot, fences (I9), takes what is in it
 * and opens it again. The second word is loaded before the first. Who finds the slot open again
 * finds it emptied then; who found it open before the fence is aborted by that.
 */
#define PERCPU__ENTER_HANDLE									\
	PERCPU__DESCRIPTOR									\
	PERCPU__EXIT_POINT("2f", "6f")								\
	"1:\n\t" ARCH_ARM("5b")									\
	"2:\n\t" PERCPU__POINT(1) ARCH_CPU(ARCH_CPU_A)						\
	ARCH_LEAVE_UNLESS_BELOW_HANDLE("6f")							\
	PERCPU__POINT(2) ARCH_SCALE_A ARCH_ADD_HANDLE_BASE PERCPU__POINT(3)
#define PERCPU__IN_HANDLE [rseq] ARCH_C_RSEQ(offset), ARCH_C_HANDLE(handle) PERCPU__DELAYS

/*
 * head = *p; *p = *head. Refused unless head > closed, with head for an answer: NULL if the list is
 * empty, else it is closed. The next node is read inside the range: one that comes back is no
 * danger.
 */
PERCPU__INLINE int percpu__seq_list_pop(const struct percpu__handle *handle, void **node)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	int left = PERCPU__ATTEMPTS;
	void *head, *next;
	__asm__ volatile(PERCPU__ENTER_HANDLE
			 ARCH_LOAD_SECOND_B
			 ARCH_LOAD_POINTER("head")
			 ARCH_LEAVE_UNLESS_ABOVE_B("head", "7f")
			 PERCPU__POINT(4) ARCH_STORE_FOLLOWING("head", "next")
			 PERCPU__LEAVE_OR_REFUSE("list_pop")
			 : [left] ARCH_C_BUDGET(left), [head] "=&r"(head), [next] ARCH_C_NEXT(next)
			 : PERCPU__IN_HANDLE
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	*node = head;
	return left;
}

/* *last = *p, where nobody looks yet; *p = first. Refused when closed. */
PERCPU__INLINE int percpu__seq_list_push(const struct percpu__handle *handle, void *first,
					 void *last)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	int left = PERCPU__ATTEMPTS;
	void *head;
	__asm__ volatile(PERCPU__ENTER_HANDLE
			 ARCH_LEAVE_IF_CLOSED("7f")
			 ARCH_LOAD_POINTER("head")
			 ARCH_STORE_NEXT("last", "head")
			 PERCPU__POINT(4) ARCH_STORE_POINTER("first")
			 PERCPU__LEAVE_OR_REFUSE("list_push")
			 : [left] ARCH_C_BUDGET(left), [head] "=&r"(head)
			 : PERCPU__IN_HANDLE, [first] ARCH_C_IN_POINTER(first),
			   [last] ARCH_C_IN_POINTER(last)
			 : PERCPU__CLOBBER, "memory");
	return left;
}

/* first = *p; *p = NULL. Refused as pop is. */
PERCPU__INLINE int percpu__seq_list_take(const struct percpu__handle *handle, void **first)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	int left = PERCPU__ATTEMPTS;
	void *head;
	__asm__ volatile(PERCPU__ENTER_HANDLE
			 ARCH_LOAD_SECOND_B
			 ARCH_LOAD_POINTER("head")
			 ARCH_LEAVE_UNLESS_ABOVE_B("head", "7f")
			 PERCPU__POINT(4) ARCH_STORE_NULL
			 PERCPU__LEAVE_OR_REFUSE("list_take")
			 : [left] ARCH_C_BUDGET(left), [head] "=&r"(head)
			 : PERCPU__IN_HANDLE
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	*first = head;
	return left;
}

/*
 * next = top - one pointer; item = items[next]; top = next. Refused unless next < limit, with next
 * for an answer: as a signed number it is below 0 if the stack is empty, else it is closed.
 */
PERCPU__INLINE int percpu__seq_stack_pop(const struct percpu__handle *handle, void **item,
					 uintptr_t *next)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	int left = PERCPU__ATTEMPTS;
	uintptr_t top;
	void *found;
	__asm__ volatile(PERCPU__ENTER_HANDLE
			 ARCH_LOAD_SECOND_B
			 ARCH_LOAD_POINTER("top")
			 ARCH_SUBTRACT_POINTER("top")
			 ARCH_LEAVE_UNLESS_BELOW_B("top", "7f")
			 ARCH_LOAD_ITEM("top", "found")
			 PERCPU__POINT(4) ARCH_STORE_TOP("top")
			 PERCPU__LEAVE_OR_REFUSE("stack_pop")
			 : [left] ARCH_C_BUDGET(left), [top] "=&r"(top), [found] "=&r"(found)
			 : PERCPU__IN_HANDLE
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	*item = found;
	*next = top;
	return left;
}

/*
 * items[top] = item, where nobody looks yet; top += one pointer. Refused unless top < limit, with
 * top for an answer: the stack is full, or else closed.
 */
PERCPU__INLINE int percpu__seq_stack_push(const struct percpu__handle *handle, void *item,
					  uintptr_t *next)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	int left = PERCPU__ATTEMPTS;
	uintptr_t top;
	__asm__ volatile(PERCPU__ENTER_HANDLE
			 ARCH_LOAD_SECOND_B
			 ARCH_LOAD_POINTER("top")
			 ARCH_LEAVE_UNLESS_BELOW_B("top", "7f")
			 ARCH_STORE_ITEM("top", "item")
			 ARCH_ADD_POINTER("top")
			 PERCPU__POINT(4) ARCH_STORE_TOP("top")
			 PERCPU__LEAVE_OR_REFUSE("stack_push")
			 : [left] ARCH_C_BUDGET(left), [top] "=&r"(top)
			 : PERCPU__IN_HANDLE, [item] ARCH_C_IN_POINTER(item)
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	*next = top;
	return left;
}

/* End of the whole words of a copy. */
#define PERCPU__WORDS(p, size) ((const char *)(p) + (size) / sizeof(void *) * sizeof(void *))

/* In both of the following one register is top, then where it copies from, then top again. */

/*
 * next = top + room; copy size bytes (at most room, and at most PERCPU__COPY_MAX: the caller
 * checks) to items[top], where nobody looks yet; top = next. Refused if next > limit, with next for
 * an answer.
 */
PERCPU__INLINE int percpu__seq_values_push(const struct percpu__handle *handle, const void *source,
					   size_t size, size_t room, uintptr_t *next)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	int left = PERCPU__ATTEMPTS;
	uintptr_t top, data;
	const char *words = PERCPU__WORDS(source, size);
	const char *end = (const char *)source + size;
	__asm__ volatile(PERCPU__ENTER_HANDLE
			 ARCH_LOAD_SECOND_B
			 ARCH_LOAD_POINTER("top")
			 ARCH_ADD_SIZE("top", "room")
			 ARCH_LEAVE_IF_ABOVE_B("top", "7f")
			 ARCH_ITEM_B("top", "room")
			 ARCH_MOVE("top", "source")
			 ARCH_COPY("top", ARCH_OP_POINTER("top"), "words", "end", "data")
			 ARCH_LOAD_POINTER("top")
			 ARCH_ADD_SIZE("top", "room")
			 PERCPU__POINT(4) ARCH_STORE_TOP("top")
			 PERCPU__LEAVE_OR_REFUSE("values_push")
			 : [left] ARCH_C_BUDGET(left), [top] "=&r"(top),
			   [data] ARCH_C_OUT_1(data)
			 : PERCPU__IN_HANDLE, [room] ARCH_C_FAR(room), [source] ARCH_C_FAR(source),
			   [words] ARCH_C_FAR(words), [end] ARCH_C_FAR(end)
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	*next = top;
	return left;
}

/*
 * next = top - room; copy size bytes from items[next] to the caller's memory, which an attempt that
 * was aborted has written, too; top = next. Refused unless next < limit, with next for an answer.
 */
PERCPU__INLINE int percpu__seq_values_pop(const struct percpu__handle *handle, void *target,
					  size_t size, size_t room, uintptr_t *next)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	int left = PERCPU__ATTEMPTS;
	uintptr_t top, data;
	const char *words = PERCPU__WORDS(target, size);
	const char *end = (const char *)target + size;
	__asm__ volatile(PERCPU__ENTER_HANDLE
			 ARCH_LOAD_SECOND_B
			 ARCH_LOAD_POINTER("top")
			 ARCH_SUBTRACT_SIZE("top", "room")
			 ARCH_LEAVE_UNLESS_BELOW_B("top", "7f")
			 ARCH_ITEM("top")
			 ARCH_MOVE_B("target")
			 ARCH_COPY("top", ARCH_B, "words", "end", "data")
			 ARCH_LOAD_POINTER("top")
			 ARCH_SUBTRACT_SIZE("top", "room")
			 PERCPU__POINT(4) ARCH_STORE_TOP("top")
			 PERCPU__LEAVE_OR_REFUSE("values_pop")
			 : [left] ARCH_C_BUDGET(left), [top] "=&r"(top),
			   [data] ARCH_C_OUT_1(data)
			 : PERCPU__IN_HANDLE, [room] ARCH_C_FAR(room), [target] ARCH_C_FAR(target),
			   [words] ARCH_C_FAR(words), [end] ARCH_C_FAR(end)
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	*next = top;
	return left;
}

#undef PERCPU__WORDS
#undef PERCPU__IN_HANDLE
#undef PERCPU__ENTER_HANDLE

/*
 * A slot of a lock is two words, { held, closed }: if (held == 0 && closed == 0) held = me. words
 * points to those of slot 0, and is read inside the range; NULL: sequences take none. One attempt
 * and one number, the slot or why not, because the answer is looked at in the hottest of loops.
 */
PERCPU__INLINE int percpu__seq_lock(void *const *words, uintptr_t me)
{
	PERCPU__DELAYS_LOCAL
	const long offset = percpu__rseq_offset;
	const uint32_t bound = percpu__rt.bound;
	int slot;
	__asm__ volatile(PERCPU__DESCRIPTOR
			 PERCPU__EXIT_POINT("2f", "6f")
			 ARCH_ARM("5b")
			 "2:\n\t" PERCPU__POINT(1) ARCH_CPU(ARCH_SLOT)
			 ARCH_LEAVE_UNLESS_BELOW(ARCH_SLOT, "%[bound]", "6f")
			 PERCPU__POINT(2) ARCH_SCALE_SLOT
			 ARCH_ADD_HANDLE_BASE_OR_LEAVE("6f") PERCPU__POINT(3)
			 ARCH_LEAVE_UNLESS_BOTH_NULL("7f")
			 PERCPU__POINT(4) ARCH_STORE_POINTER("me")
			 "3:\n\t" PERCPU__POINT(5)
			 PERCPU__EXIT_POINT("2b", "7f")
			 PERCPU__COLD_BEGIN
			 PERCPU__ABORT_ENTRY("lock") ARCH_ANSWER("slot", "-3") ARCH_JUMP("3b")
			 "6:\n\t" ARCH_ANSWER("slot", "-1") ARCH_JUMP("3b")
			 "7:\n\t" ARCH_ANSWER("slot", "-2") ARCH_JUMP("3b")
			 PERCPU__COLD_END
			 : [slot] "=&r"(slot)
			 : [rseq] ARCH_C_RSEQ(offset), [bound] ARCH_C_BOUND(bound),
			   ARCH_C_HANDLE(words), [me] ARCH_C_IN_POINTER(me) PERCPU__DELAYS
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	return slot;
}

/*
 * if (*p == expect) { copy size bytes from source to p2, where nobody looks yet; *p = value; }
 * At most PERCPU__COPY_MAX bytes (the caller checks); words are pointer-sized.
 */
PERCPU__INLINE int percpu__seq_copy_commit(void *base, uintptr_t expect, uintptr_t value,
					   void *base2, const void *source, size_t size,
					   uint32_t *slot)
{
	const struct percpu__rt rt = percpu__rt;
	int left = PERCPU__ATTEMPTS;
	uintptr_t from, data;
	const char *end = (const char *)source + size;
	const char *words = (const char *)source + size / sizeof(data) * sizeof(data);
	__asm__ volatile(PERCPU__ENTER PERCPU__FIND_TWO
			 ARCH_LEAVE_IF_POINTER_NE("expect", "data", "7f")
			 ARCH_MOVE("from", "source")
			 ARCH_COPY("from", ARCH_OP_POINTER("from"), "words", "end", "data")
			 PERCPU__POINT(4) ARCH_STORE_POINTER("value")
			 PERCPU__LEAVE_OR_REFUSE("copy_commit")
			 : PERCPU__OUT, [from] "=&r"(from), [data] ARCH_C_OUT_1(data)
			 : PERCPU__IN, [base2] ARCH_C_BASE(base2),
			   [expect] ARCH_C_IN_POINTER(expect), [value] ARCH_C_IN_POINTER(value),
			   [source] ARCH_C_FAR(source), [words] ARCH_C_FAR(words),
			   [end] ARCH_C_FAR(end)
			 : PERCPU__CLOBBER, ARCH_CLOBBER_B "memory");
	return left;
}

/*
 * The add of events: as the counter's, with a bound of the object's own, read before base. A set
 * that is shared between processes has memory for its own number of CPUs, whatever the process has.
 * Not a compiler barrier either.
 */
#if PERCPU__NARROW_CELLS
PERCPU__INLINE bool percpu__seq_event_add_8(const struct percpu__handle *handle, int64_t value)
{
	(void)handle, (void)value;
	return false;
}
#else
PERCPU__INLINE bool percpu__seq_event_add_8(const struct percpu__handle *handle, int64_t value)
{
	const struct percpu__rt rt = percpu__rt;
	long offset = rt.rseq_offset;
	ARCH_HANDLE_LOCALS(value);
	ARCH_ON_THE_STACK(offset);
	__asm__ goto(PERCPU__DESCRIPTOR
		     PERCPU__EXIT_POINT("2f", "%l[cold]")
		     ARCH_ARM("5b")
		     "2:\n\t" PERCPU__POINT(1) ARCH_CPU(ARCH_CPU_A)
		     ARCH_LEAVE_UNLESS_BELOW_HANDLE("%l[cold]")
		     PERCPU__POINT(2) ARCH_SCALE_A ARCH_ADD_HANDLE_BASE PERCPU__POINT(3)
		     PERCPU__POINT(4) ARCH_RMW(ARCH_DO_ADD, 8, "value")
		     "3:\n\t" ARCH_LEAVE_UNLESS_STORED(8, "%l[cold]") PERCPU__POINT(5)
		     PERCPU__COLD_BEGIN
		     PERCPU__ABORT_ENTRY("event_add") ARCH_JUMP("%l[cold]")
		     PERCPU__COLD_END
		     :
		     : [rseq] ARCH_C_RSEQ(offset), ARCH_C_HANDLE(handle),
		       ARCH_C_HANDLE_VALUE(value) PERCPU__DELAYS
		     : PERCPU__CLOBBER ARCH_CLOBBER_RMW_8
		     : cold);
	return true;
cold:
	PERCPU__BARRIER();
	return false;
}
#endif

/* clang-format on */

#else /* no sequences on this CPU: those that operations on words try first, answering so */

#define PERCPU__BARRIER() __asm__ volatile("" : : : "memory")

#define PERCPU__DEFINE_SEQUENCES(w, type)                                                          \
	PERCPU__INLINE bool percpu__seq_add_##w(void *base, type value)                            \
	{                                                                                          \
		(void)base, (void)value;                                                           \
		return false;                                                                      \
	}                                                                                          \
	PERCPU__INLINE bool percpu__seq_and_##w(void *base, type value)                            \
	{                                                                                          \
		(void)base, (void)value;                                                           \
		return false;                                                                      \
	}                                                                                          \
	PERCPU__INLINE bool percpu__seq_or_##w(void *base, type value)                             \
	{                                                                                          \
		(void)base, (void)value;                                                           \
		return false;                                                                      \
	}                                                                                          \
	PERCPU__INLINE int percpu__seq_add_return_##w(void *base, type value, type *sum,           \
						      uint32_t *slot)                              \
	{                                                                                          \
		(void)base, (void)value, (void)sum, (void)slot;                                    \
		return PERCPU__UNAVAILABLE;                                                        \
	}                                                                                          \
	PERCPU__INLINE int percpu__seq_xchg_##w(void *base, type value, type *previous,            \
						uint32_t *slot)                                    \
	{                                                                                          \
		(void)base, (void)value, (void)previous, (void)slot;                               \
		return PERCPU__UNAVAILABLE;                                                        \
	}                                                                                          \
	PERCPU__INLINE int percpu__seq_cmpxchg_##w(void *base, type expect, type value,            \
						   type *previous, uint32_t *slot)                 \
	{                                                                                          \
		(void)base, (void)expect, (void)value, (void)previous, (void)slot;                 \
		return PERCPU__UNAVAILABLE;                                                        \
	}                                                                                          \
	PERCPU__INLINE int percpu__seq_cmpxchg2_##w(void *base, type expect, type value,           \
						    void *base2, type expect2, uint32_t *slot)     \
	{                                                                                          \
		(void)base, (void)expect, (void)value, (void)base2, (void)expect2, (void)slot;     \
		return PERCPU__UNAVAILABLE;                                                        \
	}

PERCPU__DEFINE_SEQUENCES(1, uint8_t)
PERCPU__DEFINE_SEQUENCES(2, uint16_t)
PERCPU__DEFINE_SEQUENCES(4, uint32_t)
PERCPU__DEFINE_SEQUENCES(8, uint64_t)
#undef PERCPU__DEFINE_SEQUENCES

PERCPU__INLINE bool percpu__seq_add_handle_8(void *const *cells, int64_t value)
{
	(void)cells, (void)value;
	return false;
}

PERCPU__INLINE bool percpu__seq_event_add_8(const struct percpu__handle *handle, int64_t value)
{
	(void)handle, (void)value;
	return false;
}

PERCPU__INLINE int percpu__seq_list_pop(const struct percpu__handle *handle, void **node)
{
	(void)handle, (void)node;
	return PERCPU__UNAVAILABLE;
}

PERCPU__INLINE int percpu__seq_list_push(const struct percpu__handle *handle, void *first,
					 void *last)
{
	(void)handle, (void)first, (void)last;
	return PERCPU__UNAVAILABLE;
}

PERCPU__INLINE int percpu__seq_list_take(const struct percpu__handle *handle, void **first)
{
	(void)handle, (void)first;
	return PERCPU__UNAVAILABLE;
}

PERCPU__INLINE int percpu__seq_stack_pop(const struct percpu__handle *handle, void **item,
					 uintptr_t *next)
{
	(void)handle, (void)item, (void)next;
	return PERCPU__UNAVAILABLE;
}

PERCPU__INLINE int percpu__seq_stack_push(const struct percpu__handle *handle, void *item,
					  uintptr_t *next)
{
	(void)handle, (void)item, (void)next;
	return PERCPU__UNAVAILABLE;
}

PERCPU__INLINE int percpu__seq_values_push(const struct percpu__handle *handle, const void *source,
					   size_t size, size_t room, uintptr_t *next)
{
	(void)handle, (void)source, (void)size, (void)room, (void)next;
	return PERCPU__UNAVAILABLE;
}

PERCPU__INLINE int percpu__seq_values_pop(const struct percpu__handle *handle, void *target,
					  size_t size, size_t room, uintptr_t *next)
{
	(void)handle, (void)target, (void)size, (void)room, (void)next;
	return PERCPU__UNAVAILABLE;
}

PERCPU__INLINE int percpu__seq_lock(void *const *words, uintptr_t me)
{
	(void)words, (void)me;
	return PERCPU__UNAVAILABLE;
}

#endif

#ifdef __cplusplus
}
#endif

#endif

/* SPDX-License-Identifier: MIT */
/*
 * local_t for user space: operations on data that one thread owns and its signal handlers change
 * too. The kernel's local_t is owned by a CPU and interrupted by its handlers; here the owner is a
 * thread and the interrupts are its signals.
 *
 * There are two jobs, and no way of doing them is best for both on every CPU, so there are two
 * families, each with its way chosen per CPU at compile time:
 *
 *	counter   only counts: inc, dec, add, sub, read. Need not be one step; may be several values
 *	          that the reader adds up.
 *	atomic    returns values, compares and exchanges; safe in any handler at any depth.
 *
 *	way       family   contexts that may call it                 depth   cost on x86
 *	local     both     thread, any handler, SIGSEGV and the like any     one unlocked instruction
 *	atomic    both     the same, and other threads may write too any     one locked instruction
 *	softmask  both     thread, wrapped handlers                  any     3 loads and stores, a test
 *	trivalue  counter  thread, wrapped handlers                  2       one load, one add
 *	twovalue  counter  thread, wrapped handlers                  1       one load, one add
 *	sigmask   both     thread, handlers of signals it can block  any     two system calls
 *
 * A wrapped handler is one installed with percpu_sigaction(), or one whose body stands between
 * PERCPU_HANDLER_ENTER() and PERCPU_HANDLER_LEAVE() (trivalue and twovalue only). Synchronous
 * signals (SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP raised by the code itself) are what NMIs are to
 * the kernel: they cannot be held off, so sigmask, softmask, trivalue and twovalue must not be used
 * in their handlers on data that the interrupted code uses.
 *
 * Promises: each operation is atomic against the contexts in its way's row. Narrow operations never
 * touch neighbouring bytes. Any thread may read at any time (each value is read whole; of several
 * values the sum may be one that never was). Does not promise: anything about writes by another
 * thread, except for the atomic way.
 *
 *	call                       owner thread   its handlers      other thread    after fork
 *	percpu_local_*_read        yes            yes               yes             yes, child's copy
 *	other percpu_local_*       yes            as the way says   atomic way only yes
 *	percpu_cpu_local_*         any thread     yes               yes             yes
 *
 * type is a fundamental type: integers of 8, 16, 32 and (on 64-bit CPUs) 64 bits; for read, set,
 * xchg and cmpxchg of the atomic family also pointers. What this CPU cannot do in one step is a
 * compile-time error (doc/local.md has the table). addr is the address of a variable that
 * PERCPU_DECLARE_LOCAL_COUNTER or PERCPU_DECLARE_LOCAL_ATOMIC declared with that type; every
 * argument is evaluated once.
 *
 * Before including, a program may define
 *	PERCPU_LOCAL_COUNTER_WAY   local, atomic, softmask, trivalue, twovalue or sigmask
 *	PERCPU_LOCAL_ATOMIC_WAY    local, atomic, softmask or sigmask
 *	PERCPU_LOCAL_SHORT_NAMES   to use the names without the prefix: local_counter_inc(...)
 */
#ifndef PERCPU_LOCAL_H
#define PERCPU_LOCAL_H

#include <percpu/this_cpu.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What this CPU does best when nothing is said; `percpu bench local` verifies it. */
#if !defined(PERCPU_LOCAL_COUNTER_WAY)
#if ARCH_HAVE_LOCAL
#define PERCPU_LOCAL_COUNTER_WAY local
#else
#define PERCPU_LOCAL_COUNTER_WAY atomic
#endif
#endif
#if !defined(PERCPU_LOCAL_ATOMIC_WAY)
#if ARCH_HAVE_LOCAL
#define PERCPU_LOCAL_ATOMIC_WAY local
#else
#define PERCPU_LOCAL_ATOMIC_WAY atomic
#endif
#endif

#if !ARCH_HAVE_LOCAL
/* A way that this CPU does not have; named only where somebody asks for it. */
#define PERCPU__VALUES_local percpu__this_cpu_has_no_way_local
#define PERCPU__RETURNS_local percpu__this_cpu_has_no_way_local
#endif

/* 1 for a way that is safe in any handler, synchronous ones included. */
#define PERCPU__LOCAL_SAFE_local 1
#define PERCPU__LOCAL_SAFE_atomic 1
#define PERCPU__LOCAL_SAFE_softmask 0
#define PERCPU__LOCAL_SAFE_trivalue 0
#define PERCPU__LOCAL_SAFE_twovalue 0
#define PERCPU__LOCAL_SAFE_sigmask 0
#define PERCPU__PASTE2(a, b) a##b
#define PERCPU__PASTE(a, b) PERCPU__PASTE2(a, b)
/* The default of each family, known to the preprocessor. */
#define PERCPU_LOCAL_COUNTER_SAFE_ANYWHERE                                                         \
	PERCPU__PASTE(PERCPU__LOCAL_SAFE_, PERCPU_LOCAL_COUNTER_WAY)
#define PERCPU_LOCAL_ATOMIC_SAFE_ANYWHERE                                                          \
	PERCPU__PASTE(PERCPU__LOCAL_SAFE_, PERCPU_LOCAL_ATOMIC_WAY)

/*
 * Handlers.
 *
 * percpu_sigaction() is sigaction(2) for handlers that may use softmask, trivalue or twovalue: it
 * counts how deep handlers are nested in this thread, and a signal that arrives under a soft mask,
 * or deeper than PERCPU_HANDLER_DEPTH, is queued again to the thread and blocked until the mask is
 * lifted or the handler above returns. Flags, masks and siginfo are as with sigaction(2), but of
 * several instances of one signal that are pending when the first is put off, the first comes last.
 * Do not change what is blocked while a soft mask is held. 0 or -errno. A handler may not be left
 * by siglongjmp(); debug builds stop at the next signal then.
 */
#define PERCPU_HANDLER_DEPTH 2
struct sigaction;
int percpu_sigaction(int signal, const struct sigaction *action, struct sigaction *old);

struct percpu__context {
	unsigned depth;   /* handlers on this thread's stack */
	unsigned mask;    /* soft masks held */
	unsigned waiting; /* a signal was put off */
};
extern __thread struct percpu__context percpu__context __attribute__((tls_model("initial-exec")));

void percpu__signals_resume(void);

/* Between these a wrapped handler of this thread does not run; may be nested. Whatever stands in
 * between stays there. */
PERCPU__INLINE void percpu_soft_mask(void)
{
	volatile unsigned *mask = &percpu__context.mask;
	*mask = *mask + 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

PERCPU__INLINE void percpu_soft_unmask(void)
{
	volatile unsigned *mask = &percpu__context.mask;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*mask = *mask - 1;
	if (__builtin_expect(*(volatile unsigned *)&percpu__context.waiting != 0, 0))
		percpu__signals_resume();
}

/* For a handler that is installed by other means: first and last statement of it. */
#define PERCPU_HANDLER_ENTER() percpu__handler_depth(1)
#define PERCPU_HANDLER_LEAVE() percpu__handler_depth(-1)
PERCPU__INLINE void percpu__handler_depth(int change)
{
	volatile unsigned *depth = &percpu__context.depth;
	*depth = *depth + (unsigned)change;
}

/* As in percpu/this_cpu.h: branches for other sizes, without optimisation. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#endif

/* Plain operations, not atomic against anything: what the masking ways protect. */
PERCPU__INLINE percpu__word percpu__plain_add_return(void *p, percpu__word value, size_t size)
{
	percpu__word sum = percpu__load_word(p, size) + value;
	percpu__store_word(p, sum, size);
	return sum;
}

PERCPU__INLINE percpu__word percpu__plain_xchg(void *p, percpu__word value, size_t size)
{
	percpu__word previous = percpu__load_word(p, size);
	percpu__store_word(p, value, size);
	return previous;
}

PERCPU__INLINE percpu__word percpu__plain_cmpxchg(void *p, percpu__word expect, percpu__word value,
						  size_t size)
{
	percpu__word previous = percpu__load_word(p, size);
	if (previous == expect)
		percpu__store_word(p, value, size);
	return previous;
}

/* The way `atomic`: relaxed, because the data has one owner. */
#define PERCPU__ATOMIC_CASES(statement)                                                            \
	switch (size) {                                                                            \
	case 1:                                                                                    \
		statement(uint8_t);                                                                \
	case 2:                                                                                    \
		statement(uint16_t);                                                               \
	case 4:                                                                                    \
		statement(uint32_t);                                                               \
	default:                                                                                   \
		statement(percpu__word);                                                           \
	}

PERCPU__INLINE percpu__word percpu__atomic_add_return(void *p, percpu__word value, size_t size){
#define PERCPU__STATEMENT(type)                                                                    \
	return (type)__atomic_add_fetch((type *)p, (type)value, __ATOMIC_RELAXED)
	PERCPU__ATOMIC_CASES(PERCPU__STATEMENT)
#undef PERCPU__STATEMENT
}

PERCPU__INLINE void percpu__atomic_add(void *p, percpu__word value, size_t size)
{
	(void)percpu__atomic_add_return(p, value, size);
}

PERCPU__INLINE percpu__word percpu__atomic_xchg(void *p, percpu__word value, size_t size){
#define PERCPU__STATEMENT(type)                                                                    \
	return (type)__atomic_exchange_n((type *)p, (type)value, __ATOMIC_RELAXED)
	PERCPU__ATOMIC_CASES(PERCPU__STATEMENT)
#undef PERCPU__STATEMENT
}

PERCPU__INLINE percpu__word
	percpu__atomic_cmpxchg(void *p, percpu__word expect, percpu__word value, size_t size)
{
#define PERCPU__STATEMENT(type)                                                                    \
	do {                                                                                       \
		type seen_ = (type)expect;                                                         \
		(void)__atomic_compare_exchange_n((type *)p, &seen_, (type)value, false,           \
						  __ATOMIC_RELAXED, __ATOMIC_RELAXED);             \
		return seen_;                                                                      \
	} while (0)
	PERCPU__ATOMIC_CASES(PERCPU__STATEMENT)
#undef PERCPU__STATEMENT
}

/* The way `local`: unlocked instructions of arch/<cpu>.h, where a CPU has them. */
#if ARCH_HAVE_LOCAL
PERCPU__INLINE void percpu__local_add(void *p, percpu__word value, size_t size)
{
#define PERCPU__STATEMENT(type)                                                                    \
	ARCH_LOCAL_ADD((type *)p, (type)value);                                                    \
	break
	PERCPU__ATOMIC_CASES(PERCPU__STATEMENT)
#undef PERCPU__STATEMENT
}

PERCPU__INLINE percpu__word percpu__local_add_return(void *p, percpu__word value, size_t size)
{
#define PERCPU__STATEMENT(type)                                                                    \
	do {                                                                                       \
		type before_ = (type)value;                                                        \
		ARCH_LOCAL_XADD((type *)p, before_);                                               \
		return (type)(before_ + (type)value);                                              \
	} while (0)
	PERCPU__ATOMIC_CASES(PERCPU__STATEMENT)
#undef PERCPU__STATEMENT
}

PERCPU__INLINE percpu__word percpu__local_cmpxchg(void *p, percpu__word expect, percpu__word value,
						  size_t size)
{
#define PERCPU__STATEMENT(type)                                                                    \
	do {                                                                                       \
		type seen_ = (type)expect;                                                         \
		ARCH_LOCAL_CMPXCHG((type *)p, seen_, (type)value);                                 \
		return seen_;                                                                      \
	} while (0)
	PERCPU__ATOMIC_CASES(PERCPU__STATEMENT)
#undef PERCPU__STATEMENT
}

/* By compare-exchange: the exchange instruction is locked whether one asks for it or not. */
PERCPU__INLINE percpu__word percpu__local_xchg(void *p, percpu__word value, size_t size)
{
	percpu__word seen = percpu__load_word(p, size);

	for (;;) {
		percpu__word previous = percpu__local_cmpxchg(p, seen, value, size);

		if (previous == seen)
			return seen;
		seen = previous;
	}
}
#endif
#undef PERCPU__ATOMIC_CASES
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

/* The masking ways: a plain operation with handlers held off. */
PERCPU__INLINE void percpu__sigmask_begin(struct percpu__sigset *before)
{
	percpu__signals_hold(before);
}

PERCPU__INLINE void percpu__sigmask_end(const struct percpu__sigset *before)
{
	percpu__signals_release(before);
}

PERCPU__INLINE void percpu__softmask_begin(struct percpu__sigset *unused)
{
	(void)unused;
	percpu_soft_mask();
}

PERCPU__INLINE void percpu__softmask_end(const struct percpu__sigset *unused)
{
	(void)unused;
	percpu_soft_unmask();
}

#define PERCPU__DEFINE_MASKED(way)                                                                 \
	PERCPU__INLINE percpu__word percpu__##way##_add_return(void *p, percpu__word value,        \
							       size_t size)                        \
	{                                                                                          \
		percpu__word sum;                                                                  \
		struct percpu__sigset saved;                                                       \
		percpu__##way##_begin(&saved);                                                     \
		sum = percpu__plain_add_return(p, value, size);                                    \
		percpu__##way##_end(&saved);                                                       \
		return sum;                                                                        \
	}                                                                                          \
	PERCPU__INLINE void percpu__##way##_add(void *p, percpu__word value, size_t size)          \
	{                                                                                          \
		(void)percpu__##way##_add_return(p, value, size);                                  \
	}                                                                                          \
	PERCPU__INLINE percpu__word percpu__##way##_xchg(void *p, percpu__word value, size_t size) \
	{                                                                                          \
		percpu__word previous;                                                             \
		struct percpu__sigset saved;                                                       \
		percpu__##way##_begin(&saved);                                                     \
		previous = percpu__plain_xchg(p, value, size);                                     \
		percpu__##way##_end(&saved);                                                       \
		return previous;                                                                   \
	}                                                                                          \
	PERCPU__INLINE percpu__word percpu__##way##_cmpxchg(void *p, percpu__word expect,          \
							    percpu__word value, size_t size)       \
	{                                                                                          \
		percpu__word previous;                                                             \
		struct percpu__sigset saved;                                                       \
		percpu__##way##_begin(&saved);                                                     \
		previous = percpu__plain_cmpxchg(p, expect, value, size);                          \
		percpu__##way##_end(&saved);                                                       \
		return previous;                                                                   \
	}

PERCPU__DEFINE_MASKED(sigmask)
PERCPU__DEFINE_MASKED(softmask)
#undef PERCPU__DEFINE_MASKED

/* trivalue and twovalue: each context adds to a value of its own, chosen by its depth. A plain
 * addition will do: nobody at the same depth can come in between. */
PERCPU__INLINE void percpu__values_add(void *p, percpu__word value, size_t size, unsigned values)
{
	unsigned depth = *(volatile unsigned *)&percpu__context.depth;

#if defined(PERCPU_DEBUG)
	if (depth >= values)
		__builtin_trap(); /* a context that this way has no value for */
#endif
	if (depth >= values)
		depth = values - 1;
	(void)percpu__plain_add_return((char *)p + depth * size, value, size);
}

PERCPU__INLINE void percpu__trivalue_add(void *p, percpu__word value, size_t size)
{
	percpu__values_add(p, value, size, 3);
}

PERCPU__INLINE void percpu__twovalue_add(void *p, percpu__word value, size_t size)
{
	percpu__values_add(p, value, size, 2);
}

PERCPU__INLINE percpu__word percpu__values_read(const void *p, size_t size, unsigned values)
{
	percpu__word sum = 0;

	for (unsigned i = 0; i < values; i++)
		sum += percpu__load_word((const char *)p + i * size, size);
	return sum;
}

#if ARCH_HAVE_LOCAL
#define PERCPU__VALUES_local 1
#endif
#define PERCPU__VALUES_atomic 1
#define PERCPU__VALUES_softmask 1
#define PERCPU__VALUES_sigmask 1
#define PERCPU__VALUES_trivalue 3
#define PERCPU__VALUES_twovalue 2

/* Ways that return values. Any other here is a compile-time error: PERCPU__RETURNS_trivalue. */
#if ARCH_HAVE_LOCAL
#define PERCPU__RETURNS_local local
#endif
#define PERCPU__RETURNS_atomic atomic
#define PERCPU__RETURNS_softmask softmask
#define PERCPU__RETURNS_sigmask sigmask

/*
 * The operations with the way as an argument: PERCPU__L(way, op). Tests and benches use all ways
 * in one program; programs use the names below with the way of their family.
 */
#define PERCPU__L(way, op) PERCPU__PASTE(PERCPU__PASTE(percpu__, way), PERCPU__PASTE(_, op))

#define PERCPU__LOCAL_CHECK_SIZE(type)                                                             \
	PERCPU__STATIC_ASSERT(sizeof(type) == 1 || sizeof(type) == 2 || sizeof(type) == 4 ||       \
				      sizeof(type) == PERCPU__WORD_MAX,                            \
			      "percpu: this CPU cannot do that type in one step")
#define PERCPU__LOCAL_CHECK_CLASS(type, last, text)                                                \
	PERCPU__STATIC_ASSERT(__builtin_classify_type((type)0) >= 1 &&                             \
				      __builtin_classify_type((type)0) <= (last),                  \
			      text)
#define PERCPU__LOCAL_CHECK_WORD(type)                                                             \
	PERCPU__LOCAL_CHECK_SIZE(type);                                                            \
	PERCPU__LOCAL_CHECK_CLASS(type, 5, "percpu: the type must be an integer or a pointer")
#define PERCPU__LOCAL_CHECK_INTEGER(type)                                                          \
	PERCPU__LOCAL_CHECK_SIZE(type);                                                            \
	PERCPU__LOCAL_CHECK_CLASS(type, 4, "percpu: the type must be an integer");                 \
	PERCPU__STATIC_ASSERT((type)2 != (type)1, "percpu: nothing can be added to a bool")

#ifdef __cplusplus
#define PERCPU__SAME_TYPE(a, b) std::is_same<std::remove_cv<a>::type, b>::value
#else
#define PERCPU__SAME_TYPE(a, b) __builtin_types_compatible_p(a, b)
#endif
#define PERCPU__LOCAL_CHECK_ADDR(type, addr)                                                       \
	PERCPU__STATIC_ASSERT((PERCPU__SAME_TYPE(__typeof__((addr)->value[0]), __typeof__(type))), \
			      "percpu: the variable was declared with another type")

#define PERCPU__LOCAL_DECLARE(way, type, name)                                                     \
	struct {                                                                                   \
		__typeof__(type) value[PERCPU__PASTE(PERCPU__VALUES_, way)];                       \
	} name

#define PERCPU__LOCAL_ADD(way, type, addr, n)                                                      \
	__extension__({                                                                            \
		PERCPU__LOCAL_CHECK_INTEGER(type);                                                 \
		PERCPU__LOCAL_CHECK_ADDR(type, addr);                                              \
		__typeof__(type) local_n_ = (__typeof__(type))(n);                                 \
		PERCPU__L(way, add)                                                                \
		((addr)->value, percpu__to_word(&local_n_, sizeof(local_n_)), sizeof(local_n_));   \
	})
#define PERCPU__LOCAL_READ(way, type, addr)                                                        \
	__extension__({                                                                            \
		PERCPU__LOCAL_CHECK_WORD(type);                                                    \
		PERCPU__LOCAL_CHECK_ADDR(type, addr);                                              \
		__typeof__(type) local_v_;                                                         \
		percpu__from_word(&local_v_,                                                       \
				  percpu__values_read((addr)->value, sizeof(local_v_),             \
						      PERCPU__PASTE(PERCPU__VALUES_, way)),        \
				  sizeof(local_v_));                                               \
		local_v_;                                                                          \
	})
#define PERCPU__LOCAL_ADD_RETURN(way, type, addr, n)                                               \
	__extension__({                                                                            \
		PERCPU__LOCAL_CHECK_INTEGER(type);                                                 \
		PERCPU__LOCAL_CHECK_ADDR(type, addr);                                              \
		__typeof__(type) local_n_ = (__typeof__(type))(n);                                 \
		percpu__from_word(&local_n_,                                                       \
				  PERCPU__L(PERCPU__PASTE(PERCPU__RETURNS_, way), add_return)(     \
					  (addr)->value,                                           \
					  percpu__to_word(&local_n_, sizeof(local_n_)),            \
					  sizeof(local_n_)),                                       \
				  sizeof(local_n_));                                               \
		local_n_;                                                                          \
	})
#define PERCPU__LOCAL_XCHG(way, type, addr, v)                                                     \
	__extension__({                                                                            \
		PERCPU__LOCAL_CHECK_WORD(type);                                                    \
		PERCPU__LOCAL_CHECK_ADDR(type, addr);                                              \
		__typeof__(type) local_v_ = (v);                                                   \
		percpu__from_word(&local_v_,                                                       \
				  PERCPU__L(PERCPU__PASTE(PERCPU__RETURNS_, way),                  \
					    xchg)((addr)->value,                                   \
						  percpu__to_word(&local_v_, sizeof(local_v_)),    \
						  sizeof(local_v_)),                               \
				  sizeof(local_v_));                                               \
		local_v_;                                                                          \
	})
#define PERCPU__LOCAL_CMPXCHG(way, type, addr, old, new_)                                          \
	__extension__({                                                                            \
		PERCPU__LOCAL_CHECK_WORD(type);                                                    \
		PERCPU__LOCAL_CHECK_ADDR(type, addr);                                              \
		__typeof__(type) local_old_ = (old), local_v_ = (new_);                            \
		percpu__from_word(                                                                 \
			&local_v_,                                                                 \
			PERCPU__L(PERCPU__PASTE(PERCPU__RETURNS_, way), cmpxchg)(                  \
				(addr)->value, percpu__to_word(&local_old_, sizeof(local_old_)),   \
				percpu__to_word(&local_v_, sizeof(local_v_)), sizeof(local_v_)),   \
			sizeof(local_v_));                                                         \
		local_v_;                                                                          \
	})
/* Adds n unless the value is `unless`; true when it did. */
#define PERCPU__LOCAL_ADD_UNLESS(way, type, addr, n, unless)                                       \
	__extension__({                                                                            \
		PERCPU__LOCAL_CHECK_INTEGER(type);                                                 \
		__typeof__(&*(addr)) local_p_ = (addr);                                            \
		__typeof__(type) local_add_ = (__typeof__(type))(n);                               \
		__typeof__(type) local_not_ = (__typeof__(type))(unless);                          \
		__typeof__(type) local_seen_ = PERCPU__LOCAL_READ(way, type, local_p_);            \
		__typeof__(type) local_was_ = local_not_;                                          \
		while (local_seen_ != local_not_) {                                                \
			local_was_ = PERCPU__LOCAL_CMPXCHG(                                        \
				way, type, local_p_, local_seen_,                                  \
				(__typeof__(type))((uint64_t)local_seen_ + (uint64_t)local_add_)); \
			if (local_was_ == local_seen_)                                             \
				break;                                                             \
			local_seen_ = local_was_;                                                  \
		}                                                                                  \
		local_seen_ != local_not_;                                                         \
	})

/* The counter family. */
#define PERCPU_DECLARE_LOCAL_COUNTER(type, name)                                                   \
	PERCPU__LOCAL_DECLARE(PERCPU_LOCAL_COUNTER_WAY, type, name)
#define percpu_local_counter_add(type, addr, n)                                                    \
	PERCPU__LOCAL_ADD(PERCPU_LOCAL_COUNTER_WAY, type, addr, n)
#define percpu_local_counter_sub(type, addr, n)                                                    \
	PERCPU__LOCAL_ADD(PERCPU_LOCAL_COUNTER_WAY, type, addr, 0 - (uint64_t)(__typeof__(type))(n))
#define percpu_local_counter_inc(type, addr) percpu_local_counter_add(type, addr, 1)
#define percpu_local_counter_dec(type, addr) percpu_local_counter_add(type, addr, -1)
#define percpu_local_counter_read(type, addr)                                                      \
	PERCPU__LOCAL_READ(PERCPU_LOCAL_COUNTER_WAY, type, addr)

/* The atomic family. The value returned by add_return and its kin is the new one; by xchg and
 * cmpxchg the previous one; the test forms return whether the new value is 0 (or below 0). */
#define PERCPU_DECLARE_LOCAL_ATOMIC(type, name)                                                    \
	PERCPU__LOCAL_DECLARE(PERCPU__PASTE(PERCPU__RETURNS_, PERCPU_LOCAL_ATOMIC_WAY), type, name)
#define percpu_local_atomic_read(type, addr) PERCPU__LOCAL_READ(PERCPU_LOCAL_ATOMIC_WAY, type, addr)
#define percpu_local_atomic_xchg(type, addr, v)                                                    \
	PERCPU__LOCAL_XCHG(PERCPU_LOCAL_ATOMIC_WAY, type, addr, v)
#define percpu_local_atomic_set(type, addr, v)                                                     \
	__extension__({                                                                            \
		PERCPU__LOCAL_CHECK_WORD(type);                                                    \
		PERCPU__LOCAL_CHECK_ADDR(type, addr);                                              \
		__typeof__(type) local_v_ = (v);                                                   \
		percpu__store_word((addr)->value, percpu__to_word(&local_v_, sizeof(local_v_)),    \
				   sizeof(local_v_));                                              \
	})
#define percpu_local_atomic_cmpxchg(type, addr, old, new_)                                         \
	PERCPU__LOCAL_CMPXCHG(PERCPU_LOCAL_ATOMIC_WAY, type, addr, old, new_)
#define percpu_local_atomic_add(type, addr, n)                                                     \
	PERCPU__LOCAL_ADD(PERCPU_LOCAL_ATOMIC_WAY, type, addr, n)
#define percpu_local_atomic_sub(type, addr, n)                                                     \
	PERCPU__LOCAL_ADD(PERCPU_LOCAL_ATOMIC_WAY, type, addr, 0 - (uint64_t)(__typeof__(type))(n))
#define percpu_local_atomic_inc(type, addr) percpu_local_atomic_add(type, addr, 1)
#define percpu_local_atomic_dec(type, addr) percpu_local_atomic_add(type, addr, -1)
#define percpu_local_atomic_add_return(type, addr, n)                                              \
	PERCPU__LOCAL_ADD_RETURN(PERCPU_LOCAL_ATOMIC_WAY, type, addr, n)
#define percpu_local_atomic_sub_return(type, addr, n)                                              \
	percpu_local_atomic_add_return(type, addr, 0 - (uint64_t)(__typeof__(type))(n))
#define percpu_local_atomic_inc_return(type, addr) percpu_local_atomic_add_return(type, addr, 1)
#define percpu_local_atomic_dec_return(type, addr) percpu_local_atomic_add_return(type, addr, -1)
#define percpu_local_atomic_add_unless(type, addr, n, unless)                                      \
	PERCPU__LOCAL_ADD_UNLESS(PERCPU_LOCAL_ATOMIC_WAY, type, addr, n, unless)
#define percpu_local_atomic_inc_not_zero(type, addr)                                               \
	percpu_local_atomic_add_unless(type, addr, 1, 0)
#define percpu_local_atomic_sub_and_test(type, addr, n)                                            \
	(percpu_local_atomic_sub_return(type, addr, n) == 0)
#define percpu_local_atomic_dec_and_test(type, addr)                                               \
	(percpu_local_atomic_dec_return(type, addr) == 0)
#define percpu_local_atomic_inc_and_test(type, addr)                                               \
	(percpu_local_atomic_inc_return(type, addr) == 0)
#define percpu_local_atomic_add_negative(type, addr, n)                                            \
	(percpu_local_atomic_add_return(type, addr, n) < 0)

/*
 * Per-CPU forms, on words in percpu memory (percpu/this_cpu.h): p as there. The raw twins are plain
 * loads and stores of the current CPU's copy, for code that is alone on its CPU, handlers included.
 */
#define percpu_cpu_local_read(p) percpu_this_read(p)
#define percpu_cpu_local_set(p, v) percpu_this_write(p, v)
#define percpu_cpu_local_inc(p) percpu_this_inc(p)
#define percpu_cpu_local_dec(p) percpu_this_dec(p)
#define percpu_cpu_local_add(p, n) percpu_this_add(p, n)
#define percpu_cpu_local_sub(p, n) percpu_this_sub(p, n)

/* The copy of the CPU that the thread is on, or of slot 0 when nobody knows. */
PERCPU__INLINE void *percpu__here(const void *p)
{
	uint32_t cpu = (uint32_t)percpu_cpu_raw();

	return percpu__slot(p, cpu < percpu_ncpus() ? cpu : 0);
}

#define PERCPU__HERE(p) ((__typeof__(&*(p)))percpu__here(p))
#define percpu_cpu_local_read_raw(p) (*(volatile __typeof__(*(p)) *)PERCPU__HERE(p))
#define percpu_cpu_local_set_raw(p, v) ((void)(*(volatile __typeof__(*(p)) *)PERCPU__HERE(p) = (v)))
#define percpu_cpu_local_add_raw(p, n)                                                             \
	__extension__({                                                                            \
		volatile __typeof__(*(p)) *local_p_ = PERCPU__HERE(p);                             \
		*local_p_ = (__typeof__(*(p)))((uint64_t)*local_p_ + (uint64_t)(n));               \
		(void)0;                                                                           \
	})
#define percpu_cpu_local_sub_raw(p, n)                                                             \
	__extension__({                                                                            \
		volatile __typeof__(*(p)) *local_p_ = PERCPU__HERE(p);                             \
		*local_p_ = (__typeof__(*(p)))((uint64_t)*local_p_ - (uint64_t)(n));               \
		(void)0;                                                                           \
	})
#define percpu_cpu_local_inc_raw(p) percpu_cpu_local_add_raw(p, 1)
#define percpu_cpu_local_dec_raw(p) percpu_cpu_local_sub_raw(p, 1)

#if defined(PERCPU_LOCAL_SHORT_NAMES)
#define DECLARE_LOCAL_COUNTER PERCPU_DECLARE_LOCAL_COUNTER
#define local_counter_add percpu_local_counter_add
#define local_counter_sub percpu_local_counter_sub
#define local_counter_inc percpu_local_counter_inc
#define local_counter_dec percpu_local_counter_dec
#define local_counter_read percpu_local_counter_read
#define DECLARE_LOCAL_ATOMIC PERCPU_DECLARE_LOCAL_ATOMIC
#define local_atomic_read percpu_local_atomic_read
#define local_atomic_set percpu_local_atomic_set
#define local_atomic_xchg percpu_local_atomic_xchg
#define local_atomic_cmpxchg percpu_local_atomic_cmpxchg
#define local_atomic_add percpu_local_atomic_add
#define local_atomic_sub percpu_local_atomic_sub
#define local_atomic_inc percpu_local_atomic_inc
#define local_atomic_dec percpu_local_atomic_dec
#define local_atomic_add_return percpu_local_atomic_add_return
#define local_atomic_sub_return percpu_local_atomic_sub_return
#define local_atomic_inc_return percpu_local_atomic_inc_return
#define local_atomic_dec_return percpu_local_atomic_dec_return
#define local_atomic_add_unless percpu_local_atomic_add_unless
#define local_atomic_inc_not_zero percpu_local_atomic_inc_not_zero
#define local_atomic_sub_and_test percpu_local_atomic_sub_and_test
#define local_atomic_dec_and_test percpu_local_atomic_dec_and_test
#define local_atomic_inc_and_test percpu_local_atomic_inc_and_test
#define local_atomic_add_negative percpu_local_atomic_add_negative
#define cpu_local_read percpu_cpu_local_read
#define cpu_local_set percpu_cpu_local_set
#define cpu_local_inc percpu_cpu_local_inc
#define cpu_local_dec percpu_cpu_local_dec
#define cpu_local_add percpu_cpu_local_add
#define cpu_local_sub percpu_cpu_local_sub
#define __cpu_local_read percpu_cpu_local_read_raw
#define __cpu_local_set percpu_cpu_local_set_raw
#define __cpu_local_inc percpu_cpu_local_inc_raw
#define __cpu_local_dec percpu_cpu_local_dec_raw
#define __cpu_local_add percpu_cpu_local_add_raw
#define __cpu_local_sub percpu_cpu_local_sub_raw
#endif

#ifdef __cplusplus
}
#endif

#endif

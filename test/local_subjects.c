/* SPDX-License-Identifier: MIT */
#include "local_subjects.h"

#include <string.h>

#include <percpu/percpu.h>

/* ---- The ways ---- */

static inline void percpu__plain_add(void *p, percpu__word value, size_t size)
{
	(void)percpu__plain_add_return(p, value, size);
}
#define PERCPU__VALUES_plain 1
#define PERCPU__RETURNS_plain plain

#define NOINLINE static __attribute__((noinline))
#define TYPE(b) uint##b##_t
#define VARIABLE(w, b) PERCPU__LOCAL_DECLARE(w, TYPE(b), *name) = (void *)variable

#define COUNTER(w, b)                                                                              \
	NOINLINE uint64_t read_##w##_##b(void *variable)                                           \
	{                                                                                          \
		VARIABLE(w, b);                                                                    \
		return PERCPU__LOCAL_READ(w, TYPE(b), name);                                       \
	}                                                                                          \
	NOINLINE void add_##w##_##b(void *variable, uint64_t n)                                    \
	{                                                                                          \
		VARIABLE(w, b);                                                                    \
		PERCPU__LOCAL_ADD(w, TYPE(b), name, n);                                            \
	}

#define ATOMIC(w, b)                                                                               \
	COUNTER(w, b)                                                                              \
	NOINLINE uint64_t add_return_##w##_##b(void *variable, uint64_t n)                         \
	{                                                                                          \
		VARIABLE(w, b);                                                                    \
		return PERCPU__LOCAL_ADD_RETURN(w, TYPE(b), name, n);                              \
	}                                                                                          \
	NOINLINE uint64_t xchg_##w##_##b(void *variable, uint64_t value)                           \
	{                                                                                          \
		VARIABLE(w, b);                                                                    \
		return PERCPU__LOCAL_XCHG(w, TYPE(b), name, (TYPE(b))value);                       \
	}                                                                                          \
	NOINLINE uint64_t cmpxchg_##w##_##b(void *variable, uint64_t old, uint64_t value)          \
	{                                                                                          \
		VARIABLE(w, b);                                                                    \
		return PERCPU__LOCAL_CMPXCHG(w, TYPE(b), name, (TYPE(b))old, (TYPE(b))value);      \
	}                                                                                          \
	NOINLINE bool add_unless_##w##_##b(void *variable, uint64_t n, uint64_t unless)            \
	{                                                                                          \
		VARIABLE(w, b);                                                                    \
		return PERCPU__LOCAL_ADD_UNLESS(w, TYPE(b), name, n, unless);                      \
	}

#define COUNTER_FIELDS(w, b)                                                                       \
	.way = #w, .bits = (b), .size = (b) / 8 * PERCPU__VALUES_##w, .read = read_##w##_##b,      \
	.add = add_##w##_##b
#define COUNTER_ROW(w, b) {COUNTER_FIELDS(w, b)},
#define ATOMIC_ROW(w, b)                                                                           \
	{COUNTER_FIELDS(w, b),                                                                     \
	 .returns = true,                                                                          \
	 .add_return = add_return_##w##_##b,                                                       \
	 .xchg = xchg_##w##_##b,                                                                   \
	 .cmpxchg = cmpxchg_##w##_##b,                                                             \
	 .add_unless = add_unless_##w##_##b},

#if PERCPU__WORD_MAX == 8
#define EACH_WIDTH(what, w) what(w, 8) what(w, 16) what(w, 32) what(w, 64)
#else
#define EACH_WIDTH(what, w) what(w, 8) what(w, 16) what(w, 32)
#endif
#if ARCH_HAVE_LOCAL
#define LOCAL(what) EACH_WIDTH(what, local)
#else
#define LOCAL(what)
#endif

/* clang-format off */
LOCAL(ATOMIC)
EACH_WIDTH(ATOMIC, atomic)
EACH_WIDTH(ATOMIC, softmask)
EACH_WIDTH(ATOMIC, sigmask)
EACH_WIDTH(ATOMIC, plain)
EACH_WIDTH(COUNTER, trivalue)
EACH_WIDTH(COUNTER, twovalue)

const struct subject subjects[] = {
	LOCAL(ATOMIC_ROW)
	EACH_WIDTH(ATOMIC_ROW, atomic)
	EACH_WIDTH(ATOMIC_ROW, softmask)
	EACH_WIDTH(ATOMIC_ROW, sigmask)
	EACH_WIDTH(ATOMIC_ROW, plain)
	EACH_WIDTH(COUNTER_ROW, trivalue)
	EACH_WIDTH(COUNTER_ROW, twovalue)
};
/* clang-format on */
const unsigned subject_count = sizeof(subjects) / sizeof(subjects[0]);

const struct subject *subject_find(const char *way, unsigned bits)
{
	for (unsigned i = 0; i < subject_count; i++)
		if (strcmp(subjects[i].way, way) == 0 && subjects[i].bits == bits)
			return &subjects[i];
	return NULL;
}

/* ---- The kinds ---- */

const char *kind_name(enum kind kind)
{
	static const char *const names[KINDS] = {
		[KIND_ADD] = "add",
		[KIND_ADD_RETURN] = "add_return",
		[KIND_XCHG] = "xchg",
		[KIND_CMPXCHG] = "cmpxchg",
		[KIND_CMPXCHG_LOOP] = "loop of cmpxchg",
		[KIND_ADD_UNLESS] = "add_unless",
	};

	return names[kind];
}

bool kind_fits(enum kind kind, const struct subject *subject)
{
	return subject->returns || kind == KIND_ADD;
}

/* Any set of them has a sum of its own, in 8 bits. */
static uint64_t weight(unsigned level)
{
	return (uint64_t)1 << 2 * level;
}

static uint64_t add_by_cmpxchg(const struct subject *subject, void *variable, uint64_t n)
{
	uint64_t seen = subject->read(variable), previous;

	for (;; seen = previous) {
		previous = subject->cmpxchg(variable, seen, seen + n);
		if (previous == seen)
			return seen + n;
	}
}

uint64_t kind_run(enum kind kind, const struct subject *subject, void *variable, unsigned level)
{
	switch (kind) {
	case KIND_ADD:
		subject->add(variable, weight(level));
		return 0;
	case KIND_ADD_RETURN:
		return subject->add_return(variable, weight(level));
	case KIND_XCHG:
		return subject->xchg(variable, level + 1);
	case KIND_CMPXCHG:
		return subject->cmpxchg(variable, 0, level + 1);
	case KIND_CMPXCHG_LOOP:
		return add_by_cmpxchg(subject, variable, weight(level));
	default:
		return subject->add_unless(variable, 1, 1);
	}
}

/* Each level saw what another left, the first of them 0, and the last left what is there. */
static bool is_chain(const uint64_t *saw, const uint64_t *left, unsigned count, uint64_t last)
{
	uint64_t at = 0;
	unsigned used = 0;

	for (unsigned step = 0; step < count; step++) {
		unsigned level = 0;

		while (level < count && (saw[level] != at || (used >> level & 1)))
			level++;
		if (level == count)
			return false;
		used |= 1u << level;
		at = left[level];
	}
	return at == last;
}

static bool one_has_won(const uint64_t *results, unsigned count, uint64_t last)
{
	unsigned winners = 0;

	for (unsigned level = 0; level < count; level++) {
		winners += results[level] == 0;
		if (results[level] == 0 ? last != level + 1 : results[level] != last)
			return false;
	}
	return winners == 1;
}

bool kind_explains(enum kind kind, const struct subject *subject, void *variable,
		   const uint64_t *results, unsigned count)
{
	uint64_t last = subject->read(variable), saw[LEVELS], left[LEVELS], sum = 0;

	for (unsigned level = 0; level < count; level++) {
		sum += weight(level);
		saw[level] = kind == KIND_XCHG ? results[level] : results[level] - weight(level);
		left[level] = kind == KIND_XCHG ? level + 1 : results[level];
	}
	switch (kind) {
	case KIND_ADD:
		return last == sum;
	case KIND_CMPXCHG:
		return one_has_won(results, count, last);
	case KIND_ADD_UNLESS:
		sum = 0;
		for (unsigned level = 0; level < count; level++)
			sum += results[level];
		return last == 1 && sum == 1;
	default:
		return is_chain(saw, left, count, last);
	}
}

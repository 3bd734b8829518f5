/* SPDX-License-Identifier: MIT */
/*
 * Every way of the local operations in one program, on four widths; and what a few calls that come
 * on top of one another must leave behind, whatever their order.
 *
 * "plain" is no way that anybody may choose: the unprotected operation, which shows that what
 * comes in between does come in between.
 */
#ifndef PERCPU_TEST_LOCAL_SUBJECTS_H
#define PERCPU_TEST_LOCAL_SUBJECTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct subject {
	const char *way;
	unsigned bits;
	size_t size;  /* of the variable */
	bool returns; /* serves the atomic family, too */
	uint64_t (*read)(void *variable);
	void (*add)(void *variable, uint64_t n);
	/* The rest is NULL where the way returns no values. */
	uint64_t (*add_return)(void *variable, uint64_t n);
	uint64_t (*xchg)(void *variable, uint64_t value);
	uint64_t (*cmpxchg)(void *variable, uint64_t old, uint64_t value);
	bool (*add_unless)(void *variable, uint64_t n, uint64_t unless);
};

/* Space for any variable. */
#define SUBJECT_SIZE_MAX 24

/* The subject, or NULL where this CPU has no such way or width. */
const struct subject *subject_find(const char *way, unsigned bits);
extern const struct subject subjects[];
extern const unsigned subject_count;

/* What a context does to a variable that starts as 0. */
enum kind {
	KIND_ADD,          /* add 1, on level 1 add 4, on level 2 add 16 */
	KIND_ADD_RETURN,   /* the same, with its result */
	KIND_XCHG,         /* leave a number of its own */
	KIND_CMPXCHG,      /* leave it where nobody has left one yet */
	KIND_CMPXCHG_LOOP, /* add by compare-exchange, until it is done */
	KIND_ADD_UNLESS,   /* 1, unless somebody has */
	KINDS,
};

enum { LEVELS = 4 };

const char *kind_name(enum kind kind);
/* The kinds that a way can do at all. */
bool kind_fits(enum kind kind, const struct subject *subject);
/* Does it in the context of that level; the result is for kind_explains(). */
uint64_t kind_run(enum kind kind, const struct subject *subject, void *variable, unsigned level);
/* True when each level from 0 to count - 1 did it once, one after the other in some order. */
bool kind_explains(enum kind kind, const struct subject *subject, void *variable,
		   const uint64_t *results, unsigned count);

#endif

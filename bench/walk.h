/* SPDX-License-Identifier: MIT */
/*
 * Arrays of variables that a loop walks over, as far apart from one operation to the next as the
 * array allows, and what is left in them afterwards.
 *
 *	step          514001 variables on, around the end: every variable once in N steps
 *	before walk   every word is 0; of an array that fits into a cache every line has been read
 *	after walk    every word that the walk changed holds what the walk must have made of it, and
 *	              is 0 again
 *
 * Rows take turns on one array; each goes on where the one before stopped, unless it restarts.
 */
#ifndef PERCPU_BENCH_WALK_H
#define PERCPU_BENCH_WALK_H

#include <stddef.h>

#define WALK_STRIDE 514001
/* The most values that a way makes a variable of. */
#define WALK_VALUES 3

struct walk_array {
	size_t variables, step; /* set by walk_size() */
	int warm;               /* fits into a cache */
	int restarts;           /* every walk begins at the first variable */
	size_t at;              /* where the next walk begins */
	unsigned long *memory;
	unsigned users;
};

/* At most so many variables: fewer where the stride would miss some. */
void walk_size(struct walk_array *array, size_t variables);
int walk_open(struct walk_array *array, const char **why); /* 0, or -errno and why not */
void walk_close(struct walk_array *array);
void walk_warm(const struct walk_array *array, unsigned values);
/* After `ops` additions of `each`: how many of them are there. Clears, and moves on. */
unsigned long walk_check(struct walk_array *array, unsigned values, unsigned long each,
			 unsigned long ops);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * Every sequence of seq.h at every width, each as a function with the same signature; and the
 * memory they work on, next to what the pseudo-code makes of the same memory.
 *
 * Memory: one window per slot, at the same place in each (bytes from its begin):
 *
 *	  0  guard     32  the word          64  guard    96  the second word    128  guard
 *	160  data: where store_commit and copy_commit store first; or the slot of a list, a lock or a
 *	     stack: its two words, and items                                     480  guard
 *	512  node 0   576  node 1   640  source   ...  1024
 *
 * All of it is filled with a pattern first and compared in full afterwards, so a store that is too
 * wide or goes elsewhere shows. Nodes and source lie in the window of the slot that the call is
 * expected to use, so that the pseudo-code needs that window only.
 */
#ifndef PERCPU_TEST_SEQ_OPS_H
#define PERCPU_TEST_SEQ_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "model/pseudo.h"

#define WINDOW 1024u
#define AT_WORD 32u
#define AT_SECOND 96u
#define AT_DATA 160u
#define AT_NODES 512u
#define NODE_SIZE 64u
#define AT_SOURCE 640u
/* Bytes of items behind the two words of a stack. */
#define STACK_ROOM 304u

struct seq_args {
	uint64_t value, value2, expect, expect2;
	void *base, *base2; /* in slot 0 */
	void *node, *last;  /* where they really are */
	void *source;
	size_t count, room;
};

struct seq_result {
	int answer; /* enum pseudo_answer; read-modify-writes say ABORTED for unavailable, too */
	uint64_t value;
	uint32_t slot; /* of a call that is done; NO_SLOT where the sequence does not say */
};
#define NO_SLOT UINT32_MAX

struct seq_op {
	const char *name;
	unsigned width;
	enum pseudo_op op;
	bool rmw;    /* answers only whether it is done */
	bool silent; /* does not say in which slot */
	void (*run)(const struct seq_args *args, struct seq_result *result);
};

extern const struct seq_op seq_ops[];
extern const unsigned seq_op_count;
/* Does it read where its object is inside the range, NULL if sequences must leave that alone? */
bool seq_op_reads_base(const struct seq_op *op);

/* Is it unavailable where a narrow cell has no room for it? And takes the room that there is. */
bool seq_op_needs_room(const struct seq_op *op);
void seq_take_room(unsigned char *window);

/* What one call starts from. */
struct seq_case {
	/* In memory; of a list, 1 and 2 stand for the nodes, 0 for none. Of a stack, multiples. */
	uint64_t word, second;
	uint64_t value, value2, expect, expect2;
	size_t offset, count;
	bool closed; /* a list, or a stack */
};

/* A case in which the call is done, or is refused. False: this operation has no such case. */
bool seq_case_done(const struct seq_op *op, struct seq_case *c);
bool seq_case_refused(const struct seq_op *op, struct seq_case *c);
/* A copy of two words and nothing else, which a port may have another way for. Likewise. */
bool seq_case_two_words(const struct seq_op *op, struct seq_case *c);

/* The number of cases with edge values of an operation; those above it are random. */
#define SEQ_CASES 400
void seq_case_number(const struct seq_op *op, unsigned number, struct seq_case *c);

/* Fills the window of a slot and the arguments. memory is the window of slot 0. */
void seq_prepare(const struct seq_op *op, const struct seq_case *c, unsigned char *memory,
		 uint32_t slot, struct seq_args *args);

/* What the pseudo-code makes of a window (a copy of the one that seq_prepare filled). */
struct seq_expected {
	unsigned char window[WINDOW];
	struct pseudo_result result;
	/* The bytes of the window that may change before the commit. */
	size_t scratch, scratch_size;
};
void seq_expect(const struct seq_op *op, const struct seq_args *args, const unsigned char *memory,
		uint32_t slot, struct seq_expected *expected);

/* NULL, or what a window has that the other has not; the scratch bytes are left out if told so. */
const char *seq_compare(const unsigned char *window, const struct seq_expected *expected,
			const unsigned char *wanted, bool without_scratch);

#endif

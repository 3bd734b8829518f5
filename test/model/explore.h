/* SPDX-License-Identifier: MIT */
/*
 * A checker that runs a handful of calls in every interleaving there is.
 *
 * What is modelled, for someone new to it
 *
 * Memory: words of one byte. Three slots (of CPU 0, of CPU 1, and a shared one) hold the words of
 * one object; nodes of a list lie behind them. A step reads or writes one word at once. Loads and
 * stores of different CPUs happen one after the other in any order; that is enough, because a
 * sequence touches only the slot of its own CPU, and within one CPU a thread sees everything in
 * order. An unlocked read-modify-write instruction is one step for its own CPU (nothing can
 * interrupt it half way) and two for other CPUs (they can get in between).
 *
 * Threads: A and B, both on CPU 0 when they begin, each with a script of up to three calls. A CPU
 * runs one thread at a time. In every state each of these may happen:
 *	step       a running thread executes its next instruction
 *	preempt    the other thread of the same CPU runs from now on
 *	migrate    a thread, running or waiting, goes to the other CPU
 *	signal     a handler runs a call of its own on top of thread A, once, then returns
 *	interrupt  the thread loses its CPU to something outside of the model and gets it back
 * A thread that drains fences: in one step, everybody else is interrupted.
 *
 * Kernel: after every one of the last four, when the thread is about to run on, the kernel looks
 * at rseq_cs. If the next instruction lies in [start, post_commit) of the descriptor stored there,
 * the thread continues at the abort handler instead. In any case rseq_cs is cleared. The model
 * does this when the thread stops rather than when it resumes, which nobody can tell apart.
 *
 * Order of search: breadth first over the states, each visited once, so the first wrong end found
 * is one of the shortest. States are compared in full (the hash only finds them).
 *
 * What is right: at each end (all scripts done) there must be one order of the calls, each at
 * once, that respects which calls had ended before which others began, and that gives exactly the
 * answers and the memory of this end (linearizability). What the calls mean comes from oracle.c,
 * which knows nothing of programs. Memory where nobody may look yet is not compared. Where only
 * lists are worked on, each node must also be where it belongs exactly once.
 */
#ifndef PERCPU_TEST_EXPLORE_H
#define PERCPU_TEST_EXPLORE_H

#include <stdint.h>
#include <stdio.h>

#include "pseudo.h"

/* Layout of memory, in addresses that fit into a word. */
#define SLOTS 3
#define SHARED_SLOT_INDEX 2
#define STRIDE 4
#define ORIGIN 0x70
#define WORD_AT ORIGIN         /* the word everybody works on: a number, or the head of a list */
#define SECOND_AT (ORIGIN + 1) /* compared by cmpxchg2 */
#define DATA_AT (ORIGIN + 2)   /* two words: where store_commit and copy_commit store first */
#define NODES_AT 0x80          /* whatever add, and, or make of a pointer points to one */
#define PRIVATE_AT 0x90        /* of these, the ones that A, the handler and B push */
#define SOURCE_AT 0x98         /* two words to copy for each of the three */
#define MEMORY_SIZE (SOURCE_AT + 6 - ORIGIN)

enum actor { ACTOR_A, ACTOR_HANDLER, ACTOR_B, ACTORS };

#define SCRIPT_MAX 3
#define CALLS_MAX (2 * SCRIPT_MAX + 1)

struct call {
	enum pseudo_op op;
	uint64_t arg[R_ARGS];
	/* 1 + the index in the same script of the pop whose node this call pushes, or 0. */
	uint8_t node_from;
	/* What runs instead of the sequence itself: a planted mistake, or NULL. */
	const struct pseudo_program *instead;
};

struct script {
	struct call call[SCRIPT_MAX];
	uint8_t length;
	uint8_t registered; /* 0: cpu_id reads -1 */
};

struct scenario {
	struct script script[ACTORS]; /* the handler's has at most one call */
	uint8_t cpus;                 /* 1: nobody migrates */
	uint8_t attempts;             /* aborts after which a call gives up */
	uint8_t lists;                /* only pop and push: also count the nodes */
	uint8_t pointers;             /* the words hold pointers */
	uint8_t stacks;               /* the words are tops of stacks */
	uint8_t memory[MEMORY_SIZE];  /* at the begin */
};

/* How a call of the history ended. Calls are numbered script by script, as call_index() says. */
struct record {
	uint8_t answer; /* enum pseudo_answer; 0: never began, or a push of nothing */
	uint8_t value;
	uint8_t slot;
	uint8_t before; /* set of calls that had ended before this one began */
};

struct history {
	const struct scenario *scenario;
	const uint8_t *memory;
	const struct record *record; /* CALLS_MAX */
};

static inline unsigned call_index(unsigned actor, unsigned call)
{
	return actor == ACTOR_A ? call : actor == ACTOR_B ? SCRIPT_MAX + call : 2 * SCRIPT_MAX;
}

/* A scenario with initial memory and no calls. Lists need pointers, stacks
 * tops and limits, locks words that are 0, the rest numbers. */
enum content { NUMBERS, POINTERS, STACKS, LOCKS };
#define STACK_LIMIT 2
void scenario_init(struct scenario *scenario, enum content content);

/* Appends a call with the arguments that this actor uses for this operation. */
struct call *scenario_call(struct scenario *scenario, enum actor actor, enum pseudo_op op);

/* Works on the second word instead, and compares the first. */
void call_swap_words(struct call *call);

struct explored {
	uint64_t states;
	uint64_t ends;
	int wrong;  /* 1: an end that nothing explains, -1: out of memory or a broken model */
	int length; /* transitions of the shortest interleaving that leads there */
};

/* Visits all states. With out, the shortest wrong interleaving is printed there. */
struct explored explore(const struct scenario *scenario, FILE *out);

/* Frees what explore() keeps from call to call. */
void explore_free(void);

/* NULL, or what is wrong with this end, in words. */
const char *oracle_check(const struct history *history);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * A child that runs one sequence after the other for a parent that traces it.
 *
 *	parent                              child
 *	stage->op, args = ...               stopped (SIGSTOP)
 *	resume                   ------>    runs the operation once
 *	                         <------    stopped (SIGSTOP), stage->result is there
 *
 * Two kinds of child:
 *	registered      as the library set it up: the kernel aborts its sequences
 *	not registered  the registration was taken away and the CPU number was written into the
 *	                thread's area by hand: a sequence runs as if it were protected, but nothing
 *	                aborts it, so it can be stepped through
 */
#ifndef PERCPU_TEST_SEQ_TRACEE_H
#define PERCPU_TEST_SEQ_TRACEE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ops.h"

/* The kernel's rseq area, as far as it concerns a sequence. */
struct rseq_area {
	uint32_t cpu_id_start;
	uint32_t cpu_id;
	uint64_t rseq_cs;
	uint32_t flags;
	uint32_t node_id;
	uint32_t mm_cid;
	uint32_t later;
};

/* What rseq_cs points to. */
struct descriptor {
	uint32_t version, flags;
	uint64_t start, length, abort;
};

/* Memory that both share. */
struct stage {
	const struct seq_op *op;
	struct seq_args args;
	struct seq_result result;
	uint32_t cpu; /* that a child without registration believes to be on */
	struct rseq_area *area;
	unsigned char *memory; /* windows, PERCPU_STRIDE apart */
};

struct tracee {
	pid_t pid;
	struct stage *stage;
};

/* Stage and windows, shared with children. */
struct stage *stage_make(void);

/* The area of the calling thread. */
struct rseq_area *own_area(void);

/* Takes the calling thread's registration away; 0 or -errno. */
int unregister(void);

/* Runs stage->op in this thread, which has no registration. */
void run_unregistered(struct stage *stage);

/* Starts the child and waits until it stops the first time. Skips the test where that is refused. */
void tracee_start(struct tracee *tracee, struct stage *stage, bool registered);
void tracee_end(struct tracee *tracee);

/* Runs on until the next stop, or for one instruction; the signal that stopped it. */
int tracee_run(struct tracee *tracee);
int tracee_step(struct tracee *tracee);

/* If the step from pc executes several instructions at once: the address of the first of them behind
 * an address. Otherwise, or if there is none, 0. */
uint64_t tracee_skipped(struct tracee *tracee, uint64_t pc, uint64_t address);

/* Runs on with a signal, whose handler comes first. */
int tracee_run_with(struct tracee *tracee, int sig);

uint64_t tracee_pc(struct tracee *tracee);
void tracee_set_pc(struct tracee *tracee, uint64_t pc);
void tracee_read(struct tracee *tracee, uint64_t address, void *into, size_t size);
/* What its rseq_cs holds; and as a signal, or whatever else interrupts it, would clear it. */
uint64_t tracee_cs(struct tracee *tracee);
void tracee_clear_cs(struct tracee *tracee);

struct breakpoint {
	uint64_t address;
	long saved;
	bool planted;
};
void breakpoint_plant(struct tracee *tracee, struct breakpoint *breakpoint, uint64_t address);
void breakpoint_lift(struct tracee *tracee, struct breakpoint *breakpoint);

/* Stopped by SIGTRAP: at this breakpoint? Then its address is the next instruction again. */
bool breakpoint_hit(struct tracee *tracee, const struct breakpoint *breakpoint);

/* Stopped by SIGTRAP: is that address known to be where it trapped, wherever it has been moved? */
bool tracee_trapped_at(struct tracee *tracee, uint64_t address);

#endif

/* SPDX-License-Identifier: MIT */
/* A library that counts in its constructor, perhaps before the library it counts with. */
#ifndef PERCPU_TEST_EARLY_H
#define PERCPU_TEST_EARLY_H

#include <percpu/percpu.h>

#define EARLY_ADDS 1000

extern struct percpu_counter early_hits;
extern struct percpu_id early_ids;
extern uint64_t early_id;
/* How many slots there were then: 0 before the start. */
extern unsigned early_slots;
/* A variable of its own for each thread, in memory that the dynamic linker allocates. */
int *early_thread_local(void);

#endif

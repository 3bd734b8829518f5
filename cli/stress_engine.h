/* SPDX-License-Identifier: MIT */
/* percpu stress: what the engine and the command share, beyond what kinds see. */
#ifndef PERCPU_STRESS_ENGINE_H
#define PERCPU_STRESS_ENGINE_H

#include "stress.h"

/* Frees the accounts of a run. */
void stress_free(struct stress_run *run);

/* Seconds, from some moment on. */
double stress_now(void);

/* By the engine, many times a second; NULL: the run is over. */
void stress_show_progress(const struct stress_run *run, double seconds, uint64_t operations);

/* By the engine, when a thread does not come back from a call: says so and ends the process. */
_Noreturn void stress_give_up(const struct stress_run *run);

#endif

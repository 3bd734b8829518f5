/* SPDX-License-Identifier: MIT */
/*
 * The verdict on the table `local`: for each family of percpu/local.h the way that was fastest
 * here, the way that is compiled in, and by how much they differ.
 */
#ifndef PERCPU_BENCH_VERDICT_H
#define PERCPU_BENCH_VERDICT_H

struct bench_plan;

/* Prints it; 1 where a default is to be verified and loses by more than 20 percent. */
int local_verdict(const struct bench_plan *plan);

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The files of reference/ as lines of text, NULL at the end. The definitions are written by
 * embed.cmake when the project is built.
 */
#ifndef PERCPU_BENCH_REFERENCE_H
#define PERCPU_BENCH_REFERENCE_H

extern const char *const reference_counter_increment[];
extern const char *const reference_read_cpu_number[];
extern const char *const reference_event_counter_cycles[];
extern const char *const reference_cmpxchg_versus_interrupts[];
extern const char *const reference_local_variants[];

#endif

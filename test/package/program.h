/* SPDX-License-Identifier: MIT */
/* An inline function with a sequence in it, which both files of the program instantiate. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <percpu/percpu.h>

#ifdef __cplusplus
/* Not static: the linker keeps one of the copies, with the sections that belong to it. */
__attribute__((noinline)) inline void count_here(long *word)
#else
static inline void count_here(long *word)
#endif
{
	percpu_this_add(word, 1);
}

#ifdef __cplusplus
extern "C" void count_elsewhere(long *word);
#else
void count_elsewhere(long *word);
#endif

#endif

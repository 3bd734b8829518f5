/* An inline function with a sequence in it, which both files of the program instantiate. */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <percpu/percpu.h>

static inline void count_here(long *word)
{
	percpu_this_add(word, 1);
}

#ifdef __cplusplus
/* Not static: the linker keeps one of the two copies, with the sections that belong to it. */
inline void count_shared(long *word)
{
	percpu_this_add(word, 1);
}
extern "C"
#endif
void count_elsewhere(long *word);

#endif

/* The second file of the program: C11 and C++17. */
#include "program.h"

void count_elsewhere(long *word)
{
#ifdef __cplusplus
	count_shared(word);
#else
	count_here(word);
#endif
}

/* SPDX-License-Identifier: MIT */
/* The second file of the program: C11 and C++17. */
#include "program.h"

void count_elsewhere(long *word)
{
	count_here(word);
}

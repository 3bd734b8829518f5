/* SPDX-License-Identifier: MIT */
/*
 * 64-bit cells on CPUs without a 64-bit atomic: the library's lock around plain ones.
 */
#include "cell.h"

#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2

int64_t percpu__cell_read(const percpu__cell *cell)
{
	sigset_t saved;
	int64_t value;

	percpu__lock(&saved);
	value = *cell;
	percpu__unlock(&saved);
	return value;
}

int64_t percpu__cell_add_return(percpu__cell *cell, int64_t n)
{
	sigset_t saved;
	int64_t sum;

	percpu__lock(&saved);
	*cell = percpu__plus(*cell, n);
	sum = *cell;
	percpu__unlock(&saved);
	return sum;
}

void percpu__cell_write(percpu__cell *cell, int64_t value)
{
	sigset_t saved;

	percpu__lock(&saved);
	*cell = value;
	percpu__unlock(&saved);
}

bool percpu__cell_replace(percpu__cell *cell, int64_t *expect, int64_t value)
{
	sigset_t saved;
	bool equal;

	percpu__lock(&saved);
	equal = *cell == *expect;
	*expect = *cell;
	if (equal)
		*cell = value;
	percpu__unlock(&saved);
	return equal;
}

#endif

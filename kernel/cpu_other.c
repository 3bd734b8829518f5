// SPDX-License-Identifier: GPL-2.0
/* A CPU of which nothing more is known than what every kernel offers. */
#include "percpu_local.h"

const struct probe bare_probes[] = {{}};

bool bare_probes_work(void)
{
	return false;
}

unsigned long last_level_cache(void)
{
	return 0;
}

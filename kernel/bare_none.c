// SPDX-License-Identifier: GPL-2.0
/* A CPU for which no bare instructions are measured. */
#include "percpu_local.h"

const struct probe bare_probes[] = {{}};

bool bare_probes_work(void)
{
	return false;
}

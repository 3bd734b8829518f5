/* SPDX-License-Identifier: MIT */
/* A child with as many slots as a large machine. */
#include <stdio.h>

#include <percpu/percpu.h>

#include "bench.h"

const struct bench_peer *bench_many_slots(unsigned slots)
{
	static char setting[32];
	static struct bench_peer peer = {.environment = {setting}};
	unsigned shared = percpu_nslots() - percpu_ncpus();

	snprintf(setting, sizeof(setting), "PERCPU_CPUS=%u", slots > shared ? slots - shared : 1);
	return &peer;
}

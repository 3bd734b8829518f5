/* SPDX-License-Identifier: MIT */
/*
 * Reading from outside: what each set of events on this machine has counted, by programs that run and
 * by dead ones.
 */
#include <percpu/percpu.h>

#include <stdio.h>

static void show_sample(const struct percpu_sample *sample)
{
	printf("  %s", sample->desc->name);
	for (unsigned k = 0; k < PERCPU_EVENTS_LABELS && sample->labels[k]; k++)
		printf(" %s=%s", sample->desc->labels[k], sample->labels[k]);
	printf(" %lld", (long long)sample->value);
	if (sample->nbuckets)
		printf(", sum %llu, 99 %% up to %llu", (unsigned long long)sample->sum,
		       (unsigned long long)percpu_sample_percentile(sample, 0.99));
	printf(" %s\n", sample->desc->unit);
}

static int show(void *arg, const char *path, struct percpu_reader *reader, int error,
		const char *why)
{
	struct percpu_snapshot *snapshot;
	struct percpu_reader_info info;

	(void)arg, (void)error;
	if (!reader) {
		printf("%s\n", why);
		return 0;
	}
	if (percpu_reader_status(reader, &info) != 0 ||
	    percpu_snapshot_take(&snapshot, reader, 0) != 0) {
		printf("%s: removed meanwhile\n", path);
		return 0;
	}
	printf("%s %s of %s (%d), %s\n", info.name, info.version, info.program, (int)info.pid,
	       percpu_life_name(info.life));
	for (unsigned i = 0; i < snapshot->n; i++)
		show_sample(&snapshot->samples[i]);
	percpu_snapshot_free(snapshot);
	return 0;
}

int main(void)
{
	return percpu_reader_list(show, NULL) >= 0 ? 0 : 1;
}

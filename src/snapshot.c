/* SPDX-License-Identifier: MIT */
/*
 * Snapshots of sets, and the differences between them.
 *
 *	R2  Downs of gauges are read before everything else (G1 in events.c).
 *	R3  A histogram's cells in a slot are read three times: journal and sum; everything; the
 *	    journal. If it is the same in the first and the last, nothing was observed in between
 *	    (J2 in events_histogram.c), and what was read in the middle belongs to it.
 */
#include "reader_state.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Times that a histogram is tried, in each slot. */
#define TRIES 16

/* One allocation: samples, buckets, values by CPU, texts. */
struct snapshot {
	struct percpu_snapshot public;
	struct percpu_sample *samples;
	uint64_t *buckets;
	int64_t *cpus;
	char (*texts)[PERCPU_SERIES_TEXT]; /* of samples with labels */
	unsigned ntexts;
	struct cells { /* where a sample's values are */
		uint32_t cell, downs;
	} * cells;
};

static uint32_t nlabels(const struct percpu_event_desc *desc)
{
	uint32_t n = 0;

	while (n < PERCPU_EVENTS_LABELS && desc->labels[n])
		n++;
	return n;
}

static struct snapshot *new_snapshot(size_t n, size_t ntexts, size_t nbuckets, size_t ncpus)
{
	size_t size = sizeof(struct snapshot) + n * sizeof(struct percpu_sample) +
		      nbuckets * sizeof(uint64_t) + ncpus * sizeof(int64_t) +
		      n * sizeof(struct cells) + ntexts * PERCPU_SERIES_TEXT;
	struct snapshot *snapshot = calloc(1, size);

	if (!snapshot)
		return NULL;
	snapshot->samples = (struct percpu_sample *)(snapshot + 1);
	snapshot->buckets = (uint64_t *)(snapshot->samples + n);
	snapshot->cpus = (int64_t *)(snapshot->buckets + nbuckets);
	snapshot->cells = (struct cells *)(snapshot->cpus + ncpus);
	snapshot->texts = (char(*)[PERCPU_SERIES_TEXT])(snapshot->cells + n);
	snapshot->public.samples = snapshot->samples;
	return snapshot;
}

void percpu_snapshot_free(struct percpu_snapshot *snapshot)
{
	free(snapshot);
}

struct size {
	size_t samples, texts, buckets;
};

static void count_samples(const struct percpu_reader *reader, struct size *size)
{
	const struct segment_header *header = header_of(reader);

	for (uint32_t i = 0; i < header->nmetrics; i++) {
		const struct segment_metric *metric = &segment_metrics(reader->head)[i];
		size_t n = metric->nlabels == 0;

		for (uint32_t k = 0; metric->nlabels != 0 && k < metric->nseries; k++)
			n += reader->series[metric->first_series + k].state == SERIES_READY;
		size->samples += n;
		size->texts += metric->nlabels ? n : 0;
		size->buckets += n * metric->nbuckets;
	}
}

/* The values of labels; texts that come from outside end at the end of their room at the latest. */
static void set_labels(struct percpu_sample *sample, char text[PERCPU_SERIES_TEXT])
{
	const char *at = text, *end = text + PERCPU_SERIES_TEXT - 1;

	for (uint32_t k = 0; k < nlabels(sample->desc); k++) {
		sample->labels[k] = at;
		at += strlen(at);
		if (at < end)
			at++;
	}
}

static void add_sample(struct snapshot *snapshot, const struct percpu_reader *reader,
		       uint32_t entry, const struct segment_series *checked,
		       const struct segment_series *text)
{
	const struct segment_metric *metric = &segment_metrics(reader->head)[entry];
	unsigned n = snapshot->public.n++;
	struct percpu_sample *sample = &snapshot->samples[n];

	sample->entry = entry;
	sample->desc = &reader->descs[entry];
	sample->nbuckets = metric->nbuckets;
	sample->exact = true;
	snapshot->cells[n].cell = checked ? checked->cell : metric->cell;
	snapshot->cells[n].downs = checked ? checked->downs : metric->downs;
	if (!text)
		return;
	memcpy(snapshot->texts[snapshot->ntexts], text->text, PERCPU_SERIES_TEXT - 1);
	set_labels(sample, snapshot->texts[snapshot->ntexts++]);
}

static void add_samples(struct snapshot *snapshot, const struct percpu_reader *reader)
{
	const struct segment_header *header = header_of(reader);
	const struct segment_series *checked = segment_series(reader->head);

	for (uint32_t i = 0; i < header->nmetrics; i++) {
		const struct segment_metric *metric = &segment_metrics(reader->head)[i];

		if (metric->nlabels == 0)
			add_sample(snapshot, reader, i, NULL, NULL);
		for (uint32_t k = 0; metric->nlabels != 0 && k < metric->nseries; k++) {
			uint32_t at = metric->first_series + k;

			if (reader->series[at].state != SERIES_READY)
				continue;
			add_sample(snapshot, reader, i, &checked[at], &reader->series[at]);
			snapshot->samples[snapshot->public.n - 1].overflow = k == 0;
		}
	}
}

/* Each sample's part of the memory. */
static void share_out(struct snapshot *snapshot, bool cpus)
{
	uint64_t *buckets = snapshot->buckets;
	int64_t *values = snapshot->cpus;

	for (unsigned i = 0; i < snapshot->public.n; i++) {
		struct percpu_sample *sample = &snapshot->samples[i];

		if (sample->nbuckets) {
			sample->buckets = buckets;
			buckets += sample->nbuckets;
		}
		if (cpus) {
			sample->cpus = values;
			values += snapshot->public.cpus + 1;
		}
	}
}

static int64_t *cpu_value(struct percpu_snapshot *snapshot, unsigned sample, uint32_t slot)
{
	int64_t *cpus = (int64_t *)(uintptr_t)snapshot->samples[sample].cpus;

	if (!cpus)
		return NULL;
	return &cpus[slot < snapshot->cpus ? slot : snapshot->cpus];
}

static int64_t plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static uint64_t slot_at(const struct percpu_reader *reader, uint32_t plane, uint32_t slot)
{
	return segment_cell(header_of(reader), plane * SEGMENT_PLANE_CELLS) +
	       (uint64_t)slot * PERCPU_STRIDE;
}

/* Several words at a time: adding costs as much as the system calls otherwise. */
#define TOGETHER 8u
typedef uint64_t some_words __attribute__((vector_size(64), aligned(8), may_alias));

static void add_words(uint64_t *sum, const uint64_t *words, uint32_t n)
{
	uint32_t i = 0;

	for (; i + TOGETHER <= n; i += TOGETHER)
		*(some_words *)&sum[i] += *(const some_words *)&words[i];
	for (; i < n; i++)
		sum[i] += words[i];
}

/* Words begin to end of one slot's copy of a plane: into copy, and added to the plane's sums. */
static int read_copy(struct percpu_reader *reader, uint32_t p, uint32_t slot, uint32_t begin,
		     uint32_t end)
{
	int result =
		percpu__read_at(reader->fd, reader->copy + begin, (end - begin) * sizeof(uint64_t),
				slot_at(reader, p, slot) + begin * sizeof(uint64_t));

	if (result == 0)
		add_words(reader->planes[p].sum + begin, reader->copy + begin, end - begin);
	return result;
}

/* The cells that were just read, by CPU. */
static void note_cpus(struct percpu_reader *reader, struct snapshot *snapshot, uint32_t plane,
		      uint32_t slot, bool downs)
{
	for (unsigned i = 0; i < snapshot->public.n; i++) {
		const struct cells *cells = &snapshot->cells[i];
		enum percpu_event_kind kind = snapshot->samples[i].desc->kind;
		int64_t *value = cpu_value(&snapshot->public, i, slot);
		uint32_t cell = downs ? cells->downs : cells->cell;
		int64_t n = (int64_t)reader->copy[cell % SEGMENT_PLANE_CELLS];

		if (!value || cell / SEGMENT_PLANE_CELLS != plane || kind == PERCPU_HISTOGRAM ||
		    (downs && kind != PERCPU_GAUGE))
			continue;
		*value = downs ? minus(*value, n) : plus(*value, n);
	}
}

/* ---- Histograms ---- */

static unsigned bucket_of(const struct segment_metric *metric, uint64_t value)
{
	return segment_bucket(value, metric->shift, metric->precision, metric->nbuckets - 1);
}

/* R3, the middle: block has all cells; true if they belong to the journal. first_sum is what the sum
 * was when the journal was read first. */
static bool belongs(const struct percpu_reader *reader, const struct segment_metric *metric,
		    uint64_t journal, uint64_t first_sum, uint64_t last_journal)
{
	uint64_t *block = (uint64_t *)(uintptr_t)reader->block;
	uint64_t want = journal >> 1, sum = block[1];
	uint64_t *bucket;

	if (journal != last_journal)
		return false;
	if (sum == want)
		/* Done while all was read? Or did its bucket come before, and then the sum? */
		return first_sum == want;
	bucket = &block[SEGMENT_HISTOGRAM_CELLS +
			bucket_of(metric, (want - sum - 1) & SEGMENT_SUM_MASK)];
	if ((*bucket & 1) == (journal & 1))
		(*bucket)++;
	return true;
}

static int read_block(struct percpu_reader *reader, const struct segment_metric *metric,
		      uint64_t at, uint64_t first[2], bool *exact)
{
	size_t size = (SEGMENT_HISTOGRAM_CELLS + metric->nbuckets) * sizeof(uint64_t);
	uint64_t last = 0;
	int result = 0;

	*exact = false;
	for (unsigned tries = 0; tries < TRIES && result == 0 && !*exact; tries++) {
		if (tries > 0)
			result = percpu__read_at(reader->fd, first, 2 * sizeof(*first), at);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (result == 0)
			result = percpu__read_at(reader->fd, reader->block, size, at);
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (result == 0)
			result = percpu__read_at(reader->fd, &last, sizeof(last), at);
		*exact = result == 0 && belongs(reader, metric, first[0], first[1], last);
	}
	return result;
}

/* One slot's part of a histogram; its journal and sum are in copy. */
static int add_histogram(struct percpu_reader *reader, struct snapshot *snapshot, unsigned n,
			 uint32_t slot)
{
	struct percpu_sample *sample = &snapshot->samples[n];
	const struct segment_metric *metric = &segment_metrics(reader->head)[sample->entry];
	uint64_t *buckets = (uint64_t *)(uintptr_t)sample->buckets;
	uint32_t cell = snapshot->cells[n].cell;
	uint64_t *first = &reader->copy[cell % SEGMENT_PLANE_CELLS];
	int64_t *value = cpu_value(&snapshot->public, n, slot);
	uint64_t count = 0;
	bool exact;
	int result;

	if (first[0] == 0)
		return 0; /* nothing was ever observed here */
	result = read_block(reader, metric,
			    segment_cell(header_of(reader), cell) + (uint64_t)slot * PERCPU_STRIDE,
			    first, &exact);
	if (result != 0)
		return result;
	for (uint32_t i = 0; i < metric->nbuckets; i++) {
		buckets[i] += reader->block[SEGMENT_HISTOGRAM_CELLS + i];
		count += reader->block[SEGMENT_HISTOGRAM_CELLS + i];
	}
	sample->count += count;
	sample->sum = (sample->sum + (first[0] >> 1) - count) & SEGMENT_SUM_MASK;
	sample->exact = sample->exact && exact;
	if (value)
		*value = plus(*value, (int64_t)count);
	return 0;
}

static int add_histograms(struct percpu_reader *reader, struct snapshot *snapshot, uint32_t plane,
			  uint32_t slot)
{
	int result = 0;

	for (unsigned i = 0; result == 0 && i < snapshot->public.n; i++)
		if (snapshot->samples[i].nbuckets &&
		    snapshot->cells[i].cell / SEGMENT_PLANE_CELLS == plane)
			result = add_histogram(reader, snapshot, i, slot);
	return result;
}

/* ---- All of it ---- */

static int read_pass(struct percpu_reader *reader, struct snapshot *snapshot, bool downs,
		     unsigned flags)
{
	const struct segment_header *header = header_of(reader);
	int result = 0;

	for (uint32_t p = 0; p < header->nplanes; p++) {
		const struct plane *plane = &reader->planes[p];
		uint32_t begin = downs ? plane->downs_begin : plane->begin;
		uint32_t end = downs ? plane->downs_end : plane->end;

		for (uint32_t slot = 0;
		     end != 0 && slot < header->ncpus + header->nshared && result == 0; slot++) {
			result = read_copy(reader, p, slot, begin, end);
			if (result == 0 && (flags & PERCPU_SNAPSHOT_CPUS))
				note_cpus(reader, snapshot, p, slot, downs);
			if (result == 0 && !downs && plane->histograms)
				result = add_histograms(reader, snapshot, p, slot);
		}
	}
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return result;
}

static void keep_downs(const struct percpu_reader *reader, struct snapshot *snapshot)
{
	for (unsigned i = 0; i < snapshot->public.n; i++) {
		uint32_t cell = snapshot->cells[i].downs;

		if (snapshot->samples[i].desc->kind == PERCPU_GAUGE)
			snapshot->samples[i].value =
				minus(0, (int64_t)reader->planes[cell / SEGMENT_PLANE_CELLS]
						 .sum[cell % SEGMENT_PLANE_CELLS]);
	}
}

static void keep_ups(const struct percpu_reader *reader, struct snapshot *snapshot)
{
	for (unsigned i = 0; i < snapshot->public.n; i++) {
		struct percpu_sample *sample = &snapshot->samples[i];
		uint32_t cell = snapshot->cells[i].cell;

		if (sample->desc->kind == PERCPU_HISTOGRAM)
			sample->value = (int64_t)sample->count;
		else
			sample->value = plus(sample->value,
					     (int64_t)reader->planes[cell / SEGMENT_PLANE_CELLS]
						     .sum[cell % SEGMENT_PLANE_CELLS]);
	}
}

static void forget_sums(struct percpu_reader *reader)
{
	for (uint32_t p = 0; p < header_of(reader)->nplanes; p++) {
		struct plane *plane = &reader->planes[p];

		if (plane->end)
			memset(plane->sum + plane->begin, 0,
			       (plane->end - plane->begin) * sizeof(uint64_t));
		if (plane->downs_end)
			memset(plane->sum + plane->downs_begin, 0,
			       (plane->downs_end - plane->downs_begin) * sizeof(uint64_t));
	}
}

static uint64_t clock_now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* R2. */
static int fill(struct percpu_reader *reader, struct snapshot *snapshot, unsigned flags)
{
	int result;

	forget_sums(reader);
	result = read_pass(reader, snapshot, true, flags);
	if (result != 0)
		return result;
	keep_downs(reader, snapshot);
	forget_sums(reader);
	result = read_pass(reader, snapshot, false, flags);
	if (result == 0)
		keep_ups(reader, snapshot);
	return result;
}

/* Two processes may have made the same series at once. The second one is added to the first. */
static void merge(struct snapshot *snapshot, unsigned from, unsigned to)
{
	struct percpu_sample *a = &snapshot->samples[to], *b = &snapshot->samples[from];

	a->value = plus(a->value, b->value);
	a->count += b->count;
	a->sum = (a->sum + b->sum) & SEGMENT_SUM_MASK;
	a->exact = a->exact && b->exact;
	for (unsigned i = 0; i < a->nbuckets; i++)
		((uint64_t *)(uintptr_t)a->buckets)[i] += b->buckets[i];
	for (unsigned i = 0; a->cpus && i <= snapshot->public.cpus; i++)
		((int64_t *)(uintptr_t)a->cpus)[i] = plus(a->cpus[i], b->cpus[i]);
	for (unsigned i = from; i + 1 < snapshot->public.n; i++)
		snapshot->samples[i] = snapshot->samples[i + 1];
	snapshot->public.n--;
}

static bool same_labels(const struct percpu_sample *a, const struct percpu_sample *b)
{
	if (a->entry != b->entry || a->overflow != b->overflow)
		return false;
	for (uint32_t k = 0; k < nlabels(a->desc); k++)
		if (strcmp(a->labels[k], b->labels[k]) != 0)
			return false;
	return true;
}

static uint32_t hash(const struct percpu_sample *sample)
{
	uint32_t h = 2166136261u ^ sample->entry;

	for (uint32_t k = 0; k < nlabels(sample->desc); k++, h = (h ^ 1) * 16777619u)
		for (const char *c = sample->labels[k]; *c; c++)
			h = (h ^ (unsigned char)*c) * 16777619u;
	return h;
}

/* Where samples are, by entry and labels: index + 1; an open hash of twice as many places. */
struct places {
	uint32_t *at;
	size_t size;
};

static int new_places(struct places *places, unsigned n)
{
	places->size = 2 * (size_t)n + 1;
	places->at = calloc(places->size, sizeof(*places->at));
	return places->at ? 0 : -ENOMEM;
}

/* The place of one like this: empty if there is none. */
static uint32_t *place_of(const struct places *places, const struct percpu_sample *samples,
			  const struct percpu_sample *sample)
{
	size_t at = hash(sample) % places->size;

	while (places->at[at] != 0 && !same_labels(&samples[places->at[at] - 1], sample))
		at = (at + 1) % places->size;
	return &places->at[at];
}

static int merge_twins(struct snapshot *snapshot)
{
	struct places places;

	if (new_places(&places, snapshot->public.n) != 0)
		return -ENOMEM;
	for (unsigned i = 0; i < snapshot->public.n; i++) {
		uint32_t *place = place_of(&places, snapshot->samples, &snapshot->samples[i]);

		if (*place == 0)
			*place = i + 1;
		else
			merge(snapshot, i--, *place - 1);
	}
	free(places.at);
	return 0;
}

int percpu_snapshot_take(struct percpu_snapshot **out, struct percpu_reader *reader, unsigned flags)
{
	const struct segment_header *header;
	struct snapshot *snapshot = NULL;
	struct size size = {0};
	struct stat st;
	int result;

	if (!out || !reader || flags & ~PERCPU_SNAPSHOT_CPUS)
		return -EINVAL;
	*out = NULL;
	header = header_of(reader);
	result = percpu__reader_refresh(reader, &st);
	if (result == 0 && header->nseries > 0)
		result = percpu__read_at(reader->fd, reader->series,
					 header->nseries * sizeof(*reader->series), header->series);
	if (result != 0)
		return result;
	count_samples(reader, &size);
	snapshot =
		new_snapshot(size.samples, size.texts, size.buckets,
			     flags & PERCPU_SNAPSHOT_CPUS ? size.samples * (header->ncpus + 1) : 0);
	if (!snapshot)
		return -ENOMEM;
	snapshot->public.generation = header->generation;
	snapshot->public.cpus = header->ncpus;
	snapshot->public.time = clock_now(CLOCK_REALTIME);
	snapshot->public.monotonic = clock_now(CLOCK_MONOTONIC);
	add_samples(snapshot, reader);
	share_out(snapshot, flags & PERCPU_SNAPSHOT_CPUS);
	result = fill(reader, snapshot, flags);
	if (result == 0 && header->nseries > 0)
		result = merge_twins(snapshot);
	if (result != 0) {
		free(snapshot);
		return result;
	}
	*out = &snapshot->public;
	return 0;
}

/* ---- Differences ---- */

static void subtract(struct percpu_snapshot *snapshot, unsigned n,
		     const struct percpu_sample *before)
{
	struct percpu_sample *sample = (struct percpu_sample *)(uintptr_t)&snapshot->samples[n];

	sample->value = minus(sample->value, before->value);
	sample->count -= before->count;
	sample->sum = (sample->sum - before->sum) & SEGMENT_SUM_MASK;
	sample->exact = sample->exact && before->exact;
	for (unsigned i = 0; i < sample->nbuckets; i++)
		((uint64_t *)(uintptr_t)sample->buckets)[i] -= before->buckets[i];
	for (unsigned i = 0; sample->cpus && before->cpus && i <= snapshot->cpus; i++)
		*cpu_value(snapshot, n, i) = minus(sample->cpus[i], before->cpus[i]);
}

static struct snapshot *copy_of(const struct percpu_snapshot *from)
{
	size_t nbuckets = 0, ncpus = 0, ntexts = 0;
	struct snapshot *copy;

	for (unsigned i = 0; i < from->n; i++) {
		nbuckets += from->samples[i].nbuckets;
		ncpus += from->samples[i].cpus ? from->cpus + 1 : 0;
		ntexts += from->samples[i].labels[0] != NULL;
	}
	copy = new_snapshot(from->n, ntexts, nbuckets, ncpus);
	if (!copy)
		return NULL;
	copy->public = *from;
	copy->public.samples = copy->samples;
	memcpy(copy->samples, from->samples, from->n * sizeof(*copy->samples));
	share_out(copy, ncpus > 0);
	for (unsigned i = 0; i < from->n; i++) {
		const struct percpu_sample *sample = &from->samples[i];

		if (sample->nbuckets)
			memcpy((uint64_t *)(uintptr_t)copy->samples[i].buckets, sample->buckets,
			       sample->nbuckets * sizeof(uint64_t));
		if (sample->cpus)
			memcpy((int64_t *)(uintptr_t)copy->samples[i].cpus, sample->cpus,
			       (from->cpus + 1) * sizeof(int64_t));
		if (sample->labels[0]) {
			/* All values of a sample are in one text, the first at its begin. */
			memcpy(copy->texts[copy->ntexts], sample->labels[0], PERCPU_SERIES_TEXT);
			set_labels(&copy->samples[i], copy->texts[copy->ntexts++]);
		}
	}
	return copy;
}

int percpu_snapshot_since(struct percpu_snapshot **out, const struct percpu_snapshot *now,
			  const struct percpu_snapshot *before)
{
	struct snapshot *difference;
	struct places places;

	if (!out || !now || !before)
		return -EINVAL;
	*out = NULL;
	if (now->generation != before->generation || now->cpus != before->cpus)
		return -ESTALE;
	if (new_places(&places, before->n) != 0)
		return -ENOMEM;
	difference = copy_of(now);
	if (!difference) {
		free(places.at);
		return -ENOMEM;
	}
	for (unsigned i = 0; i < before->n; i++)
		*place_of(&places, before->samples, &before->samples[i]) = i + 1;
	for (unsigned i = 0; i < now->n; i++) {
		uint32_t place = *place_of(&places, before->samples, &now->samples[i]);

		if (place != 0)
			subtract(&difference->public, i, &before->samples[place - 1]);
	}
	difference->public.time = now->time - before->time;
	difference->public.monotonic = now->monotonic - before->monotonic;
	free(places.at);
	*out = &difference->public;
	return 0;
}

uint64_t percpu_sample_percentile(const struct percpu_sample *sample, double q)
{
	uint64_t seen = 0;
	double wanted;

	if (!sample || sample->nbuckets == 0 || sample->count == 0 || !(q >= 0))
		return 0;
	wanted = (q < 1 ? q : 1) * (double)sample->count;
	for (unsigned i = 0; i < sample->nbuckets; i++) {
		seen += sample->buckets[i];
		if (sample->buckets[i] != 0 && (double)seen >= wanted)
			return percpu_histogram_bound(sample->desc, i);
	}
	return UINT64_MAX;
}

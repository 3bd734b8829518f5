/* SPDX-License-Identifier: MIT */
/*
 * Sets of events: counting, reading in the program, open and close. A count lies in one of
 *
 *	cell in a CPU slot      added to by sequences
 *	cell in a shared slot   added to by atomics
 *	aside, in the set       added to by atomics: before open, after close
 *
 * and a total is the sum of them. The cells are in a segment (segment.h), in a file or in memory.
 *
 *	E1  An entry's handle is empty until the set is open: base is stored, then comes a fence,
 *	    then bound (I9). Without a fence bound stays 0, and counting on shared slots.
 *	E2  What is aside moves to the cells once they are there, under the library's lock: taken
 *	    out, then added, so that no reader sees it twice. Whoever counts aside looks afterwards
 *	    whether the set was opened meanwhile, and if so moves it.
 *	G1  A gauge's up is stored before its down, also as others see it; readers take downs first.
 */
#include "events_state.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define EVENT_SIZE sizeof(percpu__cell)

/* ---- Counting ---- */

static inline void *base_of(const struct percpu__event *event)
{
	return __atomic_load_n(&event->handle.base, __ATOMIC_ACQUIRE);
}

static inline void add_shared(const struct percpu__event *event, void *base, int64_t n)
{
	(void)percpu__cell_add_return(events_shared_copy(base, event->handle.flags), n);
}

/* E2. Takes all of it, adds all of it. */
static void move_aside(struct percpu__event *event)
{
	void *base = base_of(event);
	int64_t n = percpu__cell_read(&event->aside);

	while (!percpu__cell_replace(&event->aside, &n, 0))
		;
	if (n != 0)
		add_shared(event, base, n);
}

static COLD void add_aside(struct percpu_events *set, struct percpu__event *event, int64_t n)
{
	sigset_t saved;

	(void)percpu__cell_add_return(&event->aside, n);
	/* Pairs with the fence in publish(): one of both sees what the other has done. */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (!base_of(event) || !percpu__thread_ready())
		return;
	percpu__lock(&saved);
	if (base_of(event))
		move_aside(event);
	percpu__unlock(&saved);
	(void)set;
}

void percpu__event_cold(struct percpu_events *set, struct percpu__event *event, int64_t n)
{
	int saved = errno;
	void *base = base_of(event);

	if (base && percpu__thread_ready()) {
		if (UNLIKELY(!percpu__shared_valid()))
			percpu__shared_look_around_at(
				events_shared_copy(base, event->handle.flags));
		add_shared(event, base, n);
	} else {
		add_aside(set, event, n);
	}
	errno = saved;
}

void percpu__event_call(struct percpu_events *set, struct percpu__event *event, int64_t n)
{
	if (__builtin_expect(!percpu__seq_event_add_8(&event->handle, n), 0))
		percpu__event_cold(set, event, n);
}

void percpu__event_index(struct percpu_events *set, size_t event, int64_t n)
{
	if (__builtin_expect(event < set->n, 1))
		percpu__event_call(set, &set->event[event], n);
}

/* G1. On x86 the fence is no instruction. */
static void add_down(struct percpu_events *set, struct percpu__event *event, int64_t n)
{
	__atomic_thread_fence(__ATOMIC_RELEASE);
	percpu__event_call(set, event, n);
}

void percpu_gauge_dec(struct percpu_events *set, unsigned gauge)
{
	if (__builtin_expect(gauge < set->n, 1))
		add_down(set, &set->event[set->n + gauge], 1);
}

void percpu_gauge_add(struct percpu_events *set, unsigned gauge, int64_t n)
{
	if (gauge >= set->n)
		return;
	if (n >= 0)
		percpu__event_call(set, &set->event[gauge], n);
	else
		add_down(set, &set->event[set->n + gauge], percpu__minus(0, n));
}

static inline uint64_t at_most(uint64_t value)
{
	return value < SEGMENT_VALUE_MAX ? value : SEGMENT_VALUE_MAX;
}

void percpu_histogram_observe(struct percpu_events *set, unsigned histogram, uint64_t value)
{
	struct percpu__events_state *state = events_state(set);

	if (UNLIKELY(histogram >= set->n))
		return;
	if (__builtin_expect(state && state->histograms[histogram].block, 1))
		percpu__histogram_add(&state->histograms[histogram],
				      &state->histograms[histogram].plane,
				      state->histograms[histogram].block, at_most(value));
	else if (set->descs[histogram].kind == PERCPU_HISTOGRAM)
		(void)percpu__cell_add_return(&set->event[histogram].aside, 1);
}

/* ---- Series ---- */

void percpu_series_dec(struct percpu_series *series)
{
	if (series->set)
		add_down(series->set, &series->down, 1);
}

void percpu_series_observe(struct percpu_series *series, uint64_t value)
{
	if (__builtin_expect(series->block != NULL, 1))
		percpu__histogram_add(series->histogram, &series->plane, series->block,
				      at_most(value));
}

/* Joins the values, each with its zero; 0 if that is too long, or one is missing. */
static size_t join_values(char text[PERCPU_SERIES_TEXT], const char *const *values, unsigned n)
{
	size_t at = 0;

	memset(text, 0, PERCPU_SERIES_TEXT);
	for (unsigned k = 0; k < n; k++) {
		size_t length = values[k] ? strlen(values[k]) + 1 : PERCPU_SERIES_TEXT + 1;

		if (at + length > PERCPU_SERIES_TEXT)
			return 0;
		memcpy(text + at, values[k], length);
		at += length;
	}
	return at;
}

/*
 * Finds it, or takes a free one: the claim is an atomic, the text follows, READY publishes it. Two
 * processes may make the same one at once; then there are two, and readers add them up.
 */
static struct segment_series *find_series(struct segment_series *family, uint32_t n,
					  const char text[PERCPU_SERIES_TEXT])
{
	for (uint32_t k = 1; k < n; k++) {
		uint32_t state = __atomic_load_n(&family[k].state, __ATOMIC_ACQUIRE);

		if (state == SERIES_FREE &&
		    __atomic_compare_exchange_n(&family[k].state, &state, SERIES_TAKEN, false,
						__ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
			memcpy(family[k].text, text, PERCPU_SERIES_TEXT);
			__atomic_store_n(&family[k].state, SERIES_READY, __ATOMIC_RELEASE);
			return &family[k];
		}
		if (state == SERIES_READY && memcmp(family[k].text, text, PERCPU_SERIES_TEXT) == 0)
			return &family[k];
	}
	return NULL;
}

static void fill_handle(struct percpu__handle *handle, const struct percpu__events_state *state,
			uint32_t cell)
{
	const struct segment_header *header = (const void *)state->map;

	handle->base = state->map + segment_cell(header, cell);
	handle->flags = header->ncpus << 8 | header->nshared;
	handle->bound = percpu__rt_writable.bound < header->ncpus ? percpu__rt_writable.bound
								  : header->ncpus;
}

/* Of a histogram: the first word of its plane (J5 in events_histogram.c). */
static void fill_plane(struct percpu__handle *handle, const struct percpu__events_state *state,
		       uint32_t cell)
{
	fill_handle(handle, state, cell - cell % SEGMENT_PLANE_CELLS);
}

static void fill_series(struct percpu_series *series, struct percpu_events *set, unsigned family,
			const struct segment_series *one)
{
	struct percpu__events_state *state = events_state(set);
	const struct segment_metric *metric = &segment_metrics(state->map)[family];

	series->set = set;
	if (metric->kind == PERCPU_HISTOGRAM) {
		series->histogram = &state->histograms[family];
		fill_plane(&series->plane, state, one->cell);
		series->block = state->map + segment_cell((const void *)state->map, one->cell);
		return;
	}
	fill_handle(&series->up.handle, state, one->cell);
	if (metric->kind == PERCPU_GAUGE)
		fill_handle(&series->down.handle, state, one->downs);
}

int percpu_series_open(struct percpu_series *series, struct percpu_events *set, unsigned family,
		       const char *const *values)
{
	struct percpu__events_state *state = set ? events_state(set) : NULL;
	const struct segment_metric *metric;
	struct segment_series *all, *one = NULL;
	char text[PERCPU_SERIES_TEXT];
	sigset_t saved;

	if (!series)
		return -EINVAL;
	memset(series, 0, sizeof(*series));
	if (!state || family >= set->n || !values)
		return -EINVAL;
	metric = &segment_metrics(state->map)[family];
	if (metric->nlabels == 0)
		return -EINVAL;
	all = &segment_series(state->map)[metric->first_series];
	if (join_values(text, values, metric->nlabels) != 0) {
		percpu__lock(&saved);
		one = find_series(all, metric->nseries, text);
		percpu__unlock(&saved);
	}
	fill_series(series, set, family, one ? one : all);
	return one ? 0 : -ENOSPC;
}

/* ---- Reading ---- */

/* Which slots are read: all, or given CPUs. */
struct slots {
	const unsigned *cpus; /* NULL: all */
	size_t n;
};

static int64_t sum_shared(const struct percpu__event *event, char *base)
{
	uint32_t first = EVENT_CPUS(event->handle.flags);
	uint32_t end = first + EVENT_SHARED(event->handle.flags);
	int64_t sum = percpu__cell_read(&event->aside);

	for (uint32_t slot = first; base && slot < end; slot++)
		sum = percpu__plus(sum, percpu__cell_read(percpu__slot(base, slot)));
	return sum;
}

static int64_t sum_event(const struct percpu__event *event, const struct slots *slots)
{
	char *base = base_of(event);
	uint32_t ncpus = EVENT_CPUS(event->handle.flags);
	int64_t sum = 0;

	if (!slots->cpus) {
		for (uint32_t slot = 0; base && slot < ncpus; slot++)
			sum = percpu__plus(sum, percpu__cell_read(percpu__slot(base, slot)));
		return percpu__plus(sum, sum_shared(event, base));
	}
	for (size_t i = 0; i < slots->n; i++) {
		unsigned cpu = slots->cpus[i];

		if (cpu == PERCPU_EVENTS_SHARED)
			sum = percpu__plus(sum, sum_shared(event, base));
		else if (base && cpu < ncpus)
			sum = percpu__plus(sum, percpu__cell_read(percpu__slot(base, cpu)));
	}
	return sum;
}

/* All that one slot's copy of a histogram has. */
static uint64_t collect_slot(const struct percpu__histogram *histogram, const char *block,
			     uint32_t slot, uint64_t *sums, uint64_t *count)
{
	uint64_t buckets[64 + SEGMENT_PLANE_CELLS];
	uint64_t sum;

	memset(buckets, 0, (histogram->last + 1) * sizeof(*buckets));
	sum = percpu__histogram_collect(histogram, percpu__slot(block, slot), buckets, count);
	for (uint32_t i = 0; sums && i <= histogram->last; i++)
		sums[i] += buckets[i];
	return sum;
}

static bool is_wanted(const struct slots *slots, uint32_t slot, uint32_t ncpus)
{
	if (!slots->cpus)
		return true;
	for (size_t i = 0; i < slots->n; i++)
		if (slot < ncpus ? slots->cpus[i] == slot : slots->cpus[i] == PERCPU_EVENTS_SHARED)
			return true;
	return false;
}

/* Adds to sums (buckets, may be NULL) and to *count; returns the sum of the values. */
static uint64_t collect(const struct percpu__histogram *histogram, const char *block,
			const struct slots *slots, uint64_t *sums, uint64_t *count)
{
	uint32_t ncpus = EVENT_CPUS(histogram->plane.flags);
	uint32_t end = ncpus + EVENT_SHARED(histogram->plane.flags);
	uint64_t sum = 0;

	for (uint32_t slot = 0; slot < end; slot++)
		if (is_wanted(slots, slot, ncpus))
			sum += collect_slot(histogram, block, slot, sums, count);
	return sum & SEGMENT_SUM_MASK;
}

/* Downs first (G1). */
static int64_t read_pair(const struct percpu__event *up, const struct percpu__event *down,
			 const struct slots *slots)
{
	int64_t downs = down ? sum_event(down, slots) : 0;

	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	return percpu__minus(sum_event(up, slots), downs);
}

static int64_t read_series(const struct percpu_series *series, const struct slots *slots)
{
	uint64_t count = 0;

	if (series->block) {
		(void)collect(series->histogram, series->block, slots, NULL, &count);
		return (int64_t)count;
	}
	return read_pair(&series->up, series->down.handle.base ? &series->down : NULL, slots);
}

/* The k-th series of a family, to read; false where there is none. */
static bool nth_series(struct percpu_series *series, const struct percpu_events *set,
		       unsigned family, uint32_t k)
{
	const struct percpu__events_state *state = events_state(set);
	const struct segment_metric *metric;
	const struct segment_series *one;

	if (!state)
		return false;
	metric = &segment_metrics(state->map)[family];
	one = &segment_series(state->map)[metric->first_series + k];
	memset(series, 0, sizeof(*series));
	if (k < metric->nseries && __atomic_load_n(&one->state, __ATOMIC_ACQUIRE) == SERIES_READY)
		fill_series(series, (struct percpu_events *)(uintptr_t)set, family, one);
	return k < metric->nseries;
}

static int64_t read_family(const struct percpu_events *set, unsigned family,
			   const struct slots *slots)
{
	struct percpu_series series;
	int64_t sum = 0;

	for (uint32_t k = 0; nth_series(&series, set, family, k); k++)
		sum = percpu__plus(sum, read_series(&series, slots));
	return sum;
}

static int64_t read_entry(const struct percpu_events *set, unsigned i, const struct slots *slots)
{
	const struct percpu__events_state *state = events_state(set);
	const struct percpu_event_desc *desc = &set->descs[i];
	uint64_t count = 0;

	if (desc->labels[0] && state)
		return read_family(set, i, slots);
	if (desc->kind == PERCPU_HISTOGRAM) {
		if (state)
			(void)collect(&state->histograms[i], state->histograms[i].block, slots,
				      NULL, &count);
		return (int64_t)count;
	}
	return read_pair(&set->event[i],
			 desc->kind == PERCPU_GAUGE ? &set->event[set->n + i] : NULL, slots);
}

int percpu_events_read_cpus(const struct percpu_events *set, const unsigned *cpus, size_t ncpus,
			    int64_t *values)
{
	const struct slots slots = {cpus, ncpus};

	if (!set || !values)
		return -EINVAL;
	for (unsigned i = 0; i < set->n; i++)
		values[i] = read_entry(set, i, &slots);
	return 0;
}

int percpu_events_read(const struct percpu_events *set, int64_t *values)
{
	return percpu_events_read_cpus(set, NULL, 0, values);
}

int64_t percpu_events_read_one(const struct percpu_events *set, unsigned event)
{
	const struct slots all = {NULL, 0};

	return set && event < set->n ? read_entry(set, event, &all) : 0;
}

int percpu_events_since(const struct percpu_events *set, const int64_t *before, int64_t *values)
{
	const struct slots all = {NULL, 0};

	if (!set || !before || !values)
		return -EINVAL;
	for (unsigned i = 0; i < set->n; i++)
		values[i] = percpu__minus(read_entry(set, i, &all), before[i]);
	return 0;
}

int percpu_histogram_read(const struct percpu_events *set, unsigned histogram, uint64_t *buckets,
			  size_t room, struct percpu_histogram_sums *sums)
{
	const struct percpu__events_state *state = set ? events_state(set) : NULL;
	const struct slots slots = {NULL, 0};
	const struct percpu__histogram *one;
	uint64_t all[64 + SEGMENT_PLANE_CELLS];
	struct percpu_series series;

	if (!state || histogram >= set->n || !state->histograms[histogram].block || !sums)
		return -EINVAL;
	one = &state->histograms[histogram];
	memset(all, 0, (one->last + 1) * sizeof(*all));
	sums->count = sums->sum = 0;
	if (!set->descs[histogram].labels[0])
		sums->sum = collect(one, one->block, &slots, all, &sums->count);
	else
		for (uint32_t k = 0; nth_series(&series, set, histogram, k); k++)
			if (series.block)
				sums->sum += collect(one, series.block, &slots, all, &sums->count);
	sums->sum &= SEGMENT_SUM_MASK;
	for (size_t i = 0; buckets && i < room && i <= one->last; i++)
		buckets[i] = all[i];
	return (int)one->last + 1;
}

int64_t percpu_series_read(const struct percpu_series *series)
{
	const struct slots all = {NULL, 0};

	return series && series->set ? read_series(series, &all) : 0;
}

/* ---- Open and close ---- */

static void *memory(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return p == MAP_FAILED ? NULL : p;
}

/* Twice the CPUs online where all threads will be there; else some for the few that are. */
static uint32_t shared_slots(uint32_t online)
{
	bool all = percpu__rt_writable.bound == 0;
	uint32_t n = all || online < 8 ? 2 * online : 16;

	return n < 4 ? 4 : n > SEGMENT_SHARED_MAX ? SEGMENT_SHARED_MAX : n;
}

static void plan_planes(struct segment_plan *plan, uint32_t ncpus)
{
	struct segment_header *header = &plan->header;
	uint64_t page = 4096;

	header->ncpus = ncpus;
	header->nshared = shared_slots(percpu__cpus_online());
	header->plane_size =
		((uint64_t)(ncpus + header->nshared) * PERCPU_STRIDE + page - 1) / page * page;
	header->size = header->planes + header->nplanes * header->plane_size;
}

/* The segment in memory of the process's own: pages are there when they are written. */
static int open_privately(struct percpu__events_state *state, const struct percpu_events *set,
			  struct segment_plan *plan)
{
	plan_planes(plan, percpu__rt_writable.ncpus);
	if (plan->header.size > PTRDIFF_MAX)
		return -ENOMEM;
	state->size = (size_t)plan->header.size;
	state->map = memory(state->size);
	if (!state->map)
		return -ENOMEM;
	(void)munlock(state->map, state->size);
	(void)madvise(state->map, state->size, MADV_NOHUGEPAGE);
	percpu__segment_describe(plan, set, state->map);
	return 0;
}

static uint32_t larger(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static int open_file(struct percpu__events_state *state, const struct percpu_events *set,
		     struct segment_plan *plan, const struct percpu_events_options *options)
{
	struct segment_file file;
	int result;

#if ARCH_ATOMIC_64
	plan_planes(plan, larger(percpu__cpus_online_end(), percpu__cpus_wanted()));
	result = percpu__segment_open(&file, set, plan, options);
#else
	(void)set, (void)plan, (void)options;
	result = -ENOTSUP;
	file.path[0] = '\0';
	snprintf(file.why, sizeof(file.why), "this CPU has no 64-bit atomics");
#endif
	memcpy(state->why, file.why, sizeof(state->why));
	if (result != 0)
		return result;
	memcpy(state->path, file.path, sizeof(state->path));
	state->map = file.map;
	state->size = file.size;
	state->fd = file.fd;
	state->shared = true;
	return 0;
}

/* An entry's cell; of a family that of its overflow series. */
static uint32_t first_cell(const struct segment_header *header, const struct segment_metric *metric)
{
	if (metric->nlabels == 0)
		return metric->cell;
	return segment_series(header)[metric->first_series].cell;
}

static uint32_t first_downs(const struct segment_header *header,
			    const struct segment_metric *metric)
{
	if (metric->nlabels == 0)
		return metric->downs;
	return segment_series(header)[metric->first_series].downs;
}

static void fill_histograms(struct percpu__events_state *state, unsigned n)
{
	const struct segment_header *header = (const void *)state->map;

	for (unsigned i = 0; i < n; i++) {
		const struct segment_metric *metric = &segment_metrics(header)[i];
		struct percpu__histogram *one = &state->histograms[i];
		uint32_t cell = first_cell(header, metric);

		if (metric->kind != PERCPU_HISTOGRAM)
			continue;
		one->shift = metric->shift;
		one->precision = metric->precision;
		one->last = metric->nbuckets - 1;
		one->block = state->map + segment_cell(header, cell);
		fill_plane(&one->plane, state, cell);
	}
}

/* Base, or the bound and what is aside, of an entry's ups or downs. */
static void publish_one(struct percpu__event *event, const struct percpu__events_state *state,
			uint32_t cell, bool base, bool fenced)
{
	struct percpu__handle full;

	fill_handle(&full, state, cell);
	if (base) {
		event->handle.flags = full.flags;
		__atomic_store_n(&event->handle.base, full.base, __ATOMIC_RELEASE);
		return;
	}
	if (fenced)
		__atomic_store_n(&event->handle.bound, full.bound, __ATOMIC_RELEASE);
	move_aside(event);
}

static void publish_all(struct percpu_events *set, const struct percpu__events_state *state,
			bool base, bool fenced)
{
	const struct segment_header *header = (const void *)state->map;

	for (unsigned i = 0; i < set->n; i++) {
		const struct segment_metric *metric = &segment_metrics(header)[i];

		if (metric->kind == PERCPU_HISTOGRAM)
			continue;
		publish_one(&set->event[i], state, first_cell(header, metric), base, fenced);
		if (metric->kind == PERCPU_GAUGE)
			publish_one(&set->event[set->n + i], state, first_downs(header, metric),
				    base, fenced);
	}
}

/* E1, E2. Sequences read bound before base. */
static void publish(struct percpu_events *set, const struct percpu__events_state *state)
{
	bool fenced;

	publish_all(set, state, true, false);
	fenced = percpu_fence() == 0;
	/* Pairs with the one in add_aside(). */
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	publish_all(set, state, false, fenced);
}

static void say(const struct percpu_events *set, const struct percpu__events_state *state)
{
	char line[400];
	int length =
		snprintf(line, sizeof(line), "percpu: events \"%s\" are counted privately: %s\n",
			 set->name, state->why);
	ssize_t ignored = write(STDERR_FILENO, line,
				length < (int)sizeof(line) ? (size_t)length : sizeof(line) - 1);

	(void)ignored;
}

static struct percpu__events_state *new_state(unsigned n)
{
	size_t size = sizeof(struct percpu__events_state) + n * sizeof(struct percpu__histogram);
	struct percpu__events_state *state = memory(size);

	if (state) {
		state->own_size = size;
		state->fd = -1;
	}
	return state;
}

/* Under the lock. */
static int open_locked(struct percpu_events *set, struct segment_plan *plan,
		       const struct percpu_events_options *options)
{
	struct percpu__events_state *state;
	int result = 0;

	if (set->state)
		return -EALREADY;
	state = new_state(set->n);
	if (!state)
		return -ENOMEM;
	if (!(options->flags & PERCPU_EVENTS_PRIVATE))
		result = open_file(state, set, plan, options);
	state->error = result;
	if (!state->shared && open_privately(state, set, plan) != 0) {
		munmap(state, state->own_size);
		return -ENOMEM;
	}
	fill_histograms(state, set->n);
	publish(set, state);
	__atomic_store_n(&set->state, state, __ATOMIC_RELEASE);
	if (result != 0 && !(options->flags & PERCPU_EVENTS_QUIET))
		say(set, state);
	return result;
}

int percpu_events_open(struct percpu_events *set, const struct percpu_events_options *options)
{
	static const struct percpu_events_options defaults = {0};
	struct segment_plan *plan;
	const char *why;
	int saved_errno = errno, result;
	sigset_t saved;

	if (!set)
		return -EINVAL;
	if (set->n == 0)
		return 0; /* compiled out */
	percpu__start();
	(void)percpu__shared_slot();
	plan = memory(sizeof(*plan));
	if (!plan)
		return -ENOMEM;
	result = percpu__segment_plan(plan, set, &why);
	if (result == 0) {
		percpu__lock(&saved);
		result = open_locked(set, plan, options ? options : &defaults);
		percpu__unlock(&saved);
	} else if (!options || !(options->flags & PERCPU_EVENTS_QUIET)) {
		fprintf(stderr, "percpu: events \"%s\": %s\n", set->name ? set->name : "", why);
	}
	munmap(plan, sizeof(*plan));
	errno = saved_errno;
	return result;
}

/* Of a private set what the cells have goes aside; that of a file stays in it. */
static void take_back(struct percpu__event *event, bool shared)
{
	const struct slots all = {NULL, 0};

	if (!shared)
		percpu__cell_write(&event->aside, sum_event(event, &all));
	__atomic_store_n(&event->handle.base, NULL, __ATOMIC_RELEASE);
}

int percpu_events_close(struct percpu_events *set)
{
	struct percpu__events_state *state;
	int saved_errno = errno;
	sigset_t saved;

	if (!set)
		return -EINVAL;
	if (set->n == 0)
		return 0; /* compiled out */
	percpu__lock(&saved);
	state = set->state;
	if (state) {
		for (unsigned i = 0; i < 2 * set->n; i++)
			__atomic_store_n(&set->event[i].handle.bound, 0, __ATOMIC_RELAXED);
		/* What was under way in a CPU slot commits before this or counts aside. */
		(void)percpu_fence();
		for (unsigned i = 0; i < 2 * set->n; i++)
			if (set->event[i].handle.base)
				take_back(&set->event[i], state->shared);
		__atomic_store_n(&set->state, NULL, __ATOMIC_RELEASE);
		if (state->shared)
			percpu__segment_leave(state->map);
		munmap(state->map, state->size);
		if (state->fd >= 0)
			close(state->fd);
		munmap(state, state->own_size);
	}
	percpu__unlock(&saved);
	errno = saved_errno;
	return state ? 0 : -EINVAL;
}

int percpu_events_status(const struct percpu_events *set, struct percpu_events_info *info)
{
	const struct percpu__events_state *state;

	if (!set || !info)
		return -EINVAL;
	state = events_state(set);
	*info = (struct percpu_events_info){.open = state != NULL, .path = "", .why = ""};
	if (state) {
		info->shared = state->shared;
		info->error = state->error;
		info->path = state->path;
		info->why = state->why;
	}
	for (unsigned i = 0; i < set->n; i++)
		if (set->descs[i].kind == PERCPU_HISTOGRAM)
			info->missed += (uint64_t)percpu__cell_read(&set->event[i].aside);
	return 0;
}

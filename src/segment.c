/* SPDX-License-Identifier: MIT */
/*
 * What a set of events looks like in a file: laid out from a declaration, and checked when it comes
 * from somebody else. See segment.h for the picture.
 *
 * Cells are dealt out in this order: events and the ups of gauges, those of families, histograms,
 * and last the downs of gauges, which readers take first (G1 in events.c). A histogram's cells lie
 * in one plane, because they are found from one address.
 */
#include "segment.h"

#include <string.h>

_Static_assert(sizeof(struct segment_header) == 512, "part of the file format");
_Static_assert(sizeof(struct segment_metric) == 96, "part of the file format");
_Static_assert(sizeof(struct segment_series) == 128, "part of the file format");
_Static_assert(offsetof(struct segment_header, pid) == 48, "part of the file format");
_Static_assert(offsetof(struct segment_header, boot) == 72, "part of the file format");
_Static_assert(offsetof(struct segment_header, ncpus) == 240, "part of the file format");
_Static_assert(offsetof(struct segment_header, metrics) == 272, "part of the file format");
_Static_assert(offsetof(struct segment_header, reserved) == 320, "part of the file format");

#define PAGE 4096u
#define PRECISION_MAX 8u
#define TEXT_MAX (1u << 24)
#define CELLS_MAX ((uint64_t)SEGMENT_PLANE_CELLS * SEGMENT_PLANES_MAX)
#define OVERFLOW_VALUE "_overflow"

/* ---- From a declaration ---- */

static bool is_family(const struct percpu_event_desc *desc)
{
	return desc->labels[0] != NULL;
}

static unsigned nlabels(const struct percpu_event_desc *desc)
{
	unsigned n = 0;

	while (n < PERCPU_EVENTS_LABELS && desc->labels[n])
		n++;
	return n;
}

static unsigned shift_of(const struct percpu_event_desc *desc)
{
	return desc->lowest > 1 ? 63u - (unsigned)__builtin_clzll(desc->lowest) : 0;
}

static unsigned nbuckets(const struct percpu_event_desc *desc)
{
	return segment_bucket(desc->highest, shift_of(desc), desc->precision, UINT32_MAX) + 2;
}

unsigned percpu_histogram_buckets(const struct percpu_event_desc *desc)
{
	return desc->kind == PERCPU_HISTOGRAM ? nbuckets(desc) : 0;
}

uint64_t percpu_histogram_bound(const struct percpu_event_desc *desc, unsigned bucket)
{
	if (bucket + 1 >= nbuckets(desc))
		return UINT64_MAX;
	return segment_bucket_low(bucket + 1, shift_of(desc), desc->precision) - 1;
}

/* Cells are dealt out one after the other; 0 of each plane is none. */
struct dealer {
	uint64_t next;
};

static uint32_t deal(struct dealer *dealer, uint32_t n)
{
	uint64_t first = dealer->next;

	if (first % SEGMENT_PLANE_CELLS + n > SEGMENT_PLANE_CELLS)
		first += SEGMENT_PLANE_CELLS - first % SEGMENT_PLANE_CELLS;
	if (first % SEGMENT_PLANE_CELLS == 0)
		first++;
	dealer->next = first + n;
	return (uint32_t)(first < CELLS_MAX ? first : CELLS_MAX);
}

/* Which of an entry's cells come in this turn; 0: none. */
static uint32_t cells_in_turn(const struct percpu_event_desc *desc, unsigned turn)
{
	switch (turn) {
	case 0:
		return desc->kind != PERCPU_HISTOGRAM && !is_family(desc);
	case 1:
		return desc->kind != PERCPU_HISTOGRAM && is_family(desc);
	case 2:
		return desc->kind == PERCPU_HISTOGRAM ? SEGMENT_HISTOGRAM_CELLS + nbuckets(desc)
						      : 0;
	default:
		return desc->kind == PERCPU_GAUGE;
	}
}

#define TURNS 4
#define TURN_DOWNS 3

static void deal_entry(struct dealer *dealer, const struct percpu_event_desc *desc, unsigned turn,
		       struct segment_metric *metric, struct segment_series *series)
{
	uint32_t n = cells_in_turn(desc, turn);
	unsigned times = is_family(desc) ? desc->series + 1 : 1;

	for (unsigned i = 0; n != 0 && i < times; i++) {
		uint32_t cell = deal(dealer, n);

		if (!metric)
			continue;
		if (!is_family(desc))
			*(turn == TURN_DOWNS ? &metric->downs : &metric->cell) = cell;
		else if (turn == TURN_DOWNS)
			series[metric->first_series + i].downs = cell;
		else
			series[metric->first_series + i].cell = cell;
	}
}

/* metrics and series may be NULL: only to see how many cells there are. */
static uint64_t deal_all(const struct percpu_events *set, struct segment_metric *metrics,
			 struct segment_series *series)
{
	struct dealer dealer = {0};

	for (unsigned turn = 0; turn < TURNS; turn++)
		for (unsigned i = 0; i < set->n && dealer.next < CELLS_MAX; i++)
			deal_entry(&dealer, &set->descs[i], turn, metrics ? &metrics[i] : NULL,
				   series);
	return dealer.next;
}

static bool is_name(const char *name, size_t max, const char *more)
{
	size_t i;

	if (!name || !*name || (*name >= '0' && *name <= '9') || *name == '.' || *name == '-')
		return false;
	for (i = 0; name[i]; i++) {
		char c = name[i];

		if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
		      c == '_' || strchr(more, c)))
			return false;
	}
	return i < max;
}

static const char *wrong_entry(const struct percpu_event_desc *desc)
{
	if (!is_name(desc->name, 256, ":."))
		return "an entry's name is not letters, digits, '_', ':' and '.'";
	if ((unsigned)desc->kind > PERCPU_HISTOGRAM)
		return "an entry is of no known kind";
	for (unsigned i = 0; i < nlabels(desc); i++)
		if (!is_name(desc->labels[i], 256, ""))
			return "a label's name is not letters, digits and '_'";
	if (is_family(desc) && (desc->series == 0 || desc->series > PERCPU_EVENTS_SERIES_MAX))
		return "a family has no label sets, or too many";
	if (desc->kind == PERCPU_HISTOGRAM &&
	    (desc->precision > PRECISION_MAX || desc->highest > SEGMENT_VALUE_MAX + 1 ||
	     desc->highest == 0 || desc->lowest > desc->highest ||
	     nbuckets(desc) > SEGMENT_PLANE_CELLS - 64))
		return "a histogram's precision or range is out of bounds";
	return NULL;
}

/* True when one with the same name was there before; names are found by a hash. */
static bool name_again(struct segment_plan *plan, const struct percpu_events *set, unsigned i)
{
	const char *name = set->descs[i].name;
	uint32_t at = 2166136261u;

	for (const char *c = name; *c; c++)
		at = (at ^ (unsigned char)*c) * 16777619u;
	for (;; at++) {
		uint32_t *entry = &plan->names[at % SEGMENT_NAMES];

		if (*entry == 0) {
			*entry = i + 1;
			return false;
		}
		if (strcmp(set->descs[*entry - 1].name, name) == 0)
			return true;
	}
}

static const char *wrong_set(struct segment_plan *plan, const struct percpu_events *set)
{
	if (!is_name(set->name, PERCPU_EVENTS_NAME_MAX, "-.") || !set->version ||
	    strlen(set->version) >= 32)
		return "the set's name is not letters, digits, '_', '-' and '.', or it or the "
		       "version is too long";
	if (set->n > PERCPU_EVENTS_MAX || !set->descs)
		return "the set has too many entries";
	for (unsigned i = 0; i < set->n; i++) {
		const char *wrong = wrong_entry(&set->descs[i]);

		if (wrong)
			return wrong;
		if (name_again(plan, set, i))
			return "two entries have one name";
	}
	return NULL;
}

static size_t length_of(const char *text)
{
	return text && *text ? strlen(text) + 1 : 0;
}

static uint64_t text_size(const struct percpu_events *set)
{
	uint64_t size = 1; /* the empty text is at 0 */

	for (unsigned i = 0; i < set->n; i++) {
		const struct percpu_event_desc *desc = &set->descs[i];

		size += length_of(desc->name) + length_of(desc->unit) + length_of(desc->help);
		for (unsigned k = 0; k < nlabels(desc); k++)
			size += length_of(desc->labels[k]);
	}
	return size;
}

static uint64_t up_to(uint64_t n, uint64_t multiple)
{
	return (n + multiple - 1) / multiple * multiple;
}

int percpu__segment_plan(struct segment_plan *plan, const struct percpu_events *set,
			 const char **why)
{
	struct segment_header *header = &plan->header;
	uint64_t cells, nseries = 0;

	*why = wrong_set(plan, set);
	if (*why)
		return -EINVAL;
	for (unsigned i = 0; i < set->n; i++)
		if (is_family(&set->descs[i]))
			nseries += set->descs[i].series + 1;
	cells = deal_all(set, NULL, NULL);
	*why = "the set is too large";
	if (cells >= CELLS_MAX || nseries > SEGMENT_SERIES_MAX)
		return -E2BIG;
	header->nmetrics = set->n;
	header->nseries = (uint32_t)nseries;
	header->metrics = sizeof(*header);
	header->series = header->metrics + set->n * sizeof(struct segment_metric);
	header->text = header->series + nseries * sizeof(struct segment_series);
	header->text_size = text_size(set);
	if (header->text_size > TEXT_MAX)
		return -E2BIG;
	header->planes = up_to(header->text + header->text_size, PAGE);
	header->nplanes = (uint32_t)(cells / SEGMENT_PLANE_CELLS) + 1;
	for (unsigned p = 0; p + 1 < header->nplanes; p++)
		plan->used[p] = SEGMENT_PLANE_CELLS;
	plan->used[header->nplanes - 1] = (uint32_t)(cells % SEGMENT_PLANE_CELLS);
	*why = "";
	return 0;
}

static uint32_t put_text(const struct segment_header *header, char *head, uint64_t *at,
			 const char *text)
{
	size_t length = length_of(text);
	uint32_t offset = (uint32_t)*at;

	if (length == 0)
		return 0;
	memcpy(head + header->text + offset, text, length);
	*at += length;
	return offset;
}

static void describe_entry(struct segment_metric *metric, const struct percpu_event_desc *desc,
			   const struct segment_header *header, char *head, uint64_t *text)
{
	metric->kind = desc->kind;
	metric->name = put_text(header, head, text, desc->name);
	metric->unit = put_text(header, head, text, desc->unit);
	metric->help = put_text(header, head, text, desc->help);
	metric->nlabels = nlabels(desc);
	for (unsigned k = 0; k < metric->nlabels; k++)
		metric->labels[k] = put_text(header, head, text, desc->labels[k]);
	if (desc->kind == PERCPU_HISTOGRAM) {
		metric->shift = shift_of(desc);
		metric->precision = desc->precision;
		metric->nbuckets = nbuckets(desc);
		metric->lowest = desc->lowest;
		metric->highest = desc->highest;
	}
}

/* The first series of a family counts for all label sets that found no room. */
static void describe_overflow(struct segment_series *series, unsigned labels)
{
	char *at = series->text;

	while (labels-- &&
	       (size_t)(at - series->text) + sizeof(OVERFLOW_VALUE) <= sizeof(series->text)) {
		memcpy(at, OVERFLOW_VALUE, sizeof(OVERFLOW_VALUE));
		at += sizeof(OVERFLOW_VALUE);
	}
	series->state = SERIES_READY;
}

void percpu__segment_describe(const struct segment_plan *plan, const struct percpu_events *set,
			      void *head)
{
	struct segment_header *header = head;
	struct segment_metric *metrics;
	struct segment_series *series;
	uint64_t text = 1;
	uint32_t first = 0;

	memcpy(header, &plan->header, sizeof(*header));
	memcpy(header->magic, SEGMENT_MAGIC, sizeof(header->magic));
	header->order = SEGMENT_ORDER;
	header->layout = SEGMENT_LAYOUT;
	header->cells = SEGMENT_CELLS_WHOLE;
	header->stride = PERCPU_STRIDE;
	header->metric_size = sizeof(*metrics);
	header->series_size = sizeof(*series);
	strncpy(header->name, set->name, sizeof(header->name) - 1);
	strncpy(header->version, set->version, sizeof(header->version) - 1);
	metrics = segment_metrics(head);
	series = segment_series(head);
	for (unsigned i = 0; i < set->n; i++) {
		const struct percpu_event_desc *desc = &set->descs[i];

		describe_entry(&metrics[i], desc, header, head, &text);
		if (!is_family(desc))
			continue;
		metrics[i].first_series = first;
		metrics[i].nseries = desc->series + 1;
		for (unsigned k = 0; k < metrics[i].nseries; k++)
			series[first + k].metric = i;
		describe_overflow(&series[first], metrics[i].nlabels);
		first += metrics[i].nseries;
	}
	(void)deal_all(set, metrics, series);
}

/* ---- From somebody else ---- */

static bool text_ends(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static const char *wrong_header(const struct segment_header *header, uint64_t file_size)
{
	uint64_t slots = (uint64_t)header->ncpus + header->nshared;

	if (header->stride != PERCPU_STRIDE ||
	    header->metric_size != sizeof(struct segment_metric) ||
	    header->series_size != sizeof(struct segment_series))
		return "it has other sizes than this layout";
	if (header->ncpus == 0 || header->ncpus > SEGMENT_CPUS_MAX || header->nshared == 0 ||
	    header->nshared > SEGMENT_SHARED_MAX || header->nplanes == 0 ||
	    header->nplanes > SEGMENT_PLANES_MAX || slots * header->nplanes > SEGMENT_COPIES_MAX)
		return "its number of slots is out of range";
	if (header->nmetrics > PERCPU_EVENTS_MAX || header->nseries > SEGMENT_SERIES_MAX ||
	    header->text_size == 0 || header->text_size > TEXT_MAX)
		return "its description is too large";
	if (header->metrics != sizeof(*header) ||
	    header->series !=
		    header->metrics + (uint64_t)header->nmetrics * sizeof(struct segment_metric) ||
	    header->text !=
		    header->series + (uint64_t)header->nseries * sizeof(struct segment_series) ||
	    header->planes != up_to(header->text + header->text_size, PAGE))
		return "its parts are not where this layout has them";
	if (header->plane_size != up_to(slots * PERCPU_STRIDE, PAGE) ||
	    header->size != header->planes + header->nplanes * header->plane_size)
		return "its planes have the wrong size";
	if (header->size != file_size)
		return "the file is shorter or longer than it says";
	if (!text_ends(header->boot, sizeof(header->boot)) ||
	    !text_ends(header->name, sizeof(header->name)) ||
	    !text_ends(header->version, sizeof(header->version)) ||
	    !text_ends(header->program, sizeof(header->program)))
		return "a text in its header does not end";
	return NULL;
}

/* n cells from this one on are cells, and in one plane. */
static bool cells_exist(const struct segment_header *header, uint32_t cell, uint32_t n)
{
	uint32_t first = cell % SEGMENT_PLANE_CELLS;

	return first != 0 && n <= SEGMENT_PLANE_CELLS && first + n <= SEGMENT_PLANE_CELLS &&
	       cell / SEGMENT_PLANE_CELLS < header->nplanes;
}

static uint32_t cells_of(const struct segment_metric *metric)
{
	return metric->kind == PERCPU_HISTOGRAM ? SEGMENT_HISTOGRAM_CELLS + metric->nbuckets : 1;
}

static bool both_exist(const struct segment_header *header, const struct segment_metric *metric,
		       uint32_t cell, uint32_t downs)
{
	return cells_exist(header, cell, cells_of(metric)) &&
	       (metric->kind != PERCPU_GAUGE || cells_exist(header, downs, 1));
}

/* Offsets below the text's size are fine: its last byte is a zero. */
static const char *wrong_metric(const struct segment_header *header,
				const struct segment_metric *metric)
{
	if (metric->kind > PERCPU_HISTOGRAM || metric->name == 0)
		return "an entry is of no known kind, or has no name";
	if (metric->name >= header->text_size || metric->unit >= header->text_size ||
	    metric->help >= header->text_size || metric->nlabels > PERCPU_EVENTS_LABELS)
		return "an entry's text is out of range";
	for (unsigned k = 0; k < metric->nlabels; k++)
		if (metric->labels[k] >= header->text_size)
			return "a label is out of range";
	if (metric->kind == PERCPU_HISTOGRAM &&
	    (metric->precision > PRECISION_MAX || metric->shift > 62 || metric->nbuckets < 2 ||
	     metric->nbuckets > SEGMENT_PLANE_CELLS || metric->highest > SEGMENT_VALUE_MAX + 1 ||
	     segment_bucket(metric->highest, metric->shift, metric->precision, UINT32_MAX) + 2 !=
		     metric->nbuckets))
		return "a histogram's range is wrong";
	if (metric->kind != PERCPU_HISTOGRAM && metric->nbuckets != 0)
		return "what is no histogram has buckets";
	if (metric->nlabels == 0 && !both_exist(header, metric, metric->cell, metric->downs))
		return "a cell is out of range";
	if (metric->nlabels != 0 &&
	    (metric->nseries == 0 || metric->first_series > header->nseries ||
	     metric->nseries > header->nseries - metric->first_series))
		return "a family's series are out of range";
	return NULL;
}

static const char *wrong_family(const void *head, uint32_t index)
{
	const struct segment_header *header = head;
	const struct segment_metric *metric = &segment_metrics(head)[index];
	const struct segment_series *series = segment_series(head);

	for (uint32_t k = 0; metric->nlabels != 0 && k < metric->nseries; k++) {
		const struct segment_series *one = &series[metric->first_series + k];

		if (one->metric != index)
			return "a series belongs to another family";
		if (!both_exist(header, metric, one->cell, one->downs))
			return "a series' cell is out of range";
	}
	return NULL;
}

static const char *wrong_description(const void *head)
{
	const struct segment_header *header = head;
	const char *wrong = NULL;

	if (*segment_text(head, 0) != '\0' ||
	    *segment_text(head, (uint32_t)header->text_size - 1) != '\0')
		return "its text does not end";
	for (uint32_t i = 0; !wrong && i < header->nmetrics; i++) {
		wrong = wrong_metric(header, &segment_metrics(head)[i]);
		if (!wrong)
			wrong = wrong_family(head, i);
	}
	return wrong;
}

int percpu__segment_check(const void *head, size_t head_size, uint64_t file_size, uint64_t *need,
			  const char **why)
{
	const struct segment_header *header = head;

	*need = sizeof(*header);
	*why = "it is shorter than a segment's header";
	if (file_size < sizeof(*header))
		return -EPROTO;
	if (head_size < sizeof(*header))
		return -EAGAIN;
	*why = "it does not begin as a segment does";
	if (memcmp(header->magic, SEGMENT_MAGIC, sizeof(header->magic)) != 0)
		return -EPROTO;
	*why = "it is of another machine's byte order, of another layout, or not ready";
	if (header->order != SEGMENT_ORDER || header->layout != SEGMENT_LAYOUT ||
	    header->ready != SEGMENT_READY || header->cells != SEGMENT_CELLS_WHOLE)
		return -EPROTO;
	*why = wrong_header(header, file_size);
	if (*why)
		return -EPROTO;
	*need = header->planes;
	if (head_size < header->planes)
		return -EAGAIN;
	*why = wrong_description(head);
	return *why ? -EPROTO : 0;
}

bool percpu__segment_same(const void *head, const void *other)
{
	const struct segment_header *a = head, *b = other;

	return strcmp(a->name, b->name) == 0 && strcmp(a->version, b->version) == 0 &&
	       a->nmetrics == b->nmetrics && a->nseries == b->nseries &&
	       a->text_size == b->text_size && a->planes == b->planes &&
	       memcmp(segment_metrics(head), segment_metrics(other),
		      a->nmetrics * sizeof(struct segment_metric)) == 0 &&
	       memcmp(segment_text(head, 0), segment_text(other, 0), (size_t)a->text_size) == 0;
}

static void use(uint32_t *used, uint32_t cell, uint32_t n)
{
	uint32_t *of_plane = &used[cell / SEGMENT_PLANE_CELLS];
	uint32_t end = cell % SEGMENT_PLANE_CELLS + n;

	if (cell != 0 && *of_plane < end)
		*of_plane = end;
}

void percpu__segment_used(const void *head, uint32_t *used)
{
	const struct segment_header *header = head;
	const struct segment_series *series = segment_series(head);

	memset(used, 0, header->nplanes * sizeof(*used));
	for (uint32_t i = 0; i < header->nmetrics; i++) {
		const struct segment_metric *metric = &segment_metrics(head)[i];

		if (metric->nlabels == 0) {
			use(used, metric->cell, cells_of(metric));
			use(used, metric->kind == PERCPU_GAUGE ? metric->downs : 0, 1);
		}
		for (uint32_t k = 0; metric->nlabels != 0 && k < metric->nseries; k++) {
			const struct segment_series *one = &series[metric->first_series + k];

			use(used, one->cell, cells_of(metric));
			use(used, metric->kind == PERCPU_GAUGE ? one->downs : 0, 1);
		}
	}
}

/* SPDX-License-Identifier: MIT */
/*
 * The reader of sets: finds them, opens them, says what they are. snapshot.c has the rest.
 *
 *	R1  A file is read with pread into memory of the reader's own, and checked there. What was
 *	    checked when it was opened is used from then on: of what is read later only cells,
 *	    texts of series and states are taken, and any value of them is fine.
 */
#include "reader_state.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* ---- Open ---- */

static int say(char *why, size_t size, int result, const char *what, const char *text)
{
	if (size > 0)
		snprintf(why, size, "%s: %s", what, text);
	return result;
}

int percpu__read_at(int fd, void *to, size_t size, uint64_t offset)
{
	size_t have = 0;

	while (have < size) {
		ssize_t got = pread(fd, (char *)to + have, size - have, (off_t)(offset + have));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return -ESTALE;
		have += (size_t)got;
	}
	return 0;
}

/* R1. */
static int read_head(struct percpu_reader *reader, uint64_t file_size, const char **why)
{
	size_t size = sizeof(struct segment_header);
	uint64_t need;
	int result;

	if (file_size < size)
		return percpu__segment_check("", 0, file_size, &need, why);
	for (unsigned round = 0; round < 2; round++) {
		free(reader->head);
		reader->head = calloc(1, size);
		*why = "no memory for it";
		if (!reader->head)
			return -ENOMEM;
		*why = "it cannot be read, or became shorter meanwhile";
		result = percpu__read_at(reader->fd, reader->head, size, 0);
		if (result == 0)
			result = percpu__segment_check(reader->head, size, file_size, &need, why);
		if (result != -EAGAIN)
			break;
		size = (size_t)need; /* bounded by the limits of a description */
	}
	/* Only its size could have changed since the first round. */
	return result == -EAGAIN ? -EPROTO : result;
}

static void fill_desc(struct percpu_event_desc *desc, const char *head,
		      const struct segment_metric *metric)
{
	desc->name = segment_text(head, metric->name);
	desc->unit = segment_text(head, metric->unit);
	desc->help = segment_text(head, metric->help);
	desc->kind = (enum percpu_event_kind)metric->kind;
	desc->precision = metric->precision;
	desc->lowest = metric->lowest;
	desc->highest = metric->highest;
	for (uint32_t k = 0; k < metric->nlabels; k++)
		desc->labels[k] = segment_text(head, metric->labels[k]);
	desc->series = metric->nlabels ? metric->nseries - 1 : 0;
}

static void widen(uint32_t *begin, uint32_t *end, uint32_t cell, uint32_t n)
{
	uint32_t first = cell % SEGMENT_PLANE_CELLS;

	if (*end == 0 || first < *begin)
		*begin = first;
	if (first + n > *end)
		*end = first + n;
}

static void see_cells(struct percpu_reader *reader, const struct segment_metric *metric,
		      uint32_t cell, uint32_t downs)
{
	struct plane *plane = &reader->planes[cell / SEGMENT_PLANE_CELLS];
	uint32_t n = metric->kind == PERCPU_HISTOGRAM ? SEGMENT_HISTOGRAM_CELLS : 1;

	widen(&plane->begin, &plane->end, cell, n);
	plane->histograms = plane->histograms || metric->kind == PERCPU_HISTOGRAM;
	if (metric->kind != PERCPU_GAUGE)
		return;
	plane = &reader->planes[downs / SEGMENT_PLANE_CELLS];
	widen(&plane->downs_begin, &plane->downs_end, downs, 1);
}

static int prepare(struct percpu_reader *reader)
{
	const struct segment_header *header = header_of(reader);
	const struct segment_series *series = segment_series(reader->head);

	reader->descs = calloc(header->nmetrics + 1, sizeof(*reader->descs));
	reader->planes = calloc(header->nplanes, sizeof(*reader->planes));
	reader->series = calloc(header->nseries + 1, sizeof(*reader->series));
	if (!reader->descs || !reader->planes || !reader->series)
		return -ENOMEM;
	for (uint32_t i = 0; i < header->nmetrics; i++) {
		const struct segment_metric *metric = &segment_metrics(reader->head)[i];

		fill_desc(&reader->descs[i], reader->head, metric);
		if (metric->nlabels == 0)
			see_cells(reader, metric, metric->cell, metric->downs);
		for (uint32_t k = 0; metric->nlabels != 0 && k < metric->nseries; k++)
			see_cells(reader, metric, series[metric->first_series + k].cell,
				  series[metric->first_series + k].downs);
	}
	for (uint32_t p = 0; p < header->nplanes; p++) {
		struct plane *plane = &reader->planes[p];

		if (plane->end == 0 && plane->downs_end == 0)
			continue;
		plane->sum = calloc(SEGMENT_PLANE_CELLS, sizeof(*plane->sum));
		if (!plane->sum)
			return -ENOMEM;
	}
	return 0;
}

static int open_fd(struct percpu_reader *reader, const char **why)
{
	struct stat st;

	/* Not waiting for the other end of what is no file. */
	reader->fd = open(reader->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (reader->fd < 0 || fstat(reader->fd, &st) != 0) {
		int error = errno;

		*why = strerror(error);
		return -error;
	}
	if (!S_ISREG(st.st_mode)) {
		*why = "it is no regular file";
		return -EPROTO;
	}
	return read_head(reader, (uint64_t)st.st_size, why);
}

int percpu_reader_open_path(struct percpu_reader **out, const char *path, char *why, size_t size)
{
	struct percpu_reader *reader;
	const char *text = "no memory";
	int result = -ENOMEM;

	if (!out || !path || (!why && size > 0))
		return -EINVAL;
	*out = NULL;
	reader = calloc(1, sizeof(*reader));
	if (!reader)
		return say(why, size, -ENOMEM, path, text);
	reader->fd = -1;
	reader->path = strdup(path);
	if (reader->path)
		result = open_fd(reader, &text);
	if (result == 0) {
		text = "no memory";
		result = prepare(reader);
	}
	if (result != 0) {
		percpu_reader_close(reader);
		return say(why, size, result, path, text);
	}
	*out = reader;
	return 0;
}

void percpu_reader_close(struct percpu_reader *reader)
{
	if (!reader)
		return;
	for (uint32_t p = 0; reader->planes && p < header_of(reader)->nplanes; p++)
		free(reader->planes[p].sum);
	if (reader->fd >= 0)
		close(reader->fd);
	free(reader->planes);
	free(reader->series);
	free(reader->descs);
	free(reader->head);
	free(reader->path);
	free(reader);
}

/* ---- Find ---- */

static bool has_suffix(const char *name)
{
	size_t length = strlen(name), suffix = strlen(SEGMENT_SUFFIX);

	return length > suffix && strcmp(name + length - suffix, SEGMENT_SUFFIX) == 0;
}

typedef int each_fn(void *arg, const char *path, struct percpu_reader *reader, int error,
		    const char *why);

static int list_folder(const char *folder, each_fn *each, void *arg, int *count)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int result = 0;

	while (result >= 0 && dir && (entry = readdir(dir)) != NULL) {
		struct percpu_reader *reader;
		char path[1024], why[256] = "";
		int error;

		if (*entry->d_name == '.' || !has_suffix(entry->d_name) ||
		    (size_t)snprintf(path, sizeof(path), "%s/%s", folder, entry->d_name) >=
			    sizeof(path))
			continue;
		error = percpu_reader_open_path(&reader, path, why, sizeof(why));
		if (error == -ENOENT)
			continue; /* gone since */
		(*count)++;
		result = each(arg, path, reader, error, why);
		if (result <= 0)
			percpu_reader_close(reader);
	}
	if (dir)
		closedir(dir);
	return result < 0 ? result : 0;
}

int percpu_reader_list(each_fn *each, void *arg)
{
	char folder[400];
	int count = 0, result = 0;

	if (!each)
		return -EINVAL;
	for (unsigned n = 0; result == 0; n++) {
		int found = percpu__segment_folder(n, folder, sizeof(folder));

		if (found == -ENOENT)
			break;
		if (found == 0 && *folder)
			result = list_folder(folder, each, arg, &count);
	}
	return result < 0 ? result : count;
}

int percpu_reader_open_name(struct percpu_reader **reader, const char *name, char *why, size_t size)
{
	char folder[400], path[1024];
	int result = -ENOENT;

	if (!reader || !name || strchr(name, '/') || (!why && size > 0))
		return -EINVAL;
	*reader = NULL;
	for (unsigned n = 0; result == -ENOENT; n++) {
		int found = percpu__segment_folder(n, folder, sizeof(folder));

		if (found == -ENOENT)
			return say(why, size, -ENOENT, name, "there is no set of this name");
		if (found == 0 && *folder &&
		    (size_t)snprintf(path, sizeof(path), "%s/%s%s", folder, name, SEGMENT_SUFFIX) <
			    sizeof(path))
			result = percpu_reader_open_path(reader, path, why, size);
	}
	return result;
}

struct search {
	pid_t pid;
	struct percpu_reader *found;
};

static int is_pid(void *arg, const char *path, struct percpu_reader *reader, int error,
		  const char *why)
{
	struct search *search = arg;

	(void)path, (void)error, (void)why;
	if (!reader || search->found || header_of(reader)->pid != (uint32_t)search->pid)
		return 0;
	search->found = reader;
	return 1;
}

int percpu_reader_open_pid(struct percpu_reader **reader, pid_t pid, char *why, size_t size)
{
	struct search search = {.pid = pid};
	char text[32];

	if (!reader || pid <= 0 || (!why && size > 0))
		return -EINVAL;
	(void)percpu_reader_list(is_pid, &search);
	*reader = search.found;
	snprintf(text, sizeof(text), "process %d", (int)pid);
	return search.found ? 0 : say(why, size, -ENOENT, text, "it owns no set");
}

int percpu_reader_open(struct percpu_reader **reader, const char *what, char *why, size_t size)
{
	if (!what || !*what)
		return -EINVAL;
	if (strchr(what, '/'))
		return percpu_reader_open_path(reader, what, why, size);
	if (what[strspn(what, "0123456789")] == '\0' && strlen(what) < 10)
		return percpu_reader_open_pid(reader, atoi(what), why, size);
	return percpu_reader_open_name(reader, what, why, size);
}

/* ---- What it is ---- */

const char *percpu_life_name(enum percpu_life life)
{
	switch (life) {
	case PERCPU_LIFE_DEAD:
		return "dead";
	case PERCPU_LIFE_ALIVE:
		return "alive";
	default:
		return "unknown";
	}
}

/* Its texts must end. */
int percpu__reader_refresh(struct percpu_reader *reader, struct stat *st)
{
	struct segment_header *header = (void *)reader->head;
	struct segment_header now;
	int result = fstat(reader->fd, st) == 0 ? 0 : -errno;

	if (result == 0)
		result = percpu__read_at(reader->fd, &now, sizeof(now), 0);
	if (result != 0)
		return result;
	if (memcmp(now.magic, SEGMENT_MAGIC, sizeof(now.magic)) != 0 ||
	    now.generation != header->generation || now.ready != SEGMENT_READY ||
	    (uint64_t)st->st_size != header->size)
		return -ESTALE;
	header->pid = now.pid;
	header->flags = now.flags;
	header->pid_start = now.pid_start;
	header->pid_space = now.pid_space;
	memcpy(header->program, now.program, sizeof(header->program) - 1);
	header->program[sizeof(header->program) - 1] = '\0';
	return st->st_nlink == 0 ? -ESTALE : 0;
}

int percpu_reader_status(struct percpu_reader *reader, struct percpu_reader_info *info)
{
	const struct segment_header *header;
	struct stat st = {0};
	int result;

	if (!reader || !info)
		return -EINVAL;
	result = percpu__reader_refresh(reader, &st);
	header = header_of(reader);
	*info = (struct percpu_reader_info){
		.path = reader->path,
		.name = header->name,
		.version = header->version,
		.program = header->program,
		.pid = (pid_t)header->pid,
		.generation = header->generation,
		.created = header->created,
		.cpus = header->ncpus,
		.entries = header->nmetrics,
		.size = header->size,
		.memory = (uint64_t)st.st_blocks * 512,
	};
	switch (percpu__segment_life(header, reader->fd)) {
	case SEGMENT_DEAD:
		info->life = PERCPU_LIFE_DEAD;
		break;
	case SEGMENT_ALIVE:
		info->life = PERCPU_LIFE_ALIVE;
		break;
	default:
		info->life = PERCPU_LIFE_UNKNOWN;
	}
	return result;
}

const struct percpu_event_desc *percpu_reader_desc(const struct percpu_reader *reader,
						   unsigned entry)
{
	return reader && entry < header_of(reader)->nmetrics ? &reader->descs[entry] : NULL;
}

/* SPDX-License-Identifier: MIT */
/*
 * A set with an entry of each kind, a folder for its file, and the file's insides.
 */
#ifndef PERCPU_TEST_SETS_H
#define PERCPU_TEST_SETS_H

#include "test.h"

#include <fcntl.h>
#include <ftw.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include <percpu/percpu.h>

#include "segment.h"

enum { HITS, MISSES, ACTIVE, LATENCY, BY_STATUS, IN_POOL, BY_SIZE, ENTRIES };

static const struct percpu_event_desc descs[] = {
	[HITS] = {.name = "hits", .help = "Found"},
	[MISSES] = {.name = "misses", .help = "Not found"},
	[ACTIVE] = {.name = "active",
		    .unit = "connections",
		    .help = "Open now",
		    .kind = PERCPU_GAUGE},
	[LATENCY] = {.name = "latency",
		     .unit = "ns",
		     .help = "Time per request",
		     .kind = PERCPU_HISTOGRAM,
		     .precision = 3,
		     .lowest = 10,
		     .highest = 1000000},
	[BY_STATUS] = {.name = "by_status",
		       .help = "By method and status",
		       .labels = {"method", "status"},
		       .series = 3},
	[IN_POOL] = {.name = "in_pool", .kind = PERCPU_GAUGE, .labels = {"pool"}, .series = 2},
	[BY_SIZE] = {.name = "by_size",
		     .unit = "bytes",
		     .kind = PERCPU_HISTOGRAM,
		     .highest = 1 << 20,
		     .labels = {"file"},
		     .series = 2},
};
static PERCPU_EVENTS(web, "web", "1", descs);

/* ---- A folder ---- */

static char sets_folder[64];
static char web_path[96];

static inline void sets_begin(void)
{
	strcpy(sets_folder, "/dev/shm/percpu-test-XXXXXX");
	if (!mkdtemp(sets_folder)) {
		strcpy(sets_folder, "/tmp/percpu-test-XXXXXX");
		CHECK(mkdtemp(sets_folder) != NULL);
	}
	CHECK_EQ(chmod(sets_folder, 0755), 0);
	CHECK_EQ(setenv("PERCPU_DIR", sets_folder, 1), 0);
	snprintf(web_path, sizeof(web_path), "%s/web.percpu", sets_folder);
}

static inline int sets__remove(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void sets_end(void)
{
	(void)nftw(sets_folder, sets__remove, 8, FTW_DEPTH | FTW_PHYS);
}

/* ---- Its insides, for tests that put something there ---- */

struct inside {
	char *map;
	size_t size;
	struct segment_header *header;
};

static inline struct inside inside_of(const char *path)
{
	struct inside inside = {NULL, 0, NULL};
	struct stat st;
	int fd = open(path, O_RDWR);

	CHECK(fd >= 0);
	CHECK_EQ(fstat(fd, &st), 0);
	inside.size = (size_t)st.st_size;
	inside.map = (char *)mmap(NULL, inside.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(inside.map != MAP_FAILED);
	inside.header = (struct segment_header *)(void *)inside.map;
	close(fd);
	return inside;
}

/* The words of a cell in a slot. */
static inline uint64_t *inside_cell(const struct inside *inside, uint32_t cell, uint32_t slot)
{
	return (uint64_t *)(void *)(inside->map + segment_cell(inside->header, cell) +
				    (size_t)slot * PERCPU_STRIDE);
}

static inline uint64_t inside_sum(const struct inside *inside, uint32_t cell)
{
	uint64_t sum = 0;

	for (uint32_t slot = 0; slot < inside->header->ncpus + inside->header->nshared; slot++)
		sum += *inside_cell(inside, cell, slot);
	return sum;
}

#endif

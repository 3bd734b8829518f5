/* SPDX-License-Identifier: MIT */
/*
 * A reader, for reader.c and snapshot.c.
 */
#ifndef PERCPU_READER_STATE_H
#define PERCPU_READER_STATE_H

#include "segment.h"

#include <sys/stat.h>

#include <percpu/reader.h>

/* Words of a plane's copies that are read. */
struct plane {
	uint32_t begin, end;             /* but downs; empty if end is 0 */
	uint32_t downs_begin, downs_end; /* the same of downs */
	bool histograms;
	uint64_t *sum; /* of all slots, word by word; one for downs and others */
};

struct percpu_reader {
	int fd;
	char *path;
	char *head; /* the file up to the planes, as it was when it was checked */
	struct percpu_event_desc *descs;
	struct plane *planes;
	struct segment_series *series; /* as read last */
	uint64_t copy[SEGMENT_PLANE_CELLS];
	uint64_t block[SEGMENT_PLANE_CELLS];
};

static inline const struct segment_header *header_of(const struct percpu_reader *reader)
{
	return (const void *)reader->head;
}

/* All of it or an error: -ESTALE for a file that ends before. */
HIDDEN int percpu__read_at(int fd, void *to, size_t size, uint64_t offset);
/* Reads the header again: the owner may be another by now. -ESTALE: this is another file, or none
 * any more. */
HIDDEN int percpu__reader_refresh(struct percpu_reader *reader, struct stat *st);

#endif

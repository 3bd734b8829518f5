/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: whatever is in a file, opening it and reading it gives an error or values.
 *
 * The input is the begin of a file: its first 4 bytes say how many zeros follow, so that a small input
 * can have planes.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <percpu/percpu.h>

#define LONGER_MAX (64u << 20)

static char path[64];
static unsigned snapshots;

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_it(void)
{
	struct percpu_snapshot *one, *two, *difference;
	struct percpu_reader *reader;
	struct percpu_reader_info info;
	char why[200];

	if (percpu_reader_open_path(&reader, path, why, sizeof(why)) != 0)
		return;
	(void)percpu_reader_status(reader, &info);
	for (unsigned i = 0; percpu_reader_desc(reader, i); i++)
		(void)strlen(percpu_reader_desc(reader, i)->name);
	if (percpu_snapshot_take(&one, reader, PERCPU_SNAPSHOT_CPUS) == 0 &&
	    percpu_snapshot_take(&two, reader, 0) == 0) {
		snapshots++;
		if (percpu_snapshot_since(&difference, two, one) == 0) {
			for (unsigned i = 0; i < difference->n; i++)
				(void)percpu_sample_percentile(&difference->samples[i], 0.99);
			percpu_snapshot_free(difference);
		}
		percpu_snapshot_free(one);
		percpu_snapshot_free(two);
	}
	percpu_reader_close(reader);
}

static void remove_it(void)
{
	unlink(path);
}

/* One file, written again each time; a removed one would be refused. */
static int make_file(void)
{
	int fd;

	strcpy(path, "/dev/shm/percpu-fuzz-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || atexit(remove_it) != 0)
		abort();
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static int fd = -1;
	uint32_t longer;

	if (size < sizeof(longer))
		return 0;
	if (fd < 0)
		fd = make_file();
	memcpy(&longer, data, sizeof(longer));
	if (longer > LONGER_MAX || ftruncate(fd, 0) != 0 ||
	    pwrite(fd, data + sizeof(longer), size - sizeof(longer), 0) < 0 ||
	    ftruncate(fd, (off_t)(size - sizeof(longer) + longer)) != 0)
		return 0;
	read_it();
	return 0;
}

#if !defined(FUZZ_WITH_LIBFUZZER)
/* Without libFuzzer: the files that are named, once each. */
int main(int argc, char **argv)
{
	static uint8_t data[1 << 20];

	for (int i = 1; i < argc; i++) {
		FILE *file = fopen(argv[i], "rb");
		size_t size = file ? fread(data, 1, sizeof(data), file) : 0;

		if (!file)
			return 1;
		fclose(file);
		(void)LLVMFuzzerTestOneInput(data, size);
	}
	printf("%d inputs, %u of them could be read\n", argc - 1, snapshots);
	return snapshots > 0 ? 0 : 1;
}
#endif

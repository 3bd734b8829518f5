/* SPDX-License-Identifier: MIT */
/* Per-CPU memory: what is handed out, what is taken back, and what it costs. */
#include "probe.h"

#include <stdbool.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <percpu/percpu.h>

#include "faults/faults.h"

#define GRANULE 8

static size_t rounded(size_t size)
{
	return (size + GRANULE - 1) / GRANULE * GRANULE;
}

static struct percpu_usage_info usage_now(void)
{
	struct percpu_usage_info usage;

	CHECK_OK(percpu_usage(&usage));
	return usage;
}

static void *copy_of(void *p, unsigned slot)
{
	return percpu__slot(p, slot);
}

static bool filled_with(const void *p, size_t size, int byte)
{
	const unsigned char *bytes = p;

	for (size_t i = 0; i < size; i++)
		if (bytes[i] != byte)
			return false;
	return true;
}

static void check_filled(void *p, size_t size, int byte)
{
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		CHECK(filled_with(copy_of(p, slot), size, byte));
}

/* Nobody else is here: a test may write to every copy. */
static void fill(void *p, size_t size, int byte)
{
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		memset(copy_of(p, slot), byte, size);
}

static void *alloc(size_t size, size_t align)
{
	void *p = NULL;

	CHECK_OK(percpu_alloc(&p, size, align));
	CHECK(p != NULL);
	return p;
}

TEST(every_size_comes_aligned_and_zeroed)
{
	static const size_t sizes[] = {1,    2,     3,     5,     7,     8,     9,
				       15,   16,    24,    31,    33,    63,    64,
				       65,   100,   255,   1000,  4095,  4096,  4097,
				       9999, 32768, 65535, 65536, 65537, 65800, 65856};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		for (size_t align = 1; align <= PERCPU_ALIGN_MAX; align *= 2) {
			void *p = alloc(sizes[i], align);

			for (unsigned slot = 0; slot < percpu_nslots(); slot++)
				CHECK_EQ((uintptr_t)copy_of(p, slot) % align, 0);
			check_filled(p, sizes[i], 0);
			fill(p, sizes[i], 0xa5);
			CHECK_OK(percpu_free(p));
		}
	}
}

TEST(bad_arguments_are_refused)
{
	static const size_t sizes[] = {0, PERCPU_SIZE_MAX + 1, SIZE_MAX / 2, SIZE_MAX - 7,
				       SIZE_MAX};
	static const size_t aligns[] = {0, 3, 5, 6, 24, 128, 4096, SIZE_MAX, SIZE_MAX / 2 + 1};
	struct percpu_usage_info before = usage_now();
	int dummy;
	void *p;

	CHECK_EQ(percpu_alloc(NULL, 8, 8), -EINVAL);
	CHECK_EQ(percpu_alloc(NULL, 0, 0), -EINVAL);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		p = &dummy;
		CHECK_EQ(percpu_alloc(&p, sizes[i], 8), -EINVAL);
		CHECK(p == NULL);
	}
	for (size_t i = 0; i < sizeof(aligns) / sizeof(aligns[0]); i++) {
		p = &dummy;
		CHECK_EQ(percpu_alloc(&p, 8, aligns[i]), -EINVAL);
		CHECK(p == NULL);
	}
	CHECK_EQ(percpu_usage(NULL), -EINVAL);
	CHECK_EQ(usage_now().allocated, before.allocated);
}

TEST(what_was_not_handed_out_is_not_taken_back)
{
	char *p = alloc(100, 8);
	struct percpu_usage_info before = usage_now();
	void *heap = malloc(64);
	int local = 0;

	CHECK_OK(percpu_free(NULL));
	CHECK_EQ(percpu_free(&local), -EINVAL);
	CHECK_EQ(percpu_free(heap), -EINVAL);
	CHECK_EQ(percpu_free((void *)8), -EINVAL);
	CHECK_EQ(percpu_free((void *)UINTPTR_MAX), -EINVAL);
	for (size_t inside = 1; inside < 104; inside++)
		CHECK_EQ(percpu_free(p + inside), -EINVAL);
	/* Other slots' copies, and memory of the area that nobody has. */
	CHECK_EQ(percpu_free(copy_of(p, 1)), -EINVAL);
	CHECK_EQ(percpu_free(copy_of(p, percpu_nslots())), -EINVAL);
	CHECK_EQ(percpu_free(p + 104), -EINVAL);
	CHECK_EQ(percpu_free(p + 40000), -EINVAL);
	CHECK_EQ(usage_now().allocated, before.allocated);
	CHECK_OK(percpu_free(p));
	CHECK_EQ(percpu_free(p), -EINVAL);
	free(heap);
}

TEST(double_free_is_refused)
{
	void *p[10];

	for (int i = 0; i < 10; i++)
		p[i] = alloc((size_t)i * 8 + 1, 1);
	for (int i = 0; i < 10; i += 2) {
		CHECK_OK(percpu_free(p[i]));
		CHECK_EQ(percpu_free(p[i]), -EINVAL);
	}
	for (int i = 0; i < 10; i++)
		CHECK_EQ(percpu_free(p[i]), i % 2 ? 0 : -EINVAL);
	CHECK_EQ(usage_now().allocated, 0);
}

TEST(small_objects_are_packed_and_large_ones_do_not_waste)
{
	size_t before = usage_now().allocated;
	char *first = alloc(8, 8);
	char *p[64];

	for (int i = 0; i < 64; i++) {
		p[i] = alloc(8, 8);
		CHECK_EQ(p[i] - first, (i + 1) * 8);
	}
	CHECK_EQ(usage_now().allocated - before, 65 * 8);
	/* A hole is used again, the lowest that fits. */
	CHECK_OK(percpu_free(p[10]));
	CHECK_OK(percpu_free(p[11]));
	CHECK_OK(percpu_free(p[30]));
	CHECK((p[30] = alloc(8, 1)) == p[10]);
	CHECK((p[11] = alloc(16, 1)) == p[63] + 8);
	CHECK((p[10] = alloc(1, 1)) == first + 12 * 8);
}

TEST(macros_give_typed_pointers)
{
	struct point {
		int x;
		double y;
	} *point = percpu_new(struct point);
	const struct point *copy;

	CHECK(point != NULL);
	CHECK_EQ((uintptr_t)point % __alignof__(struct point), 0);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++) {
		copy = percpu_ptr(point, slot);
		CHECK_EQ((const char *)copy - (const char *)point, (long)slot * PERCPU_STRIDE);
		CHECK_EQ(percpu_ptr(point, slot)->x, 0);
	}
	CHECK_OK(percpu_free(point));
	CHECK(PERCPU_STRIDE % PERCPU_ALIGN_MAX == 0);
	CHECK((PERCPU_STRIDE & (PERCPU_STRIDE - 1)) != 0);
}

/* Live objects, each filled with a byte of its own, against what the area says. */
struct object {
	char *p;
	size_t size;
	int byte;
};

#define OBJECTS 400
#if defined(TEST_SANITIZED)
#define STEPS 20000
#else
#define STEPS 100000
#endif
static struct object objects[OBJECTS];
static size_t live_bytes;

static void check_no_overlap(const struct object *object)
{
	for (int i = 0; i < OBJECTS; i++) {
		const struct object *other = &objects[i];

		if (other == object || !other->p)
			continue;
		CHECK(object->p + object->size <= other->p || other->p + other->size <= object->p);
	}
}

static size_t random_size(unsigned *seed)
{
	int kind = rand_r(seed) % 200;

	if (kind < 120)
		return 1 + (size_t)rand_r(seed) % 16;
	if (kind < 190)
		return 1 + (size_t)rand_r(seed) % 300;
	if (kind < 199)
		return 1 + (size_t)rand_r(seed) % 8000;
	return 1 + (size_t)rand_r(seed) % PERCPU_SIZE_MAX;
}

static void make(struct object *object, unsigned *seed)
{
	size_t align = (size_t)1 << (rand_r(seed) % 7);

	object->size = random_size(seed);
	object->p = alloc(object->size, align);
	object->byte = 1 + rand_r(seed) % 255;
	CHECK_EQ((uintptr_t)object->p % align, 0);
	check_no_overlap(object);
	check_filled(object->p, object->size, 0);
	fill(object->p, object->size, object->byte);
	live_bytes += rounded(object->size);
}

static void destroy(struct object *object)
{
	check_filled(object->p, object->size, object->byte);
	live_bytes -= rounded(object->size);
	CHECK_OK(percpu_free(object->p));
	object->p = NULL;
}

TEST(random_calls_agree_with_a_model)
{
	struct percpu_usage_info empty = usage_now();
	unsigned seed = 1;
	size_t reserved_most = 0;

	for (int step = 0; step < STEPS; step++) {
		struct object *object = &objects[rand_r(&seed) % OBJECTS];
		struct percpu_usage_info usage;

		/* Now and then nearly everything goes, and a chunk with it. */
		if (step % (STEPS / 5) == STEPS / 5 - 1)
			for (int i = 0; i < OBJECTS; i++)
				if (objects[i].p && i % 50)
					destroy(&objects[i]);
		if (object->p)
			destroy(object);
		else
			make(object, &seed);
		usage = usage_now();
		CHECK_EQ(usage.allocated, live_bytes + empty.allocated);
		CHECK(usage.reserved >= usage.allocated);
		if (usage.reserved > reserved_most)
			reserved_most = usage.reserved;
	}
	for (int i = 0; i < OBJECTS; i++)
		if (objects[i].p)
			destroy(&objects[i]);
	CHECK_EQ(usage_now().allocated, empty.allocated);
	/* Several chunks were there, and at most one is left. */
	CHECK(reserved_most >= 3 * usage_now().reserved);
	CHECK(usage_now().reserved > 0);
}

static void make_and_destroy(unsigned index, void *arg)
{
	unsigned seed = index + 10;
	struct object own[20];

	(void)arg;
	memset(own, 0, sizeof(own));
	for (int step = 0; step < 3000; step++) {
		struct object *object = &own[rand_r(&seed) % 20];

		if (object->p) {
			check_filled(object->p, object->size, object->byte);
			CHECK_OK(percpu_free(object->p));
			object->p = NULL;
		} else {
			object->size = 1 + (size_t)rand_r(&seed) % 500;
			object->byte = (int)(index + 1);
			object->p = alloc(object->size, 8);
			check_filled(object->p, object->size, 0);
			fill(object->p, object->size, object->byte);
		}
	}
	for (int i = 0; i < 20; i++)
		CHECK_OK(percpu_free(own[i].p));
}

TEST(threads_get_memory_of_their_own)
{
	size_t before = usage_now().allocated;

	test_threads(8, make_and_destroy, NULL);
	CHECK_EQ(usage_now().allocated, before);
}

/* Sanitizers have memory of their own. */
#if !defined(TEST_SANITIZED)
/* The lines of /proc/self/maps. */
static size_t read_maps(char *text, size_t size)
{
	FILE *file = fopen("/proc/self/maps", "r");
	size_t length;

	CHECK(file != NULL);
	length = fread(text, 1, size - 1, file);
	fclose(file);
	text[length] = '\0';
	return length;
}

static void check_allocation_fails(enum fault kind, unsigned call)
{
	static char before[65536], after[65536];
	struct percpu_usage_info usage = usage_now();
	int dummy;
	void *p = &dummy;

	/* Twice: the first reading may give stdio its buffer. */
	read_maps(before, sizeof(before));
	read_maps(before, sizeof(before));
	fault_arm(kind, call, 1, ENOMEM);
	CHECK_EQ(percpu_alloc(&p, PERCPU_SIZE_MAX, 64), -ENOMEM);
	CHECK(p == NULL);
	CHECK_EQ(fault_calls(kind), call);
	fault_clear();
	read_maps(after, sizeof(after));
	CHECK_STR_EQ(after, before);
	CHECK_EQ(usage_now().allocated, usage.allocated);
	CHECK_EQ(usage_now().reserved, usage.reserved);
}

TEST(failing_mmap_at_any_call_leaves_nothing_behind)
{
	for (int chunks = 0; chunks < 3; chunks++) {
		void *p;

		check_allocation_fails(FAULT_MMAP, 1);
		check_allocation_fails(FAULT_MMAP, 2);
		check_allocation_fails(FAULT_MPROTECT, 1);
		/* A whole slot: the next allocation needs a chunk of its own. */
		p = alloc(PERCPU_SIZE_MAX, 64);
		check_filled(p, PERCPU_SIZE_MAX, 0);
	}
}
#endif

#if !defined(TEST_SANITIZED)
/* What an allocator that the library's start calls would do. */
static void *early = &early;
static int early_result = 1;

static void allocate_in_start(enum fault kind, int after)
{
	(void)kind, (void)after;
	if (early_result == 1) {
		early_result = 0;
		early_result = percpu_alloc(&early, 8, 8);
	}
}

static void preinit(void)
{
	fault_watcher = allocate_in_start;
}

/* Before the library's constructor, where libc has something to run so early. */
__attribute__((section(".preinit_array"), used)) static void (*preinit_entry)(void) = preinit;

TEST(memory_is_refused_while_the_library_starts)
{
#if !defined(__GLIBC__)
	if (early_result == 1)
		test_skip("this libc does not run .preinit_array");
#endif
	CHECK_EQ(early_result, -ENOMEM);
	CHECK(early == NULL);
	check_filled(alloc(8, 8), 8, 0);
}
#endif

TEST(advice_that_is_refused_is_done_without)
{
	fault_arm(FAULT_MADVISE, 1, FAULT_ALWAYS, EINVAL);
	check_filled(alloc(1000, 8), 1000, 0);
}

/* Objects that allocate: none of them is left when one cannot be had. */
TEST(failing_mmap_leaves_no_object_behind)
{
	static struct percpu_counter counters[9000];
	struct percpu_limit limit;
	struct percpu_zone zone;
	struct percpu_usage_info empty;

	fault_arm(FAULT_MMAP, 1, FAULT_ALWAYS, ENOMEM);
	CHECK_EQ(percpu_counter_init(&counters[0]), -ENOMEM);
	CHECK_EQ(percpu_limit_init(&limit, 10), -ENOMEM);
	CHECK_EQ(percpu_zone_init(&zone, 8, 10), -ENOMEM);
	CHECK(percpu_new(int) == NULL);
	fault_clear();
	empty = usage_now();
	CHECK_EQ(empty.allocated, 0);
	/* 8192 fit into the first chunk, then two mappings make the next. */
	fault_arm(FAULT_MMAP, 3, 1, ENOMEM);
	CHECK_EQ(percpu_counter_init_many(counters, 9000), -ENOMEM);
	CHECK_EQ(fault_calls(FAULT_MMAP), 3);
	fault_arm(FAULT_MMAP, 2, 1, ENOMEM);
	CHECK_EQ(percpu_counter_init_many(counters, 9000), -ENOMEM);
	CHECK_EQ(fault_calls(FAULT_MMAP), 2);
	fault_clear();
	CHECK_EQ(usage_now().allocated, 0);
	CHECK_OK(percpu_counter_init_many(counters, 9000));
	CHECK_EQ(usage_now().allocated, 9000 * 8);
	for (int i = 0; i < 9000; i++)
		percpu_counter_add(&counters[i], i);
	for (int i = 0; i < 9000; i++)
		CHECK_EQ(percpu_counter_sum(&counters[i]), i);
	CHECK_OK(percpu_counter_destroy_many(counters, 9000));
	CHECK_EQ(usage_now().allocated, 0);
}

#if !defined(TEST_SANITIZED)
/* Bytes of memory that this process has. */
static size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long pages, total;

	CHECK(file != NULL);
	CHECK_EQ(fscanf(file, "%lu %lu", &total, &pages), 2);
	fclose(file);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

static struct percpu_counter many[1000];

static void count_on_every_cpu(void)
{
	cpu_set_t all;

	CHECK_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all) || test_pin(cpu) != 0)
			continue;
		for (int i = 0; i < 1000; i++)
			percpu_counter_inc(&many[i]);
	}
	(void)sched_setaffinity(0, sizeof(all), &all);
}

PROBE(keeps_1000_counters)
{
	size_t before = resident();
	int64_t sum = percpu_ncpus();

	CHECK_EQ(sum, sizeof(void *) > 4 ? 1024 : 256);
	CHECK_OK(percpu_counter_init_many(many, 1000));
	count_on_every_cpu();
	sum = percpu_counter_sum(&many[0]);
	for (int i = 0; i < 1000; i++)
		CHECK_EQ(percpu_counter_sum(&many[i]), sum);
	CHECK(resident() - before < 20u << 20);
	/* Nor does it grow when they go: what nobody wrote need not be cleared. */
	before = resident();
	CHECK_OK(percpu_counter_destroy_many(many, 1000));
	CHECK(resident() < before + (2u << 20));
	/* It is the CPUs that count, not those that could: two more would double it. */
	CHECK(usage_now().reserved > 20u << 20 || sizeof(void *) == 4);
}

TEST(field_L6_memory_does_not_grow_with_possible_cpus)
{
	CHECK_PROBE("keeps_1000_counters", "", "PERCPU_CPUS=1024");
	CHECK_PROBE("keeps_1000_counters", "", "PERCPU_CPUS=1024", "PERCPU_RSEQ=off");
}

PROBE(locks_its_memory)
{
	struct rlimit limit;
	size_t before;
	void *p;

	if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 ||
	    (geteuid() != 0 && limit.rlim_cur < (rlim_t)1 << 30))
		test_skip("may not lock memory");
	if (mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
		test_skip("mlockall: %s", strerror(errno));
	before = resident();
	p = alloc(64, 64);
	check_filled(p, 64, 0);
	CHECK(usage_now().reserved > 4u << 20);
	CHECK(resident() - before < 2u << 20);
}

TEST(locking_all_memory_does_not_populate_the_area)
{
	CHECK_PROBE("locks_its_memory", "", "PERCPU_CPUS=200");
}
#endif

static void use_the_copy(void *arg)
{
	char *p = arg;
	size_t allocated = usage_now().allocated;
	char *q = alloc(64, 8);

	check_filled(p, 64, 0x11);
	fill(p, 64, 0x22);
	check_filled(q, 64, 0);
	CHECK_OK(percpu_free(q));
	CHECK_OK(percpu_free(p));
	CHECK_EQ(percpu_free(p), -EINVAL);
	CHECK_EQ(usage_now().allocated, allocated - 64);
}

/* While the parent goes on: private pages, nothing half initialised. */
TEST(field_E4_forked_child_has_a_copy_of_its_own)
{
	char *p = alloc(64, 8);

	fill(p, 64, 0x11);
	for (int i = 0; i < 50; i++) {
		pid_t child = test_fork(use_the_copy, p);

		CHECK_OK(percpu_free(alloc(64, 8)));
		CHECK_EQ(test_wait(child), TEST_PASSED);
		check_filled(p, 64, 0x11);
	}
}

PROBE_MAIN()

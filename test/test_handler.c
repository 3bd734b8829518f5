/* SPDX-License-Identifier: MIT */
/*
 * Signal handlers: the first use of everything, in threads that never used anything, allocates
 * nothing. The program has an allocator of its own that knows whether a handler is running.
 */
#include "probe.h"

#include <percpu/percpu.h>

static __thread volatile int in_handler;

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *p, size_t size);
void __libc_free(void *p);

static void not_in_a_handler(const char *what)
{
	static const char text[] = " called in a signal handler\n";
	ssize_t written;

	if (!in_handler)
		return;
	written = write(STDERR_FILENO, what, strlen(what));
	written += write(STDERR_FILENO, text, sizeof(text) - 1);
	(void)written;
	_exit(TEST_FAILED);
}

void *malloc(size_t size)
{
	not_in_a_handler("malloc");
	return __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
	not_in_a_handler("calloc");
	return __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
	not_in_a_handler("realloc");
	return __libc_realloc(p, size);
}

void free(void *p)
{
	not_in_a_handler("free");
	__libc_free(p);
}

static struct percpu_limit limit;
static struct percpu_zone zone;
static uint32_t *word;
/* One for each thread, never used before. */
static struct percpu_counter firsts[100];
static struct percpu_id first_ids[100];
static unsigned runs;

/* Checks in a handler: without words for an errno, which libc would allocate. */
static void use_counters(struct percpu_counter *first, struct percpu_id *id)
{
	percpu_counter_inc(first);
	CHECK_EQ(percpu_counter_sum(first), 1);
	CHECK(percpu_counter_read(first) <= 1);
	CHECK_EQ(percpu_counter_compare(first, 1), 0);
	CHECK(percpu_counter_set(first, 5) == 0);
	CHECK(percpu_counter_reset(first) == 0);
	CHECK(percpu_id_next(id) != percpu_id_next(id));
}

static void use_amounts(void)
{
	int result = percpu_limit_add(&limit, 10);

	/* All of it, or another thread has some. */
	CHECK(result == 0 || result == -EAGAIN);
	if (result == 0)
		CHECK(percpu_limit_sub(&limit, 10) == 0);
	CHECK_EQ(percpu_limit_add(&limit, 11), -EAGAIN);
	CHECK(percpu_limit_sum(&limit) <= 10);
	CHECK_EQ(percpu_limit_compare(&limit, 11), -1);
	percpu_zone_add(&zone, 1000);
	percpu_zone_sub(&zone, 1);
	CHECK_EQ(percpu_zone_compare(&zone, 100000000), -1);
	(void)percpu_zone_sum(&zone);
}

static void use_words(void)
{
	unsigned slot;
	uint32_t seen;

	percpu_this_inc(word);
	percpu_this_or(word, 0u);
	percpu_this_and(word, UINT32_MAX);
	(void)percpu_this_add_return_slot(word, 1u, &slot);
	(void)percpu_this_xchg(word, 1u);
	(void)percpu_this_cmpxchg(word, 1u, 2u);
	(void)percpu_this_cmpxchg2(word, 1u, 2u, word, 1u);
	seen = percpu_this_read(word);
	percpu_this_write(word, seen);
	(void)*percpu_ptr(word, slot);
}

static void use_threads(void)
{
	struct percpu_mode_info mode;

	CHECK(percpu_cpu() >= 0);
	CHECK(percpu_mode(&mode) == 0);
	CHECK(percpu_fence() == (mode.fence ? 0 : -ENOSYS));
	percpu_cs_clear();
}

static void use_everything(int which)
{
	unsigned run = __atomic_fetch_add(&runs, 1, __ATOMIC_RELAXED);

	/* Each part is the thread's first call in one of the threads. */
	for (int i = 0; i < 4; i++) {
		switch ((which + i) % 4) {
		case 0:
			use_counters(&firsts[run], &first_ids[run]);
			break;
		case 1:
			use_amounts();
			break;
		case 2:
			use_words();
			break;
		default:
			use_threads();
			break;
		}
	}
}

static __thread int which_is_first;

static void handler(int sig)
{
	(void)sig;
	in_handler = 1;
	use_everything(which_is_first);
	in_handler = 0;
}

static void get_a_signal(unsigned index, void *arg)
{
	which_is_first = (int)index % 4 + *(int *)arg;
	raise(SIGUSR1);
}

static void make_objects(void)
{
	CHECK_OK(percpu_limit_init(&limit, 10));
	CHECK_OK(percpu_zone_init(&zone, 8, 100));
	word = percpu_new(uint32_t);
	CHECK(word != NULL);
	signal(SIGUSR1, handler);
}

TEST(field_F3_first_use_in_a_handler_allocates_nothing)
{
	make_objects();
	for (int i = 0; i < 4; i++) {
		test_threads(4, get_a_signal, &i);
		test_threads(1, get_a_signal, &i);
	}
	CHECK_EQ(runs, 20);
}

/* The process's very first call, but for what makes the objects. */
PROBE(counts_first_in_a_handler)
{
	signal(SIGUSR1, handler);
	in_handler = 1;
	use_counters(&firsts[0], &first_ids[0]);
	in_handler = 0;
	make_objects();
	in_handler = 1;
	use_everything(atoi(probe_argument));
	in_handler = 0;
}

TEST(field_F3_first_use_in_the_process_allocates_nothing)
{
	CHECK_PROBE("counts_first_in_a_handler", "0", "PERCPU_RSEQ");
	CHECK_PROBE("counts_first_in_a_handler", "1", PROBE_NO_LIBC);
	CHECK_PROBE("counts_first_in_a_handler", "2", "PERCPU_RSEQ=off");
	CHECK_PROBE("counts_first_in_a_handler", "3", PROBE_NO_LIBC);
}

static void allocate_in_handler(void *arg)
{
	/* A pair of calls without a purpose would be optimised away. */
	void *volatile p;

	(void)arg;
	close(STDERR_FILENO);
	in_handler = 1;
	p = malloc(10);
	in_handler = 0;
	free(p);
}

TEST(allocation_in_a_handler_would_be_noticed)
{
	CHECK_EQ(test_in_child(allocate_in_handler, NULL), TEST_FAILED);
}

PROBE_MAIN()

/* SPDX-License-Identifier: MIT */
/* What the tests of threads share: what this machine has, and adds whose sum is known. */
#ifndef PERCPU_TEST_THREADS_H
#define PERCPU_TEST_THREADS_H

#include "probe.h"

#include <stdbool.h>
#include <sys/syscall.h>

#include <percpu/percpu.h>

#define ADDS 20000
#define ERRNO_MARK 12345

extern const unsigned libc_size __asm__("__rseq_size") __attribute__((weak));

static inline bool libc_registers(void)
{
	return &libc_size && libc_size != 0;
}

/* Without an area: EINVAL from a kernel that knows the call. */
static inline bool kernel_registers(void)
{
	return syscall(SYS_rseq, NULL, 0, 0, 0) != 0 && errno == EINVAL;
}

static inline void need_sequences(void)
{
	if (!ARCH_HAVE_SEQ)
		test_skip("built without sequences");
	if (!kernel_registers())
		test_skip("no rseq in this kernel or sandbox");
}

static inline struct percpu_mode_info mode_now(void)
{
	struct percpu_mode_info mode;

	CHECK_OK(percpu_mode(&mode));
	return mode;
}

/* Every kind of operation, in so many threads as the caller has; what it adds up to is known. */
static PERCPU_COUNTER(hits);
static uint32_t *word;

static inline void add_some(unsigned index, void *arg)
{
	(void)index, (void)arg;
	for (int i = 0; i < ADDS; i++) {
		percpu_counter_inc(&hits);
		percpu_this_inc(word);
		(void)percpu_this_add_return(word, 2u);
	}
}

static inline void check_some(int64_t threads)
{
	uint32_t sum = 0;

	CHECK_EQ(percpu_counter_sum(&hits), threads * ADDS);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += __atomic_load_n(percpu_ptr(word, slot), __ATOMIC_RELAXED);
	CHECK_EQ(sum, (uint32_t)(threads * ADDS * 3));
}

static inline void check_exact_with(unsigned threads)
{
	word = percpu_new(uint32_t);
	CHECK(word != NULL);
	if (threads)
		test_threads(threads, add_some, NULL);
	add_some(0, NULL);
	check_some(threads + 1);
}

#endif

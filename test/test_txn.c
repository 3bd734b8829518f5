/* SPDX-License-Identifier: MIT */
/*
 * Transactions: what commits store and leave alone, what makes them refuse, and what breaking each
 * rule of percpu/txn.h does. Rounds of many threads are in storm_txn.c, aborts inside the commits'
 * own instructions in test_seq_txn.c, bodies that sleep or migrate in test_txn_kernel.c.
 */
#include "test.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "sanitizers.h"

#include <percpu/percpu.h>

#if defined(PERCPU_DEBUG)
#define DEBUG 1
#else
#define DEBUG 0
#endif

static bool on_cpu_slots(void)
{
	struct percpu_mode_info mode;

	CHECK_OK(percpu_mode(&mode));
	return mode.sequences;
}

static void need_sequences(void)
{
	if (!on_cpu_slots())
		test_skip("every transaction is on a shared slot here");
}

/* Debug builds hold signals off in a body, and stop at the system call that sends one. */
static void need_signals_in_bodies(void)
{
	need_sequences();
	if (DEBUG)
		test_skip("debug builds hold signals off in a body");
	if (THREAD_SANITIZER)
		test_skip("ThreadSanitizer runs handlers when it likes");
}

/* ---- What a commit does ---- */

#define GUARD 0x5a
#define DEFINE_WIDTH(name, type, first_value, second_value)                                        \
	struct name {                                                                              \
		unsigned char before[8];                                                           \
		type word;                                                                         \
		type other;                                                                        \
		unsigned char after[8];                                                            \
	};                                                                                         \
	static void guards_of_##name(const struct name *p)                                         \
	{                                                                                          \
		for (unsigned slot = 0; slot < percpu_nslots(); slot++)                            \
			for (unsigned i = 0; i < 8; i++) {                                         \
				CHECK_EQ(percpu_ptr(p, slot)->before[i], GUARD);                   \
				CHECK_EQ(percpu_ptr(p, slot)->after[i], GUARD);                    \
			}                                                                          \
	}                                                                                          \
	static void check_##name(void)                                                             \
	{                                                                                          \
		struct name *p = percpu_new(struct name);                                          \
		unsigned used = 0;                                                                 \
                                                                                                   \
		CHECK(p != NULL);                                                                  \
		for (unsigned slot = 0; slot < percpu_nslots(); slot++) {                          \
			struct name *copy = (struct name *)percpu__slot(p, slot);                  \
                                                                                                   \
			memset(copy->before, GUARD, 8);                                            \
			memset(copy->after, GUARD, 8);                                             \
		}                                                                                  \
		PERCPU_TXN(txn)                                                                    \
		{                                                                                  \
			const struct name *here = percpu_txn_ptr(&txn, p);                         \
                                                                                                   \
			used = txn.slot;                                                           \
			CHECK(here == percpu_ptr(p, used));                                        \
			(void)percpu_txn_commit(&txn, &here->word, first_value);                   \
		}                                                                                  \
		CHECK(percpu_ptr(p, used)->word == (type)(first_value));                           \
		CHECK(percpu_ptr(p, used)->other == (type)0);                                      \
		guards_of_##name(p);                                                               \
		PERCPU_TXN(txn)                                                                    \
		{                                                                                  \
			const struct name *here = percpu_txn_ptr(&txn, p);                         \
                                                                                                   \
			used = txn.slot;                                                           \
			(void)percpu_txn_commit2(&txn, &here->word, second_value, &here->other,    \
						 first_value);                                     \
		}                                                                                  \
		CHECK(percpu_ptr(p, used)->word == (type)(second_value));                          \
		CHECK(percpu_ptr(p, used)->other == (type)(first_value));                          \
		PERCPU_TXN(txn)                                                                    \
		{                                                                                  \
			const struct name *here = percpu_txn_ptr(&txn, p);                         \
                                                                                                   \
			used = txn.slot;                                                           \
			(void)percpu_txn_commit_release(&txn, &here->other, second_value);         \
		}                                                                                  \
		CHECK(percpu_ptr(p, used)->other == (type)(second_value));                         \
		guards_of_##name(p);                                                               \
		CHECK_OK(percpu_free(p));                                                          \
	}
static char letters[2];

DEFINE_WIDTH(bytes, signed char, -3, 7)
DEFINE_WIDTH(flags, bool, true, false)
DEFINE_WIDTH(halves, uint16_t, 0xfedc, 1)
DEFINE_WIDTH(words, int, -123456789, 42)
DEFINE_WIDTH(longs, unsigned long, ~2ul, 5ul)
DEFINE_WIDTH(pointers, char *, &letters[0], &letters[1])
#if PERCPU__WORD_MAX == 8
DEFINE_WIDTH(wides, uint64_t, 0xfedcba9876543210u, 1)
#endif

TEST(commit_stores_words_of_every_width_and_nothing_beside)
{
	check_bytes();
	check_flags();
	check_halves();
	check_words();
	check_longs();
	check_pointers();
#if PERCPU__WORD_MAX == 8
	check_wides();
#endif
}

struct copied {
	uintptr_t index;
	unsigned char data[PERCPU_TXN_COPY_MAX + 32];
};

static bool copy_bytes(struct copied *p, uintptr_t index, const void *from, size_t size,
		       unsigned *slot)
{
	bool done = false;

	PERCPU_TXN(txn)
	{
		const struct copied *here = percpu_txn_ptr(&txn, p);

		*slot = txn.slot;
		done = percpu_txn_commit_copy(&txn, &here->index, index, here->data + 1, from,
					      size);
	}
	return done;
}

TEST(commit_copies_every_size_up_to_the_longest)
{
	struct copied *p = percpu_new(struct copied);
	unsigned char from[PERCPU_TXN_COPY_MAX + 1];
	unsigned slot = 0;

	CHECK(p != NULL);
	for (unsigned i = 0; i < sizeof(from); i++)
		from[i] = (unsigned char)(i + 1);
	for (size_t size = 0; size <= PERCPU_TXN_COPY_MAX; size++) {
		const struct copied *copy;

		for (unsigned s = 0; s < percpu_nslots(); s++)
			memset(percpu__slot(p, s), 0, sizeof(*p));
		CHECK(copy_bytes(p, size + 1, from, size, &slot));
		copy = percpu_ptr(p, slot);
		CHECK_EQ(copy->index, size + 1);
		CHECK_EQ(copy->data[0], 0);
		CHECK(memcmp(copy->data + 1, from, size) == 0);
		for (size_t i = size + 1; i < sizeof(copy->data); i++)
			CHECK_EQ(copy->data[i], 0);
	}
}

/* Longer ones would be aborted for ever. */
TEST(a_longer_copy_ends_the_transaction_and_does_nothing)
{
	struct copied *p = percpu_new(struct copied);
	unsigned char from[PERCPU_TXN_COPY_MAX + 1];
	unsigned slot = 0;

	memset(from, 1, sizeof(from));
	CHECK(p != NULL);
	CHECK(!copy_bytes(p, 1, from, sizeof(from), &slot));
	CHECK_EQ(percpu_ptr(p, slot)->index, 0);
	for (size_t i = 0; i < sizeof(p->data); i++)
		CHECK_EQ(percpu_ptr(p, slot)->data[i], 0);
	CHECK(copy_bytes(p, 1, from, PERCPU_TXN_COPY_MAX, &slot));
}

/* ---- How transactions end ---- */

static long *word;

static void make_word(void)
{
	word = percpu_new(long);
	CHECK(word != NULL);
}

static long total(void)
{
	long sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	return sum;
}

static void add_one(void)
{
	PERCPU_TXN(txn)
	{
		const long *here = percpu_txn_ptr(&txn, word);

		(void)percpu_txn_commit(&txn, here, *here + 1);
	}
}

TEST(cancel_ends_the_loop_and_nothing_has_happened)
{
	unsigned turns = 0;

	make_word();
	PERCPU_TXN(txn)
	{
		turns++;
		percpu_txn_cancel(&txn);
		CHECK(!percpu_txn_valid(&txn));
		CHECK(!percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 1));
		percpu_txn_cancel(&txn);
	}
	CHECK_EQ(turns, 1);
	CHECK_EQ(total(), 0);
	add_one();
	CHECK_EQ(total(), 1);
}

TEST(a_transaction_that_was_not_begun_or_has_ended_commits_nothing)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;

	make_word();
	CHECK(!percpu_txn_valid(&txn));
	CHECK(!percpu_txn_commit(&txn, word, 1));
	CHECK(!percpu_txn_commit2(&txn, word, 1, word, 1));
	CHECK(!percpu_txn_commit_copy(&txn, word, 1, word, &txn, 1));
	do
		(void)percpu_txn_begin(&txn);
	while (!percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 1));
	CHECK(!percpu_txn_valid(&txn));
	CHECK(!percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 2));
	CHECK_EQ(total(), 1);
}

TEST(continue_tries_again)
{
	unsigned turns = 0;

	make_word();
	PERCPU_TXN(txn)
	{
		const long *here = percpu_txn_ptr(&txn, word);

		if (++turns < 5)
			continue;
		(void)percpu_txn_commit(&txn, here, *here + 1);
	}
	CHECK(turns >= 5);
	CHECK_EQ(total(), 1);
}

static sigset_t blocked_now(void)
{
	sigset_t set;

	sigemptyset(&set);
	CHECK_EQ(pthread_sigmask(SIG_BLOCK, NULL, &set), 0);
	return set;
}

/* I6: a body that never gets through is alone in the end, with signals held off. */
TEST(after_so_many_tries_it_runs_on_a_shared_slot_with_signals_held_off)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	sigset_t before = blocked_now(), during, after;

	make_word();
	while (txn.tries < PERCPU_TXN_TRIES && on_cpu_slots()) {
		(void)percpu_txn_begin(&txn);
		percpu_txn_cancel(&txn);
	}
	CHECK(percpu_txn_begin(&txn) >= percpu_ncpus());
	CHECK(percpu_txn_valid(&txn));
	during = blocked_now();
	CHECK_EQ(sigismember(&during, SIGUSR1), 1);
	CHECK_EQ(sigismember(&during, SIGALRM), 1);
	CHECK(percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 1));
	after = blocked_now();
	for (int sig = 1; sig < 32; sig++)
		CHECK_EQ(sigismember(&after, sig), sigismember(&before, sig));
	CHECK_EQ(total(), 1);
}

static void add_many(unsigned index, void *arg)
{
	(void)index, (void)arg;
	for (int i = 0; i < 1000; i++)
		add_one();
}

/* A shared slot that somebody holds is stepped over. */
TEST(transactions_on_shared_slots_do_not_wait_for_each_other)
{
	struct percpu_txn txn = {0, 0, PERCPU_TXN_TRIES};
	const long *here;

	make_word();
	CHECK(percpu_txn_begin(&txn) >= percpu_ncpus());
	here = percpu_txn_ptr(&txn, word);
	test_threads(20, add_many, NULL);
	CHECK_EQ(*here, 0);
	CHECK(percpu_txn_commit(&txn, here, *here + 1));
	CHECK_EQ(total(), 20001);
}

/* ---- What intervenes ---- */

static volatile unsigned handled;

static void add_in_handler(int sig)
{
	(void)sig;
	handled = handled + 1;
	add_one();
}

static void do_nothing(int sig)
{
	(void)sig;
	handled = handled + 1;
}

struct pair {
	long a, b;
	unsigned char narrow, half_pad;
	uint16_t half;
	unsigned quarter;
};

/* Each kind of commit, after a signal in the body. */
static bool commit_of_kind(struct percpu_txn *txn, const struct pair *here, unsigned kind)
{
	const long zero = 0;

	switch (kind) {
	case 0:
		return percpu_txn_commit(txn, &here->a, 1);
	case 1:
		return percpu_txn_commit(txn, &here->narrow, 1);
	case 2:
		return percpu_txn_commit(txn, &here->half, 1);
	case 3:
		return percpu_txn_commit(txn, &here->quarter, 1u);
	case 4:
		return percpu_txn_commit2(txn, &here->a, 1, &here->b, 0);
	case 5:
		return percpu_txn_commit_release(txn, &here->a, 1);
	default:
		return percpu_txn_commit_copy(txn, &here->a, 1, &here->b, &zero, sizeof(zero));
	}
}

/* A page that cannot be read: a signal without a system call, which rule 3 forbids. */
static struct {
	volatile unsigned char *start;
	size_t size;
	void (*handler)(int sig);
} page;

static void handle_fault(int sig)
{
	CHECK_EQ(mprotect((void *)(uintptr_t)page.start, page.size, PROT_READ), 0);
	page.handler(sig);
}

static void make_page(void (*handler)(int))
{
	void *start;

	page.size = (size_t)sysconf(_SC_PAGESIZE);
	start = mmap(NULL, page.size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(start != MAP_FAILED);
	page.start = (volatile unsigned char *)start;
	page.handler = handler;
	signal(SIGSEGV, handle_fault);
}

static void signal_in_body_refuses(void (*handler)(int))
{
	struct pair *p = percpu_new(struct pair);
	const struct pair zero = {0, 0, 0, 0, 0, 0};

	CHECK(p != NULL);
	make_word();
	make_page(handler);
	for (unsigned kind = 0; kind < 7; kind++) {
		struct percpu_txn txn = PERCPU_TXN_INIT;

		CHECK_EQ(mprotect((void *)(uintptr_t)page.start, page.size, PROT_NONE), 0);
		(void)percpu_txn_begin(&txn);
		(void)*page.start;
		CHECK(!percpu_txn_valid(&txn));
		CHECK(!commit_of_kind(&txn, percpu_txn_ptr(&txn, p), kind));
	}
	CHECK_EQ(handled, 7);
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		CHECK(memcmp(percpu_ptr(p, slot), &zero, sizeof(zero)) == 0);
}

TEST(a_signal_in_the_body_makes_every_commit_refuse)
{
	need_signals_in_bodies();
	signal_in_body_refuses(do_nothing);
}

TEST(a_transaction_in_a_handler_makes_the_one_below_refuse)
{
	need_signals_in_bodies();
	signal_in_body_refuses(add_in_handler);
	CHECK_EQ(total(), 7);
}

TEST(nothing_is_lost_when_every_body_is_interrupted)
{
	unsigned rounds = 0;

	need_signals_in_bodies();
	make_word();
	signal(SIGUSR1, add_in_handler);
	for (int i = 0; i < 10; i++)
		PERCPU_TXN(txn)
		{
			const long *here = percpu_txn_ptr(&txn, word);
			long seen = *here;

			rounds++;
			raise(SIGUSR1); /* waits while signals are held off */
			(void)percpu_txn_commit(&txn, here, seen + 1);
		}
	CHECK_EQ(rounds, 10 * (PERCPU_TXN_TRIES + 1));
	CHECK_EQ(total(), 10 + (long)handled);
}

/* ---- What breaking the rules does ---- */

/* Rule 2. */
static struct pair *mixed;
static unsigned mixed_slots[2]; /* of the two changes */

static void change_both(int sig)
{
	(void)sig;
	PERCPU_TXN(txn)
	{
		const struct pair *here = percpu_txn_ptr(&txn, mixed);

		mixed_slots[0] = txn.slot;
		(void)percpu_txn_commit(&txn, &here->a, here->a + 1);
	}
	PERCPU_TXN(txn)
	{
		const struct pair *here = percpu_txn_ptr(&txn, mixed);

		mixed_slots[1] = txn.slot;
		(void)percpu_txn_commit(&txn, &here->b, here->b + 1);
	}
}

/* One body with a handler in the middle. Whether that was the only interruption: others may have
 * moved the thread, or have come before it could ask for the first time. */
static bool interrupt_once(void)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	unsigned slot = percpu_txn_begin(&txn);
	const volatile struct pair *here = percpu_txn_ptr(&txn, mixed);
	long a = here->a, b = here->b;
	bool valid = percpu_txn_valid(&txn);

	raise(SIGUSR1);
	b = here->b - b;
	CHECK(!percpu_txn_valid(&txn));
	percpu_txn_cancel(&txn);
	if (!valid || slot != mixed_slots[0] || slot != mixed_slots[1])
		return false;
	/* What it read first is old, what it read last is new. */
	CHECK_EQ(here->a - a, 1);
	CHECK_EQ(b, 1);
	return true;
}

TEST(rule_2_a_body_sees_a_mixed_state_and_can_ask)
{
	need_signals_in_bodies();
	mixed = percpu_new(struct pair);
	CHECK(mixed != NULL);
	signal(SIGUSR1, change_both);
	while (!interrupt_once())
		;
}

/* Rule 3. What a system call does to updates depends on the kernel; that debug builds stop there
 * depends on whether it has the dispatch for it. */
static bool kernel_has_dispatch(void)
{
	volatile char selector = 0;
	bool has = prctl(59, 1ul, 0ul, 0ul, &selector) == 0;

	(void)prctl(59, 0ul, 0ul, 0ul, 0ul);
	return has;
}

static void yield_in_body(void *arg)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;

	(void)arg;
	(void)percpu_txn_begin(&txn);
	sched_yield();
	percpu_txn_cancel(&txn);
}

TEST(rule_3_debug_builds_stop_at_a_system_call)
{
	need_sequences();
	if (!DEBUG || SANITIZED)
		test_skip("this is no debug build, or a sanitized one, which makes calls itself");
	if (!kernel_has_dispatch())
		test_skip("this kernel cannot dispatch system calls");
	CHECK_EQ(test_in_child(yield_in_body, NULL), -SIGSYS);
}

TEST(debug_builds_give_system_calls_and_signals_back)
{
	sigset_t before = blocked_now(), after;

	make_word();
	for (int i = 0; i < 10; i++) {
		add_one();
		sched_yield();
	}
	after = blocked_now();
	for (int sig = 1; sig < 32; sig++)
		CHECK_EQ(sigismember(&after, sig), sigismember(&before, sig));
	CHECK_EQ(total(), 10);
}

/* Rule 4. */
TEST(rule_4_another_operation_in_the_body_makes_the_commit_refuse)
{
	static PERCPU_COUNTER(inside);
	struct percpu_txn txn = PERCPU_TXN_INIT;

	need_sequences();
	make_word();
	percpu_counter_inc(&inside);
	(void)percpu_txn_begin(&txn);
	percpu_counter_inc(&inside);
	CHECK(!percpu_txn_valid(&txn));
	CHECK(!percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 1));
	CHECK_EQ(total(), 0);
	CHECK_EQ(percpu_counter_sum(&inside), 2);
}

static void begin_twice(void *arg)
{
	struct percpu_txn outer = PERCPU_TXN_INIT;

	(void)arg;
	(void)percpu_txn_begin(&outer);
	add_one();
	CHECK(!percpu_txn_commit(&outer, percpu_txn_ptr(&outer, word), 17));
}

TEST(rule_4_a_transaction_inside_makes_the_outer_one_refuse)
{
	need_sequences();
	if (DEBUG && SANITIZED)
		test_skip("the sanitizer makes system calls where the library stops");
	make_word();
	CHECK_EQ(test_in_child(begin_twice, NULL), DEBUG ? -SIGABRT : 0);
}

TEST(signals_come_back_after_a_transaction_inside_another)
{
	struct percpu_txn outer = PERCPU_TXN_INIT;
	sigset_t before = blocked_now(), after;

	if (DEBUG)
		test_skip("debug builds stop at the second begin");
	make_word();
	(void)percpu_txn_begin(&outer);
	add_one();
	(void)percpu_txn_commit(&outer, percpu_txn_ptr(&outer, word), 17);
	percpu_txn_cancel(&outer);
	after = blocked_now();
	for (int sig = 1; sig < 32; sig++)
		CHECK_EQ(sigismember(&after, sig), sigismember(&before, sig));
}

/* T2, and why: with the pointer left behind by a transaction in a handler, the one below commits
 * what is stale. */
#if ARCH_HAVE_SEQ
static bool leave_pointer;

static void add_and_leave(int sig)
{
	(void)sig;
	add_one();
	if (leave_pointer)
		ARCH_SET_CS(percpu__rt.rseq_offset, percpu__rt.txn_cs);
}

static long lost_by_interruption(void)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	const long *here;
	long seen, before = total(), done;

	(void)percpu_txn_begin(&txn);
	here = percpu_txn_ptr(&txn, word);
	seen = *here;
	raise(SIGUSR1);
	done = percpu_txn_commit(&txn, here, seen + 1);
	return before + 1 + done - total();
}

TEST(rule_6_a_pointer_left_behind_loses_updates)
{
	need_signals_in_bodies();
	make_word();
	signal(SIGUSR1, add_and_leave);
	CHECK_EQ(lost_by_interruption(), 0);
	leave_pointer = true;
	CHECK_EQ(lost_by_interruption(), 1);
}

static uintptr_t pointer_now(void)
{
	uintptr_t cs;

	ARCH_LOAD_CS(cs, percpu__rt.rseq_offset);
	return cs;
}

TEST(no_pointer_is_left_by_any_commit_or_cancel)
{
	struct pair *p = percpu_new(struct pair);

	need_sequences();
	CHECK(p != NULL);
	for (unsigned kind = 0; kind < 7; kind++) {
		struct percpu_txn txn = PERCPU_TXN_INIT;

		do {
			(void)percpu_txn_begin(&txn);
		} while (!commit_of_kind(&txn, percpu_txn_ptr(&txn, p), kind));
		CHECK_EQ(pointer_now(), 0);
		txn = (struct percpu_txn)PERCPU_TXN_INIT;
		(void)percpu_txn_begin(&txn);
		percpu_txn_cancel(&txn);
		CHECK_EQ(pointer_now(), 0);
		txn = (struct percpu_txn)PERCPU_TXN_INIT;
		(void)percpu_txn_begin(&txn);
		ARCH_CLEAR_CS(percpu__rt.rseq_offset); /* as the kernel does */
		CHECK(!commit_of_kind(&txn, percpu_txn_ptr(&txn, p), kind));
		CHECK_EQ(pointer_now(), 0);
	}
}

/* Between the two steps of a commit that changes ranges. */
TEST(a_pointer_that_is_not_the_first_one_is_refused)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;

	need_sequences();
	make_word();
	(void)percpu_txn_begin(&txn);
	ARCH_SET_CS(percpu__rt.rseq_offset, percpu__rt.txn_cs + 32);
	CHECK(!percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 1));
	CHECK_EQ(total(), 0);
}
#endif

/* ---- fork ---- */

static void add_in_child(void *arg)
{
	(void)arg;
	add_one();
	CHECK_EQ(total(), 2);
}

TEST(field_E3_a_child_works_on_its_own_copy)
{
	make_word();
	add_one();
	CHECK_EQ(test_in_child(add_in_child, NULL), 0);
	CHECK_EQ(total(), 1);
}

static void commit_from_below(void *arg)
{
	(void)arg;
	test_threads(20, add_many, NULL);
	CHECK_EQ(total(), 20000);
}

/* A child of another thread finds no slot held. */
TEST(field_E3_a_transaction_open_in_another_thread_is_not_open_in_the_child)
{
	struct percpu_txn txn = {0, 0, PERCPU_TXN_TRIES};

	make_word();
	CHECK(percpu_txn_begin(&txn) >= percpu_ncpus());
	CHECK_EQ(test_in_child(commit_from_below, NULL), 0);
	percpu_txn_cancel(&txn);
	CHECK_EQ(total(), 0);
}

TEST_MAIN()

/* SPDX-License-Identifier: MIT */
/*
 * What this kernel does to a body that sleeps or migrates: in a system call (rule 3 of
 * percpu/txn.h), in a page fault, and between two instructions.
 */
#include "test.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#if __has_include(<linux/userfaultfd.h>)
#include <linux/ioctl.h>
#include <linux/userfaultfd.h>
#define HAVE_USERFAULTFD 1
#else
#define HAVE_USERFAULTFD 0
#endif

#include <percpu/percpu.h>

#define ROUNDS 200

static long *word;

/* Both threads are here; a hint, so each says which slot it used. */
static unsigned cpu;

static void need_sequences(void)
{
	struct percpu_mode_info mode;
	int here;

	CHECK_OK(percpu_mode(&mode));
	if (!mode.sequences)
		test_skip("every transaction is on a shared slot here");
	word = percpu_new(long);
	CHECK(word != NULL);
	here = percpu_cpu(); /* registers this thread */
	CHECK(here >= 0);
	cpu = (unsigned)here;
	CHECK_OK(test_pin(cpu));
}

static unsigned add_one(void)
{
	unsigned slot = 0;

	PERCPU_TXN(txn)
	{
		const long *here = percpu_txn_ptr(&txn, word);

		slot = txn.slot;
		(void)percpu_txn_commit(&txn, here, *here + 1);
	}
	return slot;
}

/* What the rounds of a test came to. */
struct tally {
	unsigned refused, lost, elsewhere;
};

/*
 * One body that sleeps until the other thread has added one. Refused: its add is there. Done: it is
 * lost, since the body's number was read before. Nothing else is possible.
 */
static void count_round(struct tally *tally, bool done, unsigned slot, unsigned other_slot,
			long before)
{
	long after = *percpu_ptr(word, slot);

	if (slot != other_slot) { /* somebody moved one of them */
		tally->elsewhere++;
		return;
	}
	CHECK_EQ(after, before + 1);
	tally->refused += !done;
	tally->lost += done;
}

/* ---- A system call ---- */

/* Two threads on one CPU; the second commits while the body of the first sleeps. */

static int to_other[2], to_first[2];

static void answer_each(unsigned index, void *arg)
{
	unsigned char byte;

	(void)index, (void)arg;
	CHECK_OK(test_pin(cpu));
	while (read(to_other[0], &byte, 1) == 1) {
		unsigned slot = add_one();

		CHECK_EQ(write(to_first[1], &slot, sizeof(slot)), sizeof(slot));
	}
}

static void sleep_in_a_call(struct tally *tally)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	unsigned slot = percpu_txn_begin(&txn), other_slot = 0;
	const long *here = percpu_txn_ptr(&txn, word);
	long seen = *(const volatile long *)here;
	ssize_t sent = write(to_other[1], "", 1);
	ssize_t got = read(to_first[0], &other_slot, sizeof(other_slot));
	bool done = percpu_txn_commit(&txn, here, seen + 1);

	CHECK_EQ(sent, 1);
	CHECK_EQ(got, sizeof(other_slot));
	count_round(tally, done, slot, other_slot, seen);
}

/* Both kinds of kernel pass: the test says which kind this one is, and that nothing else happens
 * than what the header says. */
TEST(rule_3_a_switch_in_a_system_call_is_seen_or_loses_the_update)
{
	struct tally tally = {0, 0, 0};
	struct test_crew *other;

#if defined(PERCPU_DEBUG)
	test_skip("debug builds stop at the system call");
#endif
	need_sequences();
	CHECK_EQ(pipe(to_other), 0);
	CHECK_EQ(pipe(to_first), 0);
	other = test_crew_start(1, answer_each, NULL);
	for (unsigned i = 0; i < ROUNDS; i++)
		sleep_in_a_call(&tally);
	CHECK_EQ(close(to_other[1]), 0);
	test_crew_join(other);
	CHECK_EQ(tally.refused + tally.lost + tally.elsewhere, ROUNDS);
	printf("this kernel %s a switch in a system call: %u refused, %u updates lost, %u moved\n",
	       tally.lost ? "does not notice" : "notices", tally.refused, tally.lost,
	       tally.elsewhere);
}

/* A CPU that this process may use, other than the one given. */
static unsigned another_cpu(unsigned than)
{
	cpu_set_t set;

	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned other = 0; other < percpu_ncpus() && other < CPU_SETSIZE; other++)
		if (other != than && CPU_ISSET(other, &set))
			return other;
	test_skip("one CPU only");
}

/* A commit that was not refused has gone to the slot of a CPU that the thread is not on (I1). */
TEST(rule_3_a_migration_in_a_system_call_is_seen_or_writes_to_another_cpus_slot)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	unsigned other, slot;
	int status;
	bool done;

#if defined(PERCPU_DEBUG)
	test_skip("debug builds stop at the system call");
#endif
	other = another_cpu((unsigned)sched_getcpu());
	need_sequences();
	slot = percpu_txn_begin(&txn);
	status = test_pin(other == slot ? another_cpu(other) : other);
	done = percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 1);
	CHECK_OK(status);
	CHECK_EQ(*percpu_ptr(word, slot), done);
	printf("this kernel %s a migration in a system call\n",
	       done ? "does not notice" : "notices");
}

/* ---- A migration between two instructions ---- */

static pid_t body_thread;
static unsigned body_cpu, goal;
static int in_body;

static void send_away(unsigned index, void *arg)
{
	cpu_set_t set;

	(void)index, (void)arg;
	CPU_ZERO(&set);
	CPU_SET(goal, &set);
	while (!__atomic_load_n(&in_body, __ATOMIC_ACQUIRE))
		sched_yield();
	CHECK_EQ(sched_setaffinity(body_thread, sizeof(set), &set), 0);
}

/* The body makes no system call: it looks at its CPU number until that is another one. */
TEST(a_migration_in_the_body_makes_the_commit_refuse)
{
	struct percpu_txn txn = PERCPU_TXN_INIT;
	struct test_crew *other;
	int here;
	bool done;

	goal = another_cpu((unsigned)sched_getcpu());
	need_sequences();
	if (goal == cpu)
		test_skip("somebody moved this thread");
	body_thread = (pid_t)syscall(SYS_gettid);
	other = test_crew_start(1, send_away, NULL);
	body_cpu = percpu_txn_begin(&txn);
	__atomic_store_n(&in_body, 1, __ATOMIC_RELEASE);
	do
		here = percpu_cpu_raw();
	while ((unsigned)here == body_cpu);
	done = percpu_txn_commit(&txn, percpu_txn_ptr(&txn, word), 1);
	test_crew_join(other);
	CHECK(!done);
	CHECK_EQ(*percpu_ptr(word, body_cpu), 0);
}

/* ---- A page fault ---- */

#if HAVE_USERFAULTFD

#if !defined(UFFD_USER_MODE_ONLY)
#define UFFD_USER_MODE_ONLY 1
#endif

static struct {
	int fd;
	long size; /* of a page */
	unsigned char *page;
	unsigned slot; /* of the transaction during the last fault */
} faults;

static void open_userfaultfd(void)
{
	struct uffdio_api api = {.api = UFFD_API, .features = 0, .ioctls = 0};
	struct uffdio_register range;
	size_t size;
	void *pages;

	faults.fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (faults.fd < 0)
		test_skip("userfaultfd is refused: %s", strerror(errno));
	faults.size = sysconf(_SC_PAGESIZE);
	size = (size_t)faults.size * ROUNDS;
	pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(pages != MAP_FAILED);
	faults.page = (unsigned char *)pages;
	memset(&range, 0, sizeof(range));
	range.range.start = (uintptr_t)pages;
	range.range.len = size;
	range.mode = UFFDIO_REGISTER_MODE_MISSING;
	if (syscall(SYS_ioctl, faults.fd, UFFDIO_API, &api) != 0 ||
	    syscall(SYS_ioctl, faults.fd, UFFDIO_REGISTER, &range) != 0)
		test_skip("userfaultfd does not do this: %s", strerror(errno));
}

/* Adds one, and then fills the page that the body waits for. */
static void fill_each(unsigned index, void *arg)
{
	struct uffd_msg message;

	(void)index, (void)arg;
	CHECK_OK(test_pin(cpu));
	for (unsigned i = 0; i < ROUNDS; i++) {
		struct uffdio_zeropage zero;

		CHECK_EQ(read(faults.fd, &message, sizeof(message)), sizeof(message));
		CHECK_EQ(message.event, UFFD_EVENT_PAGEFAULT);
		faults.slot = add_one();
		memset(&zero, 0, sizeof(zero));
		zero.range.start = (uintptr_t)faults.page + (uintptr_t)i * (uintptr_t)faults.size;
		zero.range.len = (uintptr_t)faults.size;
		CHECK_EQ(syscall(SYS_ioctl, faults.fd, UFFDIO_ZEROPAGE, &zero), 0);
	}
}

static void sleep_in_a_fault(struct tally *tally, unsigned round)
{
	const volatile unsigned char *page = faults.page + (size_t)round * (size_t)faults.size;
	struct percpu_txn txn = PERCPU_TXN_INIT;
	unsigned slot = percpu_txn_begin(&txn);
	const long *here = percpu_txn_ptr(&txn, word);
	long seen = *(const volatile long *)here;
	unsigned char byte = *page;
	bool valid = percpu_txn_valid(&txn);
	bool done = percpu_txn_commit(&txn, here, seen + 1);

	CHECK_EQ(byte, 0);
	CHECK(!done || valid);
	count_round(tally, done, slot, faults.slot, seen);
}

TEST(a_page_fault_that_sleeps_in_the_body_makes_the_commit_refuse)
{
	struct tally tally = {0, 0, 0};
	struct test_crew *other;

	need_sequences();
	open_userfaultfd();
	other = test_crew_start(1, fill_each, NULL);
	for (unsigned i = 0; i < ROUNDS; i++)
		sleep_in_a_fault(&tally, i);
	test_crew_join(other);
	CHECK_EQ(tally.lost, 0);
	CHECK_EQ(tally.refused + tally.elsewhere, ROUNDS);
	printf("%u refused, %u moved\n", tally.refused, tally.elsewhere);
}

#else

TEST(a_page_fault_that_sleeps_in_the_body_makes_the_commit_refuse)
{
	test_skip("built without the headers of userfaultfd");
}

#endif

TEST_MAIN()

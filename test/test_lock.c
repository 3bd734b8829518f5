/* SPDX-License-Identifier: MIT */
/* Locks: one holder at a time, whoever takes a slot in whichever way, and nobody waits for ever. */
#include "probe.h"

#include "cpus.h"
#include "sanitizers.h"

#include <sched.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/time.h>

#include <percpu/percpu.h>

#include "faults/faults.h"
#include "modes.h"

#define THREADS 6

/*
 * The oracle. Two words per slot that only the holder of its lock writes: plain, so that any
 * second holder is seen by what it does to them.
 */
struct data {
	long inside; /* who is in there: 0 nobody */
	long count;
};

static struct percpu_lock lock;
static struct data *data;

static void begin(void)
{
	data = percpu_new(struct data);
	CHECK(data != NULL);
	CHECK_OK(percpu_lock_init(&lock));
}

static void end(void)
{
	CHECK_OK(percpu_lock_destroy(&lock));
	CHECK_OK(percpu_free(data));
}

/* A critical section: who is anybody's number but 0. */
static inline void enter(int slot, long who)
{
	struct data *copy = percpu_locked_ptr(data, slot);

	if (copy->inside != 0)
		test_fail(__FILE__, __LINE__, "slot %d: %ld enters, %ld is in there", slot, who,
			  copy->inside);
	*(volatile long *)&copy->inside = who;
}

static inline void leave(int slot, long who)
{
	struct data *copy = percpu_locked_ptr(data, slot);

	*(volatile long *)&copy->count = copy->count + 1;
	if (*(volatile long *)&copy->inside != who)
		test_fail(__FILE__, __LINE__, "slot %d: %ld met somebody", slot, who);
	*(volatile long *)&copy->inside = 0;
}

static inline void visit(int slot, long who)
{
	enter(slot, who);
	leave(slot, who);
}

static long visits(void)
{
	long sum = 0;

	for (int slot = 0; slot < (int)percpu_nslots(); slot++) {
		CHECK_OK(percpu_lock_remote(&lock, slot));
		CHECK_EQ(percpu_locked_ptr(data, slot)->inside, 0);
		sum += percpu_locked_ptr(data, slot)->count;
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	}
	return sum;
}

TEST(lock_returns_a_slot_and_unlock_takes_it)
{
	begin();
	for (unsigned i = 0; i < 100; i++) {
		int slot = percpu_lock(&lock);

		CHECK(slot >= 0 && slot < (int)percpu_nslots());
		visit(slot, 1);
		CHECK_OK(percpu_unlock(&lock, slot));
		go_to_nth_cpu(i);
	}
	CHECK_EQ(visits(), 100);
	end();
}

TEST(bad_arguments_are_refused)
{
	struct percpu_usage_info usage;
	int slot;

	CHECK_EQ(percpu_lock_init(NULL), -EINVAL);
	CHECK_EQ(percpu_lock_destroy(NULL), -EINVAL);
	CHECK_EQ(percpu_lock(NULL), -EINVAL);
	CHECK_EQ(percpu_trylock(NULL), -EINVAL);
	CHECK_EQ(percpu_unlock(NULL, 0), -EINVAL);
	CHECK_EQ(percpu_lock_remote(NULL, 0), -EINVAL);
	CHECK_EQ(percpu_unlock_remote(NULL, 0), -EINVAL);
	/* A static one that was never used. */
	lock = (struct percpu_lock)PERCPU_LOCK_INIT;
	CHECK_EQ(percpu_unlock(&lock, 0), -EINVAL);
	CHECK_OK(percpu_lock_init(&lock));
	CHECK_EQ(percpu_unlock(&lock, -1), -EINVAL);
	CHECK_EQ(percpu_unlock(&lock, -EBUSY), -EINVAL);
	CHECK_EQ(percpu_unlock(&lock, (int)percpu_nslots()), -EINVAL);
	CHECK_EQ(percpu_unlock(&lock, INT_MAX), -EINVAL);
	CHECK_EQ(percpu_lock_remote(&lock, -1), -EINVAL);
	CHECK_EQ(percpu_lock_remote(&lock, (int)percpu_nslots()), -EINVAL);
	CHECK_EQ(percpu_unlock_remote(&lock, -1), -EINVAL);
	CHECK_EQ(percpu_unlock_remote(&lock, INT_MAX), -EINVAL);
	slot = percpu_lock(&lock);
	CHECK(slot >= 0);
	CHECK_OK(percpu_unlock(&lock, slot));
	CHECK_OK(percpu_lock_destroy(&lock));
	CHECK_EQ(percpu_lock_destroy(&lock), -EINVAL);
	CHECK_EQ(percpu_lock(&lock), -EINVAL);
	CHECK_EQ(percpu_trylock(&lock), -EINVAL);
	CHECK_EQ(percpu_unlock(&lock, slot), -EINVAL);
	CHECK_EQ(percpu_lock_remote(&lock, 0), -EINVAL);
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
}

/* What debug builds stop for. Elsewhere it is refused where that costs nothing. */
PROBE(does_what_it_must_not)
{
	int slot, other;

	begin();
	CHECK(true);
	slot = percpu_lock(&lock);
	switch (*probe_argument) {
	case 'u': /* what is not held */
		other = slot == 0 ? 1 : 0;
		(void)percpu_unlock(&lock, other);
		break;
	case 's': /* a shared slot that is not held */
		other = (int)percpu_nslots() - 1;
		if (other != slot)
			CHECK_EQ(percpu_unlock(&lock, other), -EPERM);
		break;
	case 'l': /* twice in one context */
		CHECK(percpu_lock(&lock) != slot);
		break;
	case 'r':
		CHECK_EQ(percpu_lock_remote(&lock, slot), -EDEADLK);
		break;
	case 'o': /* from outside what was not taken from there */
		CHECK_EQ(percpu_unlock_remote(&lock, slot == 0 ? 1 : 0), -EPERM);
		break;
	case 'd':
		CHECK_EQ(percpu_lock_destroy(&lock), -EBUSY);
		break;
	}
}

TEST(misuse_stops_debug_builds_and_is_refused_in_others)
{
	static const char *const misuses[] = {"u", "s", "l", "r", "o", "d"};

	for (size_t i = 0; i < sizeof(misuses) / sizeof(misuses[0]); i++) {
#if defined(PERCPU_DEBUG)
		CHECK_EQ(test_probe("does_what_it_must_not", misuses[i], "X=1"), -SIGABRT);
#else
		CHECK_EQ(test_probe("does_what_it_must_not", misuses[i], "X=1"), TEST_PASSED);
#endif
	}
}

TEST(trylock_gives_every_slot_that_is_free_and_then_says_busy)
{
	static int slots[4096];
	bool seen[4096] = {false};
	int n = 0, slot;

	begin();
	while ((slot = percpu_trylock(&lock)) >= 0) {
		CHECK(slot < (int)percpu_nslots());
		CHECK(!seen[slot]);
		seen[slot] = true;
		slots[n++] = slot;
	}
	CHECK_EQ(slot, -EBUSY);
	/* All shared ones, and perhaps CPU slots: one, if the thread stayed where it was. */
	CHECK(n >= (int)(percpu_nslots() - percpu_ncpus()));
	for (int i = (int)percpu_ncpus(); i < (int)percpu_nslots(); i++)
		CHECK(seen[i]);
	while (n > 0)
		CHECK_OK(percpu_unlock(&lock, slots[--n]));
	end();
}

TEST(slot_that_is_held_is_not_handed_out_again)
{
	int held[8];

	begin();
	for (int i = 0; i < 8; i++) {
		go_to_nth_cpu((unsigned)i);
		held[i] = percpu_trylock(&lock);
		CHECK(held[i] >= 0);
		for (int j = 0; j < i; j++)
			CHECK(held[i] != held[j]);
	}
	for (int i = 0; i < 8; i++)
		CHECK_OK(percpu_unlock(&lock, held[i]));
	end();
}

/* There it is free again, whatever its holder has to leave for threads of that CPU (M2). */
TEST(slot_given_back_on_another_cpu_is_taken_again)
{
	int other, slot, again;

	if (CPU_COUNT(&cpus_of_process) < 2)
		test_skip("two CPUs are needed");
	begin();
	if (!lock.cpu_words || percpu_cpu_raw() < 0)
		test_skip("this mode has shared slots only");
	/* Somebody else may move this thread between any two lines: again then. */
	do {
		go_to_nth_cpu(0);
		slot = percpu_lock(&lock);
		go_to_nth_cpu(1);
		other = percpu_cpu();
		CHECK_OK(percpu_unlock(&lock, slot));
		go_to_nth_cpu(0);
		again = percpu_lock(&lock);
		CHECK_OK(percpu_unlock(&lock, again));
	} while (slot != (int)nth_cpu(0) || other == slot || again >= (int)percpu_ncpus());
	CHECK_EQ(again, slot);
	/* A taker from outside finds it free, too. */
	CHECK_OK(percpu_lock_remote(&lock, slot));
	CHECK_OK(percpu_unlock_remote(&lock, slot));
	CHECK_EQ(percpu_lock_remote(&lock, slot), 0);
	CHECK_OK(percpu_unlock_remote(&lock, slot));
	end();
}

TEST(remote_takes_every_slot)
{
	begin();
	for (int slot = 0; slot < (int)percpu_nslots(); slot++)
		CHECK_OK(percpu_lock_remote(&lock, slot));
	/* Nothing is left, of either kind, on any CPU. */
	for (unsigned i = 0; i < 4; i++) {
		go_to_nth_cpu(i);
		CHECK_EQ(percpu_trylock(&lock), -EBUSY);
	}
	for (int slot = 0; slot < (int)percpu_nslots(); slot++) {
#if !defined(PERCPU_DEBUG)
		CHECK_EQ(percpu_lock_destroy(&lock), -EBUSY);
#endif
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	}
	end();
}

/* ---- Storms ---- */

static int stop;
static unsigned long handled, refused;

static void lock_in_handler(int sig)
{
	int saved = errno;
	int slot = percpu_trylock(&lock);

	(void)sig;
	if (slot >= 0) {
		visit(slot, 1000);
		CHECK_OK(percpu_unlock(&lock, slot));
		__atomic_add_fetch(&handled, 1, __ATOMIC_RELAXED);
	} else {
		CHECK_EQ(slot, -EBUSY);
		__atomic_add_fetch(&refused, 1, __ATOMIC_RELAXED);
	}
	CHECK_EQ(errno, saved);
}

struct work {
	long rounds;
	unsigned unregistered; /* every so-manieth thread has no CPU slot; 0: none */
};

static void lock_often(unsigned index, void *arg)
{
	const struct work *work = arg;
	bool without = work->unregistered && index % work->unregistered == 0;
	unsigned seed = index + 1;

	if (without)
		CHECK_OK(percpu_vfork_begin());
	for (long i = 0; i < work->rounds; i++) {
		int slot;

		if (i % 256 == 0)
			go_to_nth_cpu((unsigned)rand_r(&seed));
		slot = percpu_lock(&lock);
		CHECK(slot >= 0);
		enter(slot, (long)index + 1);
		/* It may go elsewhere, or not run, while it holds the lock. */
		if (i % 512 == 7)
			go_to_nth_cpu((unsigned)rand_r(&seed));
		else if (i % 64 == 0)
			sched_yield();
		leave(slot, (long)index + 1);
		CHECK_OK(percpu_unlock(&lock, slot));
	}
	if (without)
		CHECK_OK(percpu_vfork_end());
}

static long remote_visits;

/* CPU slots more often: those are the ones with a protocol. */
static void lock_remotely(unsigned index, void *arg)
{
	unsigned seed = index + 77;
	long own = 0;

	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		unsigned n = rand_r(&seed) % 4 ? percpu_ncpus() : percpu_nslots();
		int slot = (int)((unsigned)rand_r(&seed) % n);

		CHECK_OK(percpu_lock_remote(&lock, slot));
		visit(slot, (long)index + 100);
		own++;
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	}
	__atomic_add_fetch(&remote_visits, own, __ATOMIC_RELAXED);
}

static void storm(long rounds, unsigned remotes, unsigned unregistered)
{
	struct itimerval often = {{0, 300}, {0, 300}}, never = {{0, 0}, {0, 0}};
	struct work work = {rounds, unregistered};
	struct test_crew *takers = NULL;

	begin();
	handled = refused = 0;
	remote_visits = 0;
	__atomic_store_n(&stop, 0, __ATOMIC_RELAXED);
	signal(SIGALRM, lock_in_handler);
	if (remotes)
		takers = test_crew_start(remotes, lock_remotely, NULL);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	test_threads(THREADS, lock_often, &work);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	if (takers)
		test_crew_join(takers);
	signal(SIGALRM, SIG_IGN);
	CHECK_EQ(visits(), rounds * THREADS + (long)handled + remote_visits);
	end();
}

TEST(field_K3_handlers_trylock_on_top_of_holders)
{
	storm(100000, 0, 0);
}

TEST(owners_and_remote_takers_exclude_each_other)
{
	storm(40000, 2, 0);
}

TEST(threads_without_a_cpu_slot_are_mixed_in)
{
	storm(40000, 2, 2);
}

PROBE(storms_in_this_mode)
{
	storm(20000, 2, 3);
	CHECK(*probe_argument != '0' || !lock.cpu_words);
}

TEST(locks_exclude_in_the_other_modes)
{
	check_storms_in_the_other_modes("PERCPU_CPUS=64");
}

/* Everything contended: as many takers as slots, so that all kinds of waiters sleep. */
static void take_all_in_turn(unsigned index, void *arg)
{
	for (long i = 0; i < *(long *)arg; i++) {
		int slot;

		if (index % 2) {
			slot = (int)(i % (long)percpu_nslots());
			CHECK_OK(percpu_lock_remote(&lock, slot));
			enter(slot, (long)index + 1);
			sched_yield();
			leave(slot, (long)index + 1);
			CHECK_OK(percpu_unlock_remote(&lock, slot));
		} else {
			slot = percpu_lock(&lock);
			CHECK(slot >= 0);
			enter(slot, (long)index + 1);
			sched_yield();
			leave(slot, (long)index + 1);
			CHECK_OK(percpu_unlock(&lock, slot));
		}
	}
}

TEST(no_wake_up_is_lost_when_everything_is_contended)
{
	long rounds = 3000;

	begin();
	test_threads(12, take_all_in_turn, &rounds);
	CHECK_EQ(visits(), 12 * rounds);
	end();
}

/*
 * Owner against taker at full speed, on two CPUs: what the fence is for. LOCK_LITMUS says how many
 * times the owner goes in (the matrix: a hundred million).
 */
static void own_or_take(unsigned index, void *arg)
{
	long rounds = *(long *)arg;
	int target = (int)(nth_cpu(0) % percpu_ncpus());

	go_to_nth_cpu(index);
	if (index == 0) {
		for (long i = 0; i < rounds; i++) {
			int slot = percpu_lock(&lock);

			visit(slot, 1);
			(void)percpu_unlock(&lock, slot);
		}
		__atomic_store_n(&stop, 1, __ATOMIC_RELEASE);
		return;
	}
	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE)) {
		CHECK_OK(percpu_lock_remote(&lock, target));
		visit(target, 2);
		remote_visits++;
		CHECK_OK(percpu_unlock_remote(&lock, target));
	}
}

TEST(owner_and_taker_at_full_speed)
{
	const char *text = getenv("LOCK_LITMUS");
	long rounds = text ? strtol(text, NULL, 10) : 1000000;

	begin();
	test_threads(2, own_or_take, &rounds);
	CHECK_EQ(visits(), rounds + remote_visits);
	end();
}

/* ---- A static lock ---- */

static PERCPU_LOCK(static_lock);

static void lock_static(unsigned index, void *arg)
{
	int slot = percpu_lock(&static_lock);

	(void)arg;
	CHECK(slot >= 0);
	visit(slot, (long)index + 1);
	CHECK_OK(percpu_unlock(&static_lock, slot));
}

TEST(static_lock_works_at_its_first_use_by_all_at_once)
{
	data = percpu_new(struct data);
	CHECK(data != NULL);
	for (int i = 0; i < 200; i++) {
		static_lock = (struct percpu_lock)PERCPU_LOCK_INIT;
		test_threads(4, lock_static, NULL);
		CHECK_OK(percpu_lock_destroy(&static_lock));
	}
}

TEST(static_lock_without_memory_says_so_and_works_later)
{
	struct percpu_usage_info usage;
	int slot;

	fault_arm(FAULT_MMAP, 1, FAULT_ALWAYS, ENOMEM);
	errno = 12345;
	CHECK_EQ(percpu_lock(&static_lock), -ENOMEM);
	CHECK_EQ(percpu_trylock(&static_lock), -ENOMEM);
	CHECK_EQ(percpu_lock_remote(&static_lock, 0), -ENOMEM);
	CHECK_EQ(percpu_lock_init(&lock), -ENOMEM);
	CHECK_EQ(errno, 12345);
	fault_clear();
	slot = percpu_lock(&static_lock);
	CHECK(slot >= 0);
	CHECK_OK(percpu_unlock(&static_lock, slot));
	CHECK_OK(percpu_lock_destroy(&static_lock));
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 0);
}

/* ---- A fence that fails ---- */

TEST(slot_stays_closed_where_the_fence_fails)
{
	int slot;

	begin();
	if (!lock.cpu_words)
		test_skip("this mode needs no fence");
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	errno = 12345;
	for (int i = 0; i < (int)percpu_ncpus(); i++)
		CHECK_EQ(percpu_lock_remote(&lock, i), -EPERM);
	CHECK_EQ(errno, 12345);
	/* Closed for whoever is there, and every call ends. */
	for (unsigned i = 0; i < 20; i++) {
		go_to_nth_cpu(i);
		slot = percpu_lock(&lock);
		CHECK(slot >= (int)percpu_ncpus());
		CHECK_OK(percpu_unlock(&lock, slot));
	}
	CHECK_EQ(percpu_lock_remote(&lock, 0), -EPERM);
#if !defined(PERCPU_DEBUG)
	CHECK_EQ(percpu_unlock_remote(&lock, 0), -EPERM);
#endif
	/* A shared slot needs no fence. */
	CHECK_OK(percpu_lock_remote(&lock, (int)percpu_ncpus()));
	CHECK_OK(percpu_unlock_remote(&lock, (int)percpu_ncpus()));
	fault_clear();
	for (int i = 0; i < (int)percpu_ncpus(); i++) {
		CHECK_OK(percpu_lock_remote(&lock, i));
		CHECK_OK(percpu_unlock_remote(&lock, i));
	}
	slot = percpu_lock(&lock);
	CHECK(slot >= 0);
	CHECK_OK(percpu_unlock(&lock, slot));
	end();
}

/* Where a taker needs one to open the slot again, it stays closed, and the next taker opens it. */
TEST(slot_that_a_taker_could_not_open_is_opened_by_the_next_one)
{
	int slot;

	begin();
	go_to_nth_cpu(0);
	CHECK_OK(percpu_lock_remote(&lock, (int)nth_cpu(0)));
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	errno = 12345;
	CHECK_OK(percpu_unlock_remote(&lock, (int)nth_cpu(0)));
	CHECK_EQ(errno, 12345);
	slot = percpu_lock(&lock);
	CHECK(slot >= 0);
	CHECK_OK(percpu_unlock(&lock, slot));
	fault_clear();
	CHECK_OK(percpu_lock_remote(&lock, (int)nth_cpu(0)));
	CHECK_OK(percpu_unlock_remote(&lock, (int)nth_cpu(0)));
	do {
		go_to_nth_cpu(0);
		slot = percpu_lock(&lock);
		CHECK_OK(percpu_unlock(&lock, slot));
	} while (lock.cpu_words && percpu_cpu_raw() >= 0 && slot >= (int)percpu_ncpus());
	end();
}

static void take_while_fences_fail(unsigned index, void *arg)
{
	for (long i = 0; i < *(long *)arg; i++) {
		int slot = (int)((i + (long)index) % (long)percpu_ncpus());
		int result = 0;

		if (index % 2)
			slot = percpu_lock(&lock);
		else
			result = percpu_lock_remote(&lock, slot);
		if (result == -EPERM)
			continue;
		CHECK(slot >= 0 && result == 0);
		visit(slot, (long)index + 1);
		CHECK_OK(index % 2 ? percpu_unlock(&lock, slot)
				   : percpu_unlock_remote(&lock, slot));
	}
}

TEST(locks_exclude_while_fences_fail_now_and_then)
{
	long rounds = 20000;
	struct test_crew *crew;

	begin();
	crew = test_crew_start(4, take_while_fences_fail, &rounds);
	for (int i = 0; i < 2000; i++) {
		fault_arm(FAULT_MEMBARRIER, (unsigned)i % 5 + 1, 3, EPERM);
		sched_yield();
	}
	fault_clear();
	test_crew_join(crew);
	CHECK(visits() > 0);
	end();
}

/* ---- Who waits sleeps: field failure K1 ---- */

/* The letter of a thread's state, or of a process's: S sleeps, R runs or could, Z has ended. */
static char state_of(pid_t tid)
{
	char path[64], text[512], *end_of_name;
	size_t length;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)tid);
	file = fopen(path, "r");
	if (!file)
		test_skip("no %s", path);
	length = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[length] = '\0';
	end_of_name = strrchr(text, ')');
	CHECK(end_of_name != NULL && end_of_name[1] == ' ');
	return end_of_name[2];
}

/* Anybody's number that the child meets, as the test's own process never gets that far. */
#define SOMEBODY ((percpu__word)1 << 30)

static struct percpu__lock_words *contested;

/* A taker that finds the slot taken, from a stop right before it. Its own fence fails as well. */
static void take_what_is_taken(void *arg)
{
	int slot = percpu_lock(&lock);

	(void)arg;
	/* This process has looked after the holders now. */
	CHECK_OK(percpu_unlock(&lock, slot));
	fault_arm(FAULT_MEMBARRIER, 1, FAULT_ALWAYS, EPERM);
	contested->closed = SOMEBODY;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
		test_skip("ptrace is refused: %s", strerror(errno));
	raise(SIGSTOP);
	_exit(percpu_lock_remote(&lock, 0) == -EPERM ? TEST_PASSED : TEST_FAILED);
}

static pid_t start_taker(void)
{
	pid_t taker = test_fork(take_what_is_taken, NULL);
	int status;

	CHECK_EQ(waitpid(taker, &status, 0), taker);
	if (WIFEXITED(status) && WEXITSTATUS(status) == TEST_SKIPPED)
		test_skip("the traced child was");
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGSTOP);
	CHECK_EQ(ptrace(PTRACE_SETOPTIONS, taker, 0, PTRACE_O_EXITKILL), 0);
	return taker;
}

static void kill_taker(pid_t taker)
{
	kill(taker, SIGKILL);
	CHECK_EQ(test_wait(taker), -SIGKILL);
}

/* One instruction. False: it counts as a sleeper now. */
static bool step(pid_t taker)
{
	unsigned char bytes[sizeof(long)];
	uint32_t waiters;
	int status;
	long word;

	if (ptrace(PTRACE_SINGLESTEP, taker, NULL, NULL) != 0)
		test_skip("no single steps here: %s", strerror(errno));
	CHECK_EQ(waitpid(taker, &status, 0), taker);
	CHECK(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTRAP);
	errno = 0;
	word = ptrace(PTRACE_PEEKDATA, taker, &contested->waiters, NULL);
	CHECK_EQ(errno, 0);
	memcpy(bytes, &word, sizeof(bytes));
	memcpy(&waiters, bytes, sizeof(waiters));
	return waiters == 0;
}

/* Steps until the taker counts as a sleeper. */
static unsigned steps_to_sleep(void)
{
	pid_t taker = start_taker();
	unsigned steps = 0;

	while (step(taker))
		steps++;
	kill_taker(taker);
	return steps;
}

static unsigned fewer(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

/* The slot is given up, as by a taker whose fence failed, after so many instructions, with nobody there
 * to be woken. False: this taker was faster, and is no test. */
static bool give_up_after(unsigned steps)
{
	pid_t taker = start_taker();
	char state;

	while (steps--)
		if (!step(taker)) {
			kill_taker(taker);
			return false;
		}
	CHECK_EQ(ptrace(PTRACE_POKEDATA, taker, &contested->closed, (void *)PERCPU__LOCK_NOBODY),
		 0);
	CHECK_EQ(ptrace(PTRACE_CONT, taker, NULL, NULL), 0);
	/* It has nothing to sleep on but the lock. */
	while ((state = state_of(taker)) != 'Z') {
		CHECK(state != 'S');
		sched_yield();
	}
	CHECK_EQ(test_wait(taker), TEST_PASSED);
	return true;
}

TEST(field_K1_no_taker_sleeps_on_a_slot_whose_taker_gave_up)
{
	const unsigned last = 32;
	unsigned all, tested = 0;

	begin();
	if (!lock.cpu_words)
		test_skip("this mode needs no fence");
	contested = percpu__slot(lock.cpu_words, 0);
	/* Not every process takes as many: the fewest of some. */
	all = steps_to_sleep();
	for (int i = 0; i < 4; i++)
		all = fewer(all, steps_to_sleep());
	CHECK(all > last);
	/* Most of them are looks, one like the other. */
	for (unsigned steps = 0; steps < all - last; steps += all / 10)
		tested += give_up_after(steps);
	for (unsigned steps = all - last; steps < all; steps++)
		tested += give_up_after(steps);
	CHECK(tested > 0);
	end();
}

static struct {
	int slot; /* to be taken from outside, or -1: any */
	bool fifo;
	pid_t tid;
} waiter;

static void *wait_for_the_lock(void *arg)
{
	int slot = waiter.slot;

	if (waiter.fifo) {
		struct sched_param param = {.sched_priority = 50};

		if (sched_setscheduler(0, SCHED_FIFO, &param) != 0)
			test_skip("no real-time threads here");
	}
	__atomic_store_n(&waiter.tid, (pid_t)syscall(SYS_gettid), __ATOMIC_RELEASE);
	if (slot < 0) {
		slot = percpu_lock(&lock);
		CHECK(slot >= 0);
		visit(slot, 7);
		CHECK_OK(percpu_unlock(&lock, slot));
	} else {
		CHECK_OK(percpu_lock_remote(&lock, slot));
		visit(slot, 7);
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	}
	return arg;
}

/* Holds what is held until the waiter sleeps: one that spins on this CPU would be there for ever. */
static pthread_t start_waiter(int slot, bool fifo)
{
	pthread_t thread;
	pid_t tid;

	waiter.slot = slot;
	waiter.fifo = fifo;
	waiter.tid = 0;
	CHECK_EQ(pthread_create(&thread, NULL, wait_for_the_lock, NULL), 0);
	while ((tid = __atomic_load_n(&waiter.tid, __ATOMIC_ACQUIRE)) == 0)
		sched_yield();
	while (state_of(tid) != 'S')
		sched_yield();
	return thread;
}

static void waiters_sleep(bool fifo)
{
	pthread_t thread;
	int slot;

	go_to_nth_cpu(0);
	begin();
	/* For the slot of an owner. */
	slot = percpu_lock(&lock);
	thread = start_waiter(slot, fifo);
	CHECK_OK(percpu_unlock(&lock, slot));
	CHECK_EQ(pthread_join(thread, NULL), 0);
	/* For one that was taken from outside, of either kind. */
	for (slot = 0; slot < (int)percpu_nslots(); slot += (int)percpu_nslots() - 1) {
		CHECK_OK(percpu_lock_remote(&lock, slot));
		thread = start_waiter(slot, fifo);
		CHECK_OK(percpu_unlock_remote(&lock, slot));
		CHECK_EQ(pthread_join(thread, NULL), 0);
	}
	/* For any, when all are held. */
	for (slot = 0; slot < (int)percpu_nslots(); slot++)
		CHECK_OK(percpu_lock_remote(&lock, slot));
	thread = start_waiter(-1, fifo);
	for (slot = 0; slot < (int)percpu_nslots(); slot++)
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	CHECK_EQ(pthread_join(thread, NULL), 0);
	CHECK_EQ(visits(), 4);
	end();
}

TEST(who_waits_sleeps)
{
	waiters_sleep(false);
}

TEST(field_K1_real_time_waiter_and_ordinary_holder_on_one_cpu_finish)
{
	waiters_sleep(true);
}

static void lock_on_one_cpu(unsigned index, void *arg)
{
	go_to_nth_cpu(0);
	for (long i = 0; i < *(long *)arg; i++) {
		int slot = percpu_lock(&lock);

		CHECK(slot >= 0);
		enter(slot, (long)index + 1);
		if (i % 16 == 0)
			sched_yield();
		leave(slot, (long)index + 1);
		CHECK_OK(percpu_unlock(&lock, slot));
	}
}

TEST(field_K1_many_threads_on_one_cpu_finish)
{
	long rounds = 500;

	begin();
	test_threads(64, lock_on_one_cpu, &rounds);
	CHECK_EQ(visits(), 64 * rounds);
	end();
}

/* ---- Fork ---- */

static struct {
	int mine, theirs, remote; /* slots */
	int taken;
	bool done;
} at_fork;

static void *hold_over_fork(void *arg)
{
	at_fork.theirs = percpu_lock(&lock);
	CHECK(at_fork.theirs >= 0);
	at_fork.remote = at_fork.theirs == 0 ? 1 : 0;
	if (at_fork.remote == at_fork.mine)
		at_fork.remote = (int)percpu_nslots() - 1;
	CHECK_OK(percpu_lock_remote(&lock, at_fork.remote));
	__atomic_store_n(&at_fork.taken, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&at_fork.done, __ATOMIC_ACQUIRE))
		sched_yield();
	CHECK_OK(percpu_unlock_remote(&lock, at_fork.remote));
	CHECK_OK(percpu_unlock(&lock, at_fork.theirs));
	return arg;
}

static void look_at_locks_in_child(void *arg)
{
	const struct percpu__lock_words *words = lock.words;
	struct work work = {500, 0};
	int slot;

	(void)arg;
	/* What this thread held is held, by it. */
	while ((slot = percpu_trylock(&lock)) >= 0)
		CHECK(slot != at_fork.mine);
	CHECK_EQ(slot, -EBUSY);
	CHECK(percpu_ptr(words, (unsigned)at_fork.mine)->held != 0);
	for (slot = 0; slot < (int)percpu_nslots(); slot++)
		if (percpu_ptr(words, (unsigned)slot)->held != 0)
			CHECK_OK(percpu_unlock(&lock, slot));
	/* What others held is free, and nobody is waited for. */
	for (slot = 0; slot < (int)percpu_nslots(); slot++) {
		CHECK_OK(percpu_lock_remote(&lock, slot));
		percpu_locked_ptr(data, slot)->inside = 0;
		CHECK_EQ(percpu_ptr(words, (unsigned)slot)->waiters, 0);
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	}
	/* The child's own threads exclude each other. */
	if (!SANITIZED)
		test_threads(THREADS, lock_often, &work);
	end();
}

static void hold_and(int (*fork_and_look)(void))
{
	pthread_t holder, sleeper;

	begin();
	at_fork.mine = percpu_lock(&lock);
	CHECK(at_fork.mine >= 0);
	CHECK_EQ(pthread_create(&holder, NULL, hold_over_fork, NULL), 0);
	while (!__atomic_load_n(&at_fork.taken, __ATOMIC_ACQUIRE))
		sched_yield();
	sleeper = start_waiter(at_fork.mine, false);
	CHECK_EQ(fork_and_look(), TEST_PASSED);
	__atomic_store_n(&at_fork.done, true, __ATOMIC_RELEASE);
	CHECK_OK(percpu_unlock(&lock, at_fork.mine));
	CHECK_EQ(pthread_join(holder, NULL), 0);
	CHECK_EQ(pthread_join(sleeper, NULL), 0);
	end();
}

static int fork_and_look(void)
{
	return test_in_child(look_at_locks_in_child, NULL);
}

TEST(forked_child_holds_what_its_thread_held_and_nothing_else_is_stuck)
{
	hold_and(fork_and_look);
}

/* No atfork handler knows of such a child. */
static int clone_and_look(void)
{
	pid_t child = test_raw_clone();

	CHECK(child >= 0);
	if (child == 0) {
		test_watchdog(TEST_WATCHDOG_SECONDS);
		look_at_locks_in_child(NULL);
		_exit(TEST_PASSED);
	}
	return test_wait(child);
}

TEST(cloned_child_holds_what_its_thread_held_and_nothing_else_is_stuck)
{
	if (SANITIZED)
		test_skip("sanitizers do not survive a raw clone");
	hold_and(clone_and_look);
}

static void use_in_forked_child(void *arg)
{
	(void)arg;
	for (int slot = 0; slot < (int)percpu_nslots(); slot++) {
		CHECK_OK(percpu_lock_remote(&lock, slot));
		percpu_locked_ptr(data, slot)->inside = 0;
		CHECK_OK(percpu_unlock_remote(&lock, slot));
	}
	for (int i = 0; i < 1000; i++) {
		int slot = percpu_lock(&lock);

		CHECK(slot >= 0);
		visit(slot, 1);
		CHECK_OK(percpu_unlock(&lock, slot));
	}
}

TEST(field_E3_children_forked_in_a_storm_find_no_lock_stuck)
{
	struct work work = {30000, 3};
	struct test_crew *crew, *takers;

	begin();
	takers = test_crew_start(1, lock_remotely, NULL);
	crew = test_crew_start(THREADS, lock_often, &work);
	for (int i = 0; i < 30; i++)
		CHECK_EQ(test_in_child(use_in_forked_child, NULL), TEST_PASSED);
	test_crew_join(crew);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(takers);
	CHECK_EQ(visits(), work.rounds * THREADS + remote_visits);
	end();
}

PROBE_MAIN()

/* SPDX-License-Identifier: MIT */
/* Sets of events while processes come, fork, and are killed at any moment. */
#include "sets.h"

#include "cpus.h"

#include <sys/time.h>

enum { KILLS = 200, THREADS = 3, PROCESSES = 64, ADDS = 2000, SIZE = 1000 };

/* What processes that are gone had done. One of each for every thread that ever was. */
struct account {
	uint64_t hits, observations, series; /* calls that returned */
};
static struct account *accounts;
static unsigned *round_now;

static void make_accounts(unsigned n)
{
	void *p = mmap(NULL, n * sizeof(*accounts) + 4096, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	round_now = (unsigned *)p;
	accounts = (struct account *)(void *)((char *)p + 4096);
}

static struct account sum_accounts(unsigned n)
{
	struct account sum = {0, 0, 0};

	for (unsigned i = 0; i < n; i++) {
		sum.hits += accounts[i].hits;
		sum.observations += accounts[i].observations;
		sum.series += accounts[i].series;
	}
	return sum;
}

static void open_series(struct percpu_series *series, const char *value)
{
	CHECK_OK(percpu_series_open(series, &web, BY_STATUS, (const char *[]){"GET", value}));
}

/* Counts for ever; each call that has returned is in the account, whatever comes next. */
static void count_until_killed(unsigned index, void *arg)
{
	struct account *mine = &accounts[*round_now * THREADS + index];
	struct percpu_series series;

	(void)arg;
	open_series(&series, index % 2 ? "1" : "2");
	for (;;) {
		percpu_event_inc(&web, HITS);
		__atomic_store_n(&mine->hits, mine->hits + 1, __ATOMIC_RELAXED);
		percpu_histogram_observe(&web, LATENCY, SIZE);
		__atomic_store_n(&mine->observations, mine->observations + 1, __ATOMIC_RELAXED);
		percpu_series_inc(&series);
		__atomic_store_n(&mine->series, mine->series + 1, __ATOMIC_RELAXED);
		percpu_gauge_inc(&web, ACTIVE);
		percpu_gauge_dec(&web, ACTIVE);
	}
}

static void be_killed(void *arg)
{
	(void)arg;
	CHECK_OK(percpu_events_open(&web, NULL));
	test_threads(THREADS, count_until_killed, NULL);
}

static const struct percpu_sample *find_sample(const struct percpu_snapshot *snapshot,
					       unsigned entry)
{
	unsigned i = 0;

	while (snapshot->samples[i].entry != entry)
		i++;
	return &snapshot->samples[i];
}

/* At least what returned; at most one call more for each thread that was killed in it. */
static void between(uint64_t found, uint64_t returned, unsigned threads)
{
	if (found < returned || found > returned + threads)
		test_fail(__FILE__, __LINE__, "%llu are in the file, %llu returned in %u threads",
			  (unsigned long long)found, (unsigned long long)returned, threads);
}

static void check_file(unsigned threads)
{
	struct account returned = sum_accounts(threads);
	struct percpu_snapshot *snapshot;
	struct percpu_reader *reader;
	struct percpu_reader_info info;
	const struct percpu_sample *latency;
	uint64_t series = 0;

	CHECK_OK(percpu_reader_open_path(&reader, web_path, NULL, 0));
	CHECK_OK(percpu_reader_status(reader, &info));
	CHECK_EQ(info.life, PERCPU_LIFE_DEAD);
	CHECK_OK(percpu_snapshot_take(&snapshot, reader, 0));
	between((uint64_t)find_sample(snapshot, HITS)->value, returned.hits, threads);
	latency = find_sample(snapshot, LATENCY);
	between(latency->count, returned.observations, threads);
	CHECK(latency->exact);
	CHECK_EQ(latency->sum, SIZE * latency->count);
	for (unsigned i = 0; i < snapshot->n; i++)
		if (snapshot->samples[i].entry == BY_STATUS)
			series += (uint64_t)snapshot->samples[i].value;
	between(series, returned.series, threads);
	CHECK(find_sample(snapshot, ACTIVE)->value >= 0);
	CHECK(find_sample(snapshot, ACTIVE)->value <= threads);
	percpu_snapshot_free(snapshot);
	percpu_reader_close(reader);
}

/* A moment that nobody chose. */
static void wait_a_moment(unsigned *seed)
{
	struct timespec moment = {0, 0};

	*seed = *seed * 1103515245u + 12345u;
	moment.tv_nsec = (long)(*seed >> 8) % 4000000;
	nanosleep(&moment, NULL);
}

TEST(every_count_that_returned_is_in_the_file_after_200_kills)
{
	unsigned seed = (unsigned)getpid();

	sets_begin();
	make_accounts(KILLS * THREADS);
	for (*round_now = 0; *round_now < KILLS; ++*round_now) {
		pid_t child = test_fork(be_killed, NULL);

		/* It may be killed before it has counted, and before it has opened the set. */
		wait_a_moment(&seed);
		CHECK_EQ(kill(child, SIGKILL), 0);
		CHECK_EQ(test_wait(child), -SIGKILL);
		if (access(web_path, F_OK) == 0)
			check_file((*round_now + 1) * THREADS);
	}
	CHECK(sum_accounts(KILLS * THREADS).hits > 0);
	sets_end();
}

/* ---- Many at once ---- */

static int start_pipe[2], done_pipe[2];

static void wait_for_start(void)
{
	char byte;

	(void)!read(start_pipe[0], &byte, 1);
}

static void count_here(void)
{
	struct percpu_series series;

	open_series(&series, "1");
	for (int i = 0; i < ADDS; i++) {
		percpu_event_inc(&web, HITS);
		percpu_histogram_observe(&web, LATENCY, SIZE);
		percpu_series_inc(&series);
	}
}

/* Opens with all the others, forks, and counts in both. */
static void attach_and_fork(void *arg)
{
	struct percpu_events_info info;
	pid_t child;

	(void)arg;
	close(start_pipe[1]);
	wait_for_start();
	CHECK_OK(percpu_events_open(&web, NULL));
	CHECK_OK(percpu_events_status(&web, &info));
	CHECK(info.shared);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		count_here();
		_exit(0);
	}
	count_here();
	CHECK_EQ(test_wait(child), 0);
}

TEST(sixty_four_processes_attach_and_fork_at_once)
{
	pid_t children[PROCESSES];
	struct percpu_histogram_sums sums;

	sets_begin();
	CHECK_EQ(pipe(start_pipe), 0);
	for (unsigned i = 0; i < PROCESSES; i++)
		children[i] = test_fork(attach_and_fork, NULL);
	close(start_pipe[1]);
	for (unsigned i = 0; i < PROCESSES; i++)
		CHECK_EQ(test_wait(children[i]), 0);
	CHECK_OK(percpu_events_open(&web, NULL));
	CHECK_EQ(percpu_events_read_one(&web, HITS), 2ll * PROCESSES * ADDS);
	CHECK_EQ(percpu_events_read_one(&web, BY_STATUS), 2ll * PROCESSES * ADDS);
	CHECK(percpu_histogram_read(&web, LATENCY, NULL, 0, &sums) > 0);
	CHECK_EQ(sums.count, 2ll * PROCESSES * ADDS);
	CHECK_EQ(sums.sum, 2ll * SIZE * PROCESSES * ADDS);
	sets_end();
}

/* A dead file is in the way, and each of them would begin anew: one does, the others join it. They
 * stay until all are there. */
static void leave_something(void *arg)
{
	(void)arg;
	CHECK_OK(percpu_events_open(&web, NULL));
	percpu_event_add(&web, HITS, 1000000);
}

static void anew_when_told(void *arg)
{
	const struct percpu_events_options anew = {.flags = PERCPU_EVENTS_ANEW};
	int *ends = arg;
	char byte = 0;

	close(start_pipe[1]);
	close(ends[1]);
	wait_for_start();
	CHECK_OK(percpu_events_open(&web, &anew));
	percpu_event_inc(&web, HITS);
	CHECK_EQ(write(done_pipe[1], &byte, 1), 1);
	(void)!read(ends[0], &byte, 1); /* until all have counted */
}

TEST(of_those_who_begin_anew_at_once_one_does)
{
	pid_t children[PROCESSES];
	int ends[2];
	char byte;

	sets_begin();
	CHECK_EQ(test_in_child(leave_something, NULL), 0);
	CHECK_EQ(pipe(start_pipe), 0);
	CHECK_EQ(pipe(done_pipe), 0);
	CHECK_EQ(pipe(ends), 0);
	for (unsigned i = 0; i < PROCESSES; i++)
		children[i] = test_fork(anew_when_told, ends);
	close(start_pipe[1]);
	for (unsigned i = 0; i < PROCESSES; i++)
		CHECK_EQ(read(done_pipe[0], &byte, 1), 1);
	CHECK_OK(percpu_events_open(&web, NULL));
	CHECK_EQ(percpu_events_read_one(&web, HITS), PROCESSES);
	close(ends[1]);
	for (unsigned i = 0; i < PROCESSES; i++)
		CHECK_EQ(test_wait(children[i]), 0);
	sets_end();
}

/* ---- Handlers on top of everything ---- */

static volatile sig_atomic_t handled;

static void count_in_handler(int sig)
{
	(void)sig;
	percpu_event_inc(&web, HITS);
	percpu_histogram_observe(&web, LATENCY, SIZE);
	handled++;
}

static void flip_affinity(unsigned index, void *arg)
{
	(void)index;
	for (unsigned i = 0; !__atomic_load_n((int *)arg, __ATOMIC_RELAXED); i++)
		go_to_nth_cpu(i);
}

static int stop;

static void count_or_disturb(unsigned index, void *arg)
{
	if (index == 0) {
		flip_affinity(index, arg);
		return;
	}
	for (unsigned i = 0; i < 1000000; i++) {
		if (i % 1000 == 0)
			go_to_nth_cpu(i / 1000 + index);
		percpu_histogram_observe(&web, LATENCY, SIZE);
	}
	if (index == 1)
		__atomic_store_n((int *)arg, 1, __ATOMIC_RELAXED);
}

TEST(handlers_and_migration_leave_histograms_exact)
{
	const struct percpu_events_options privately = {.flags = PERCPU_EVENTS_PRIVATE};
	const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
	struct percpu_histogram_sums sums;
	struct sigaction action;

	memset(&action, 0, sizeof(action));
	action.sa_handler = count_in_handler;
	action.sa_flags = SA_RESTART;
	CHECK_OK(percpu_events_open(&web, &privately));
	CHECK_EQ(sigaction(SIGALRM, &action, NULL), 0);
	CHECK_EQ(setitimer(ITIMER_REAL, &often, NULL), 0);
	test_threads(4, count_or_disturb, &stop);
	CHECK_EQ(setitimer(ITIMER_REAL, &never, NULL), 0);
	CHECK(percpu_histogram_read(&web, LATENCY, NULL, 0, &sums) > 0);
	CHECK_EQ(sums.count, 3000000 + percpu_events_read_one(&web, HITS));
	CHECK_EQ(sums.sum, SIZE * sums.count);
}

TEST_MAIN()

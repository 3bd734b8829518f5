/* SPDX-License-Identifier: MIT */
/*
 * A program that locks itself down: a filter for all of its threads, behind which hardly a system
 * call is left.
 */
#include "test.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include <percpu/percpu.h>

#define THREADS 4u
#define TIMES 20000u

struct sums {
	unsigned long *word;
	struct percpu_counter ready;
	struct percpu_zone zone;
	struct percpu_limit limit;
};

static struct sums sums;
static PERCPU_COUNTER(late);
static PERCPU_ID(id);
static unsigned long limited;
static pthread_barrier_t locked, done;

/* What is left: waiting for each other, saying what is wrong, and ending. */
static const int allowed[] = {SYS_futex, SYS_read,       SYS_write,       SYS_writev,
			      SYS_exit,  SYS_exit_group, SYS_rt_sigreturn};
enum { ALLOWED = sizeof(allowed) / sizeof(allowed[0]) };

static void lock_down(uint32_t otherwise)
{
	struct sock_filter filter[2 * ALLOWED + 2];
	struct sock_fprog program = {0, filter};

	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
							     offsetof(struct seccomp_data, nr));
	for (unsigned i = 0; i < ALLOWED; i++) {
		filter[program.len++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
								     (uint32_t)allowed[i], 0, 1);
		filter[program.len++] =
			(struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	filter[program.len++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, otherwise);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		test_skip("no seccomp filters here: %s", strerror(errno));
}

/* The operations that never enter the kernel, once each. */
static void operate(void)
{
	unsigned long seen = percpu_this_read(sums.word);

	percpu_counter_inc(&sums.ready);
	percpu_this_inc(sums.word);
	percpu_this_add(sums.word, 2);
	percpu_this_sub(sums.word, 1);
	percpu_this_or(sums.word, 0);
	percpu_this_and(sums.word, ~0ul);
	(void)percpu_this_add_return(sums.word, 1);
	(void)percpu_this_cmpxchg(sums.word, seen, seen);
	(void)percpu_this_cmpxchg2(sums.word, seen, seen, sums.word + 1, 0);
	(void)percpu_this_xchg(sums.word + 1, 0);
	percpu_zone_inc(&sums.zone);
}

static void start(void)
{
	sums.word = percpu__new(2 * sizeof(*sums.word), sizeof(*sums.word));
	CHECK(sums.word);
	CHECK_OK(percpu_counter_init(&sums.ready));
	CHECK_OK(percpu_zone_init(&sums.zone, 16, 100));
	CHECK_OK(percpu_limit_init(&sums.limit, 1000000));
	CHECK_EQ(pthread_barrier_init(&locked, NULL, THREADS + 1), 0);
	CHECK_EQ(pthread_barrier_init(&done, NULL, THREADS + 1), 0);
}

static void must_have_operated(unsigned long times)
{
	unsigned long sum = 0;

	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += percpu_ptr(sums.word, slot)[0];
	CHECK_EQ(sum, 3 * times);
	CHECK_EQ(percpu_counter_sum(&sums.ready), times);
	CHECK_EQ(percpu_zone_sum(&sums.zone), times);
}

/* Ends in a wait without end: even the end of a thread is a system call too many. */
static void operate_locked_down(unsigned index, void *arg)
{
	(void)index, (void)arg;
	operate();
	pthread_barrier_wait(&locked);
	pthread_barrier_wait(&locked);
	for (unsigned i = 1; i < TIMES; i++)
		operate();
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&done);
}

static void lock_down_and_operate(void *arg)
{
	(void)arg;
	start();
	(void)test_crew_start(THREADS, operate_locked_down, NULL);
	pthread_barrier_wait(&locked);
	lock_down(SECCOMP_RET_KILL_PROCESS);
	pthread_barrier_wait(&locked);
	pthread_barrier_wait(&done);
	must_have_operated(THREADS * (unsigned long)TIMES);
}

static int status_of(void (*fn)(void *))
{
	int status = test_in_child(fn, NULL);

	if (status == TEST_SKIPPED)
		test_skip("no seccomp filters here");
	return status;
}

TEST(field_C1_operations_make_no_system_call_that_a_filter_could_kill_for)
{
	CHECK_EQ(status_of(lock_down_and_operate), 0);
}

/* First uses too: of the library by these threads, of a static counter, of an id. */
static void operate_refused(unsigned index, void *arg)
{
	unsigned long mine = 0;

	(void)index, (void)arg;
	pthread_barrier_wait(&locked);
	pthread_barrier_wait(&locked);
	for (unsigned i = 0; i < TIMES; i++) {
		int result = percpu_limit_add(&sums.limit, 1);

		operate();
		percpu_counter_inc(&late);
		CHECK(percpu_id_next(&id) != 0);
		CHECK(result == 0 || result == -EPERM);
		mine += result == 0;
	}
	__atomic_add_fetch(&limited, mine, __ATOMIC_RELAXED);
	pthread_barrier_wait(&done);
	pthread_barrier_wait(&done);
}

static void must_refuse_or_work(void)
{
	struct percpu_mode_info mode;
	struct percpu_counter counter;
	int result = percpu_counter_init(&counter);

	CHECK(result == 0 || result == -ENOMEM);
	if (result == 0)
		CHECK_OK(percpu_counter_destroy(&counter));
	CHECK_OK(percpu_mode(&mode));
	CHECK(percpu_cpu() >= 0);
	result = percpu_fence();
	CHECK(result == -EPERM || result == -ENOSYS);
}

static void refuse_and_operate(void *arg)
{
	(void)arg;
	start();
	(void)test_crew_start(THREADS, operate_refused, NULL);
	pthread_barrier_wait(&locked);
	lock_down(SECCOMP_RET_ERRNO | EPERM);
	pthread_barrier_wait(&locked);
	pthread_barrier_wait(&done);
	must_have_operated(THREADS * (unsigned long)TIMES);
	CHECK_EQ(percpu_counter_sum(&late), THREADS * TIMES);
	CHECK_EQ(percpu_limit_sum(&sums.limit), limited);
	must_refuse_or_work();
}

TEST(field_C1_everything_is_exact_where_all_other_calls_are_refused)
{
	CHECK_EQ(status_of(refuse_and_operate), 0);
}

TEST_MAIN()

/* SPDX-License-Identifier: MIT */
/*
 * Children and threads that do not come about by pthread_create(), and code that goes away: fork
 * in all its forms, vfork, raw clones, libc's own threads, dlclose.
 */
#include "threads.h"

#include <dlfcn.h>
#include <limits.h>
#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/seccomp.h>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "faults/plugin.h"

static void make_word(void)
{
	word = percpu_new(uint32_t);
	CHECK(word != NULL);
}

static int stop;

/* Sanitizers that watch threads make copies of these children, or fail with them. */
#if !defined(TEST_SANITIZED_THREADS)
/* Two CPUs of this process, or the test is skipped. */
static void two_cpus(unsigned *one, unsigned *other)
{
	unsigned found = 0;
	cpu_set_t set;

	CHECK_EQ(sched_getaffinity(0, sizeof(set), &set), 0);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE && found < 2; cpu++)
		if (CPU_ISSET(cpu, &set))
			*(found++ ? other : one) = cpu;
	if (found < 2)
		test_skip("one CPU");
}

static int64_t sibling_adds;

static void add_beside_the_child(unsigned index, void *arg)
{
	int64_t adds = 0;

	(void)index;
	(void)test_pin(*(unsigned *)arg);
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		percpu_counter_inc(&hits);
		percpu_this_inc(word);
		adds++;
	}
	sibling_adds = adds;
}

#define CHILD_ADDS 200000

static unsigned cpu_of_child;

/* What it runs on belongs to its parent, who sleeps: nothing is kept here. */
static void count_as_vfork_child(void)
{
	(void)test_pin(cpu_of_child);
	for (int i = 0; i < CHILD_ADDS; i++) {
		percpu_counter_inc(&hits);
		(void)percpu_this_add_return(word, 1u);
	}
}

static volatile int child_was_here;

static void run_vfork_child(void)
{
	pid_t child = vfork();

	CHECK(child >= 0);
	if (child == 0) {
		child_was_here = 1;
		count_as_vfork_child();
		_exit(TEST_PASSED);
	}
	CHECK_EQ(test_wait(child), TEST_PASSED);
}

static int clone_main(void *arg)
{
	(void)arg;
	child_was_here = 1;
	count_as_vfork_child();
	return TEST_PASSED;
}

static void run_clone_child(void)
{
	static char stack[1 << 16] __attribute__((aligned(64)));
	pid_t child =
		clone(clone_main, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD, NULL);

	CHECK(child >= 0);
	CHECK_EQ(test_wait(child), TEST_PASSED);
}

/*
 * The child runs on another CPU than the number in its parent's area says; on that CPU a sibling
 * adds to the very words that the child would take for its own.
 */
static void check_exact_beside(void (*run_child)(void))
{
	unsigned cpu;
	struct test_crew *sibling;
	uint32_t sum = 0;

	two_cpus(&cpu, &cpu_of_child);
	make_word();
	sibling = test_crew_start(1, add_beside_the_child, &cpu);
	(void)test_pin(cpu);
	for (int i = 0; i < 10; i++) {
		child_was_here = 0;
		add_some(0, NULL);
		CHECK_OK(percpu_vfork_begin());
		run_child();
		CHECK_OK(percpu_vfork_end());
		if (!child_was_here)
			test_skip("children do not share memory here");
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(sibling);
	CHECK_EQ(percpu_counter_sum(&hits), sibling_adds + 10 * (CHILD_ADDS + ADDS));
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	CHECK_EQ(sum, (uint32_t)(sibling_adds + 10 * (CHILD_ADDS + 3 * ADDS)));
}

TEST(field_E1_vfork_child_counts_beside_a_sibling)
{
	check_exact_beside(run_vfork_child);
}

TEST(field_E1_clone_that_shares_memory_counts_beside_a_sibling)
{
	check_exact_beside(run_clone_child);
}
#endif

/* Everything that takes the library's lock, and everything that a slot's lock protects. */
static struct percpu_limit limit_of_parent;

static void use_everything(unsigned index, void *arg)
{
	(void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		struct percpu_counter counters[20];
		struct percpu_counter first = PERCPU_COUNTER_INIT;
		void *p;

		CHECK_OK(percpu_alloc(&p, 1000 + index, 8));
		CHECK_OK(percpu_counter_init_many(counters, 20));
		percpu_counter_inc(&first);
		percpu_counter_inc(&hits);
		(void)percpu_this_add_return(word, 1u);
		if (percpu_limit_add(&limit_of_parent, 5) == 0)
			CHECK_OK(percpu_limit_sub(&limit_of_parent, 5));
		CHECK_OK(percpu_counter_destroy_many(counters, 20));
		CHECK_OK(percpu_counter_destroy(&first));
		CHECK_OK(percpu_free(p));
	}
}

/* Nothing of libc that takes a lock: another thread may have held it at the fork. */
static void use_everything_in_child(void)
{
	struct percpu_counter counters[20], first = PERCPU_COUNTER_INIT;
	struct percpu_limit limit;
	struct percpu_zone zone;
	struct percpu_mode_info mode;
	uint32_t *own;

	/* Who waits for the lock has all signals held off: its parent's watchdog must do. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	CHECK_OK(percpu_counter_init_many(counters, 20));
	CHECK_OK(percpu_limit_init(&limit, 100));
	CHECK_OK(percpu_zone_init(&zone, 8, 10));
	own = percpu_new(uint32_t);
	CHECK(own != NULL && *own == 0);
	for (int i = 0; i < 100; i++) {
		percpu_counter_inc(&counters[i % 20]);
		percpu_counter_inc(&first);
		percpu_counter_inc(&hits);
		CHECK_OK(percpu_limit_add(&limit, 1));
		percpu_zone_inc(&zone);
		percpu_this_inc(own);
		(void)percpu_this_xchg(word, 1u);
	}
	CHECK_EQ(percpu_counter_sum(&counters[7]), 5);
	CHECK_EQ(percpu_counter_sum(&first), 100);
	CHECK_EQ(percpu_limit_add(&limit, 1), -EAGAIN);
	CHECK_EQ(percpu_limit_sum(&limit), 100);
	CHECK_EQ(percpu_zone_sum(&zone), 100);
	CHECK(percpu_limit_sum(&limit_of_parent) <= 7);
	CHECK(percpu_fence() != -EPERM);
	CHECK_OK(percpu_mode(&mode));
	CHECK_OK(percpu_counter_destroy_many(counters, 20));
	CHECK_OK(percpu_limit_destroy(&limit));
	CHECK_OK(percpu_zone_destroy(&zone));
	CHECK_OK(percpu_free(own));
	_exit(TEST_PASSED);
}

static void check_children(pid_t (*make_child)(void), int children)
{
	struct test_crew *crew;

	make_word();
	CHECK_OK(percpu_limit_init(&limit_of_parent, 7));
	crew = test_crew_start(4, use_everything, NULL);
	for (int i = 0; i < children; i++) {
		pid_t child = make_child();

		CHECK(child >= 0);
		if (child == 0)
			use_everything_in_child();
		CHECK_EQ(test_wait(child), TEST_PASSED);
	}
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(crew);
	CHECK_EQ(percpu_limit_sum(&limit_of_parent), 0);
}

TEST(field_E3_forked_child_finds_no_lock_held)
{
	check_children(fork, 200);
}

/* Sanitizers that watch threads do not survive these two either. */
#if !defined(TEST_SANITIZED)
extern pid_t fork_without_handlers(void) __asm__("_Fork") __attribute__((weak));

TEST(field_E3_child_without_fork_handlers_finds_no_lock_held)
{
	if (!fork_without_handlers)
		test_skip("this libc has no _Fork");
	check_children(fork_without_handlers, 200);
}

TEST(field_E5_raw_cloned_child_finds_no_lock_held)
{
	check_children(test_raw_clone, 200);
}
#endif

/* What the lock protects is whole after fork(): no byte is lost to an allocation half done. */
static void allocate_and_free(unsigned index, void *arg)
{
	void *p;

	(void)index, (void)arg;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		CHECK_OK(percpu_alloc(&p, 20000, 8));
		CHECK_OK(percpu_free(p));
	}
}

static void fill_the_chunk(void *arg)
{
	struct percpu_usage_info usage;
	char *first, *p;

	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.reserved, *(size_t *)arg);
	first = p = (char *)percpu_new(int64_t);
	/* The next chunk is further away than the first one is large. */
	while (p - first < 65536 && first - p < 65536) {
		p = (char *)percpu_new(int64_t);
		CHECK(p != NULL);
	}
	CHECK_OK(percpu_usage(&usage));
	CHECK_EQ(usage.allocated, 65536 + 8);
}

TEST(field_E3_forked_child_finds_the_area_whole)
{
	struct percpu_usage_info usage;
	struct test_crew *crew;

	make_word();
	CHECK_OK(percpu_usage(&usage));
	crew = test_crew_start(1, allocate_and_free, NULL);
	for (int i = 0; i < 40; i++)
		CHECK_EQ(test_in_child(fill_the_chunk, &usage.reserved), TEST_PASSED);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(crew);
}

#if !defined(TEST_SANITIZED_THREADS)
/* A thread of libc's own making runs the callback. */
static sem_t called;

static void count_in_callback(union sigval value)
{
	(void)value;
	add_some(0, NULL);
	sem_post(&called);
}

TEST(field_E14_callback_of_a_timer_thread_counts)
{
	struct itimerspec soon = {{0, 0}, {0, 1000}};
	struct sigevent event;
	timer_t timer;

	make_word();
	CHECK_EQ(sem_init(&called, 0, 0), 0);
	memset(&event, 0, sizeof(event));
	event.sigev_notify = SIGEV_THREAD;
	event.sigev_notify_function = count_in_callback;
	CHECK_EQ(timer_create(CLOCK_MONOTONIC, &event, &timer), 0);
	for (int i = 0; i < 5; i++) {
		CHECK_EQ(timer_settime(timer, 0, &soon, NULL), 0);
		while (sem_wait(&called) != 0)
			CHECK_EQ(errno, EINTR);
	}
	timer_delete(timer);
	check_some(5);
}
#endif

/* Sanitizers know their threads. */
#if ARCH_HAVE_SEQ && __SIZEOF_POINTER__ == 8 && !defined(TEST_SANITIZED)
/*
 * A thread that a runtime of its own made, with thread-local storage that libc does not know. It
 * is a copy of a fresh thread's in which the thread pointer is replaced wherever it occurs.
 */
#define TLS_BELOW 16384
#define RAW_THREADS 4

struct raw_thread {
	char stack[1 << 16] __attribute__((aligned(64)));
	pid_t tid; /* the kernel's: 0 when the thread is gone */
	const char *reason;
};

static char *copy_thread_local(void)
{
	char *pointer = ARCH_THREAD_POINTER(), *copy, *top;
	size_t size, from;
	pthread_attr_t attr;
	void *stack, *block;

	CHECK_EQ(pthread_getattr_np(pthread_self(), &attr), 0);
	CHECK_EQ(pthread_attr_getstack(&attr, &stack, &size), 0);
	pthread_attr_destroy(&attr);
	top = (char *)stack + size;
	size = TLS_BELOW + (size_t)(top - pointer);
	/* The same place in a page, whatever alignment variables have. */
	from = (uintptr_t)(pointer - TLS_BELOW) % 4096;
	block = aligned_alloc(4096, (from + size + 4095) / 4096 * 4096);
	CHECK(block != NULL);
	copy = (char *)block + from;
	memcpy(copy, pointer - TLS_BELOW, size);
	for (char **at = (char **)copy; (char *)(at + 1) <= copy + size; at++)
		if (*at == pointer)
			*at = copy + TLS_BELOW;
	return copy + TLS_BELOW;
}

static void need_glibc(void)
{
#if !defined(__GLIBC__)
	test_skip("thread-local storage is copied as glibc lays it out");
#endif
}

static int raw_main(void *arg)
{
	struct raw_thread *self = arg;

	add_some(0, NULL);
	self->reason = mode_now().reason;
	syscall(SYS_exit, 0);
	return 0;
}

static void start_raw(struct raw_thread *thread)
{
	char *pointer = copy_thread_local();
	/* As every libc sets it: nobody registered this thread. */
	int32_t unregistered = -1;

	if (percpu__rt.bound != 0)
		memcpy(pointer + percpu__rt.rseq_offset + 4, &unregistered, 4);
	thread->tid = 1;
	CHECK(clone(raw_main, thread->stack + sizeof(thread->stack),
		    CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			    CLONE_SYSVSEM | CLONE_SETTLS | CLONE_CHILD_CLEARTID,
		    thread, NULL, pointer, &thread->tid) > 0);
}

/* In a thread that never counted, so that there is nothing in its storage yet. */
static void start_raw_threads(unsigned index, void *arg)
{
	struct raw_thread *threads = arg;

	(void)index;
	for (int i = 0; i < RAW_THREADS; i++)
		start_raw(&threads[i]);
	for (int i = 0; i < RAW_THREADS; i++) {
		pid_t tid;

		while ((tid = __atomic_load_n(&threads[i].tid, __ATOMIC_ACQUIRE)) != 0)
			syscall(SYS_futex, &threads[i].tid, FUTEX_WAIT, tid, NULL, NULL, 0);
	}
}

static void refuse_registrations(int error)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rseq, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {sizeof(code) / sizeof(code[0]), code};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
	    syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0)
		test_skip("no seccomp filters here: %s", strerror(errno));
}

TEST(field_A8_thread_of_another_runtime_needs_no_registration_call)
{
	static struct raw_thread threads[RAW_THREADS];

	need_glibc();
	make_word();
	add_some(0, NULL);
	test_threads(1, start_raw_threads, threads);
	check_some(1 + RAW_THREADS);
}

static pthread_barrier_t filtered;

static void start_raw_threads_when_filtered(unsigned index, void *arg)
{
	pthread_barrier_wait(&filtered);
	pthread_barrier_wait(&filtered);
	start_raw_threads(index, arg);
}

PROBE(has_raw_threads_behind_a_filter)
{
	static struct raw_thread threads[RAW_THREADS];
	bool libc = mode_now().owner == PERCPU_OWNER_LIBC;
	struct test_crew *crew;

	make_word();
	add_some(0, NULL);
	pthread_barrier_init(&filtered, NULL, 2);
	/* There before: libc ends the process when a thread that it makes cannot be registered. */
	crew = test_crew_start(1, start_raw_threads_when_filtered, threads);
	pthread_barrier_wait(&filtered);
	refuse_registrations(strcmp(probe_argument, "EPERM") == 0 ? EPERM : ENOSYS);
	pthread_barrier_wait(&filtered);
	add_some(0, NULL);
	test_crew_join(crew);
	check_some(2 + RAW_THREADS);
	CHECK(mode_now().sequences);
	for (int i = 0; i < RAW_THREADS; i++) {
		const char *words = libc ? "not this one" : probe_argument;

		if (!strstr(threads[i].reason, words))
			test_fail(__FILE__, __LINE__, "reason: %s", threads[i].reason);
	}
}

TEST(field_A4_filter_that_comes_later_is_no_crash)
{
	need_sequences();
	need_glibc();
	CHECK_PROBE("has_raw_threads_behind_a_filter", "ENOSYS", "PERCPU_RSEQ");
	CHECK_PROBE("has_raw_threads_behind_a_filter", "EPERM", "PERCPU_RSEQ");
	CHECK_PROBE("has_raw_threads_behind_a_filter", "ENOSYS", PROBE_NO_LIBC);
	CHECK_PROBE("has_raw_threads_behind_a_filter", "EPERM", PROBE_NO_LIBC);
}
#endif

/*
 * A plugin whose sequences are gone when the kernel next looks at its threads. It reads the
 * descriptor before it runs a handler and when it preempts; so nobody sleeps in between, which
 * would make the kernel forget the descriptor.
 */
static struct plugin plugin;
static unsigned counted;
static int unloaded;

static void do_nothing(int sig)
{
	(void)sig;
}

static void count_in_plugin(unsigned index, void *arg)
{
	(void)index, (void)arg;
	plugin.count(&hits, word, ADDS);
	percpu_cs_clear();
	__atomic_add_fetch(&counted, 1, __ATOMIC_RELEASE);
	while (!__atomic_load_n(&unloaded, __ATOMIC_ACQUIRE))
		;
	raise(SIGUSR1);
	for (int i = 0; i < 100; i++)
		sched_yield();
	add_some(0, NULL);
}

/* The plugin's pages, from the first to the last; true when there are any. */
static bool find_pages(char **from, char **to)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[4300];

	CHECK(maps != NULL);
	*from = *to = NULL;
	while (fgets(line, sizeof(line), maps)) {
		unsigned long start, end;

		if (!strstr(line, TEST_PLUGIN) || sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		if (!*from)
			*from = (char *)start;
		*to = (char *)end;
	}
	fclose(maps);
	return *from != NULL;
}

static void *load_plugin(void)
{
	union {
		void *object;
		plugin_entry *function;
	} entry;
	void *handle = dlopen(TEST_PLUGIN, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		test_fail(__FILE__, __LINE__, "%s", dlerror());
	entry.object = dlsym(handle, "plugin_describe");
	CHECK(entry.object != NULL);
	entry.function(&plugin);
	return handle;
}

TEST(field_E9_plugin_with_sequences_is_unloaded)
{
	struct test_crew *crew;
	char *from, *to, *left_from, *left_to;
	void *handle;

	make_word();
	signal(SIGUSR1, do_nothing);
	handle = load_plugin();
	CHECK(find_pages(&from, &to));
	crew = test_crew_start(4, count_in_plugin, NULL);
	while (__atomic_load_n(&counted, __ATOMIC_ACQUIRE) != 4)
		sched_yield();
	plugin.count(&hits, word, ADDS);
	percpu_cs_clear();
	CHECK_EQ(dlclose(handle), 0);
	/* Nothing else may come to lie there: where something does already, it is too late. */
	(void)mmap(from, (size_t)(to - from), PROT_NONE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	raise(SIGUSR1);
	__atomic_store_n(&unloaded, 1, __ATOMIC_RELEASE);
	test_crew_join(crew);
	if (find_pages(&left_from, &left_to))
		test_skip("this libc does not unload");
	CHECK_EQ(percpu_counter_sum(&hits), (5 + 4) * ADDS);
}

PROBE_MAIN()

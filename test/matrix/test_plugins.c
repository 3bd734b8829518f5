/* SPDX-License-Identifier: MIT */
/*
 * Plugins come and go while threads count: in the plugin, which has sequences of its own, and in
 * the program. TEST_PLUGIN is where it is.
 */
#include "test.h"

#include <dlfcn.h>

#include "plugin.h"

#define ROUNDS 20u
#define VISITORS 4u
#define RESIDENTS 2u
#define TIMES 2000u

static PERCPU_COUNTER(counter);
static unsigned long *word;
static pthread_barrier_t loaded, left, unloaded;
static plugin_count_fn *count;
static int stop;

/* Those who stay in the program: the kernel looks at their sequences, not at the plugin's. */
static void reside(unsigned index, void *arg)
{
	unsigned long *counted = arg;
	unsigned long n = 0;

	(void)index;
	while (!__atomic_load_n(&stop, __ATOMIC_RELAXED)) {
		for (unsigned i = 0; i < 100; i++, n++) {
			percpu_counter_inc(&counter);
			percpu_this_inc(word);
		}
	}
	__atomic_add_fetch(counted, n, __ATOMIC_RELAXED);
}

/* Those who were in the plugin, and are preempted and signalled after it is gone. */
static void visit(unsigned index, void *arg)
{
	(void)index, (void)arg;
	for (unsigned round = 0; round < ROUNDS; round++) {
		pthread_barrier_wait(&loaded);
		count(&counter, word, TIMES);
		percpu_cs_clear();
		pthread_barrier_wait(&left);
		pthread_barrier_wait(&unloaded);
		for (unsigned i = 0; i < 20; i++)
			sched_yield();
		pthread_kill(pthread_self(), SIGUSR1);
	}
}

static void on_signal(int sig)
{
	(void)sig;
}

static void load_and_unload(void)
{
	void *plugin = dlopen(TEST_PLUGIN, RTLD_NOW);

	if (!plugin)
		test_fail(__FILE__, __LINE__, "%s", dlerror());
	*(void **)(void *)&count = dlsym(plugin, "plugin_count");
	CHECK(count != NULL);
	pthread_barrier_wait(&loaded);
	pthread_barrier_wait(&left);
	CHECK_EQ(dlclose(plugin), 0);
	if (dlopen(TEST_PLUGIN, RTLD_NOW | RTLD_NOLOAD))
		test_skip("plugins are never unloaded here");
	pthread_barrier_wait(&unloaded);
}

TEST(field_E9_plugins_with_sequences_come_and_go_while_threads_count)
{
	unsigned long counted = 0, sum = 0;
	struct test_crew *visitors, *residents;

	word = percpu_new(unsigned long);
	CHECK(word);
	signal(SIGUSR1, on_signal);
	CHECK_EQ(pthread_barrier_init(&loaded, NULL, VISITORS + 1), 0);
	CHECK_EQ(pthread_barrier_init(&left, NULL, VISITORS + 1), 0);
	CHECK_EQ(pthread_barrier_init(&unloaded, NULL, VISITORS + 1), 0);
	residents = test_crew_start(RESIDENTS, reside, &counted);
	visitors = test_crew_start(VISITORS, visit, NULL);
	for (unsigned round = 0; round < ROUNDS; round++)
		load_and_unload();
	test_crew_join(visitors);
	__atomic_store_n(&stop, 1, __ATOMIC_RELAXED);
	test_crew_join(residents);
	counted += VISITORS * ROUNDS * TIMES;
	for (unsigned slot = 0; slot < percpu_nslots(); slot++)
		sum += *percpu_ptr(word, slot);
	CHECK_EQ(sum, counted);
	CHECK_EQ(percpu_counter_sum(&counter), counted);
}

TEST_MAIN()

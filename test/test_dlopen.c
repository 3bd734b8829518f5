/* SPDX-License-Identifier: MIT */
/* The library comes into a process that has threads already, as a plugin's dependency. */
#include "probe.h"

#include <dlfcn.h>
#include <stdbool.h>

#include "faults/plugin.h"

#define TIMES 20000

static struct plugin plugin;
static uint32_t *word;

static void load(void)
{
	union {
		void *object;
		plugin_entry *function;
	} entry;
	void *handle = dlopen(TEST_PLUGIN, RTLD_NOW);

	if (!handle) {
		const char *why = dlerror();

		/* musl has none for libraries that come later. */
		if (strstr(why, "initial-exec TLS"))
			test_skip("%s", why);
		test_fail(__FILE__, __LINE__, "%s", why);
	}
	entry.object = dlsym(handle, "plugin_describe");
	CHECK(entry.object != NULL);
	entry.function(&plugin);
}

static pthread_barrier_t loaded;

static void count_when_loaded(unsigned index, void *arg)
{
	(void)index, (void)arg;
	pthread_barrier_wait(&loaded);
	plugin.count(plugin.own, word, TIMES);
}

static void count_in_handler(int sig)
{
	(void)sig;
	plugin.count(plugin.own, NULL, 1);
}

PROBE(loads_a_plugin_late)
{
	struct percpu_mode_info mode;
	struct test_crew *crew;

	pthread_barrier_init(&loaded, NULL, 5);
	crew = test_crew_start(4, count_when_loaded, NULL);
	load();
	/* The first use of the library and of its counter, in a handler. */
	signal(SIGUSR1, count_in_handler);
	raise(SIGUSR1);
	CHECK_EQ(plugin.sum(plugin.own), 2);
	word = plugin.alloc(sizeof(*word));
	CHECK(word != NULL);
	pthread_barrier_wait(&loaded);
	test_crew_join(crew);
	CHECK_EQ(plugin.sum(plugin.own), 2 + 4 * 2 * TIMES);
	CHECK_OK(plugin.mode(&mode));
	CHECK(!strchr(probe_argument, 's') || mode.sequences);
	CHECK(!strchr(probe_argument, 'n') || !mode.sequences);
}

static bool kernel_and_build_have_sequences(void)
{
	struct percpu_mode_info mode;

	load();
	CHECK_OK(plugin.mode(&mode));
	return mode.owner == PERCPU_OWNER_LIBC || mode.owner == PERCPU_OWNER_SELF;
}

TEST(plugin_counts_in_threads_that_were_there_before)
{
	const char *sequences = kernel_and_build_have_sequences() ? "s" : "";

	CHECK_PROBE("loads_a_plugin_late", sequences, "PERCPU_RSEQ");
	CHECK_PROBE("loads_a_plugin_late", sequences, PROBE_NO_LIBC);
	CHECK_PROBE("loads_a_plugin_late", "n", "PERCPU_RSEQ=off");
}

/* The keys that can be set without allocating are gone: no registration, so no loss. */
PROBE(has_used_up_the_first_keys)
{
	struct percpu_mode_info mode;
	pthread_key_t key;

	for (int i = 0; i < 60; i++)
		CHECK_EQ(pthread_key_create(&key, NULL), 0);
	load();
	word = plugin.alloc(sizeof(*word));
	plugin.count(plugin.own, word, TIMES);
	CHECK_EQ(plugin.sum(plugin.own), 2 * TIMES);
	CHECK_OK(plugin.mode(&mode));
	if (mode.owner != PERCPU_OWNER_LIBC) {
		CHECK_EQ(mode.sequences, 0);
		CHECK(mode.reason[0] != '\0');
	}
}

TEST(library_without_a_key_does_without_registration)
{
	CHECK_PROBE("has_used_up_the_first_keys", "", PROBE_NO_LIBC);
	CHECK_PROBE("has_used_up_the_first_keys", "", "PERCPU_RSEQ");
}

PROBE_MAIN()

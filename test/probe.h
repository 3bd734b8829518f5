/* SPDX-License-Identifier: MIT */
/*
 * Probes: parts of a test that run in a fresh process of the same program, in an environment of
 * their own. What the library decides at its start cannot be tested otherwise.
 *
 *	PROBE(reports_its_mode)
 *	{
 *		CHECK(strcmp(probe_argument, "off") == 0);
 *	}
 *
 *	TEST(mode_is_off_when_asked_for)
 *	{
 *		CHECK_EQ(test_probe("reports_its_mode", "off", "PERCPU_RSEQ=off"), TEST_PASSED);
 *	}
 *
 *	PROBE_MAIN()   instead of TEST_MAIN()
 *
 * A setting is "NAME=value"; "NAME" alone takes the variable away. GLIBC_TUNABLES, PERCPU_RSEQ,
 * PERCPU_CPUS and PERCPU_VERBOSE are taken away first, so that a probe means the same whatever
 * environment the test itself runs in.
 */
#ifndef PERCPU_TEST_PROBE_H
#define PERCPU_TEST_PROBE_H

#include "test.h"

struct probe {
	const char *name;
	void (*run)(void);
	struct probe *next;
};

static struct probe *probe__all;
static const char *probe_argument = "";

static inline void probe__register(struct probe *probe)
{
	probe->next = probe__all;
	probe__all = probe;
}

#define PROBE(name)                                                                                \
	static void probe__run_##name(void);                                                       \
	static struct probe probe__##name = {#name, probe__run_##name, NULL};                      \
	__attribute__((constructor)) static void probe__register_##name(void)                      \
	{                                                                                          \
		probe__register(&probe__##name);                                                   \
	}                                                                                          \
	static void probe__run_##name(void)

/* What selects a libc that does not register threads; without effect in libcs that never do. */
#define PROBE_NO_LIBC "GLIBC_TUNABLES=glibc.pthread.rseq=0"

static inline void probe__set(const char *setting)
{
	char name[64];
	size_t length = strcspn(setting, "=");

	if (length >= sizeof(name))
		test_fail(__FILE__, __LINE__, "setting too long: %s", setting);
	memcpy(name, setting, length);
	name[length] = '\0';
	if (setting[length])
		setenv(name, setting + length + 1, 1);
	else
		unsetenv(name);
}

static inline void probe__program(char *path, size_t size)
{
	ssize_t length = readlink("/proc/self/exe", path, size - 1);

	if (length < 0)
		test_fail(__FILE__, __LINE__, "readlink: %s", strerror(errno));
	path[length] = '\0';
}

/* Becomes the probe. Does not return. */
static inline void probe__exec(const char *name, const char *argument, const char *const *settings)
{
	char path[4096];

	probe__program(path, sizeof(path));
	probe__set("GLIBC_TUNABLES");
	probe__set("PERCPU_RSEQ");
	probe__set("PERCPU_CPUS");
	probe__set("PERCPU_VERBOSE");
	for (; *settings; settings++)
		probe__set(*settings);
	execl(path, path, "--probe", name, argument, (char *)NULL);
	test_fail(__FILE__, __LINE__, "execl: %s", strerror(errno));
}

static inline int probe__run(const char *name, const char *argument, const char *const *settings)
{
	pid_t child = fork();

	if (child < 0)
		test_fail(__FILE__, __LINE__, "fork: %s", strerror(errno));
	if (child == 0)
		probe__exec(name, argument, settings);
	return test_wait(child);
}

/* Its exit status, or minus the signal that ended it. Further arguments are settings. */
#define test_probe(...) test_probe_(__VA_ARGS__, (const char *)NULL)
#define test_probe_(name, argument, ...)                                                           \
	probe__run(name, argument, (const char *const[]){__VA_ARGS__})

/* Passes, or is skipped as a whole when the probe says that it cannot run here. */
#define CHECK_PROBE(...)                                                                           \
	do {                                                                                       \
		int probe__status = test_probe(__VA_ARGS__);                                       \
		if (probe__status == TEST_SKIPPED)                                                 \
			test_skip("a probe was skipped, see above");                               \
		CHECK_EQ(probe__status, TEST_PASSED);                                              \
	} while (0)

static inline int probe__main(int argc, char **argv)
{
	if (argc != 4 || strcmp(argv[1], "--probe") != 0)
		return test__main(argc, argv);
	setvbuf(stdout, NULL, _IONBF, 0);
	probe_argument = argv[3];
	for (struct probe *probe = probe__all; probe; probe = probe->next) {
		if (strcmp(probe->name, argv[2]) != 0)
			continue;
		test__name = probe->name;
		test_watchdog(TEST_WATCHDOG_SECONDS);
		probe->run();
		if (!__atomic_load_n(&test__checked, __ATOMIC_RELAXED))
			test_fail(__FILE__, __LINE__, "the probe checked nothing");
		return TEST_PASSED;
	}
	fprintf(stderr, "%s: no probe '%s'\n", argv[0], argv[2]);
	return TEST_USAGE;
}

#define PROBE_MAIN()                                                                               \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		return probe__main(argc, argv);                                                    \
	}

#endif

/* SPDX-License-Identifier: MIT */
/*
 * The head of every output: which machine, kernel, libc, compiler and mode the figures are from.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <percpu/percpu.h>

#include "harness.h"

#ifdef __OPTIMIZE__
#define OPTIMISED 1
#else
#define OPTIMISED 0
#endif

#define FIELD 512
/* Where the system does not say: more than most have. */
#define UNKNOWN_CACHE ((size_t)64 << 20)

/* glibc's; other libcs do not have it. */
extern const char *gnu_get_libc_version(void) __attribute__((weak));

struct machine {
	char cpu[FIELD], clock[FIELD], caches[FIELD], kernel[FIELD], libc[FIELD];
	unsigned cpus;
	struct percpu_mode_info mode;
};

/* The first line of a file, without its end; 0 where there is none. */
static int read_line(const char *path, char *line, size_t size)
{
	FILE *file = fopen(path, "re");
	int ok = file && fgets(line, (int)size, file);

	if (ok)
		line[strcspn(line, "\n")] = '\0';
	if (file)
		fclose(file);
	return ok;
}

/* The value of the first of a file's lines with this name. */
static int find_value(const char *path, const char *name, char *value, size_t size)
{
	char line[FIELD], *colon;
	FILE *file = fopen(path, "re");
	int found = 0;

	while (file && !found && fgets(line, sizeof(line), file)) {
		colon = strchr(line, ':');
		if (!colon || strncmp(line, name, strlen(name)) != 0)
			continue;
		colon += strspn(colon, ": \t");
		colon[strcspn(colon, "\n")] = '\0';
		snprintf(value, size, "%s", colon);
		found = 1;
	}
	if (file)
		fclose(file);
	return found;
}

static int cpuinfo(const char *name, char *value, size_t size)
{
	return find_value("/proc/cpuinfo", name, value, size);
}

double bench_memory_available(void)
{
	char kib[FIELD];

	return find_value("/proc/meminfo", "MemAvailable", kib, sizeof(kib))
		       ? strtod(kib, NULL) * 1024
		       : INFINITY;
}

/* CPUs are named in different ways; what the architecture calls itself is the last resort. */
static void find_cpu(struct machine *m, const struct utsname *uts)
{
	char khz[FIELD];

	if (!cpuinfo("model name", m->cpu, FIELD) && !cpuinfo("cpu", m->cpu, FIELD) &&
	    !cpuinfo("uarch", m->cpu, FIELD))
		snprintf(m->cpu, FIELD, "%s", uts->machine);
	if (cpuinfo("cpu MHz", m->clock, FIELD) || cpuinfo("clock", m->clock, FIELD)) {
		m->clock[strcspn(m->clock, ".M")] = '\0';
		strncat(m->clock, " MHz", FIELD - strlen(m->clock) - 1);
	} else if (read_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq", khz, FIELD)) {
		snprintf(m->clock, FIELD, "%ld MHz", strtol(khz, NULL, 10) / 1000);
	} else {
		snprintf(m->clock, FIELD, "unknown");
	}
}

struct cache {
	char level[16], type[32], size[32];
};

static int read_cache_line(int i, const char *name, char *line, size_t size)
{
	char path[FIELD];

	snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/%s", i, name);
	return read_line(path, line, size);
}

/* The first CPU's cache number i; 0 where there is none. */
static int read_cache(int i, struct cache *cache)
{
	return read_cache_line(i, "level", cache->level, sizeof(cache->level)) &&
	       read_cache_line(i, "type", cache->type, sizeof(cache->type)) &&
	       read_cache_line(i, "size", cache->size, sizeof(cache->size));
}

size_t bench_last_level_cache(void)
{
	size_t size, most = 0;
	struct cache cache;
	char *end;
	int i;

	for (i = 0; read_cache(i, &cache); i++) {
		size = strtoul(cache.size, &end, 10);
		size <<= *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
		most = size > most ? size : most;
	}
	return most ? most : UNKNOWN_CACHE;
}

static void find_caches(struct machine *m)
{
	struct cache cache;
	size_t used = 0;
	int i;

	snprintf(m->caches, FIELD, "unknown");
	for (i = 0; used + 64 < FIELD && read_cache(i, &cache); i++)
		used += (size_t)snprintf(m->caches + used, FIELD - used, "%sL%s%s %s",
					 used ? ", " : "", cache.level,
					 *cache.type == 'D'   ? "d"
					 : *cache.type == 'I' ? "i"
							      : "",
					 cache.size);
}

static void find_machine(struct machine *m)
{
	struct utsname uts;

	memset(m, 0, sizeof(*m));
	uname(&uts);
	find_cpu(m, &uts);
	find_caches(m);
	snprintf(m->kernel, FIELD, "%s %s %s", uts.sysname, uts.release, uts.machine);
	if (gnu_get_libc_version)
		snprintf(m->libc, FIELD, "glibc %s", gnu_get_libc_version());
	else
		snprintf(m->libc, FIELD, "not glibc");
	m->cpus = bench_cpus();
	percpu_mode(&m->mode);
	if (!m->mode.reason)
		m->mode.reason = "unknown";
}

static const char *compiler(void)
{
#ifdef __clang__
	return "clang " __clang_version__;
#else
	return "gcc " __VERSION__;
#endif
}

static void json_field(const char *key, const char *value)
{
	printf(",\"%s\":", key);
	bench_json_string(value);
}

static void machine_json(const struct machine *m)
{
	printf("{\"table\":\"machine\"");
	json_field("cpu", m->cpu);
	json_field("clock", m->clock);
	json_field("caches", m->caches);
	printf(",\"cpus\":%u", m->cpus);
	json_field("kernel", m->kernel);
	json_field("libc", m->libc);
	json_field("compiler", compiler());
	printf(",\"optimised\":%s,\"sequences\":%s", OPTIMISED ? "true" : "false",
	       m->mode.sequences ? "true" : "false");
	json_field("owner", percpu_owner_name(m->mode.owner));
	printf(",\"feature_size\":%u,\"fence\":%s,\"cpus_possible\":%u,\"cpu_slots\":%u,"
	       "\"shared_slots\":%u",
	       m->mode.feature_size, m->mode.fence ? "true" : "false", m->mode.cpus_possible,
	       m->mode.cpu_slots, m->mode.shared_slots);
	json_field("reason", m->mode.reason);
	printf("}\n");
}

static void machine_text(const struct machine *m, const char *before)
{
	printf("%sCPU:      %s, %s, %u usable\n", before, m->cpu, m->clock, m->cpus);
	printf("%scaches:   %s\n", before, m->caches);
	printf("%skernel:   %s\n", before, m->kernel);
	printf("%slibc:     %s\n", before, m->libc);
	printf("%scompiler: %s%s\n", before, compiler(),
	       OPTIMISED ? "" : ", NOT OPTIMISED: the figures say nothing");
	printf("%smode:     %s, registered by %s, fence %s, %u CPU slots, %u shared slots: %s\n",
	       before, m->mode.sequences ? "sequences" : "shared slots only",
	       percpu_owner_name(m->mode.owner), m->mode.fence ? "yes" : "no", m->mode.cpu_slots,
	       m->mode.shared_slots, m->mode.reason);
}

void bench_print_machine(enum bench_format format)
{
	struct machine m;

	find_machine(&m);
	if (format == BENCH_JSON)
		machine_json(&m);
	else
		machine_text(&m, format == BENCH_CSV ? "# " : "");
}

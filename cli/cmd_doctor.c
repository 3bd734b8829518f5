/* SPDX-License-Identifier: MIT */
/*
 * percpu doctor: how the library works in this process on this machine, and why.
 *
 * It asks the library only (percpu_mode, percpu_self_test), so what it prints is what a program
 * started in the same way gets. A forced or missing mode is not wrong: counts are exact in all of
 * them. Sequences whose aborts do not work are.
 */
#include <percpu/percpu.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "cli.h"

enum verdict { VERDICT_PASSED, VERDICT_FAILED, VERDICT_NOT_RUN };

struct finding {
	struct percpu_mode_info mode;
	struct utsname machine;
	char libc[64];
	enum verdict verdict;
	char why[256];
};

static const char help_text[] =
	"usage: percpu doctor [--json]\n"
	"\n"
	"Tells how the library works here: on sequences or on shared slots, and why.\n"
	"\n"
	"  --json  one object on one line, with these keys:\n"
	"    version        of the library, a string\n"
	"    kernel         release of the kernel, a string\n"
	"    machine        name of the CPU architecture, a string\n"
	"    libc           name and version, a string\n"
	"    sequences      true when this thread works on CPU slots\n"
	"    owner          who registered this thread: none, libc, self, other\n"
	"    feature_size   active bytes of the kernel's area for this thread\n"
	"    fence          true when other threads' sequences can be waited for\n"
	"    cpus_possible  highest possible CPU number + 1\n"
	"    cpus_online    CPUs that run\n"
	"    cpus_allowed   CPUs that this thread may use\n"
	"    cpu_slots      slots that sequences work on\n"
	"    shared_slots   slots that atomic operations work on\n"
	"    self_test      passed, failed, not run\n"
	"    self_test_why  the self-test's result in words, a string\n"
	"    reason         why the mode is what it is, a string\n"
	"\n"
	"exit status: 0 the library works, 1 the self-test failed, 2 wrong usage\n";

static const char *verdict_name(enum verdict verdict)
{
	static const char *const names[] = {"passed", "failed", "not run"};

	return names[verdict];
}

static int examine(struct finding *finding)
{
	int result;

	memset(finding, 0, sizeof(*finding));
	result = percpu_mode(&finding->mode);
	if (result < 0)
		return result;
	if (uname(&finding->machine) != 0)
		return -errno;
	/* Other libcs know the question and have no answer. */
	if (confstr(_CS_GNU_LIBC_VERSION, finding->libc, sizeof(finding->libc)) <= 1)
		snprintf(finding->libc, sizeof(finding->libc), "not glibc");
	result = percpu_self_test(finding->why, sizeof(finding->why));
	finding->verdict = result == 0   ? VERDICT_PASSED
			   : result == 1 ? VERDICT_FAILED
					 : VERDICT_NOT_RUN;
	if (!finding->why[0])
		snprintf(finding->why, sizeof(finding->why), "%s",
			 result < 0 ? strerror(-result) : "no details");
	return 0;
}

static void print_text(const struct finding *f)
{
	const struct percpu_mode_info *mode = &f->mode;

	printf("percpu %s on Linux %s %s, %s\n\n", PERCPU_VERSION, f->machine.release,
	       f->machine.machine, f->libc);
	printf("sequences     %s: %s\n", mode->sequences ? "on" : "off", mode->reason);
	printf("owner         %s\n", percpu_owner_name(mode->owner));
	printf("feature size  %u bytes\n", mode->feature_size);
	printf("fence         %s\n", mode->fence ? "available" : "missing");
	printf("CPUs          %u possible, %u online, %u allowed\n", mode->cpus_possible,
	       mode->cpus_online, mode->cpus_allowed);
	printf("slots         %u of CPUs, %u shared\n", mode->cpu_slots, mode->shared_slots);
	printf("self-test     %s: %s\n", verdict_name(f->verdict), f->why);
}

static void json_text(const char *key, const char *value)
{
	printf("\"%s\":", key);
	cli_json_string(stdout, value);
	putchar(',');
}

static void json_number(const char *key, unsigned value)
{
	printf("\"%s\":%u,", key, value);
}

static void json_truth(const char *key, int value)
{
	printf("\"%s\":%s,", key, value ? "true" : "false");
}

static void print_json(const struct finding *f)
{
	const struct percpu_mode_info *mode = &f->mode;

	putchar('{');
	json_text("version", PERCPU_VERSION);
	json_text("kernel", f->machine.release);
	json_text("machine", f->machine.machine);
	json_text("libc", f->libc);
	json_truth("sequences", mode->sequences);
	json_text("owner", percpu_owner_name(mode->owner));
	json_number("feature_size", mode->feature_size);
	json_truth("fence", mode->fence);
	json_number("cpus_possible", mode->cpus_possible);
	json_number("cpus_online", mode->cpus_online);
	json_number("cpus_allowed", mode->cpus_allowed);
	json_number("cpu_slots", mode->cpu_slots);
	json_number("shared_slots", mode->shared_slots);
	json_text("self_test", verdict_name(f->verdict));
	json_text("self_test_why", f->why);
	printf("\"reason\":");
	cli_json_string(stdout, mode->reason);
	puts("}");
}

int cmd_doctor(int argc, char **argv)
{
	struct finding finding;
	int json = 0;
	int result;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--json") == 0) {
			json = 1;
		} else if (strcmp(argv[i], "--help") == 0) {
			fputs(help_text, stdout);
			return CLI_DONE;
		} else {
			return cli_usage_error(argv[0], "unknown argument '%s'", argv[i]);
		}
	}
	result = examine(&finding);
	if (result < 0) {
		fprintf(stderr, "percpu doctor: cannot examine this machine: %s\n",
			strerror(-result));
		return CLI_WRONG;
	}
	if (json)
		print_json(&finding);
	else
		print_text(&finding);
	return finding.verdict == VERDICT_FAILED ? CLI_WRONG : CLI_DONE;
}

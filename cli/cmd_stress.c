/* SPDX-License-Identifier: MIT */
/* percpu stress: reads the options, runs the kinds that were named, prints what came out. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli.h"
#include "stress_engine.h"

#define LONGEST 86400.0
#define DEFAULT_SECONDS 2.0
#define MAX_OPS 1000000000000000ull
#define MAX_RATE 1000000000ul
#define DEFAULT_RATE 100
/* Sleeping takes its time. */
#define DEFAULT_SLEEP_RATE 1000
#define PROGRESS_SECONDS 0.2
#define MAX_KINDS 16

#if defined(PERCPU_INJECT)
#define INJECT(point, loops) percpu__inject(point, loops)
#define HAVE_INJECT true
#else
#define INJECT(point, loops) ((void)(point), (void)(loops))
#define HAVE_INJECT false
#endif

extern const struct stress_kind stress_spinlock, stress_list, stress_stack, stress_values,
	stress_add, stress_txn, stress_remote;

/* clang-format off */
const struct stress_kind *const stress_kinds[] = {
	&stress_spinlock,
	&stress_list,
	&stress_stack,
	&stress_values,
	&stress_add,
	&stress_txn,
	&stress_remote,
	NULL,
};
/* clang-format on */

static const char help_text[] =
	"usage: percpu stress [OPTIONS] KIND...\n"
	"\n"
	"Many threads, and signal handlers on top of them, use one structure; then everything\n"
	"is counted: each amount, number and node must be where it must be, and none twice.\n"
	"\n"
	"  --threads N       threads, 1 to 1024 (twice as many as CPUs, at least 4)\n"
	"  --ops N           operations of each thread\n"
	"  --seconds S       time for each kind (2, or no end when --ops is given)\n"
	"  --yield[=N]       yields the CPU once in N operations (100)\n"
	"  --signal[=N]      signals another thread once in N operations (100); its handler does\n"
	"                    the same operation\n"
	"  --sleep[=N]       sleeps up to 50 microseconds once in N operations (1000)\n"
	"  --affinity-storm  moves threads from CPU to CPU all the time\n"
	"  --fork-storm      forks all the time; each child checks its copy\n"
	"  --no-rseq         no thread has rseq: shared slots only\n"
	"  --mixed           some threads are without rseq, some change sides\n"
	"  --delay N=LOOPS   at point N inside of each sequence a loop; in builds with\n"
	"                    PERCPU_INJECT only. 1: it is armed, 2: the CPU number is read, 3: "
	"the\n"
	"                    address is known, 4: before the commit, 5: after it. Can be given "
	"more\n"
	"                    than once\n"
	"  --json            one object per line, one line per kind, with these keys:\n"
	"    kind              what was run\n"
	"    threads           how many\n"
	"    unregistered      threads that were without rseq, always or at times\n"
	"    sequences         true when threads with rseq work on CPU slots here\n"
	"    seconds           that it took\n"
	"    operations        of all threads and handlers\n"
	"    handled           operations of handlers; part of operations\n"
	"    aborts            attempts that were interrupted, as far as calls tell\n"
	"    retries           attempts that were made again, for whatever reason\n"
	"    fallbacks         operations done on a shared slot, as far as calls tell\n"
	"    operations_per_s  operations in a second\n"
	"    aborts_per_s      aborts in a second\n"
	"    retries_per_s     retries in a second\n"
	"    fallbacks_per_s   fallbacks in a second\n"
	"    signals           sent by --signal\n"
	"    moves             made by --affinity-storm\n"
	"    forks             made by --fork-storm\n"
	"    mistakes          how many were found\n"
	"    verdict           exact or wrong\n"
	"    why               the first mistake in words, or empty\n"
	"\n"
	"exit status: 0 all exact; 1 something is wrong, or could not be run; 2 wrong usage\n"
	"\n"
	"kinds:\n";

static int print_help(void)
{
	const struct stress_kind *const *kind;

	fputs(help_text, stdout);
	for (kind = stress_kinds; *kind; kind++)
		printf("  %-10s %s\n", (*kind)->name, (*kind)->title);
	printf("  %-10s %s\n", "all", "all of these, one after the other");
	return CLI_DONE;
}

/* ---- Options ---- */

/* Digits only: 0, or -EINVAL. */
static int parse_number(const char *text, unsigned long long min, unsigned long long max,
			unsigned long long *number)
{
	char *end;

	if (*text < '0' || *text > '9')
		return -EINVAL;
	errno = 0;
	*number = strtoull(text, &end, 10);
	return *end || errno || *number < min || *number > max ? -EINVAL : 0;
}

static int parse_threads(const char *value, struct stress_options *options)
{
	unsigned long long n;

	if (parse_number(value, 1, STRESS_MAX_THREADS, &n))
		return cli_usage_error("stress", "--threads takes a number from 1 to %d, not '%s'",
				       STRESS_MAX_THREADS, value);
	options->threads = (unsigned)n;
	return CLI_DONE;
}

static int parse_ops(const char *value, struct stress_options *options)
{
	unsigned long long n;

	if (parse_number(value, 1, MAX_OPS, &n))
		return cli_usage_error("stress", "--ops takes a number from 1 to %llu, not '%s'",
				       MAX_OPS, value);
	options->ops = n;
	return CLI_DONE;
}

static int parse_seconds(const char *value, struct stress_options *options)
{
	char *end;

	options->seconds = strtod(value, &end);
	if (end == value || *end || !isfinite(options->seconds) || options->seconds <= 0 ||
	    options->seconds > LONGEST)
		return cli_usage_error("stress",
				       "--seconds takes a number above 0 and at most %.0f, not "
				       "'%s'",
				       LONGEST, value);
	return CLI_DONE;
}

/* "3=1000" */
static int parse_delay(const char *value, struct stress_options *options)
{
	unsigned long long loops;

	if (value[0] < '1' || value[0] > '0' + STRESS_POINTS || value[1] != '=' ||
	    parse_number(value + 2, 0, STRESS_MAX_DELAY, &loops))
		return cli_usage_error("stress",
				       "--delay takes POINT=LOOPS, a point from 1 to %d and at "
				       "most %d loops, not '%s'",
				       STRESS_POINTS, STRESS_MAX_DELAY, value);
	if (!HAVE_INJECT)
		return cli_usage_error("stress", "--delay needs a build with PERCPU_INJECT");
	options->delay[value[0] - '0'] = (unsigned long)loops;
	return CLI_DONE;
}

static const struct value_option {
	const char *name;
	int (*parse)(const char *value, struct stress_options *options);
} value_options[] = {
	{"--threads", parse_threads},
	{"--ops", parse_ops},
	{"--seconds", parse_seconds},
	{"--delay", parse_delay},
};

/* Those that may have "=N": where that goes, and what is meant without. */
static unsigned long *find_rate(const char *name, struct stress_options *options,
				unsigned long *otherwise)
{
	*otherwise = DEFAULT_RATE;
	if (!strcmp(name, "--yield"))
		return &options->yield;
	if (!strcmp(name, "--signal"))
		return &options->signal;
	*otherwise = DEFAULT_SLEEP_RATE;
	return !strcmp(name, "--sleep") ? &options->sleep : NULL;
}

static int parse_rate(const char *name, const char *value, unsigned long *rate,
		      unsigned long otherwise)
{
	unsigned long long n = otherwise;

	if (value && parse_number(value, 1, MAX_RATE, &n))
		return cli_usage_error("stress", "%s takes a number from 1 to %lu, not '%s'", name,
				       MAX_RATE, value);
	*rate = (unsigned long)n;
	return CLI_DONE;
}

static bool *find_flag(const char *name, struct stress_options *options)
{
	const struct {
		const char *name;
		bool *flag;
	} flags[] = {
		{"--affinity-storm", &options->affinity_storm},
		{"--fork-storm", &options->fork_storm},
		{"--no-rseq", &options->no_rseq},
		{"--mixed", &options->mixed},
		{"--json", &options->json},
	};

	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++)
		if (!strcmp(name, flags[i].name))
			return flags[i].flag;
	return NULL;
}

/* "--name=value", "--name value" and "--name"; *used is how many arguments that were. */
static int parse_option(int argc, char **argv, struct stress_options *options, int *used)
{
	char *equals = strchr(argv[0], '=');
	const char *value = equals ? equals + 1 : NULL;
	unsigned long *rate, otherwise;
	bool *flag = find_flag(argv[0], options);
	char name[32];

	*used = 1;
	if (flag) {
		*flag = true;
		return CLI_DONE;
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[0], "="), argv[0]);
	rate = find_rate(name, options, &otherwise);
	if (rate)
		return parse_rate(name, value, rate, otherwise);
	for (size_t i = 0; i < sizeof(value_options) / sizeof(value_options[0]); i++) {
		if (strcmp(name, value_options[i].name) != 0)
			continue;
		if (!value && argc < 2)
			return cli_usage_error("stress", "%s needs a value", name);
		*used = value ? 1 : 2;
		return value_options[i].parse(value ? value : argv[1], options);
	}
	return cli_usage_error("stress", "unknown option '%s'", argv[0]);
}

static int finish_options(struct stress_options *options)
{
	struct percpu_mode_info mode;

	if (options->no_rseq && options->mixed)
		return cli_usage_error("stress", "--no-rseq and --mixed exclude each other");
	if (options->threads == 0) {
		(void)percpu_mode(&mode);
		options->threads = mode.cpus_allowed < 2 ? 4 : 2 * mode.cpus_allowed;
		if (options->threads > STRESS_MAX_THREADS)
			options->threads = STRESS_MAX_THREADS;
	}
	if (options->seconds <= 0 && options->ops == 0)
		options->seconds = DEFAULT_SECONDS;
	for (unsigned point = 1; point <= STRESS_POINTS; point++)
		INJECT(point, options->delay[point]);
	return CLI_DONE;
}

/* Adds what the name stands for. */
static int add_kinds(const char *name, const struct stress_kind **kinds, unsigned *count)
{
	const struct stress_kind *const *kind;
	unsigned found = 0;

	for (kind = stress_kinds; *kind; kind++)
		if (!strcmp(name, "all") || !strcmp(name, (*kind)->name)) {
			if (*count == MAX_KINDS)
				return cli_usage_error("stress", "too many kinds");
			kinds[(*count)++] = *kind;
			found++;
		}
	if (!found)
		return cli_usage_error("stress", "no kind '%s'; 'percpu help stress' names them",
				       name);
	return CLI_DONE;
}

/* ---- Output ---- */

/* On a terminal only: a line that is written again and again, and wiped at the end. */
void stress_show_progress(const struct stress_run *run, double seconds, uint64_t operations)
{
	static double shown;
	static int length;
	double now = stress_now();

	if (!isatty(STDERR_FILENO))
		return;
	if (!run) {
		if (length)
			fprintf(stderr, "\r%*s\r", length, "");
		length = 0;
		return;
	}
	if (now - shown < PROGRESS_SECONDS)
		return;
	shown = now;
	length = fprintf(stderr, "\r%s: %.1f s, %llu operations ", run->kind->name, seconds,
			 (unsigned long long)operations);
	fflush(stderr);
}

_Noreturn void stress_give_up(const struct stress_run *run)
{
	fprintf(stderr, "percpu stress: %s: no operation has ended for a minute\n",
		run->kind->name);
	fflush(NULL);
	_exit(CLI_WRONG);
}

struct sums {
	uint64_t operations, handled, aborts, retries, fallbacks;
};

static void add_up(const struct stress_run *run, struct sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (unsigned i = 0; i < run->count; i++) {
		const struct stress_context *context = &run->contexts[i];

		sums->operations += context->operations;
		sums->aborts += context->aborts;
		sums->retries += context->retries;
		sums->fallbacks += context->fallbacks;
		if (context->in_handler)
			sums->handled += context->operations;
	}
}

static unsigned count_unregistered(const struct stress_options *options)
{
	/* Of four, the second and the fourth. */
	return options->no_rseq ? options->threads : options->mixed ? options->threads / 2 : 0;
}

static double rate(const struct stress_run *run, uint64_t n)
{
	return run->elapsed > 0 ? (double)n / run->elapsed : 0;
}

static void json_number(const char *key, uint64_t value)
{
	printf("\"%s\":%llu,", key, (unsigned long long)value);
}

static void print_json(const struct stress_run *run, const struct sums *sums)
{
	struct percpu_mode_info mode;

	(void)percpu_mode(&mode);
	printf("{\"kind\":\"%s\",", run->kind->name);
	json_number("threads", run->options->threads);
	json_number("unregistered", count_unregistered(run->options));
	printf("\"sequences\":%s,", mode.sequences ? "true" : "false");
	printf("\"seconds\":%.3f,", run->elapsed);
	json_number("operations", sums->operations);
	json_number("handled", sums->handled);
	json_number("aborts", sums->aborts);
	json_number("retries", sums->retries);
	json_number("fallbacks", sums->fallbacks);
	printf("\"operations_per_s\":%.1f,", rate(run, sums->operations));
	printf("\"aborts_per_s\":%.1f,", rate(run, sums->aborts));
	printf("\"retries_per_s\":%.1f,", rate(run, sums->retries));
	printf("\"fallbacks_per_s\":%.1f,", rate(run, sums->fallbacks));
	json_number("signals", run->signals);
	json_number("moves", run->moves);
	json_number("forks", run->forks);
	json_number("mistakes", run->mistakes);
	printf("\"verdict\":\"%s\",\"why\":", run->mistakes ? "wrong" : "exact");
	cli_json_string(stdout, run->why);
	puts("}");
}

static void print_text(const struct stress_run *run, const struct sums *sums)
{
	static bool has_header;

	if (!has_header)
		printf("%-10s%8s%9s%14s%14s%12s%12s%14s  %s\n", "kind", "threads", "seconds",
		       "operations", "operations/s", "aborts/s", "retries/s", "fallbacks/s",
		       "verdict");
	has_header = true;
	printf("%-10s%8u%9.2f%14llu%14.0f%12.1f%12.1f%14.1f  ", run->kind->name,
	       run->options->threads, run->elapsed, (unsigned long long)sums->operations,
	       rate(run, sums->operations), rate(run, sums->aborts), rate(run, sums->retries),
	       rate(run, sums->fallbacks));
	if (run->mistakes)
		printf("WRONG: %s (%u)\n", run->why, run->mistakes);
	else
		puts("exact");
}

static int run_kind(const struct stress_kind *kind, const struct stress_options *options)
{
	struct stress_run run = {.kind = kind, .options = options};
	struct sums sums;
	int result = stress_run(&run);
	int status = result || run.mistakes ? CLI_WRONG : CLI_DONE;

	if (result) {
		fprintf(stderr, "percpu stress: cannot run %s: %s\n", kind->name,
			strerror(-result));
	} else {
		add_up(&run, &sums);
		if (options->json)
			print_json(&run, &sums);
		else
			print_text(&run, &sums);
		fflush(stdout);
	}
	stress_free(&run);
	return status;
}

int cmd_stress(int argc, char **argv)
{
	struct stress_options options = {.threads = 0};
	const struct stress_kind *kinds[MAX_KINDS];
	unsigned count = 0;
	int used, status;

	for (int i = 1; i < argc; i += used) {
		used = 1;
		if (!strcmp(argv[i], "--help"))
			return print_help();
		status = *argv[i] == '-' ? parse_option(argc - i, argv + i, &options, &used)
					 : add_kinds(argv[i], kinds, &count);
		if (status)
			return status;
	}
	if (!count)
		return cli_usage_error("stress",
				       "name a kind, or all; 'percpu help stress' lists them");
	status = finish_options(&options);
	for (unsigned i = 0; i < count && !status; i++)
		status = run_kind(kinds[i], &options);
	return status;
}

/* SPDX-License-Identifier: MIT */
/* percpu bench: reads the options and runs the tables that were named, or all of them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench.h"
#include "cli.h"

#define LONGEST 86400.0

static const unsigned default_threads[] = {1, 2, 4, 8, 16, 32};

static void print_tables(FILE *out)
{
	const struct bench_table *const *table;

	for (table = bench_tables; *table; table++)
		fprintf(out, "  %-10s %s\n", (*table)->name, (*table)->title);
}

static const char help_text[] =
	"usage: percpu bench [OPTIONS] [TABLE...]\n"
	"       percpu bench list\n"
	"\n"
	"Measures on this machine: methods take turns in short rounds. Without a table, all of "
	"them.\n"
	"\n"
	"  --threads N,N...  numbers of threads (1,2,4,8,16,32)\n"
	"  --seconds S       time for each table (4 to 80, as the table needs)\n"
	"  --reference       the historic figures, too\n"
	"  --kernel[=FILE]   with the table local: the rows of the kernel module, too, when it is\n"
	"                    loaded, or those in a file that was copied from it\n"
	"  --verify-default  with the table local: status 1 when the default way of a family "
	"loses\n"
	"                    by more than 20 %\n"
	"  --svg DIR         also a picture of each table, drawn by gnuplot\n"
	"  --csv             the columns of --json, separated by commas\n"
	"  --json            one object per line, with these keys:\n"
	"    table           name of the table\n"
	"    method          what was measured, the same name in all outputs\n"
	"    threads         how many threads ran it at once\n"
	"    param           the size or the case, or empty\n"
	"    ns_min          CPU time per operation over all threads, least of all rounds\n"
	"    ns_median       the same, median of all rounds\n"
	"    wall_ns_median  elapsed time per operation of one thread, median of all rounds\n"
	"    ratio           CPU time to the baseline's in the same round, median\n"
	"    unit            ns/op, cycles/op, ns/slot, ns/switch, ns/start or ns/counter\n"
	"    lost            counts that are missing, of a million; in the table contended only\n"
	"  A figure that does not exist is null. The table is \"TABLE (historic)\" for historic "
	"rows,\n"
	"  \"kernel_TABLE\" for rows of the kernel module, and with keys of their own \"machine\" "
	"for\n"
	"  what the machine is, \"note\" for remarks and \"local_verdict\" for the best way of "
	"each\n"
	"  family.\n"
	"\n"
	"exit status: 0 done; 1 a total was wrong, a row could not be measured, or a default that\n"
	"was to be verified loses; 2 wrong usage\n"
	"\n"
	"tables:\n";

static int print_help(void)
{
	fputs(help_text, stdout);
	print_tables(stdout);
	return CLI_DONE;
}

/* "1,2,4": what is given twice counts once; the order stays. */
static int parse_threads(const char *text, struct bench_options *options)
{
	unsigned long n;
	unsigned i;
	char *end;

	options->nthreads = 0;
	do {
		if (*text < '0' || *text > '9')
			return -EINVAL;
		n = strtoul(text, &end, 10);
		if ((*end && *end != ',') || n < 1 || n > BENCH_MAX_THREADS)
			return -EINVAL;
		for (i = 0; i < options->nthreads && options->threads[i] != n; i++)
			;
		if (i == BENCH_MAX_THREAD_COUNTS)
			return -EINVAL;
		options->threads[i] = (unsigned)n;
		options->nthreads += i == options->nthreads;
		text = end + 1;
	} while (*end);
	return 0;
}

static int parse_seconds(const char *text, struct bench_options *options)
{
	char *end;

	options->seconds = strtod(text, &end);
	if (end == text || *end || !isfinite(options->seconds) || options->seconds <= 0 ||
	    options->seconds > LONGEST)
		return -EINVAL;
	return 0;
}

static int parse_svg(const char *folder, struct bench_options *options)
{
	struct stat info;

	options->svg = folder;
	if (mkdir(folder, 0777) && errno != EEXIST)
		return -errno;
	if (stat(folder, &info))
		return -errno;
	if (!S_ISDIR(info.st_mode))
		return -ENOTDIR;
	return access(folder, W_OK | X_OK) ? -errno : 0;
}

static int set_format(struct bench_options *options, enum bench_format format)
{
	if (options->format != BENCH_TEXT && options->format != format)
		return cli_usage_error("bench", "--json and --csv exclude each other");
	options->format = format;
	return CLI_DONE;
}

static int value_option(const char *name, const char *value, struct bench_options *options)
{
	int err;

	if (!value)
		return cli_usage_error("bench", "%s needs a value", name);
	if (!strcmp(name, "--threads")) {
		if (parse_threads(value, options))
			return cli_usage_error("bench",
					       "--threads takes numbers from 1 to %d with commas "
					       "between them, not '%s'",
					       BENCH_MAX_THREADS, value);
		return CLI_DONE;
	}
	if (!strcmp(name, "--seconds")) {
		if (parse_seconds(value, options))
			return cli_usage_error("bench",
					       "--seconds takes a number above 0 and at most "
					       "%.0f, not '%s'",
					       LONGEST, value);
		return CLI_DONE;
	}
	err = parse_svg(value, options);
	if (err)
		return cli_usage_error("bench", "cannot write pictures to '%s': %s", value,
				       strerror(-err));
	return CLI_DONE;
}

static int takes_value(const char *name)
{
	return !strcmp(name, "--threads") || !strcmp(name, "--seconds") || !strcmp(name, "--svg");
}

/* "--name=value" and "--name value"; *used is how many arguments that were. */
static int parse_option(int argc, char **argv, struct bench_options *options, int *used)
{
	char *equals = strchr(argv[0], '=');
	const char *value;
	char name[32];

	*used = 1;
	if (!strcmp(argv[0], "--json"))
		return set_format(options, BENCH_JSON);
	if (!strcmp(argv[0], "--csv"))
		return set_format(options, BENCH_CSV);
	if (!strcmp(argv[0], "--reference")) {
		options->reference = 1;
		return CLI_DONE;
	}
	if (!strcmp(argv[0], "--verify-default")) {
		options->verify_default = 1;
		return CLI_DONE;
	}
	if (!strcmp(argv[0], "--kernel") || (!strncmp(argv[0], "--kernel=", 9) && argv[0][9])) {
		options->kernel = 1;
		options->kernel_file = equals ? equals + 1 : NULL;
		return CLI_DONE;
	}
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(argv[0], "="), argv[0]);
	if (!takes_value(name))
		return cli_usage_error("bench", "unknown option '%s'", argv[0]);
	value = equals ? equals + 1 : argc > 1 ? argv[1] : NULL;
	*used = equals ? 1 : 2;
	return value_option(name, value, options);
}

/* 0, or wrong usage: a table that does not exist, or an option without the table it is for. */
static int check_tables(int n, char **names, const struct bench_options *options)
{
	int i, kernel = !n;

	for (i = 0; i < n; i++) {
		if (!bench_find_table(names[i]))
			return cli_usage_error(
				"bench", "no table '%s'; 'percpu bench list' names them", names[i]);
		kernel |= bench_find_table(names[i])->kernel;
	}
	if ((options->kernel || options->verify_default) && !kernel)
		return cli_usage_error("bench", "%s is for the table local",
				       options->kernel ? "--kernel" : "--verify-default");
	return CLI_DONE;
}

static int run_tables(int n, char **names, const struct bench_options *options)
{
	const struct bench_table *const *table;
	int i, status = CLI_DONE;

	bench_begin_output(options);
	for (i = 0; i < n && !ferror(stdout); i++)
		status |= bench_run(bench_find_table(names[i]), options);
	for (table = bench_tables; !n && *table && !ferror(stdout); table++)
		status |= bench_run(*table, options);
	return status;
}

int cmd_bench(int argc, char **argv)
{
	struct bench_options options = {.seconds = 0, .nthreads = 0};
	int i, used, names = 0, status;

	memcpy(options.threads, default_threads, sizeof(default_threads));
	options.nthreads = sizeof(default_threads) / sizeof(default_threads[0]);
	if (argc == 3 && !strcmp(argv[1], "--serve")) /* how the bench starts its own children */
		return bench_serve_table(argv[2]);
	for (i = 1; i < argc; i += used) {
		used = 1;
		if (!strcmp(argv[i], "--help"))
			return print_help();
		if (*argv[i] == '-') {
			status = parse_option(argc - i, argv + i, &options, &used);
			if (status)
				return status;
		} else {
			argv[1 + names++] = argv[i];
		}
	}
	if (names == 1 && !strcmp(argv[1], "list")) {
		print_tables(stdout);
		return CLI_DONE;
	}
	status = check_tables(names, argv + 1, &options);
	return status ? status : run_tables(names, argv + 1, &options);
}

/* SPDX-License-Identifier: MIT */
/* The percpu command: finds the subcommand in a table and runs it. */
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli.h"

static const struct command {
	const char *name;
	const char *help;
	int (*run)(int argc, char **argv);
} commands[] = {
	{"bench", "measure what per-CPU data costs on this machine", cmd_bench},
	{"doctor", "tell how the library works here, and why", cmd_doctor},
	{"stress", "try to break each structure, and count what is left", cmd_stress},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

static const struct command *find_command(const char *name)
{
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, name) == 0)
			return &commands[i];
	return NULL;
}

static void print_usage(FILE *out)
{
	fprintf(out, "usage: percpu COMMAND [ARGUMENTS]\n"
		     "       percpu help [COMMAND]\n"
		     "       percpu --version\n\ncommands:\n");
	for (size_t i = 0; i < COMMANDS; i++)
		fprintf(out, "  %-8s %s\n", commands[i].name, commands[i].help);
	fprintf(out, "\nexit status: 0 done, 1 found something wrong, 2 wrong usage\n");
}

static int unknown_command(const char *name)
{
	fprintf(stderr, "percpu: unknown command '%s'; 'percpu help' lists them\n", name);
	return CLI_USAGE;
}

/* "percpu help x" is "percpu x --help", so that each command has one help text. */
static int help(int argc, char **argv)
{
	static char option[] = "--help";
	const struct command *command;

	if (argc < 2) {
		print_usage(stdout);
		return CLI_DONE;
	}
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);

	char *command_argv[] = {argv[1], option, NULL};

	return command->run(2, command_argv);
}

static int run(int argc, char **argv)
{
	const struct command *command;

	if (argc < 2) {
		print_usage(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("percpu " PERCPU_VERSION);
		return CLI_DONE;
	}
	if (strcmp(argv[1], "help") == 0 || strcmp(argv[1], "--help") == 0)
		return help(argc - 1, argv + 1);
	command = find_command(argv[1]);
	if (!command)
		return unknown_command(argv[1]);
	return command->run(argc - 1, argv + 1);
}

int main(int argc, char **argv)
{
	/* A reader that goes away is an output error like any other, with a message and a status. */
	signal(SIGPIPE, SIG_IGN);
	return cli_close_output(run(argc, argv));
}

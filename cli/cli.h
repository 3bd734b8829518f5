/* SPDX-License-Identifier: MIT */
/*
 * What the subcommands of the percpu command share.
 *
 * A subcommand is called with its own name as argv[0]. It returns the exit status of the command:
 * 0 done, 1 found something wrong, 2 wrong usage. It writes results to stdout and does not check
 * every write: main() checks the stream at the end and turns any output error into status 1.
 */
#ifndef PERCPU_CLI_H
#define PERCPU_CLI_H

#include <stdio.h>

enum cli_status { CLI_DONE = 0, CLI_WRONG = 1, CLI_USAGE = 2 };

int cmd_bench(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_stress(int argc, char **argv);

/* One line on stderr, "percpu COMMAND: message"; returns CLI_USAGE. */
int cli_usage_error(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Text as a JSON string, with its quotes. Bytes that are not ASCII pass through. */
void cli_json_string(FILE *out, const char *text);

/* Flushes and closes stdout; returns status, or CLI_WRONG after a message when output was lost. */
int cli_close_output(int status);

#endif

/* SPDX-License-Identifier: MIT */
/* Messages, JSON text and the last check of what was written. */
#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "cli.h"

int cli_usage_error(const char *command, const char *format, ...)
{
	va_list args;

	fprintf(stderr, "percpu %s: ", command);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	return CLI_USAGE;
}

void cli_json_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if (c == '"' || c == '\\')
			fprintf(out, "\\%c", c);
		else if (c < 0x20 || c == 0x7f)
			fprintf(out, "\\u%04x", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

int cli_close_output(int status)
{
	int lost = ferror(stdout);

	/* A full disk may show only when the last buffer goes out, or at the close. */
	errno = 0;
	if (fclose(stdout) != 0)
		lost = 1;
	if (!lost)
		return status;
	fprintf(stderr, "percpu: cannot write the output: %s\n",
		errno ? strerror(errno) : "an earlier write failed");
	return CLI_WRONG;
}
